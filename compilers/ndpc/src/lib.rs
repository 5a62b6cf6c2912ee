// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translates NDPC to C++ with fork and join.
//!
//! ```
//! let text = "function double(s) : [int] -> [int] = {2 * x : x in s}; double([1, 2, 3]);";
//! let output = hadal_ndpc::translate("double.ndpc", text, &hadal_ndpc::Options::default()).unwrap();
//! assert!(output.cpp.contains("int double_(ndpc::Seq<int> &result, ndpc::Seq<int> const &s)"));
//! ```

#![forbid(unsafe_code)]

mod body;
mod call;
mod ctype;
mod each;
mod function;
mod layout;
mod library;
mod names;
mod output;
mod primitive;
mod program;
mod reduce;
mod scatter;
mod tail;
mod unit;
mod value;
mod writer;

use std::collections::HashSet;

use hadal_front::check::Checker;
use hadal_front::typed::{Form, GlobalKind};
use hadal_front::types::Type;
use hadal_front::{Diagnostic, SourceMap};
use hadal_front::{Dialect, parse};

use crate::unit::Unit;

/// How to translate.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `#line` directives for debuggers, in place of comments that say where statements come from.
    pub line_directives: bool,
    /// The serial elision: loops that are never divided, and no clones.
    pub serial: bool,
}

/// A translated program.
#[derive(Clone, Debug)]
pub struct Output {
    /// The C++ source. With top-level expressions or a function `main` it has one, unless `NDPC_NO_MAIN` is defined.
    pub cpp: String,
    /// The header for callers of its functions in C++ and C.
    pub header: String,
}

/// The texts that messages of [`translate`] point into, for [`hadal_front::render`].
pub fn sources(name: &str, text: &str) -> SourceMap {
    let mut sources = SourceMap::new();
    sources.add(name, text);
    sources.add(library::NAME, library::TEXT);
    sources
}

/// Translates the program `text`, called `name` in messages.
///
/// # Errors
/// All mistakes that were found; places in them are of [`sources`].
pub fn translate(name: &str, text: &str, options: &Options) -> Result<Output, Vec<Diagnostic>> {
    let sources = sources(name, text);
    let mut checker = Checker::new(Dialect::Ndpc);
    let library = check(&mut checker, &sources, 1, Dialect::Library)?;
    let forms = check(&mut checker, &sources, 0, Dialect::Ndpc)?;
    let undefined = checker.unresolved();
    if !undefined.is_empty() {
        return Err(undefined);
    }
    let new_unit = || {
        let mut unit = Unit::new(options, &checker, &sources);
        for form in library.iter().chain(&forms) {
            if let Form::Function(function) = form {
                unit.functions.insert(function.id, function);
            }
        }
        unit
    };
    // Which functions fork is known when all have been translated once: callers come before what they call.
    let mut unit = new_unit();
    translate_all(&mut unit, &forms);
    if unit.errors.is_empty() {
        let forking = unit.find_forking();
        unit = new_unit();
        unit.forking = forking;
        let (functions, forms) = translate_all(&mut unit, &forms);
        let cpp = output::source(&unit, name, &functions, &forms);
        // Those of the library that happen to be used are nobody's interface.
        let own: Vec<function::Function> = functions
            .into_iter()
            .enumerate()
            .filter(|(number, _)| !unit.is_library(*number))
            .map(|(_, function)| function)
            .collect();
        return Ok(Output { cpp, header: output::header(name, &own) });
    }
    let (mut seen, alone) = (HashSet::new(), unit.errors.iter().all(|error| error.consequence));
    unit.errors
        .retain(|error| (alone || !error.consequence) && seen.insert((error.span(), error.message.clone())));
    unit.errors.sort_by_key(|error| error.span());
    Err(unit.errors)
}

/// Translates the functions that are needed, and the forms of the top level.
fn translate_all(unit: &mut Unit<'_>, forms: &[Form]) -> (Vec<function::Function>, Vec<function::Form>) {
    let translated = forms_in_order(unit, forms);
    let mut functions = Vec::new();
    while functions.len() < unit.instances.len() && unit.errors.len() < MOST_ERRORS {
        functions.push(function::function(unit, functions.len()));
    }
    (functions, translated)
}

/// After so many mistakes nobody reads on.
const MOST_ERRORS: usize = 50;

fn check(
    checker: &mut Checker,
    sources: &SourceMap,
    file: u32,
    dialect: Dialect,
) -> Result<Vec<Form>, Vec<Diagnostic>> {
    let parsed = parse(sources.file(hadal_front::FileId(file)), dialect);
    if !parsed.diagnostics.is_empty() {
        return Err(parsed.diagnostics);
    }
    checker.check_all(&parsed.forms)
}

/// Translates the values of the top level, and asks for the functions that others may call.
fn forms_in_order(unit: &mut Unit<'_>, forms: &[Form]) -> Vec<function::Form> {
    let mut translated = Vec::new();
    // The names of the program's functions first: they are kept.
    for form in forms {
        match form {
            Form::Function(function) if function.scheme.params.is_empty() => {
                unit.instance(function.id, &[], function.name_span);
            }
            _ => {}
        }
    }
    for form in forms {
        if let Form::Value(value) = form {
            translated.push(function::form(unit, value, translated.len() + 1));
        }
    }
    // A polymorphic function that nobody uses is translated for ints.
    for form in forms {
        if let Form::Function(function) = form
            && !unit.instances.iter().any(|instance| instance.function == function.id)
            && unit.global(function.id).kind == GlobalKind::Function
        {
            let types = vec![Type::Int; function.scheme.params.len()];
            unit.instance(function.id, &types, function.name_span);
        }
    }
    translated
}
