// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `translate FILE.ndpc [OUT.cpp [OUT.h]]`: the translator by itself, for tests of the run-time.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: translate FILE.ndpc [OUT.cpp [OUT.h]]");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let output = match hadal_ndpc::translate(name, &text, &hadal_ndpc::Options::default()) {
        Ok(output) => output,
        Err(errors) => {
            eprint!("{}", hadal_front::render_all(&errors, &hadal_ndpc::sources(name, &text), false));
            return ExitCode::FAILURE;
        }
    };
    let write = |to: Option<&String>, text: &str| match to {
        Some(to) => std::fs::write(to, text).map_err(|error| eprintln!("{to}: {error}")),
        None => Ok(()),
    };
    if arguments.len() == 1 {
        print!("{}", output.cpp);
    }
    let written = write(arguments.get(1), &output.cpp).and_then(|()| write(arguments.get(2), &output.header));
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
