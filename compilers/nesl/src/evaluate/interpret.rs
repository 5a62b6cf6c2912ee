// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Expressions, one after another and element by element.

use super::number::Random;
use super::{Stop, Value};
use crate::core::{Each, Expr, FunctionId, Pattern, PlaceId, Program, Var};
use std::collections::HashMap;

/// Evaluates functions of a program.
pub struct Interpreter<'p> {
    pub(super) program: &'p Program,
    pub(super) random: Random,
    /// What was written to the console.
    pub console: Vec<u8>,
    /// How many steps are left. Each expression is one, and each element that a primitive makes.
    pub fuel: u64,
    /// The innermost call outside the library.
    pub(super) caller: Option<PlaceId>,
}

type Environment = HashMap<Var, Value>;

impl<'p> Interpreter<'p> {
    /// An evaluator that gives up after this many steps.
    #[must_use]
    pub fn new(program: &'p Program, fuel: u64) -> Self {
        Self { program, random: Random::new(1), console: Vec::new(), fuel, caller: None }
    }

    /// Applies a function.
    ///
    /// # Errors
    /// A run-time error of the program, or what this evaluator cannot do.
    pub fn call(&mut self, id: FunctionId, args: Vec<Value>) -> Result<Value, Stop> {
        let function = &self.program.functions[id];
        let mut env: Environment = function.params.iter().copied().zip(args).collect();
        self.expr(&function.body, &mut env)
    }

    fn expr(&mut self, expr: &Expr, env: &mut Environment) -> Result<Value, Stop> {
        self.fuel = self.fuel.checked_sub(1).ok_or(Stop::TooLong)?;
        Ok(match expr {
            Expr::Var(var) => env.get(var).cloned().unwrap_or(Value::Unit),
            Expr::Unit => Value::Unit,
            Expr::Int(value) => Value::Int(*value),
            Expr::Float(value) => Value::Float(*value),
            Expr::Bool(value) => Value::Bool(*value),
            Expr::Char(value) => Value::Char(*value),
            Expr::Text(bytes) => Value::text(bytes),
            Expr::Pair(a, b) => {
                let a = self.expr(a, env)?;
                Value::pair(a, self.expr(b, env)?)
            }
            Expr::Let(pattern, value, body) => {
                let value = self.expr(value, env)?;
                bind(pattern, &value, env);
                self.expr(body, env)?
            }
            Expr::If(condition, yes, no) => {
                let taken = if self.expr(condition, env)?.truth() { yes } else { no };
                self.expr(taken, env)?
            }
            Expr::Prim(prim, args, place) => {
                let values = self.all(args, env)?;
                self.primitive(prim, values, *place)?
            }
            Expr::Call(id, args, place) => {
                let values = self.all(args, env)?;
                let outer = self.caller;
                if self.program.places.get(*place as usize).is_some_and(|place| !place.library) {
                    self.caller = Some(*place);
                }
                let value = self.call(*id, values)?;
                self.caller = outer;
                value
            }
            Expr::Each(each) => self.each(each, env)?,
            Expr::Sequence(elements, _) => Value::seq(self.all(elements, env)?),
        })
    }

    fn all(&mut self, args: &[Expr], env: &mut Environment) -> Result<Vec<Value>, Stop> {
        args.iter().map(|arg| self.expr(arg, env)).collect()
    }

    fn each(&mut self, each: &Each, env: &mut Environment) -> Result<Value, Stop> {
        let mut sources = Vec::new();
        for (_, source) in &each.sources {
            sources.push(self.expr(source, env)?);
        }
        let length = sources[0].elements().len();
        if sources.iter().any(|source| source.elements().len() != length) {
            return Err(self.error("Length mismatch in an apply-to-each.", each.place));
        }
        let mut results = Vec::new();
        for index in 0..length {
            let mut inner = env.clone();
            for ((pattern, _), source) in each.sources.iter().zip(&sources) {
                bind(pattern, &source.elements()[index], &mut inner);
            }
            if let Some(filter) = &each.filter
                && !self.expr(filter, &mut inner)?.truth()
            {
                continue;
            }
            results.push(self.expr(&each.body, &mut inner)?);
        }
        Ok(Value::seq(results))
    }

    /// The error of a failed check, with the text as compiled code prints it.
    pub(super) fn error(&self, message: &str, place: PlaceId) -> Stop {
        let places = &self.program.places;
        let own = places.get(place as usize);
        let caller = self.caller.and_then(|caller| places.get(caller as usize));
        let line = match own.filter(|own| !own.library).or(caller).or(own) {
            Some(place) => format!("  {place}\n"),
            None => String::new(),
        };
        Stop::Error(format!("\nRUNTIME ERROR: {message}\n{line}"))
    }
}

fn bind(pattern: &Pattern, value: &Value, env: &mut Environment) {
    match (pattern, value) {
        (Pattern::Var(var), value) => {
            env.insert(*var, value.clone());
        }
        (Pattern::Pair(a, b), Value::Pair(x, y)) => {
            bind(a, x, env);
            bind(b, y, env);
        }
        _ => {}
    }
}
