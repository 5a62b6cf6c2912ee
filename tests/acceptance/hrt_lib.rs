// SPDX-License-Identifier: Apache-2.0 OR MIT
//! libhrt: every function of `hadal/hrt.h` that is more than a call of the table, on Linux and on the kernel, with the same
//! binary.

use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout};
use hadal_tests::machine::{arguments, hadal_command};
use hadal_tests::programs::{
    HRT_CPP_OBJECTS, HRT_FORK_O0, HRT_FORK_O1, HRT_FORK_O3, HRT_LIB, HRT_MANY_THREADS, Program,
};
use hadal_tests::{Case, Hadal, TestError, Way, run, scratch};

use crate::suite::{Set, Suite};

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4, 8] {
        suite.compare(format!("hrt-lib/all/{cpus}cpus"), &HRT_LIB, Way::GccDynamic, cpus, |case| {
            case.limit_s(120)
        });
    }
    suite.compare("hrt-lib/all/numa", &HRT_LIB, Way::GccDynamic, 4, |case| {
        case.limit_s(120).hadal(|hadal| hadal.with("--numa", "2").with("--memory", "2G"))
    });
    for way in [Way::GccStatic, Way::GccStaticPie, Way::ClangDynamic, Way::MuslStatic] {
        suite.compare(format!("hrt-lib/all/{}", way.name()), &HRT_LIB, way, 2, |case| case.limit_s(120));
    }
    // What a frame looks like depends on compiler and optimisation; the set above is -O2.
    let levels: [(&str, &'static Program); 3] =
        [("O0", &HRT_FORK_O0), ("O1", &HRT_FORK_O1), ("O3", &HRT_FORK_O3)];
    for (level, program) in levels {
        for way in [Way::GccDynamic, Way::ClangDynamic] {
            let forks = |case: Case| case.args(&["forks", "fiber-forks", "fibers"]);
            suite.compare(format!("hrt-lib/fork/{}/{level}", way.name()), program, way, 2, forks);
        }
    }
    for way in [Way::Gxx, Way::GxxStatic] {
        suite.compare(format!("hrt-lib/cpp-objects/{}", way.name()), &HRT_CPP_OBJECTS, way, 2, |case| case);
    }
    suite.hadal("hrt-lib/loaded-later", loaded_later);
    suite.compare("hrt-lib/modules", &HRT_LIB, Way::GccDynamic, 1, |case| case.args(&["modules"]));
    for (kind, cpus) in [("bare", 1), ("bare", 4), ("libc", 4)] {
        suite.hadal(format!("hrt-lib/2000-threads/{kind}/{cpus}cpus"), move |name| {
            many(name, 2000, kind, cpus)
        });
    }
    // What the machine then uses: 43 KB a thread, with libc 72 KB.
    for (kind, cpus, gib, set) in
        [("bare", 1, 5, Set::All), ("bare", 4, 5, Set::Slow), ("libc", 4, 8, Set::All)]
    {
        suite.hadal_with_memory(format!("hrt-lib/100000-threads/{kind}/{cpus}cpus"), gib, set, move |name| {
            many(name, 100_000, kind, cpus)
        });
    }
}

fn many(name: &str, count: u32, kind: &str, cpus: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal =
        Hadal::new(cpus).with("--memory", "8G").cwd(&directory).limit(Duration::from_secs(600)).alone();
    let program = HRT_MANY_THREADS.build(Way::GccDynamic)?;
    let outcome = hadal.run(&program, &arguments(&[count.to_string(), kind.to_owned()]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &format!("{count} threads: ok\n").repeat(2))
}

/// Threads that use data of a library which was loaded later, on Linux and on the kernel.
fn loaded_later(name: &str) -> Result<(), TestError> {
    const LIMIT: Duration = Duration::from_secs(120);
    let directory = scratch::empty_directory(name)?;
    let programs = scratch::workspace().join("tests/programs");
    let (program, library) = (directory.join("program"), directory.join("libdata.so"));
    let mut command = Command::new("g++");
    command
        .args(["-O2", "-DDATA", "-shared", "-fPIC"])
        .arg(programs.join("openmp/loaded_later.cpp"))
        .arg("-o")
        .arg(&library);
    expect_status(&run::run(command, b"", LIMIT)?, 0)?;
    let mut command = Command::new(hadal_command()?);
    command.args(["cc", "--linux", "-O2"]).arg(programs.join("hrt/loaded_later.c")).arg("-o").arg(&program);
    expect_status(&run::run(command, b"", LIMIT)?, 0)?;
    let mut command = Command::new(&program);
    command.arg(&library);
    expect_status(&run::run(command, b"", LIMIT)?, 0)?;
    let machine = Hadal::new(2).cwd(&directory).limit(LIMIT);
    expect_status(&machine.run(&program, &arguments(&["./libdata.so"]))?, 0)
}
