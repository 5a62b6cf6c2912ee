// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Type inference by Hindley and Milner, with the classes of NESL: one form after another.

mod call;
mod environment;
mod expression;
mod form;
mod function;
mod message;
mod named;
mod names;
mod operator;
mod pattern;
mod types;
mod unify;

use std::cell::RefCell;
use std::sync::Arc;

use environment::Environment;
use unify::Unifier;

use crate::Dialect;
use crate::ast::{self, FormKind, Name};
use crate::diagnostic::Diagnostic;
use crate::parser::parse;
use crate::source::{SourceFile, Span};
use crate::typed::{self, BindingId, Global, GlobalId, GlobalKind};
use crate::types::{Type, TypeVar};

/// An environment that grows form by form. A clone costs next to nothing.
#[derive(Clone, Debug)]
pub struct Checker {
    dialect: Dialect,
    environment: Arc<Environment>,
}

impl Checker {
    /// An environment without names. `dialect` is that of the programs; a library may be checked first.
    pub fn new(dialect: Dialect) -> Checker {
        Checker { dialect, environment: Arc::default() }
    }

    /// The same environment for programs in another dialect.
    pub fn in_dialect(mut self, dialect: Dialect) -> Checker {
        self.dialect = dialect;
        self
    }

    /// Checks a form and makes what it defines known.
    ///
    /// # Errors
    /// All that is wrong with it. Then the environment is as before, but for the memory of which names failed.
    pub fn check(&mut self, form: &ast::Form) -> Result<typed::Form, Vec<Diagnostic>> {
        let mut inference = Inference::new(self.dialect, &self.environment);
        let result = inference.form(form);
        let diagnostics = inference.diagnostics;
        let own = Arc::make_mut(&mut self.environment);
        match result {
            Some(checked) if diagnostics.is_empty() => {
                checked.globals.into_iter().for_each(|global| own.define(global));
                if let Some(datatype) = checked.datatype {
                    own.datatype_count = own.datatype_count.max(datatype.id + 1);
                    own.datatypes.insert(datatype.name.clone(), datatype);
                }
                own.declared.extend(checked.declared);
                Ok(checked.form)
            }
            _ => {
                for name in defined_names(form) {
                    own.failed.insert(name, form.span);
                }
                Err(diagnostics)
            }
        }
    }

    /// Tells which names the forms will define, so that a use before the definition gets a better message.
    pub fn announce(&mut self, forms: &[ast::Form]) {
        let own = Arc::make_mut(&mut self.environment);
        own.announced.clear();
        for form in forms {
            for name in defined_names(form) {
                own.announced.entry(name).or_insert(form.span);
            }
        }
    }

    /// Remembers names whose definitions have a syntax error ([`crate::Parsed::failed`]).
    pub fn fail(&mut self, names: &[ast::Ident]) {
        let own = Arc::make_mut(&mut self.environment);
        own.failed.extend(names.iter().map(|ident| (ident.name.clone(), ident.span)));
    }

    /// Reads a text and checks all its forms. Errors come in the order of their places; what only follows from
    /// others is left out.
    ///
    /// # Errors
    /// All that is wrong with the text, declarations without a definition included.
    pub fn check_text(
        &mut self,
        file: &SourceFile,
        dialect: Dialect,
    ) -> Result<Vec<typed::Form>, Vec<Diagnostic>> {
        let parsed = parse(file, dialect);
        self.fail(&parsed.failed);
        self.check_forms(&parsed.forms, parsed.diagnostics)
    }

    /// Checks forms that were read without an error, like [`Checker::check_text`].
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn check_all(&mut self, forms: &[ast::Form]) -> Result<Vec<typed::Form>, Vec<Diagnostic>> {
        self.check_forms(forms, Vec::new())
    }

