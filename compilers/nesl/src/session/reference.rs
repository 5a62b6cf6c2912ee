// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Evaluates forms without compiling them, for tests.

use super::{FormId, Session};
use crate::elaborate::Elaborator;
use crate::evaluate::{Interpreter, Stop, Value, show};
use hadal_front::render;
use hadal_front::typed::{self, GlobalId};
use std::collections::HashMap;

/// What the naive evaluator makes of a program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Evaluation {
    /// The answers, and the text of a run-time error.
    pub answers: String,
    /// What the program wrote.
    pub console: String,
    /// Why it stopped early, if it did.
    pub stop: Option<Stop>,
}

impl Session {
    /// Evaluates forms in order by the naive evaluator; it gives up after `fuel` steps.
    ///
    /// # Errors
    /// Messages, ready to be printed.
    pub fn evaluate(&self, forms: &[FormId], fuel: u64) -> Result<Evaluation, String> {
        let mut elaborator = Elaborator::new(&self.definitions, &self.sources);
        let mut plan = Vec::new();
        for &form in forms {
            let made = elaborator
                .form(&self.forms[form].value)
                .map_err(|error| render(&error, &self.sources, self.colour))?;
            plan.push((form, made));
        }
        let mut interpreter = Interpreter::new(&elaborator.program, fuel);
        let mut values: HashMap<GlobalId, Value> = HashMap::new();
        let mut out = Evaluation::default();
        for (form, (id, used, known)) in plan {
            let args = used.iter().map(|id| values.get(id).cloned().unwrap_or(Value::Unit)).collect();
            match interpreter.call(id, args) {
                Ok(value) => {
                    let data = &self.forms[form];
                    let limit = usize::try_from(self.settings.print_length).unwrap_or(0);
                    out.answers.push_str(&show::answer(&data.name, &value, &known, &data.ty, limit));
                    let mut parts = Vec::new();
                    split(&value, &data.pattern, &mut parts);
                    for ((id, _), part) in data.globals.iter().zip(parts) {
                        values.insert(*id, part);
                    }
                }
                Err(stop) => {
                    if let Stop::Error(text) = &stop {
                        out.answers.push_str(text);
                    }
                    out.stop = Some(stop);
                    break;
                }
            }
        }
        out.console = String::from_utf8_lossy(&interpreter.console).into_owned();
        Ok(out)
    }
}

/// The parts of a value that the variables of a pattern stand for.
fn split(value: &Value, pattern: &typed::Pattern, out: &mut Vec<Value>) {
    match (&pattern.kind, value) {
        (typed::PatternKind::Pair(a, b), Value::Pair(x, y)) => {
            split(x, a, out);
            split(y, b, out);
        }
        (typed::PatternKind::Data(_, content), value) => split(value, content, out),
        _ => out.push(value.clone()),
    }
}
