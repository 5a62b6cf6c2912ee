// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that use up what the kernel keeps for them: they get an error and go on, and the machine never fails.

use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_status, expect_stdout, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::USE_UP;
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};

use crate::suite::Suite;

/// What the program uses up, in the order in which it does. Those of a line have a machine of their own: tables of descriptors
/// and timers do not shrink, and the C library keeps the stacks of threads that have ended.
const KINDS: [&[&str]; 9] = [
    &[
        "pipes",
        "sockets",
        "memfds",
        "eventfds",
        "poll",
        "files",
        "directories",
        "fifos",
        "small-writes",
        "mappings",
        "holes",
        "signals",
    ],
    &["segments", "semaphores", "messages"],
    &["threads"],
    &["readers"],
    &["futexes"],
    &["eventfds", "timers"],
    &["stacks"],
    &["dup2"],
    &["dup"],
];
/// Kinds of these again, after others than there: that matters where memory is what runs out.
const KINDS_OF_SMALL: [&[&str]; 2] = [&["files", "futexes"], &["timers"]];
/// Seeds of the runs whose allocations fail at random, and how many of a million do.
const SEEDS: [(u32, u32); 4] = [(1, 1_000), (2, 10_000), (3, 50_000), (4, 200_000)];
/// MiB that are left of a small machine's memory before anything is used up.
const LEAVE: &str = "--leave=6";

pub(crate) fn register(suite: &mut Suite) {
    // In a machine of the default size memory is not what runs out first.
    for memory in [Some("64M"), Some("256M"), None] {
        suite.hadal(format!("exhaust/{}", memory.unwrap_or("default")), move |name| {
            let of_small = KINDS_OF_SMALL.iter().filter(|_| memory.is_some());
            KINDS.iter().chain(of_small).try_for_each(|kinds| all_of(name, memory, kinds))
        });
    }
    suite.hadal_in_all("exhaust/default-long", |name| {
        let all = KINDS.iter().chain(&KINDS_OF_SMALL);
        all.copied().try_for_each(|kinds| used_up(name, Hadal::new(2), "--long", kinds))
    });
    for memory in ["64M", "256M"] {
        suite.hadal(format!("exhaust/processes/{memory}"), move |name| {
            all_of(name, Some(memory), &["processes"])
        });
    }
    suite.hadal("exhaust/ring3", |name| {
        let hadal = Hadal::new(2).with("--memory", "256M").with("--ring", "3");
        let others = [&["processes"][..]];
        KINDS.iter().chain(&others).copied().try_for_each(|kinds| used_up(name, hadal.clone(), LEAVE, kinds))
    });
    // All memory goes into mappings, so that none is left when they are unmapped.
    for memory in ["64M", "128M"] {
        suite.hadal(format!("exhaust/holes/{memory}"), move |name| {
            let outcome = run(name, Hadal::new(2).with("--memory", memory), &["holes"])?;
            expect_status(&outcome, 0)?;
            expect_stdout(&outcome, "holes\nwent on\n")
        });
    }
    for (seed, rate) in SEEDS {
        suite.hadal(format!("exhaust/failing/{rate}"), move |name| {
            let word = format!("fail-alloc={seed}:{rate}");
            let hadal = Hadal::new(2).with("--memory", "64M").with("--append", &word);
            let outcome = run(name, hadal, &["--tolerant"])?;
            // Errors, a lack of memory that ends the program, a fault of a program that takes no errors: all but a failure of
            // the machine.
            let failures = [status::KERNEL_PANIC, status::TIMEOUT, status::LOST].map(i32::from);
            if failures.contains(&outcome.status) {
                return Err(wrong("the machine failed", &outcome));
            }
            Ok(())
        });
    }
}

fn all_of(name: &str, memory: Option<&str>, kinds: &[&str]) -> Result<(), TestError> {
    let hadal = Hadal::new(2);
    let hadal = memory.map_or(hadal.clone(), |memory| hadal.with("--memory", memory));
    used_up(name, hadal, memory.map_or("", |_| LEAVE), kinds)
}

/// All of the kinds are used up, with an option of the program unless it is empty, and the program goes on.
fn used_up(name: &str, hadal: Hadal, option: &str, kinds: &[&str]) -> Result<(), TestError> {
    let option = Some(option).filter(|option| !option.is_empty());
    let words: Vec<&str> = option.into_iter().chain(kinds.iter().copied()).collect();
    let outcome = run(name, hadal, &words)?;
    expect_status(&outcome, 0)?;
    let text: String = kinds.iter().chain(&["went on"]).map(|line| format!("{line}\n")).collect();
    expect_stdout(&outcome, &text)
}

fn run(name: &str, hadal: Hadal, words: &[&str]) -> Result<Outcome, TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = USE_UP.build(Way::GccDynamic)?;
    hadal.cwd(&directory).limit(Duration::from_secs(120)).run(&program, &arguments(words))
}
