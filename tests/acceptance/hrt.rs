// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entries of the call table for run-times (`hadal/hrt.h`), on Linux and on the kernel, with the same binary; and
//! real-time schedules, which only the kernel keeps, through its table without libhrt.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{
    HRT_CALLS, HRT_EXHAUST, HRT_MEMORY, HRT_PROCESSES, HRT_REALTIME, HRT_THREADS, HRT_WORDS, Program,
};
use hadal_tests::{Hadal, TestError, Way, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4, 8] {
        suite.hadal(format!("hrt/realtime/{cpus}cpus"), move |name| realtime(name, Hadal::new(cpus)));
    }
    suite.hadal("hrt/realtime/counting", |name| realtime(name, Hadal::plain().option("--icount")));
    suite.hadal("hrt/realtime/64cpus", groups_of_many);
    for (cpus, memory) in [(1, "64M"), (1, "256M"), (4, "64M"), (64, "128M")] {
        suite.hadal(format!("hrt/exhaust/{cpus}cpus-{memory}"), move |name| exhaust(name, cpus, memory));
    }
    for (part, text) in [
        ("fork-first", "a program that has its machine for itself"),
        ("make-first", "fork is not there"),
        ("words", ""),
        ("shared-words", ""),
        ("memory", ""),
        ("shared-memory", ""),
    ] {
        suite.hadal(format!("hrt/processes/{part}"), move |name| processes(name, part, text));
    }
    let programs: [(&str, &'static Program); 4] =
        [("calls", &HRT_CALLS), ("threads", &HRT_THREADS), ("memory", &HRT_MEMORY), ("words", &HRT_WORDS)];
    for (subject, program) in programs {
        for cpus in [1, 2, 4, 8] {
            suite.compare(format!("hrt/{subject}/{cpus}cpus"), program, Way::GccDynamic, cpus, |case| {
                case.args(&["1"]).limit_s(90)
            });
        }
        suite.compare(format!("hrt/{subject}/numa"), program, Way::GccDynamic, 4, |case| {
            let two_zones = |hadal: Hadal| hadal.with("--numa", "2").with("--memory", "2G");
            case.args(&["2"]).limit_s(90).hadal(two_zones)
        });
    }
}

fn realtime(name: &str, hadal: Hadal) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = hadal.cwd(&directory).limit(Duration::from_secs(90));
    let outcome = hadal.run(&HRT_REALTIME.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "promises are kept\n")
}

/// All memory goes into blocks.
fn exhaust(name: &str, cpus: u32, memory: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(cpus).with("--memory", memory).cwd(&directory).limit(Duration::from_secs(240));
    let outcome = hadal.run(&HRT_EXHAUST.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "memory ran out and came back\n")
}

/// A program has other processes, or what belongs to the machine.
fn processes(name: &str, part: &str, text: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = Hadal::new(2)
        .with("--memory", "1G")
        .cwd(&directory)
        .run(&HRT_PROCESSES.build(Way::GccDynamic)?, &arguments(&[part.to_string()]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &format!("{part}: ok\n"))?;
    expect_texts(&outcome, &[text])
}

fn groups_of_many(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(64).cwd(&directory).limit(Duration::from_secs(180));
    let outcome = hadal.run(&HRT_REALTIME.build(Way::GccDynamic)?, &arguments(&["gang".to_string()]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "promises are kept\n")
}
