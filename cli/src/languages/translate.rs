// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sources of the data-parallel languages, as VCODE or C++.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use hadal_front::render;
use hadal_nesl::{Outcome, Session};

use super::Language;
use super::args::{NdpcArgs, NdpcEmit};
use crate::cc;
use crate::failure::Failure;

/// What a source becomes.
pub(super) enum Translated {
    Vcode(String),
    Cpp(String),
}

/// Translates a source; `main` of a program in NESL is applied to the arguments. What is wrong with the source is on
/// standard error when this fails.
pub(super) fn source(
    language: Language,
    source: &Path,
    arguments: &[OsString],
) -> Result<Translated, Failure> {
    let text = read(source)?;
    match language {
        // The run-time reads it, and says what is wrong with it.
        Language::Vcode => Ok(Translated::Vcode(text)),
        Language::Nesl => nesl(source, &text, arguments).map(Translated::Vcode),
        Language::Ndpc => {
            ndpc(source, &text, &hadal_ndpc::Options::default()).map(|output| Translated::Cpp(output.cpp))
        }
    }
}

/// The text of a source. What is no UTF-8 is taken for Latin-1, which the programs of the nineties were written in.
pub(super) fn read(source: &Path) -> Result<String, Failure> {
    let bytes = fs::read(source).map_err(|error| {
        Failure::setup(format!("{}: {error}", source.display()), "name a source file that can be read")
    })?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
    })
}

/// The VCODE of a program in NESL: all its forms with a value, in order, and then `main` of the arguments, if there are some.
pub(super) fn nesl(source: &Path, text: &str, arguments: &[OsString]) -> Result<String, Failure> {
    let mut session = Session::new();
    session.set_colour(cc::shows_colours());
    let mut loaded = session.load(&source.to_string_lossy(), text);
    if loaded.errors().next().is_none() && !arguments.is_empty() {
        match session.main_call(&texts(arguments)) {
            Some(outcome) => loaded.outcomes.push(outcome),
            None => return Err(no_main(source)),
        }
    }
    let errors: Vec<&str> = loaded.errors().collect();
    if !errors.is_empty() {
        return Err(rejected(source, &errors));
    }
    for outcome in &loaded.outcomes {
        if let Outcome::Text(text) = outcome {
            print!("{text}");
        }
    }
    session.compile_program(&loaded.forms()).map_err(|message| rejected(source, &[&message]))
}

/// `hadal ndpc --emit`
pub(crate) fn emit_ndpc(args: &NdpcArgs) -> Result<u8, Failure> {
    let options = hadal_ndpc::Options { serial: args.serial, ..Default::default() };
    let output = ndpc(&args.file, &read(&args.file)?, &options)?;
    match args.emit {
        NdpcEmit::Cpp => print!("{}", output.cpp),
        NdpcEmit::Header => print!("{}", output.header),
    }
    Ok(0)
}

/// The C++ of a program in NDPC.
fn ndpc(source: &Path, text: &str, options: &hadal_ndpc::Options) -> Result<hadal_ndpc::Output, Failure> {
    let name = source.to_string_lossy();
    hadal_ndpc::translate(&name, text, options).map_err(|diagnostics| {
        let sources = hadal_ndpc::sources(&name, text);
        let colour = cc::shows_colours();
        let texts: Vec<String> =
            diagnostics.iter().map(|diagnostic| render(diagnostic, &sources, colour)).collect();
        rejected(source, &texts.iter().map(String::as_str).collect::<Vec<_>>())
    })
}

fn texts(arguments: &[OsString]) -> Vec<String> {
    arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Prints the messages about a source.
fn rejected(source: &Path, errors: &[&str]) -> Failure {
    for error in errors {
        eprintln!("{}", error.trim_end());
    }
    Failure::Rejected { path: source.to_path_buf(), errors: errors.len() }
}

fn no_main(source: &Path) -> Failure {
    Failure::Usage {
        what: format!("{}: has no function main, which would be applied to the arguments", source.display()),
        help: "define main, or leave the arguments out".into(),
    }
}
