// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's call table for run-times (`hadal/hrt.h`), without libhrt.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{HRT_CALLS, HRT_MEMORY, HRT_REALTIME, HRT_THREADS, HRT_WORDS, Program};
use hadal_tests::{Hadal, TestError, Way, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4, 8] {
        suite.hadal(format!("hrt/realtime/{cpus}cpus"), move |name| realtime(name, Hadal::new(cpus)));
    }
    suite.hadal("hrt/realtime/counting", |name| realtime(name, Hadal::plain().option("--icount")));
    suite.hadal("hrt/realtime/64cpus", groups_of_many);
    let programs: [(&str, &'static Program, &'static str); 4] = [
        ("calls", &HRT_CALLS, "calls work\n"),
        ("threads", &HRT_THREADS, "threads work\n"),
        ("memory", &HRT_MEMORY, "memory works\n"),
        ("words", &HRT_WORDS, "words work\n"),
    ];
    for (subject, program, expected) in programs {
        for cpus in [1, 2, 4, 8] {
            suite.hadal(format!("hrt/{subject}/{cpus}cpus"), move |name| {
                run(name, program, expected, Hadal::new(cpus), 1)
            });
        }
        suite.hadal(format!("hrt/{subject}/numa"), move |name| {
            run(name, program, expected, Hadal::new(4).with("--numa", "2").with("--memory", "2G"), 2)
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

fn groups_of_many(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(64).cwd(&directory).limit(Duration::from_secs(180));
    let outcome = hadal.run(&HRT_REALTIME.build(Way::GccDynamic)?, &arguments(&["gang".to_string()]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "promises are kept\n")
}

fn run(name: &str, program: &Program, expected: &str, hadal: Hadal, zones: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = hadal.cwd(&directory).limit(Duration::from_secs(90));
    let outcome = hadal.run(&program.build(Way::GccDynamic)?, &arguments(&[zones.to_string()]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, expected)
}
