// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whole VCODE programs: an entry that calls one function per form, and the comments for Hadal's run-time.

use super::{FormId, Request, Session};
use crate::elaborate::Elaborator;
use crate::flatten::{Flattener, Options, kinds_of};
use crate::vcode::builder::Builder;
use crate::vcode::text::function_text;
use crate::vcode::{Cell, Function, Instr};
use hadal_front::typed::GlobalId;
use hadal_front::{Diagnostic, render};
use std::collections::HashMap;
use std::fmt::Write as _;

/// The entry of every program; the first function of the text.
const ENTRY: &str = "MAIN1_1";

impl Session {
    /// The VCODE of a program that evaluates these forms in order and leaves their values on the stack.
    ///
    /// # Errors
    /// Messages, ready to be printed.
    pub fn compile_program(&self, forms: &[FormId]) -> Result<String, String> {
        self.compile(forms, &[])
    }

    /// The same under the name of the command's option.
    ///
    /// # Errors
    /// Messages, ready to be printed.
    pub fn emit_vcode(&self, forms: &[FormId]) -> Result<String, String> {
        self.compile(forms, &[])
    }

    /// The VCODE of one form for a machine that holds the values of earlier ones in slots.
    ///
    /// # Errors
    /// Messages, ready to be printed.
    pub fn compile_expression(&self, form: FormId) -> Result<Request, String> {
        let mut elaborator = Elaborator::new(&self.definitions, &self.sources);
        let (_, used, _) = elaborator.form(&self.forms[form].value).map_err(|error| self.message(&error))?;
        let mut inputs: Vec<FormId> = used.iter().filter_map(|id| self.form_of(*id)).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let text = self.compile(&[form], &inputs)?;
        Ok(Request { text, inputs, output: form })
    }

    fn form_of(&self, id: GlobalId) -> Option<FormId> {
        self.forms.iter().position(|form| form.globals.iter().any(|(own, _)| *own == id))
    }

    fn message(&self, error: &Diagnostic) -> String {
        render(error, &self.sources, self.colour)
    }

    /// The program of these forms; the cells of `given` forms are on the stack at its start.
    fn compile(&self, forms: &[FormId], given: &[FormId]) -> Result<String, String> {
        let mut elaborator = Elaborator::new(&self.definitions, &self.sources);
        let mut entry = Builder::new();
        let mut cells: HashMap<GlobalId, Vec<Cell>> = HashMap::new();
        let mut params = Vec::new();
        for &form in given {
            let own = self.fresh_cells(form, &mut entry);
            self.bind_cells(form, &own, &mut cells);
            params.extend(own);
        }
        let mut requests = Vec::new();
        let mut outs = Vec::new();
        let mut head = String::new();
        for (index, &form) in forms.iter().enumerate() {
            let data = &self.forms[form];
            let (id, used, known) = elaborator.form(&data.value).map_err(|error| self.message(&error))?;
            let name = format!("FORM_{}", index + 1);
            let args: Vec<Cell> =
                used.iter().flat_map(|id| cells.get(id).cloned().unwrap_or_default()).collect();
            let mut kinds = Vec::new();
            kinds_of(&known.shape(), &mut kinds);
            let results = entry.push(Instr::Call(name.clone()), &args, &kinds);
            self.bind_cells(form, &results, &mut cells);
            outs.extend(results);
            let _ = writeln!(
                head,
                "{{hadal-form {name} name {} value {} type {} at {}}}",
                data.name,
                known.value_code(),
                data.ty,
                data.line
            );
            requests.push((id, name));
        }
        // On a machine that stays up, the given cells are kept in their slots and not returned.
        let body = entry.finish(outs);
        let places = elaborator.program.places.clone();
        let mut flattener = Flattener::new(elaborator.program, Options { checks: self.settings.arg_check });
        for (id, name) in requests {
            flattener.request(id, &name);
        }
        let functions = flattener.run().map_err(|errors| {
            errors
                .iter()
                .map(|error| match places.get(error.place as usize) {
                    Some(place) => format!("error: {}\n  {place}\n", error.message),
                    None => format!("error: {}\n", error.message),
                })
                .collect::<String>()
        })?;
        let mut text = head;
        for function in &functions {
            text.push_str(&function.source);
        }
        let entry = Function { name: ENTRY.to_owned(), params, body, source: String::new() };
        text.push_str(&function_text(&entry));
        for function in &functions {
            text.push('\n');
            text.push_str(&function_text(function));
        }
        Ok(text)
    }

    fn fresh_cells(&self, form: FormId, entry: &mut Builder) -> Vec<Cell> {
        let mut kinds = Vec::new();
        kinds_of(&self.forms[form].known.shape(), &mut kinds);
        kinds.into_iter().map(|kind| entry.fresh(kind)).collect()
    }

    /// Notes which of a form's cells each of its names stands for.
    fn bind_cells(&self, form: FormId, own: &[Cell], cells: &mut HashMap<GlobalId, Vec<Cell>>) {
        let mut rest = own;
        for (id, number) in &self.forms[form].globals {
            let (mine, others) = rest.split_at((*number).min(rest.len()));
            cells.insert(*id, mine.to_vec());
            rest = others;
        }
    }
}
