// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flattening: core functions to vector code.
//!
//! Each function is translated at most once per way that it is called: serially, or lifted (applied to all
//! instances at once) with the parameters that are the same for all instances kept unreplicated. A value knows the
//! context it was computed in and is replicated or packed only when an operation in an inner context reads it
//! there; so an index into a free variable is one gather, and branches pack only what they use.

mod append;
mod conditional;
mod context;
mod each;
mod expr;
mod input_output;
mod layout;
mod read;
mod scalar;
mod sequence;
#[cfg(test)]
mod tests;
mod value;
mod write;

use crate::core::analysis::{self, Facts};
use crate::core::{Expr, Function, FunctionId, Program, Shape};
use crate::vcode::builder::Builder;
use crate::vcode::{self, Cell, Instr, Kind};
use context::{Context, Ctx, Flat, ROOT, Translation, Value};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The VCODE function that reports a failed check: its operand is the text.
pub const FAIL_FUNCTION: &str = "RUNTIME-ERROR";

/// How a function is called.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Mode {
    /// On one instance.
    Serial,
    /// On all instances of a context; true for each leaf of the parameters that is the same for all of them.
    Lifted(Vec<bool>),
}

/// What cannot be flattened: a message and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Unsupported {
    /// What is wrong and what to do.
    pub message: String,
    /// Where.
    pub place: crate::core::PlaceId,
}

/// Options of the translation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether run-time checks are compiled in (`set arg_check`).
    pub checks: bool,
}

/// Translates the functions of a program that are asked for, and those that they call.
pub struct Flattener {
    program: Program,
    facts: Vec<Facts>,
    options: Options,
    names: HashMap<(FunctionId, Mode), String>,
    queue: VecDeque<(FunctionId, Mode)>,
    /// Branches of lifted conditionals made into functions, by the address of the expression (kept alive here).
    outlined: HashMap<usize, (Rc<Expr>, FunctionId)>,
    errors: Vec<Unsupported>,
}

impl Flattener {
    /// A translation of this program.
    #[must_use]
    pub fn new(program: Program, options: Options) -> Self {
        let facts = analysis::facts(&program);
        Self {
            program,
            facts,
            options,
            names: HashMap::new(),
            queue: VecDeque::new(),
            outlined: HashMap::new(),
            errors: Vec::new(),
        }
    }

    /// Asks for the serial version of a function under this VCODE name.
    pub fn request(&mut self, function: FunctionId, name: &str) {
        let key = (function, Mode::Serial);
        self.names.insert(key.clone(), name.to_owned());
        self.queue.push_back(key);
    }

    /// The name of a function called in this way, which is translated if it is not yet.
    fn name_of(&mut self, function: FunctionId, mode: Mode) -> String {
        let key = (function, mode);
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let name = format!("{}_{}", vcode_name(&self.program.functions[function].name), self.names.len() + 1);
        self.names.insert(key.clone(), name.clone());
        self.queue.push_back(key);
        name
    }

    /// Translates all that was asked for.
    ///
    /// # Errors
    /// What flattening has no rule for: input and output inside an apply-to-each.
    pub fn run(mut self) -> Result<Vec<vcode::Function>, Vec<Unsupported>> {
        let mut functions = vec![fail_function()];
        while let Some((id, mode)) = self.queue.pop_front() {
            let name = self.names[&(id, mode.clone())].clone();
            let function = self.translate(id, &mode, name);
            functions.push(function);
        }
        if self.errors.is_empty() { Ok(functions) } else { Err(self.errors) }
    }

    fn translate(&mut self, id: FunctionId, mode: &Mode, name: String) -> vcode::Function {
        let function: Function = self.program.functions[id].clone();
        let recursive = self.facts[id].recursive;
        let mut t = Translation::new(self, id);
        let mut params = Vec::new();
        let shapes: Vec<Shape> =
            function.params.iter().map(|&v| t.flattener.program.shape(v).clone()).collect();
        let (ctx, count) = match mode {
            Mode::Serial => (ROOT, None),
            Mode::Lifted(_) => {
                let n = t.b.fresh(Kind::Segdes);
                t.b.set_one_segment(n);
                (t.push_context(Context::each(ROOT, 1, n, n, recursive)), Some(n))
            }
        };
        let mut uniform = match mode {
            Mode::Serial => Vec::new(),
            Mode::Lifted(mask) => mask.clone(),
        }
        .into_iter();
        for (&var, shape) in function.params.iter().zip(&shapes) {
            let value = t.parameter(shape, ctx, &mut uniform, &mut params);
            t.env.insert(var, value);
        }
        params.extend(count);
        let outs = match count {
            Some(n) if recursive => t.guarded_body(&function, ctx, n),
            _ => {
                let value = t.expr(&function.body, ctx);
                t.cells_at(&value, ctx)
            }
        };
        let mut body = t.b.finish(outs);
        vcode::prune::prune(&mut body);
        let source = if function.file.is_empty() {
            String::new()
        } else {
            // The comment is words between braces: a file's name is one of them.
            let file = function.file.replace([' ', '{', '}', '\n'], "_");
            format!("{{hadal-source {name} {} {file} {}}}\n", function.name, function.line)
        };
        vcode::Function { name, params, body, source }
    }

