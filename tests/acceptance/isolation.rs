// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs in ring 3: what hostile ones get, and what processes do there as they do in ring 0; and a short run of the fuzzer of
//! system calls in both rings. `hadal-fuzz` does the same for hours.

use hadal_tests::case::{Case, expect_same, expect_status, expect_stdout, wrong};
use hadal_tests::programs::{
    EPOLL, EXEC, FUZZ, HOSTILE, LIMITED, OTHER_MEMORY, PROCESS_MEMORY, PROCESSES, QUEUES, RECORD_LOCKS,
    SHARING, SOCKETS, SYSTEM, SYSV, TERMINALS,
};
use hadal_tests::{Program, TestError, Way, scratch};

use crate::suite::Suite;

/// Parts of the hostile program that a machine with other users survives, too.
const EVERYWHERE: [&str; 6] = ["memory", "code", "instructions", "segments", "frames", "neighbours"];

fn isolated(case: Case) -> Case {
    case.hadal(|hadal| hadal.with("--ring", "3"))
}

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4] {
        suite.case(format!("isolation/hostile/{cpus}cpus"), &HOSTILE, Way::GccDynamic, cpus, hostile);
    }
    suite.case("isolation/hostile/static", &HOSTILE, Way::GccStatic, 2, hostile);
    suite.hadal("isolation/pointers", pointers);
    for ring in ["0", "3"] {
        suite.hadal(format!("isolation/fuzz/ring{ring}"), move |name| fuzz(name, ring));
    }
    let sets: [(&'static Program, &[u32]); 13] = [
        (&SYSTEM, &[1, 4]),
        (&PROCESSES, &[2, 8]),
        (&EXEC, &[1, 4]),
        (&PROCESS_MEMORY, &[4]),
        (&TERMINALS, &[2]),
        (&EPOLL, &[4]),
        (&SOCKETS, &[4]),
        (&RECORD_LOCKS, &[4]),
        (&SHARING, &[2, 8]),
        (&QUEUES, &[2]),
        (&SYSV, &[1, 4]),
        (&OTHER_MEMORY, &[1, 4]),
        (&LIMITED, &[2]),
    ];
    for (program, counts) in sets {
        for &cpus in counts {
            let name = format!("isolation/{}/{cpus}cpus", program.name);
            suite.compare(name, program, Way::GccDynamic, cpus, isolated);
        }
    }
}

/// Standard error has a report for each child that was ended.
fn hostile(case: Case) -> Result<(), TestError> {
    let (linux, hadal) = isolated(case).args(&EVERYWHERE).both()?;
    expect_same(&linux, &hadal, false)
}

/// Addresses of the kernel and of nobody for every argument of every call.
fn pointers(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let case = isolated(Case::new(name, &HOSTILE, Way::GccDynamic, 2)).args(&["pointers"]);
    let outcome = case.on_hadal(&directory)?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "pointers: ok\n")
}

/// The last line comes only from a machine that still works and whose other process was not disturbed.
fn fuzz(name: &str, ring: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let case = Case::new(name, &FUZZ, Way::GccStatic, 2)
        .args(&["1", "40000", "4"])
        .hadal(|hadal| hadal.with("--ring", ring).with("--memory", "2G"));
    let outcome = case.on_hadal(&directory)?;
    expect_status(&outcome, 0)?;
    if !outcome.stdout_text().ends_with(" workers restarted, ok\n") {
        return Err(wrong("the fuzzer does not say how it ended", &outcome));
    }
    Ok(())
}
