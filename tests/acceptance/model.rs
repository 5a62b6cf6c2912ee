// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The model checker over the synchronisation objects of `hadal/hrt.h` and the queues of tasks: the sources of
//! `runtimes/hrt`, compiled with the checker's atomic operations, under every schedule of each scenario. So is what the OpenMP
//! run-time forks, joins, locks and queues tasks with.

use std::path::{Path, PathBuf};
use std::process::Command;

use hadal_tests::{TestError, scratch};

use crate::suite::Suite;

const FLAGS: [&str; 5] = ["-O3", "-Wall", "-Wextra", "-Werror", "-DHRT_ATOMIC_HEADER=\"model/atomic.h\""];

/// The checker's loads have the type of the object, `const` included. A deque of two places is full soon.
const CPP_FLAGS: [&str; 2] = ["-Wno-ignored-qualifiers", "-DHADAL_OMP_DEQUE_PLACES=2"];

pub(crate) fn register(suite: &mut Suite) {
    suite.host("sync/model", check);
}

fn run(command: &mut Command) -> Result<(), TestError> {
    let output = command.output().map_err(TestError::io(format!("cannot run {command:?}")))?;
    if output.status.success() {
        return Ok(());
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(TestError::Wrong(format!("{command:?} ended with {}:\n{out}{err}", output.status)))
}

/// The files of a directory with this extension, in order.
pub(crate) fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, TestError> {
    let entries = std::fs::read_dir(directory)
        .map_err(TestError::io(format!("cannot read {}", directory.display())))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}

fn check() -> Result<(), TestError> {
    let root = scratch::workspace();
    let runtime = root.join("runtimes/hrt");
    let work = scratch::empty_directory("sync/model")?;
    let include = root.join("kernel/hrt/include");
    let compile = |work: &Path, compiler: &str, standard: &str, sources: Vec<PathBuf>| {
        let mut command = Command::new(compiler);
        command.current_dir(work).arg("-c").arg(standard).args(FLAGS);
        if compiler == "g++" {
            command.args(CPP_FLAGS);
        }
        for directory in [&include, &runtime, &root.join("runtimes/openmp")] {
            command.arg("-I").arg(directory);
        }
        run(command.args(sources))
    };
    let mut sources = files(&runtime.join("sync"), "c")?;
    sources.push(runtime.join("task_queue.c"));
    compile(&work, "gcc", "-std=c11", sources)?;
    compile(&work, "gcc", "-std=c11", files(&runtime.join("model"), "c")?)?;
    compile(&work, "g++", "-std=c++20", files(&runtime.join("model"), "cpp")?)?;
    // The OpenMP run-time has files of the same names.
    let openmp = root.join("runtimes/openmp");
    let openmp_work = work.join("openmp");
    scratch::make_empty(&openmp_work)?;
    let mut sources = files(&openmp.join("model"), "cpp")?;
    sources.extend(["core/barrier.cpp", "core/lock.cpp", "core/sync.cpp"].map(|source| openmp.join(source)));
    compile(&openmp_work, "g++", "-std=c++20", sources)?;
    let checker = work.join("model");
    let objects = [files(&work, "o")?, files(&openmp_work, "o")?].concat();
    run(Command::new("g++").args(objects).arg("-o").arg(&checker))?;
    run(&mut Command::new(&checker))
}
