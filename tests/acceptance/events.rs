// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events, interrupts and timers of `hadal/hrt.h` in the kernel and on Linux, and what happens to handlers that break the
//! rules of interrupt context.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts};
use hadal_tests::programs::{HRT_EVENTS, HRT_HANDLER_FAULTS, HRT_INTERRUPTS, HRT_TIMERS, Program};
use hadal_tests::{Hadal, TestError, Way, scratch};

use crate::suite::Suite;

/// What the handler does, how it is called, and texts of the report.
const FAULTS: &[(&str, &str, &[&str])] = &[
    (
        "absent",
        "event",
        &["event's action touched memory that is not there", "touch_absent", "write to the memory once"],
    ),
    ("absent", "vectors", &["event's action touched memory that is not there", "touch_absent"]),
    ("absent", "ipi", &["interprocessor interrupt touched memory that is not there", "touch_absent"]),
    ("absent", "timer", &["timer's callback touched memory that is not there", "touch_absent"]),
    ("null", "event", &["touch_null", "write at address 0x0, where nothing is mapped"]),
    ("illegal", "event", &["raised an exception", "run_illegal", "does not know the instruction"]),
    ("call", "event", &["made a system call", "make_system_call", "hrt_wake"]),
];

/// The same for what only another CPU can see.
const STUCK: &[(&str, &str, &[&str])] = &[
    ("loop", "event", &["did not return", "never_return"]),
    ("loop", "timer", &["did not return", "never_return"]),
    ("off", "0", &["interrupts were off for seconds on cpu 0", "hrt_irq_restore"]),
    ("off", "1", &["interrupts were off for seconds on cpu 1", "hrt_irq_restore"]),
];

pub(crate) fn register(suite: &mut Suite) {
    let programs: [(&str, &'static Program, &'static str); 3] = [
        ("messages", &HRT_EVENTS, "events work\n"),
        ("interrupts", &HRT_INTERRUPTS, "interrupts work\n"),
        ("timers", &HRT_TIMERS, "timers work\n"),
    ];
    for (subject, program, expected) in programs {
        for cpus in [1, 2, 4, 8] {
            suite.compare(format!("events/{subject}/{cpus}cpus"), program, Way::GccDynamic, cpus, |case| {
                case.limit_s(90)
            });
        }
        suite.hadal(format!("events/{subject}/numa"), move |name| {
            let hadal =
                Hadal::new(4).with("--numa", "2").with("--memory", "2G").limit(Duration::from_secs(90));
            run(name, program, expected, hadal)
        });
        suite.hadal_slow(format!("events/{subject}/64cpus"), move |name| {
            run(name, program, expected, Hadal::new(64).limit(Duration::from_secs(300)))
        });
    }
    for (what, how, texts) in FAULTS {
        for cpus in [1, 2] {
            suite.hadal(format!("events/faults/{what}-{how}/{cpus}cpus"), move |name| {
                ends(name, cpus, &[what, how], texts)
            });
        }
    }
    for (what, how, texts) in STUCK {
        suite.hadal(format!("events/faults/{what}-{how}"), move |name| ends(name, 3, &[what, how], texts));
    }
}

fn run(name: &str, program: &Program, expected: &str, hadal: Hadal) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = hadal.cwd(&directory).run(&program.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, expected)
}

/// The program is ended as by SIGSEGV, with a report.
fn ends(name: &str, cpus: u32, arguments: &[&str], texts: &[&str]) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(cpus).limit(Duration::from_secs(60)).cwd(&directory);
    let arguments: Vec<_> = arguments.iter().map(Into::into).collect();
    let outcome = hadal.run(&HRT_HANDLER_FAULTS.build(Way::GccDynamic)?, &arguments)?;
    expect_status(&outcome, 139)?;
    expect_texts(&outcome, texts)
}