    /// The function made of a branch, whose parameters are its free variables.
    fn outline(&mut self, expr: &Rc<Expr>, shape: Shape, within: FunctionId) -> FunctionId {
        let address = Rc::as_ptr(expr) as usize;
        if let Some((_, id)) = self.outlined.get(&address) {
            return *id;
        }
        let id = self.program.functions.len();
        let params = analysis::free_variables(expr).into_iter().collect();
        self.program.functions.push(Function {
            params,
            result: shape,
            body: Rc::clone(expr),
            ..self.program.functions[within].clone()
        });
        // It is recursive only through functions that have a guard of their own.
        let known = &self.facts;
        let mut facts = analysis::expression_facts(expr, &|callee| known[callee]);
        facts.size = analysis::INLINE_SIZE + 1;
        facts.recursive = false;
        self.facts.push(facts);
        self.outlined.insert(address, (Rc::clone(expr), id));
        id
    }
}

/// The function that ends the program with a message.
fn fail_function() -> vcode::Function {
    let mut b = Builder::new();
    let text = b.fresh(Kind::Int);
    b.push(Instr::Op("WRITE CHAR", None), &[text], &[Kind::Int, Kind::Bool]);
    b.push(Instr::Exit, &[], &[]);
    vcode::Function {
        name: FAIL_FUNCTION.to_owned(),
        params: vec![text],
        body: b.finish(Vec::new()),
        source: String::new(),
    }
}

/// A NESL name as VCODE's lexer takes it.
fn vcode_name(name: &str) -> String {
    let spelled = match name {
        "#" => "VEC-LEN",
        "^" => "POWER-",
        "@" => "MK-STRING",
        "||" => "PAD-STRING",
        _ => name,
    };
    let mut out: String = spelled
        .chars()
        .map(|c| {
            let c = c.to_ascii_uppercase();
            if c.is_ascii_alphanumeric() || "-+*/%<>=!._".contains(c) { c } else { '-' }
        })
        .collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert_str(0, "OP-");
    }
    out
}

impl Translation<'_> {
    /// The value of a parameter, whose cells are added to `params`.
    fn parameter(
        &mut self,
        shape: &Shape,
        ctx: Ctx,
        uniform: &mut dyn Iterator<Item = bool>,
        params: &mut Vec<Cell>,
    ) -> Value {
        match shape {
            Shape::Unit => Value::Unit,
            Shape::Pair(a, b) => {
                let a = self.parameter(a, ctx, uniform, params);
                let b = self.parameter(b, ctx, uniform, params);
                Value::pair(a, b)
            }
            _ => {
                let ctx = if uniform.next().unwrap_or(false) { ROOT } else { ctx };
                let flat = self.fresh_flat(shape, params);
                self.leaf(ctx, flat)
            }
        }
    }

    /// New cells for a value of this shape.
    pub(super) fn fresh_flat(&mut self, shape: &Shape, cells: &mut Vec<Cell>) -> Flat {
        match shape {
            Shape::Unit => Flat::Unit,
            Shape::Pair(a, b) => {
                let a = self.fresh_flat(a, cells);
                Flat::Pair(Rc::new(a), Rc::new(self.fresh_flat(b, cells)))
            }
            Shape::Seq(t) => {
                let d = self.b.fresh(Kind::Segdes);
                cells.push(d);
                Flat::Seq(d, Rc::new(self.fresh_flat(t, cells)))
            }
            scalar => {
                let cell = self.b.fresh(kind_of(scalar));
                cells.push(cell);
                Flat::Scalar(cell)
            }
        }
    }

    /// The body of a lifted recursive function: nothing at all is done for no instance, which ends the recursion.
    fn guarded_body(&mut self, function: &Function, ctx: Ctx, n: Cell) -> Vec<Cell> {
        let length = self.b.lengths(n);
        let zero = self.b.int(0);
        let none = self.b.op("=", Some(Kind::Int), &[length, zero]);
        self.b.enter();
        let mut kinds = Vec::new();
        kinds_of(&function.result, &mut kinds);
        let outs = kinds.iter().map(|&kind| self.empty_cell(kind)).collect();
        let yes = self.b.leave(outs);
        self.b.enter();
        let value = self.expr(&function.body, ctx);
        let outs = self.cells_at(&value, ctx);
        let no = self.b.leave(outs);
        self.b.branch(none, yes, no)
    }
}

/// The VCODE type of a scalar.
fn kind_of(shape: &Shape) -> Kind {
    match shape {
        Shape::Float => Kind::Float,
        Shape::Bool => Kind::Bool,
        _ => Kind::Int,
    }
}

/// The VCODE types of a value's cells, deepest first.
pub fn kinds_of(shape: &Shape, out: &mut Vec<Kind>) {
    match shape {
        Shape::Unit => {}
        Shape::Pair(a, b) => {
            kinds_of(a, out);
            kinds_of(b, out);
        }
        Shape::Seq(t) => {
            out.push(Kind::Segdes);
            kinds_of(t, out);
        }
        scalar => out.push(kind_of(scalar)),
    }
}
