// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scheduler's own source on simulated CPUs: under random schedules nothing goes wrong, and with one of its fixes taken
//! out something does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use hadal_tests::{TestError, scratch};

use crate::suite::Suite;

/// Schedules of the test that always runs.
const SCHEDULES: &str = "20000";
/// Schedules within which a fault must show.
const SCHEDULES_OF_MUTANT: &str = "400000";
/// What the simulator's build needs of the tree.
const TREE: [&str; 13] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "abi",
    "bench",
    "cli",
    "compilers",
    "docs",
    "initramfs",
    "kernel",
    "runtimes",
    "examples",
    "tests",
];

pub(crate) fn register(suite: &mut Suite) {
    suite.host("sched/simulator", simulator);
    suite.host_slow("sched/mutants", mutants);
}

fn output(command: &mut Command) -> Result<Output, TestError> {
    command.output().map_err(TestError::io(format!("cannot run {command:?}")))
}

fn succeed(command: &mut Command) -> Result<(), TestError> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(TestError::Wrong(format!("{command:?} ended with {}:\n{out}{err}", output.status)))
}

/// Builds the simulator of a tree; returns the program. Each tree has a directory of its own for what is built: Cargo takes the
/// same package of two trees for one, and of two sources that which is older for built already.
fn build(tree: &Path, target: &Path) -> Result<PathBuf, TestError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(tree).env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_RELEASE_LTO", "off");
    // A fault is a few lines of the scheduler.
    command.env("CARGO_INCREMENTAL", "1");
    succeed(command.args(["build", "--quiet", "--release", "-p", "hadal-sim"]))?;
    Ok(target.join("release/hadal-sim"))
}

fn simulator() -> Result<(), TestError> {
    let program = build(&scratch::workspace(), &scratch::target().join("sim"))?;
    succeed(Command::new(program).args(["--schedules", SCHEDULES, "--seed", "1"]))
}

fn patches(directory: &Path) -> Result<Vec<PathBuf>, TestError> {
    let entries =
        fs::read_dir(directory).map_err(TestError::io(format!("cannot read {}", directory.display())))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    paths.sort();
    Ok(paths)
}

fn patch(tree: &Path, patch: &Path, options: &[&str]) -> Result<(), TestError> {
    succeed(Command::new("patch").current_dir(tree).args(["-s", "-p0"]).args(options).arg("-i").arg(patch))
}

fn mutants() -> Result<(), TestError> {
    let root = scratch::workspace();
    let tree = scratch::empty_directory("sched/mutants")?;
    succeed(Command::new("cp").current_dir(&root).arg("-r").args(TREE).arg(&tree))?;
    let target = scratch::target().join("sim-mutants");
    let mut survivors = Vec::new();
    for path in patches(&root.join("kernel/sim/mutants"))? {
        patch(&tree, &path, &[])?;
        let program = build(&tree, &target)?;
        let found = output(Command::new(program).args(["--schedules", SCHEDULES_OF_MUTANT, "--seed", "1"]))?;
        if found.status.code() != Some(1) {
            survivors.push(path.display().to_string());
        }
        patch(&tree, &path, &["-R"])?;
    }
    if survivors.is_empty() {
        return Ok(());
    }
    Err(TestError::Wrong(format!("the simulator does not find these faults: {}", survivors.join(", "))))
}
