// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of `hadal/hrt.h`, in C, C++ and Rust, each in all three places: on Linux, the same file under `hadal run`, and
//! as an image.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout};
use hadal_tests::machine::hadal;
use hadal_tests::{Hadal, TestError, run, scratch};

use crate::suite::Suite;

/// A compiler, perhaps with libhrt or the crate to compile first.
const COMPILER_LIMIT: Duration = Duration::from_secs(240);
const NATIVE_LIMIT: Duration = Duration::from_secs(30);

/// Sources below `examples/hrt`, and what they print.
const SOURCES: &[(&str, &str)] = &[
    ("c/threads.c", "sum 49999995000000\n"),
    ("c/fork.c", "sum 8386560\n"),
    ("c/fibers.c", "2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71 73 79 83 89 97\n"),
    ("c/tasks.c", "9 queens: 352 ways\n"),
    ("c/sync.c", "all 3 are done: 500500\n"),
    ("c/events.c", "round 0: every CPU\nround 1: every CPU\nround 2: every CPU\n"),
    ("c/machine.c", "memory of every zone\n"),
    ("cpp/threads.cpp", "100\n200\n300\n400\n500\n600\nseven\n800\n"),
    ("cpp/fibers.cpp", "a>c\na>b\nc>b\na>c\nb>a\nb>c\na>c\na>b\na>c\nb>c\na>b\nc>a\n"),
    ("cpp/tasks.cpp", "sorted\n"),
    ("rust/threads.rs", "sum 49999995000000\n"),
    ("rust/fibers.rs", "[0, 10, 1, 9, 2, 8, 3, 7, 4, 6]\nthey meet\n"),
    ("rust/tasks.rs", "sorted\nsquares 385\n"),
    ("rust/sync.rs", "all 3 are done: 500500\n"),
];

pub(crate) fn register(suite: &mut Suite) {
    for &(source, expected) in SOURCES {
        suite.hadal(format!("hrt-examples/{source}"), move |name| in_three_places(name, source, expected));
    }
}

fn in_three_places(name: &str, source: &str, expected: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (program, image) =
        if source.starts_with("rust/") { rust(&directory, source)? } else { compiled(&directory, source)? };
    let mut native = Command::new(&program);
    native.current_dir(&directory);
    let outcome = run::run(native, b"", NATIVE_LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, expected)?;
    for file in [&program, &image] {
        for cpus in [1, 4] {
            let outcome = Hadal::new(cpus).cwd(&directory).run(file, &[])?;
            expect_status(&outcome, 0)?;
            expect_stdout(&outcome, expected)?;
        }
    }
    Ok(())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the paths of a build are text")
}

/// By `hadal cc`: the Linux program and the image.
fn compiled(directory: &Path, source: &str) -> Result<(PathBuf, PathBuf), TestError> {
    let (compiler, standard) =
        if source.starts_with("cpp/") { ("c++", "-std=c++20") } else { ("cc", "-std=gnu11") };
    let from = scratch::workspace().join("examples/hrt").join(source);
    let (program, image) = (directory.join("program"), directory.join("program.hadal"));
    for (output, place) in [(&program, &["--linux"][..]), (&image, &[])] {
        let line = [&[compiler][..], place, &[standard, "-O2", text(&from), "-o", text(output)]].concat();
        expect_status(&hadal(&line, directory, COMPILER_LIMIT)?, 0)?;
    }
    Ok((program, image))
}

/// By cargo, and by `hadal pack` from a static program.
fn rust(directory: &Path, source: &str) -> Result<(PathBuf, PathBuf), TestError> {
    let example = source.trim_start_matches("rust/").trim_end_matches(".rs");
    let program = cargo(example, "dynamic", "")?;
    let fixed = cargo(example, "static", "-C target-feature=+crt-static")?;
    let image = directory.join("program.hadal");
    let outcome = hadal(&["pack", text(&fixed), "-o", text(&image)], directory, COMPILER_LIMIT)?;
    expect_status(&outcome, 0)?;
    Ok((program, image))
}

fn cargo(example: &str, kind: &str, flags: &str) -> Result<PathBuf, TestError> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let target = scratch::target().join("hadal-tests/rust").join(kind);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(scratch::workspace()).env("RUSTFLAGS", flags);
    // A target of its own keeps the flags from build scripts.
    command.args(["build", "--quiet", "--package", "hrt", "--example", example, "--target", TARGET]);
    command.arg("--target-dir").arg(&target);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    Ok(target.join(TARGET).join("debug/examples").join(example))
}
