// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs on the debug kernel, which panics at the first overflow, false assertion, lock out of order, or wait at the wrong
//! time; and how long the kernel keeps interrupts off.

use std::time::Duration;

use hadal_tests::case::{expect_same, expect_status};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{
    BULK, CROWD, EPOLL, EXEC, FIFOS, FILES, FUZZ, HRT_EVENTS, HRT_REALTIME, HRT_SYNC, HRT_TIMERS, MEMORY,
    NAMED_SOCKETS, OTHER_MEMORY, PROCESS_MEMORY, PROCESSES, PTHREAD, Program, QUEUES, RECORD_LOCKS, SEALS,
    SHARING, SIGNALS, SOCKETS, STRESS, SYSTEM, SYSV, TERMINALS,
};
use hadal_tests::{Case, Hadal, Outcome, TestError, Way, debug_kernel, scratch};

use crate::suite::Suite;

/// What runs on each number of CPUs.
const PROGRAMS: &[&Program] = &[
    &PTHREAD,
    &HRT_SYNC,
    &HRT_EVENTS,
    &HRT_TIMERS,
    &SIGNALS,
    &FILES,
    &SYSTEM,
    &MEMORY,
    &PROCESSES,
    &SHARING,
    &EPOLL,
    &SOCKETS,
    &QUEUES,
    &SYSV,
    &OTHER_MEMORY,
    &NAMED_SOCKETS,
    &EXEC,
    &RECORD_LOCKS,
    &SEALS,
    &PROCESS_MEMORY,
    &TERMINALS,
    &FIFOS,
];

/// Begin of the names of the counters that only the debug kernel has.
const SECTION: &str = "interrupts off, at most, ticks (";
/// Most instructions of a section with interrupts off; under `--icount` a tick is one.
const MOST_TICKS: u64 = 50_000;

/// Builds it. It takes more than a minute, on one core: well before the tests that wait for it, others go on meanwhile.
pub(crate) fn register_build(suite: &mut Suite) {
    suite.hadal("debug/kernel", |_| debug_kernel::file().map(drop));
}

pub(crate) fn register(suite: &mut Suite) {
    for &program in PROGRAMS {
        for cpus in [1, 4] {
            suite.hadal(format!("debug/{}/{cpus}cpus", program.name), move |name| same(name, program, cpus));
        }
        suite.hadal_in_all(format!("debug/{}/2cpus", program.name), move |name| same(name, program, 2));
    }
    for cpus in [2, 4] {
        suite.hadal(format!("debug/stress/{cpus}cpus"), move |name| {
            let machine = Hadal::new(cpus).limit(Duration::from_secs(150)).alone();
            let list = ["--seconds=5", "--seed=4", "--stall=60"];
            run(name, &STRESS, machine, &list).map(drop)
        });
    }
    for ring in ["0", "3"] {
        suite.hadal(format!("debug/fuzz/ring{ring}"), move |name| fuzz(name, ring));
    }
    let measured: [(&str, &'static Program, &'static [&'static str]); 7] = [
        ("threads", &PTHREAD, &[]),
        ("sync", &HRT_SYNC, &[]),
        ("signals", &SIGNALS, &[]),
        ("files", &BULK, &["many", "1000"]),
        ("memory", &MEMORY, &[]),
        ("crowd", &CROWD, &["1000"]),
        ("realtime", &HRT_REALTIME, &[]),
    ];
    for (subject, program, list) in measured {
        suite.hadal(format!("debug/interrupts-off/{subject}"), move |name| bounded(name, program, list));
    }
}

fn same(name: &str, program: &'static Program, cpus: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let linux = Case::new(name, program, Way::GccDynamic, cpus).on_linux(&directory)?;
    let machine = Hadal::new(cpus).cwd(&scratch::empty_directory(name)?).debug_kernel()?;
    let hadal = machine.run(&program.build(Way::GccDynamic)?, &[])?;
    expect_same(&linux, &hadal, false)
}

fn run(name: &str, program: &Program, machine: Hadal, list: &[&str]) -> Result<Outcome, TestError> {
    let directory = scratch::empty_directory(name)?;
    let machine = machine.cwd(&directory).debug_kernel()?;
    let outcome = machine.run(&program.build(Way::GccDynamic)?, &arguments(list))?;
    expect_status(&outcome, 0)?;
    Ok(outcome)
}

/// Random system calls of several processes.
fn fuzz(name: &str, ring: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let machine = Hadal::new(2).cwd(&directory).with("--ring", ring).with("--memory", "2G").debug_kernel()?;
    let outcome = machine.run(&FUZZ.build(Way::GccStatic)?, &arguments(&["2", "20000", "4"]))?;
    expect_status(&outcome, 0)
}

/// No section with interrupts off is longer than [`MOST_TICKS`].
fn bounded(name: &str, program: &Program, list: &[&str]) -> Result<(), TestError> {
    let machine = Hadal::plain().option("--icount").option("--stats").limit(Duration::from_secs(120));
    let outcome = run(name, program, machine, list)?;
    let text = outcome.stderr_text();
    let sections = sections(&text);
    if sections.is_empty() {
        return Err(TestError::Wrong("the debug kernel has measured nothing".into()));
    }
    match sections.iter().find(|(_, ticks)| *ticks > MOST_TICKS) {
        Some((place, ticks)) => {
            Err(TestError::Wrong(format!("interrupts were off for {ticks} instructions from {place} on")))
        }
        None => Ok(()),
    }
}

/// The longest sections by place, from the counters of `--stats`.
fn sections(text: &str) -> Vec<(&str, u64)> {
    let of_line = |line| {
        let (place, ticks) = str::trim(line).strip_prefix(SECTION)?.rsplit_once(')')?;
        Some((place, ticks.trim().parse().ok()?))
    };
    text.lines().filter_map(of_line).collect()
}
