// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of `tests/programs`, one per rule, against outputs worked out by hand: by the naive evaluator, and
//! compiled, on the VCODE machine that the environment variable `HADAL_VCODE` names.

use hadal_nesl::evaluate::Stop;
use hadal_nesl::{FormId, Session};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Deep recursion of a debug build needs more than a test thread's usual stack.
const STACK: usize = 256 << 20;

fn with_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread can be started");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn programs() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("tests/programs is there")
        .map(|entry| entry.expect("its entries can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "nesl"))
        .collect();
    all.sort();
    assert!(all.len() >= 150, "only {} programs", all.len());
    all
}

fn load(library: &Session, path: &Path) -> (Session, Vec<FormId>, String) {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let mut session = library.clone();
    let text = std::fs::read_to_string(path).expect("the program can be read");
    let loaded = session.load(&name, &text);
    let errors: Vec<&str> = loaded.errors().collect();
    assert!(errors.is_empty(), "{name}:\n{}", errors.join("\n"));
    let expected = std::fs::read_to_string(path.with_extension("out")).expect("its output is given");
    (session, loaded.forms(), expected)
}

/// Answers and console output, which come from two streams.
fn compare(path: &Path, answers: &str, console: &str, expected: &str) -> Option<String> {
    let got = format!("{answers}{console}");
    (got.trim_end() != expected.trim_end())
        .then(|| format!("{}:\n--- expected\n{expected}\n--- found\n{got}", path.display()))
}

#[test]
fn the_naive_evaluator_gives_the_expected_outputs() {
    with_stack(|| {
        let mut failures = Vec::new();
        let library = Session::new();
        for path in programs() {
            let (session, forms, expected) = load(&library, &path);
            let evaluation = session.evaluate(&forms, 20_000_000).expect("the program is resolved");
            if evaluation.stop == Some(Stop::Unsupported) {
                continue;
            }
            failures.extend(compare(&path, &evaluation.answers, &evaluation.console, &expected));
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

#[test]
fn compiled_programs_give_the_expected_outputs() {
    let machine = std::env::var_os("HADAL_VCODE");
    with_stack(move || {
        let mut failures = Vec::new();
        let library = Session::new();
        for path in programs() {
            let (session, forms, expected) = load(&library, &path);
            let text = match session.compile_program(&forms) {
                Ok(text) => text,
                Err(message) => {
                    failures.push(format!("{}: {message}", path.display()));
                    continue;
                }
            };
            if let Some(machine) = &machine {
                let (answers, console) = run(Path::new(machine), &path, &text);
                failures.extend(compare(&path, &answers, &console, &expected));
            }
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    });
}

fn run(machine: &Path, program: &Path, text: &str) -> (String, String) {
    let stem = program.file_stem().expect("a file").to_string_lossy();
    let file = std::env::temp_dir().join(format!("hadal-nesl-{}-{stem}.vcode", std::process::id()));
    std::fs::write(&file, text).expect("a temporary file can be written");
    let output = Command::new(machine).arg(&file).output();
    std::fs::remove_file(&file).expect("the temporary file is there");
    let output = output.unwrap_or_else(|error| {
        panic!(
            "HADAL_VCODE is {}, which does not run: {error}. Build runtimes/vcode for Linux (see its README.md) and \
             give the path of its `vcode`.",
            machine.display()
        )
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
