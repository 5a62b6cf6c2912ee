// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the command needs: a session that takes forms one after another, and compiles programs and expressions.

mod command;
mod library;
mod program;
mod reference;

pub use reference::Evaluation;

use crate::elaborate::statics::Static;
use crate::elaborate::{Definition, Definitions, Elaborator, globals_in};
use hadal_front::typed::{self, GlobalId, GlobalKind};
use hadal_front::types::Type;
use hadal_front::{Checker, Diagnostic, Dialect, SourceMap, ast, parse, render};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The number of a form that has a value, in the order of the session. It is also the number of its slot when the
/// session runs on a VCODE machine that stays up.
pub type FormId = usize;

/// What became of a form.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// A function or a datatype is defined: its name and type.
    Defined {
        /// The name.
        name: String,
        /// The type, as `describe` shows it.
        ty: String,
    },
    /// A form with a value, to be compiled and run.
    Value(FormId),
    /// A command's answer.
    Text(String),
    /// The form is wrong: the message, ready to be printed.
    Error(String),
    /// `exit`
    Exit,
}

/// The forms of a text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Loaded {
    /// What became of each form, in order.
    pub outcomes: Vec<Outcome>,
    /// Whether the text ends inside a form: a prompt then reads on instead of reporting.
    pub incomplete: bool,
}

impl Loaded {
    /// The messages of the forms that are wrong.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Error(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The forms with a value.
    #[must_use]
    pub fn forms(&self) -> Vec<FormId> {
        self.outcomes
            .iter()
            .filter_map(|outcome| match outcome {
                Outcome::Value(form) => Some(*form),
                _ => None,
            })
            .collect()
    }
}

/// A request to a VCODE machine that stays up.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The program.
    pub text: String,
    /// The slots whose cells it starts with, in order.
    pub inputs: Vec<FormId>,
    /// The slot that keeps the value.
    pub output: FormId,
}

/// A form with a value.
#[derive(Clone)]
struct ValueForm {
    pattern: typed::Pattern,
    value: Rc<typed::Expr>,
    name: String,
    ty: String,
    line: u32,
    known: Static,
    /// The names bound, in the order of their cells, with the cells each takes.
    globals: Vec<(GlobalId, usize)>,
    /// The environment before the form, to go back to if its evaluation fails.
    before: Checker,
}

/// Settings that `set` changes.
#[derive(Clone, Debug)]
struct Settings {
    arg_check: bool,
    verbose: bool,
    print_length: i64,
}

/// A session: the library, and what was defined since. A clone costs little and goes its own way.
#[derive(Clone)]
pub struct Session {
    sources: SourceMap,
    checker: Checker,
    definitions: Definitions,
    forms: Vec<ValueForm>,
    settings: Settings,
    colour: bool,
    directory: Option<PathBuf>,
    load_depth: usize,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session that knows the library.
    ///
    /// # Panics
    /// If the library that is part of this crate has an error, which its tests exclude.
    #[must_use]
    pub fn new() -> Self {
        let mut session = Self {
            sources: SourceMap::new(),
            checker: Checker::new(Dialect::Nesl),
            definitions: Definitions::default(),
            forms: Vec::new(),
            settings: Settings { arg_check: true, verbose: false, print_length: 100 },
            colour: false,
            directory: None,
            load_depth: 0,
        };
        for (name, text) in library::FILES {
            let file = session.sources.add(name, text);
            let parsed = parse(session.sources.file(file), Dialect::Library);
            session.require(&parsed.diagnostics);
            for form in &parsed.forms {
                match session.checker.check(form) {
                    Ok(form) => session.define_library(form),
                    Err(errors) => session.require(&errors),
                }
            }
            session.definitions.library_files = file.0 + 1;
        }
        session
    }

    fn require(&self, errors: &[Diagnostic]) {
        let all: String = errors.iter().map(|error| render(error, &self.sources, false)).collect();
        assert!(all.is_empty(), "the library has errors:\n{all}");
    }

