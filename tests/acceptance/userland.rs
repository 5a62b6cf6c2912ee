// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What users of a Linux system do: shells, coreutils, text tools, perl, Python, builds, git and archives, by the scripts in
//! `userland/`. Output and status are the host's, in both rings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_same, expect_texts};
use hadal_tests::machine::arguments;
use hadal_tests::{Hadal, TestError, run, scratch};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(120);
const SCRIPTS: [&str; 5] = ["shells.sh", "coreutils.sh", "perl.sh", "python.py", "archives.sh"];
/// These take longest: in ring 3 only `hadal test --all` runs them.
const LONG_SCRIPTS: [&str; 3] = ["text.sh", "build.sh", "git.sh"];
/// Debian's programs, and no others of the same names.
const PATH: &str = "/usr/bin:/bin";

pub(crate) fn register(suite: &mut Suite) {
    let name =
        |script: &str, ring| format!("userland/{}/ring{ring}", script.split('.').next().unwrap_or(script));
    for script in SCRIPTS {
        for ring in ["0", "3"] {
            suite.hadal(name(script, ring), move |name| same(name, script, ring));
        }
    }
    for script in LONG_SCRIPTS {
        suite.hadal(name(script, "0"), move |name| same(name, script, "0"));
        suite.hadal_in_all(name(script, "3"), move |name| same(name, script, "3"));
    }
    suite.hadal("userland/tracers", tracers);
}

/// A script has the same output and status on both systems. Standard error is not compared: it has process IDs and line numbers
/// that are not the same twice.
fn same(name: &str, script: &str, ring: &str) -> Result<(), TestError> {
    let interpreter = if script.ends_with(".py") { "/usr/bin/python3" } else { "/bin/bash" };
    let directory = place(&format!("{name}/linux"), script)?;
    let mut native = Command::new(interpreter);
    native.arg(script).current_dir(&directory).env("PATH", PATH);
    let on_linux = run::run(native, b"", LIMIT)?;
    let directory = place(&format!("{name}/hadal"), script)?;
    let hadal = Hadal::new(2).with("--ring", ring).env("PATH", PATH);
    let on_hadal = hadal.cwd(&directory).limit(LIMIT).run(Path::new(interpreter), &arguments(&[script]))?;
    expect_same(&on_linux, &on_hadal, false)
}

/// A directory with the script and nothing else.
fn place(name: &str, script: &str) -> Result<PathBuf, TestError> {
    let directory = scratch::empty_directory(name)?;
    fs::copy(scratch::workspace().join("tests/userland").join(script), directory.join(script))
        .map_err(TestError::io(format!("cannot copy {script}")))?;
    Ok(directory)
}

/// Programs that trace others are refused, and it is said what does their work.
fn tracers(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(1).cwd(&directory);
    let outcome = hadal.run(Path::new("/usr/bin/gdb"), &arguments(&["-batch", "-ex", "run", "/bin/true"]))?;
    expect_texts(&outcome, &["hadal: gdb (process ", "asked for ptrace", "--strace", "--gdb"])
}
