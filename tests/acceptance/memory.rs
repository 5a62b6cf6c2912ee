// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mappings, and programs that use all memory.

use std::path::Path;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{CHURN, EXHAUST, GROWING, LIMITED, LOCKED, MEMORY, PREZEROED};
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for way in [Way::GccDynamic, Way::GccStatic, Way::MuslStatic] {
        suite.compare(format!("memory/{}", way.name()), &MEMORY, way, 2, |case| case);
    }
    suite.compare("memory/8cpus", &MEMORY, Way::GccDynamic, 8, |case| case);
    for cpus in [1, 4] {
        suite.compare(format!("memory/locked/{cpus}cpus"), &LOCKED, Way::GccDynamic, cpus, |case| case);
    }
    suite.compare("memory/limited", &LIMITED, Way::GccDynamic, 2, |case| case);
    for cpus in [1, 2, 4] {
        suite.compare(format!("memory/churn/{cpus}cpus"), &CHURN, Way::GccDynamic, cpus, |case| case);
    }
    for cpus in [1, 2, 4] {
        suite.compare(format!("memory/growing/{cpus}cpus"), &GROWING, Way::GccDynamic, cpus, |case| case);
    }
    for cpus in ["1", "2", "4"] {
        suite.hadal(format!("memory/prezeroed/{cpus}cpus"), move |name| prezeroed(name, cpus));
    }
    suite.hadal("memory/translator", translator);
    suite.hadal("memory/exhaust/fail", |name| {
        let outcome = exhausted(name, "fail")?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "about to use all memory\nmemory ran out and came back\n")
    });
    for how in ["touch", "threads"] {
        suite.hadal(format!("memory/exhaust/{how}"), move |name| {
            let outcome = exhausted(name, how)?;
            expect_stdout(&outcome, "about to use all memory\n")?;
            // As if Linux had chosen it to be killed.
            expect_status(&outcome, 137)?;
            expect_texts(&outcome, &["memory"])
        });
    }
}

/// Idle CPUs fill pages with zeros for the busy one, where there are any.
fn prezeroed(name: &str, cpus: &str) -> Result<(), TestError> {
    const COUNTER: &str = "pages of 2 MiB among them that were used";
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::plain().option("--stats").with("--cpus", cpus).cwd(&directory);
    let outcome = hadal.limit(Duration::from_secs(120)).run(&PREZEROED.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "all of it was zero\n")?;
    match counter(&outcome, COUNTER) {
        Some(used) if (used > 0) == (cpus != "1") => Ok(()),
        used => Err(wrong(&format!("{used:?} pages were used"), &outcome)),
    }
}

/// A counter of `--stats`.
fn counter(outcome: &Outcome, name: &str) -> Option<u64> {
    let text = outcome.stderr_text();
    text.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse().ok())
}

/// A CPU whose program computes without a fault flushes its emulated TLB now and then, and is interrupted all the time, but not
/// where instructions count.
fn translator(name: &str) -> Result<(), TestError> {
    const FLUSHES: &str = "TLB flushes that let an emulated TLB grow";
    // The program takes two seconds; devices and the end of slices interrupt it some 60 times.
    const MANY_INTERRUPTS: u64 = 200;
    let directory = scratch::empty_directory(name)?;
    for (option, serves) in [("--cpus=1", true), ("--icount", false)] {
        let hadal = Hadal::plain().option("--stats").option(option).cwd(&directory);
        let words = arguments(&["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"]);
        let outcome = hadal.limit(Duration::from_secs(120)).run(Path::new("/bin/sh"), &words)?;
        expect_status(&outcome, 0)?;
        let (flushes, interrupts) = (counter(&outcome, FLUSHES), counter(&outcome, "interrupts"));
        if flushes.map(|count| count > 0) != Some(serves)
            || interrupts.map(|count| count > MANY_INTERRUPTS) != Some(serves)
        {
            let what = format!("{option}: {flushes:?} flushes, {interrupts:?} interrupts");
            return Err(wrong(&what, &outcome));
        }
    }
    Ok(())
}

fn exhausted(name: &str, how: &str) -> Result<Outcome, TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = EXHAUST.build(Way::GccDynamic)?;
    let hadal = Hadal::new(2).with("--memory", "256M").cwd(&directory).limit(Duration::from_secs(60));
    let outcome = hadal.run(&program, &arguments(&[how]))?;
    if outcome.status == i32::from(hadal_abi::status::TIMEOUT) {
        return Err(wrong("the machine hung when memory ran out", &outcome));
    }
    Ok(outcome)
}
