// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The OpenMP run-time and the programs of its tests on Linux with sanitizers: of threads; and of addresses, leaks and undefined
//! behaviour. Programs of both compilers are linked with gcc's sanitizer, which is a library of its own: clang's lies in the
//! program, whose thread-local variables libhrt resets for each thread.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::expect_status;
use hadal_tests::{TestError, run, scratch};

use crate::omp::PROGRAMS;
use crate::sanitizers::{ADDRESS, COMPILER_LIMIT, LIBHRT, THREAD, objects};
use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(300);
const TEAMS: [u32; 2] = [2, 4];

/// What the thread sanitizer says of accesses of the programs, and not of the run-time that they have called. gcc has all members
/// store the value of a `lastprivate` variable that has none, since its loop has no iterations, or under a condition that it
/// does not order. The sanitizer does not know of fences, which `flush` is. An initialiser that reads `omp_orig` may do so when
/// another member has come to the end and combines: no compiler has a barrier in between.
const SUPPRESSIONS: &str =
    "race_top:loops_\nrace_top:orphaned_conditional\nrace_top:part_atomic\nrace:.omp_initializer.\n";

struct Sanitizer {
    name: &'static str,
    options: &'static [&'static str],
    /// Programs that it cannot run.
    without: &'static [&'static str],
}

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer {
        name: "thread",
        options: THREAD,
        // It forgets a thread before libhrt's last destructor of that thread, which takes a lock. The last two
        // as below.
        without: &[
            "kmpc_regrouped",
            "kmpc_threadprivate",
            "misuse_threads",
            "thread_turnover",
            "misuse_memory",
            "ompt_work",
        ],
    },
    Sanitizer {
        name: "address",
        options: ADDRESS,
        // One measures memory. The other asks for addresses that the run-time takes where it jumps; instrumented
        // functions call.
        without: &["misuse_memory", "ompt_work"],
    },
];

/// Folders of the run-time, and their sources' extensions.
const SOURCES: [(&str, &str); 6] = [
    ("runtimes/openmp/core", "cpp"),
    ("runtimes/openmp/gomp", "cpp"),
    ("runtimes/openmp/kmpc", "cpp"),
    ("runtimes/openmp/kmpc", "S"),
    ("runtimes/openmp/api", "cpp"),
    ("runtimes/openmp/ompt", "cpp"),
];

pub(crate) fn register(suite: &mut Suite) {
    for sanitizer in &SANITIZERS {
        suite.hadal_in_all(format!("omp/sanitizer/{}", sanitizer.name), move |test| check(test, sanitizer));
    }
}

fn check(test: &str, sanitizer: &Sanitizer) -> Result<(), TestError> {
    let work = scratch::empty_directory(test)?;
    let library = library(&work, sanitizer)?;
    let suppressions = work.join("suppressions");
    std::fs::write(&suppressions, SUPPRESSIONS).map_err(TestError::io("cannot write the suppressions"))?;
    for program in PROGRAMS.iter().filter(|program| !sanitizer.without.contains(&program.name)) {
        let file = work.join(format!("{}-{}", program.name, program.compiler));
        let object = file.with_extension("o");
        let mut command = Command::new(program.compiler);
        program.add_options(&mut command, &object);
        // Optimised, clang reads variables before it is their turn, which the sanitizer takes for a race.
        command.args(sanitizer.options).args(["-c", "-O0"]);
        if program.compiler.starts_with("clang") {
            // gcc's library does not have what this one calls.
            command.arg("-fno-sanitize=function");
        }
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
        let mut command = Command::new("g++");
        command.args(sanitizer.options).arg(&object).arg(&library).arg("-lm").arg("-o").arg(&file);
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
        for team in TEAMS {
            let mut command = Command::new(&file);
            command.env("LD_LIBRARY_PATH", &work).env("OMP_NUM_THREADS", team.to_string());
            command.env("OMP_CANCELLATION", "true");
            command.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
            let outcome = run::run(command, b"", LIMIT)?;
            expect_status(&outcome, 0).map_err(|error| {
                TestError::Wrong(format!("{} by {}, {team} threads: {error}", program.name, program.compiler))
            })?;
        }
    }
    Ok(())
}

/// The shared library for Linux.
fn library(work: &Path, sanitizer: &Sanitizer) -> Result<PathBuf, TestError> {
    let name = "libgomp.so.1";
    let library = work.join(name);
    let mut command = Command::new("g++");
    command.args(sanitizer.options).args(["-shared", "-pthread", "-o"]).arg(&library);
    command.arg(format!("-Wl,-soname,{name}")).args(objects(
        work,
        &[&SOURCES[..], &LIBHRT].concat(),
        sanitizer.options,
    )?);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    Ok(library)
}
