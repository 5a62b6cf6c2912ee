// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Projects of other build systems, configured with `hadal cc` as the compiler: built, tested and run as with any other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, wrong};
use hadal_tests::machine::{Permit, hadal, hadal_command};
use hadal_tests::{Outcome, TestError, run, scratch};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(180);
/// What the linker says of a static libgomp, which is not about the project.
const WARNING: &str = "dlopen";

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("projects/autotools", autotools);
    suite.hadal("projects/cmake", cmake);
}

/// The project's sources, and the files of one build system, in a directory of the test's.
fn project(name: &str, build_system: &str) -> Result<PathBuf, TestError> {
    let directory = scratch::empty_directory(name)?;
    for part in ["sources", build_system] {
        let from = scratch::workspace().join("tests/projects").join(part);
        for file in fs::read_dir(&from).map_err(TestError::io("cannot list the project's files"))?.flatten() {
            fs::copy(file.path(), directory.join(file.file_name()))
                .map_err(TestError::io("cannot copy a file of the project"))?;
        }
    }
    Ok(directory)
}

/// Runs a line of the shell with the compilers in PATH.
fn line(directory: &Path, text: &str) -> Result<Outcome, TestError> {
    let commands = hadal_command()?;
    let commands = commands.parent().unwrap_or(Path::new("/")).display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("/bin/sh");
    command.args(["-ec", text]).current_dir(directory).env("PATH", format!("{path}:{commands}"));
    command.env("HADAL_CPUS", "2").env_remove("CC").env_remove("CXX");
    let _permit = Permit::one();
    let outcome = run::run(command, b"", LIMIT)?;
    expect_status(&outcome, 0)?;
    match outcome.stderr_text().contains(WARNING) {
        true => Err(wrong("the linker's warning about a static libgomp is shown", &outcome)),
        false => Ok(outcome),
    }
}

fn runs(directory: &Path, program: &str) -> Result<(), TestError> {
    let outcome = line(directory, &format!("{program} 10"))?;
    expect_stdout(&outcome, "2 threads, sum 2.928968, logarithm 2.302585\n")
}

fn autotools(name: &str) -> Result<(), TestError> {
    let directory = project(name, "autotools")?;
    line(
        &directory,
        "autoreconf -fi && ./configure CC=hadal-cc CXX=hadal-cxx --prefix=$PWD/installed && make",
    )?;
    let check = line(&directory, "make check && make install")?;
    if !check.stdout_text().contains("# PASS:  2") {
        return Err(wrong("not both tests passed", &check));
    }
    runs(&directory, "installed/bin/sum")
}

fn cmake(name: &str) -> Result<(), TestError> {
    let directory = project(name, "cmake")?;
    expect_status(&hadal(&["sdk", "sdk"], &directory, LIMIT)?, 0)?;
    line(
        &directory,
        "cmake -B build -DCMAKE_TOOLCHAIN_FILE=$PWD/sdk/hadal-toolchain.cmake && cmake --build build",
    )?;
    let check = line(&directory, "cd build && ctest")?;
    if !check.stdout_text().contains("100% tests passed, 0 tests failed out of 2") {
        return Err(wrong("not both tests passed", &check));
    }
    runs(&directory, "build/sum")
}