    fn define_library(&mut self, form: typed::Form) {
        match form {
            typed::Form::Function(function) => {
                self.definitions.library.insert(function.name.to_string(), function.id);
                self.definitions.globals.insert(function.id, Definition::Function(Rc::new(function)));
            }
            typed::Form::Declaration(id) => {
                let name = self.checker.global(id).name.clone();
                if self.checker.global(id).kind == GlobalKind::Primitive {
                    self.definitions.library.insert(name.to_string(), id);
                    self.definitions.globals.insert(id, Definition::Primitive(name));
                }
            }
            typed::Form::Datatype { datatype, constructor } => {
                self.definitions.globals.insert(constructor, Definition::Constructor(datatype.name.clone()));
            }
            typed::Form::Value(value) => {
                if let [(_, id)] = value.globals[..] {
                    self.definitions.globals.insert(id, Definition::Constant(Rc::new(value.value)));
                }
            }
            typed::Form::Declare | typed::Form::Command(_) => {}
        }
    }

    /// Whether messages have the colours of a terminal.
    pub fn set_colour(&mut self, colour: bool) {
        self.colour = colour;
    }

    /// Takes the forms of a text. Files that it loads are looked for beside `name`, then in the working directory.
    pub fn load(&mut self, name: &str, text: &str) -> Loaded {
        self.load_at_line(name, text, 1)
    }

    /// As [`Self::load`] for a text whose first line has another number than 1.
    pub fn load_at_line(&mut self, name: &str, text: &str, first_line: u32) -> Loaded {
        let file = self.sources.add_at_line(name, text, first_line);
        let parsed = parse(self.sources.file(file), Dialect::Nesl);
        let mut loaded = Loaded { outcomes: Vec::new(), incomplete: parsed.incomplete };
        let outer = self.directory.clone();
        self.directory = Path::new(name).parent().map(Path::to_path_buf);
        self.checker.announce(&parsed.forms);
        let mut syntax = parsed.diagnostics.iter().peekable();
        for form in &parsed.forms {
            // Syntax errors are reported where they stand among the forms.
            while let Some(error) = syntax.next_if(|error| error.span().start < form.span.start) {
                loaded.outcomes.push(Outcome::Error(render(error, &self.sources, self.colour)));
            }
            self.form(form, &mut loaded.outcomes);
        }
        for error in syntax {
            loaded.outcomes.push(Outcome::Error(render(error, &self.sources, self.colour)));
        }
        self.directory = outer;
        loaded
    }

    fn form(&mut self, form: &ast::Form, out: &mut Vec<Outcome>) {
        let before = self.checker.clone();
        let checked = match self.checker.check(form) {
            Ok(checked) => checked,
            Err(errors) => {
                out.extend(errors.iter().map(|e| Outcome::Error(render(e, &self.sources, self.colour))));
                return;
            }
        };
        match checked {
            typed::Form::Function(function) => {
                let (name, ty) = (function.name.to_string(), function.scheme.to_string());
                self.definitions.globals.insert(function.id, Definition::Function(Rc::new(function)));
                out.push(Outcome::Defined { name, ty });
            }
            typed::Form::Declaration(id) => {
                let global = self.checker.global(id);
                out.push(Outcome::Defined { name: global.name.to_string(), ty: global.scheme.to_string() });
            }
            typed::Form::Datatype { datatype, constructor } => {
                self.definitions.globals.insert(constructor, Definition::Constructor(datatype.name.clone()));
                let ty = self.checker.global(constructor).scheme.to_string();
                out.push(Outcome::Defined { name: datatype.name.to_string(), ty });
            }
            typed::Form::Value(value) => out.push(self.value(value, before)),
            typed::Form::Declare => {}
            typed::Form::Command(command) => self.command(command, out),
        }
    }

    fn value(&mut self, value: typed::Value, before: Checker) -> Outcome {
        let known = match Static::of(&value.scheme.ty) {
            Some(known) => known,
            None => match Elaborator::new(&self.definitions, &self.sources).form(&value.value) {
                Ok((_, _, known)) => known,
                Err(error) => {
                    self.checker = before;
                    return Outcome::Error(render(&error, &self.sources, self.colour));
                }
            },
        };
        let (_, line, _) = self.sources.position(value.span);
        let expr = Rc::new(value.value);
        let polymorphic = !value.scheme.params.is_empty();
        let mut globals = Vec::new();
        let mut parts = Vec::new();
        leaves(&value.pattern, &known, &mut parts);
        for ((_, id), part) in value.globals.iter().zip(&parts) {
            globals.push((*id, part.shape().cells()));
            let definition = if polymorphic {
                Definition::Constant(Rc::clone(&expr))
            } else {
                Definition::Value(part.clone())
            };
            self.definitions.globals.insert(*id, definition);
        }
        let names: Vec<String> =
            value.globals.iter().map(|(_, id)| self.checker.global(*id).name.to_string()).collect();
        let name = match &names[..] {
            [one] => one.clone(),
            several => format!("({})", several.join(",")),
        };
        let ty = match &value.scheme.ty {
            Type::Function(..) => value.scheme.to_string(),
            ty => ty.to_string(),
        };
        self.forms.push(ValueForm {
            pattern: value.pattern,
            value: expr,
            name,
            ty,
            line,
            known,
            globals,
            before,
        });
        Outcome::Value(self.forms.len() - 1)
    }