    fn check_forms(
        &mut self,
        forms: &[ast::Form],
        mut diagnostics: Vec<Diagnostic>,
    ) -> Result<Vec<typed::Form>, Vec<Diagnostic>> {
        self.announce(forms);
        let mut checked = Vec::new();
        for form in forms {
            match self.check(form) {
                Ok(form) => checked.push(form),
                Err(errors) => diagnostics.extend(errors),
            }
        }
        diagnostics.extend(self.unresolved());
        if diagnostics.iter().any(|diagnostic| !diagnostic.consequence) {
            diagnostics.retain(|diagnostic| !diagnostic.consequence);
        }
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span().file, diagnostic.span().start));
        if diagnostics.is_empty() { Ok(checked) } else { Err(diagnostics) }
    }

    /// An error for each declared function that no definition has followed.
    pub fn unresolved(&self) -> Vec<Diagnostic> {
        let failed = &self.environment.failed;
        self.environment
            .globals
            .iter()
            .filter(|global| global.kind == GlobalKind::Forward && !failed.contains_key(&global.name))
            .map(|global| {
                Diagnostic::error(
                    format!("the function `{}` is declared, but not defined", global.name),
                    global.span,
                    "no definition follows this declaration",
                )
                .help(format!("define it with `function {}(...) = ...;`", global.name))
            })
            .collect()
    }

    /// What is known of a global.
    ///
    /// # Panics
    /// If `id` is of another checker.
    pub fn global(&self, id: GlobalId) -> &Global {
        &self.environment.globals[id.0 as usize]
    }

    /// The global that a name means now.
    pub fn lookup(&self, name: &str) -> Option<&Global> {
        self.environment.lookup(name)
    }

    /// All names that mean something now, operators included, sorted.
    pub fn names(&self) -> Vec<&Global> {
        let mut all: Vec<&Global> =
            self.environment.names.values().map(|id| &self.environment.globals[id.0 as usize]).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

/// The names that a form defines if it has no error.
fn defined_names(form: &ast::Form) -> Vec<Name> {
    fn of_pattern(pattern: &ast::Pattern, names: &mut Vec<Name>) {
        match &pattern.kind {
            ast::PatternKind::Name(name) => names.push(name.clone()),
            ast::PatternKind::Pair(a, b) => {
                of_pattern(a, names);
                of_pattern(b, names);
            }
            ast::PatternKind::Data(_, content) => of_pattern(content, names),
            ast::PatternKind::Default(..) => {}
        }
    }
    match &form.kind {
        FormKind::Function { name, .. }
        | FormKind::Primitive { name, .. }
        | FormKind::Datatype { name, .. } => vec![name.name.clone()],
        FormKind::Assign { pattern, .. } => {
            let mut names = Vec::new();
            of_pattern(pattern, &mut names);
            names
        }
        _ => Vec::new(),
    }
}

/// A form with all that it adds to the environment.
struct Checked {
    form: typed::Form,
    globals: Vec<Global>,
    datatype: Option<Arc<crate::types::Datatype>>,
    declared: Vec<(Name, Type)>,
}

/// A variable in scope.
#[derive(Clone)]
struct Local {
    name: Name,
    id: BindingId,
    ty: Type,
    span: Span,
}

/// The inference of one form.
struct Inference<'a> {
    dialect: Dialect,
    environment: &'a Environment,
    unifier: Unifier,
    diagnostics: Vec<Diagnostic>,
    /// The unknown types that the message in hand has shown: the same letter stands for the same type.
    shown: RefCell<Vec<TypeVar>>,
    scope: Vec<Local>,
    binding_count: u32,
    /// The function that is defined: its name, number and type.
    own: Option<(Name, GlobalId, Type)>,
    /// Its parameters, if some have a default.
    own_parameters: Option<Arc<[typed::Parameter]>>,
    /// Names without a meaning that were reported: once is enough.
    missing: Vec<Name>,
    /// NDPC: types that a `with` gave to names.
    with: Vec<(Name, Type)>,
}

impl<'a> Inference<'a> {
    fn new(dialect: Dialect, environment: &'a Environment) -> Inference<'a> {
        Inference {
            dialect,
            environment,
            unifier: Unifier::default(),
            diagnostics: Vec::new(),
            shown: RefCell::default(),
            scope: Vec::new(),
            binding_count: 0,
            own: None,
            own_parameters: None,
            missing: Vec::new(),
            with: Vec::new(),
        }
    }

    /// Reports that `name` means nothing, the first time.
    fn report_missing(&mut self, name: &Name, diagnostic: Diagnostic) {
        if !self.missing.contains(name) {
            self.missing.push(name.clone());
            self.report(diagnostic);
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.shown.get_mut().clear();
        self.diagnostics.push(diagnostic);
    }
}
