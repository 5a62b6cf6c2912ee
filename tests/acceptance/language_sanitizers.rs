// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The test sets of the run-times of VCODE and NDPC on Linux with sanitizers: of threads; and of addresses, leaks and undefined
//! behaviour.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::expect_status;
use hadal_tests::machine::Permit;
use hadal_tests::{TestError, run, scratch};

use crate::language_sets::ndpc_translator;
use crate::languages::tree;
use crate::model::files;
use crate::sanitizers::{ADDRESS, COMPILER_LIMIT, LIBHRT, THREAD, objects};
use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(1800);

const VCODE: [(&str, &str); 5] = [
    ("runtimes/vcode", "cpp"),
    ("runtimes/vcode/load", "cpp"),
    ("runtimes/vcode/core", "cpp"),
    ("runtimes/vcode/ops", "cpp"),
    ("runtimes/vcode/io", "cpp"),
];

pub(crate) fn register(suite: &mut Suite) {
    for (name, options) in [("thread", THREAD), ("address", ADDRESS)] {
        suite.hadal_in_all(format!("languages/sanitizer/vcode/{name}"), move |test| vcode(test, options));
        suite.hadal_in_all(format!("languages/sanitizer/ndpc/{name}"), move |test| ndpc(test, options));
    }
    suite.hadal_in_all("languages/sanitizer/ndpc-pools", ndpc_pools);
}

fn vcode(test: &str, options: &[&str]) -> Result<(), TestError> {
    let work = scratch::empty_directory(test)?;
    let program = work.join("vcode");
    let mut command = Command::new("g++");
    command.args(options).args(objects(&work, &[&VCODE[..], &LIBHRT].concat(), options)?);
    command.args(["-pthread", "-o"]).arg(&program);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    let mut command = Command::new(tree("runtimes/vcode/test/run"));
    command.args(["--quick", "--count", "10", "--cpus", "1,4"]).arg(&program);
    expect_clean(command)
}

fn ndpc(test: &str, options: &[&str]) -> Result<(), TestError> {
    let work = scratch::empty_directory(test)?;
    let mut command = Command::new("sh");
    // The thread sanitizer counts so many calls in one another, and no more than fit on this stack.
    command.args(["-c", "ulimit -s 1024; exec \"$@\"", "sh"]).arg(tree("runtimes/ndpc/test/run"));
    command.arg("-t").arg(ndpc_translator(&work)?).arg("-w").arg(work.join("work"));
    let flags = format!("-O1 -g {} -isystem {}", options.join(" "), tree("kernel/hrt/include").display());
    command.arg("-c").arg(format!("g++ -std=c++20 {flags}")).arg("-C").arg(format!("gcc {flags}"));
    command.arg("-l").arg(libhrt(&work, options)?).args(["-n", "2 4"]);
    expect_clean(command)
}

/// Blocks that workers return to each other, which the sets above do without.
fn ndpc_pools(test: &str) -> Result<(), TestError> {
    let work = scratch::empty_directory(test)?;
    let program = work.join("primitives");
    let mut command = Command::new("g++");
    command.args(["-std=c++20", "-O1", "-g", "-fno-rtti", "-DNDPC_POOLS"]).args(THREAD);
    for include in ["runtimes/ndpc/include", "kernel/hrt/include"] {
        command.arg("-I").arg(tree(include));
    }
    command.arg(tree("runtimes/ndpc/test/primitives.cpp")).args(files(&tree("runtimes/ndpc"), "cpp")?);
    command.arg(libhrt(&work, THREAD)?).args(["-pthread", "-o"]).arg(&program);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    expect_clean(Command::new(program))
}

/// Libhrt for Linux, as an archive.
fn libhrt(work: &Path, options: &[&str]) -> Result<PathBuf, TestError> {
    let library = work.join("libhrt.a");
    let mut command = Command::new("ar");
    command.arg("rc").arg(&library).args(objects(work, &LIBHRT, options)?);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    Ok(library)
}

/// Runs the set; what a sanitizer reports ends a program with a status or a text that is not expected.
fn expect_clean(command: Command) -> Result<(), TestError> {
    let _permit = Permit::one();
    expect_status(&run::run(command, b"", LIMIT)?, 0)
}