    /// Applies the program's function `main`, if it has one, to arguments that are NESL expressions.
    pub fn main_call(&mut self, arguments: &[String]) -> Option<Outcome> {
        let main = self.checker.lookup("main")?;
        if !matches!(main.kind, GlobalKind::Function) {
            return None;
        }
        let loaded = self.load("command line", &format!("main({});", arguments.join(", ")));
        let error = loaded.errors().next().map(ToOwned::to_owned);
        match error {
            Some(error) => Some(Outcome::Error(error)),
            None => loaded.outcomes.into_iter().next(),
        }
    }

    /// The type of an expression, given as text.
    ///
    /// # Errors
    /// The message of what is wrong with it.
    pub fn type_of(&mut self, expression: &str) -> Result<String, String> {
        let file = self.sources.add("expression", &format!("{expression}\n;"));
        let parsed = parse(self.sources.file(file), Dialect::Nesl);
        if let Some(error) = parsed.diagnostics.first() {
            return Err(render(error, &self.sources, self.colour));
        }
        match parsed.forms.first() {
            Some(form) => match self.checker.clone().check(form) {
                Ok(typed::Form::Value(value)) => Ok(value.scheme.to_string()),
                Ok(_) => Err("this is not an expression\n".to_owned()),
                Err(errors) => {
                    Err(errors.iter().map(|error| render(error, &self.sources, self.colour)).collect())
                }
            },
            None => Err("there is no expression\n".to_owned()),
        }
    }

    /// Forgets what a form bound, since its evaluation failed. Only the last form can be forgotten.
    pub fn forget(&mut self, form: FormId) {
        if form + 1 == self.forms.len()
            && let Some(last) = self.forms.last_mut()
        {
            // The numbers of its names will be given to others.
            for (id, _) in last.globals.drain(..) {
                self.definitions.globals.remove(&id);
            }
            self.checker = last.before.clone();
        }
    }

    /// The slots whose values no name and no function means any more, each told once: the machine may drop them.
    pub fn unused_slots(&mut self) -> Vec<FormId> {
        let mut used: HashSet<GlobalId> = self.checker.names().iter().map(|global| global.id).collect();
        for definition in self.definitions.globals.values() {
            match definition {
                Definition::Function(function) => used.extend(globals_in(&function.body)),
                Definition::Constant(expr) => used.extend(globals_in(expr)),
                _ => {}
            }
        }
        let mut unused = Vec::new();
        for (slot, form) in self.forms.iter_mut().enumerate() {
            if !form.globals.is_empty() && form.globals.iter().all(|(id, _)| !used.contains(id)) {
                form.globals.clear();
                unused.push(slot);
            }
        }
        unused
    }

    /// How many elements of a sequence are printed (`set print_length`).
    #[must_use]
    pub fn print_length(&self) -> i64 {
        self.settings.print_length
    }

    /// Whether `set verbose on` is in force.
    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.settings.verbose
    }
}

/// The static part of each variable of a pattern.
fn leaves(pattern: &typed::Pattern, known: &Static, out: &mut Vec<Static>) {
    match &pattern.kind {
        typed::PatternKind::Bind(..) => out.push(known.clone()),
        typed::PatternKind::Pair(a, b) => {
            if let Some((first, second)) = known.parts() {
                leaves(a, &first, out);
                leaves(b, &second, out);
            }
        }
        typed::PatternKind::Data(_, content) => match known {
            Static::Data(_, inner) => leaves(content, inner, out),
            other => leaves(content, other, out),
        },
    }
}
