// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal ps`, `hadal stop` and `hadal stacks` on live machines. How the commands themselves behave is tested on a fake QEMU
//! (`cli/tests/live.rs`).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, wrong};
use hadal_tests::machine::{arguments, hadal_command};
use hadal_tests::programs::{DEADLOCK, INTERRUPTS_OFF, WAIT};
use hadal_tests::run::{self, Running};
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};

use crate::suite::Suite;

/// Time for a machine to start, for an answer and for an end, on a busy host.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("live/stacks/deadlock", stacks_of_a_deadlock);
    suite.hadal("live/stacks/interrupts-off", stacks_without_interrupts);
    suite.hadal("live/processes", processes);
    suite.hadal("live/stop/handled", stop_handled);
    suite.hadal("live/two-runs", two_runs);
}

/// A run whose socket is in a directory of this test.
fn runs_in(directory: &Path, cpus: u32) -> Hadal {
    Hadal::new(cpus).cwd(directory).command_env("XDG_RUNTIME_DIR", directory)
}

/// Another `hadal` command of the same user.
fn ask(directory: &Path, words: &[&str]) -> Result<Outcome, TestError> {
    let mut command = Command::new(hadal_command()?);
    command.args(words).env("XDG_RUNTIME_DIR", directory);
    run::run(command, b"", LIMIT)
}

/// The same, with status 0.
fn answer(directory: &Path, words: &[&str]) -> Result<String, TestError> {
    let outcome = ask(directory, words)?;
    expect_status(&outcome, 0)?;
    Ok(outcome.stdout_text())
}

/// The list of threads is that of the time limit, the run goes on, and another list comes.
fn stacks_of_a_deadlock(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = DEADLOCK.build(Way::GccDynamic)?;
    let (_permit, running) = runs_in(&directory, 2).start(&program, &[])?;
    running.wait_for_output("about to deadlock\n", LIMIT)?;
    let parts =
        ["deadlock: 3 threads", "waits in futex", "left_then_right+0x", "right_then_left+0x", "main+0x"];
    // The threads may still be on their way.
    let mut list = String::new();
    for _ in 0..50 {
        list = answer(&directory, &["stacks"])?;
        if parts.iter().all(|part| list.contains(part)) && list.matches("pthread_mutex_lock").count() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    if let Some(part) = parts.iter().find(|part| !list.contains(**part)) {
        return Err(TestError::Wrong(format!("{part:?} is not in the list:\n{list}")));
    }
    let outcome = end(&directory, running, "ended with status 143")?;
    expect_status(&outcome, 143)?;
    if outcome.stderr_text().contains("waits in futex") {
        return Err(wrong("the list is on the run's own standard error", &outcome));
    }
    Ok(())
}

/// The processes of a run, those that sleep, run and are stopped.
fn processes(name: &str) -> Result<(), TestError> {
    const SCRIPT: &str = "sleep 99 & (kill -STOP $BASHPID; :) & yes > /dev/null & echo started; wait";
    let directory = scratch::empty_directory(name)?;
    let script = arguments(&["-c", SCRIPT]);
    let (_permit, running) = runs_in(&directory, 2).start(Path::new("/bin/bash"), &script)?;
    running.wait_for_output("started\n", LIMIT)?;
    let parts = [
        ("sleeping", "sleep 99"),
        ("running", "yes"),
        ("stopped", "/bin/bash -c"),
        ("sleeping", "/bin/bash -c"),
    ];
    let is_there = |list: &str, (state, command): (&str, &str)| {
        list.lines().any(|line| line.contains(state) && line.contains(&format!("  {command}")))
    };
    // They may still be on their way.
    let mut list = String::new();
    for _ in 0..50 {
        list = answer(&directory, &["ps", "bash"])?;
        if parts.iter().all(|&part| is_there(&list, part)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    if let Some(part) = parts.iter().find(|&&part| !is_there(&list, part)) {
        return Err(TestError::Wrong(format!("{part:?} is not in the list:\n{list}")));
    }
    expect_status(&end(&directory, running, "ended with status 143")?, 143)
}

/// CPU 0, which takes the interrupts of devices, does not take them: the watchdog helps.
fn stacks_without_interrupts(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = INTERRUPTS_OFF.build(Way::GccDynamic)?;
    let (_permit, running) = runs_in(&directory, 2).start(&program, &arguments(&["halt", "forever"]))?;
    running.wait_for_output("a thread stays\n", LIMIT)?;
    let list = answer(&directory, &["stacks"])?;
    if !list.contains("halt_without_interrupts") || !list.contains("runs on CPU 0") {
        return Err(TestError::Wrong(format!("the thread is not in the list:\n{list}")));
    }
    let outcome = end(&directory, running, "status")?;
    if !matches!(outcome.status, 137 | 143) {
        return Err(wrong("an unexpected status", &outcome));
    }
    Ok(())
}

/// Stops the only run; the text says what became of it.
fn end(directory: &Path, running: Running, text: &str) -> Result<Outcome, TestError> {
    let said = answer(directory, &["stop"])?;
    if !said.contains(text) {
        return Err(TestError::Wrong(format!("{text:?} is not in what hadal stop says: {said}")));
    }
    running.finish(LIMIT)
}

/// A program that handles SIGTERM ends as it wants.
fn stop_handled(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (_permit, running) = runs_in(&directory, 1).start(&WAIT.build(Way::GccDynamic)?, &[])?;
    running.wait_for_output("waiting\n", LIMIT)?;
    let outcome = end(&directory, running, "ended with status 3")?;
    expect_status(&outcome, 3)?;
    expect_stdout(&outcome, "waiting\nsignal 15\n")
}

fn two_runs(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (deadlock, wait) = (DEADLOCK.build(Way::GccDynamic)?, WAIT.build(Way::GccDynamic)?);
    // One permit for both: two machines that wait take no time from others.
    let (_permit, first) = runs_in(&directory, 2).start(&deadlock, &[])?;
    let second = runs_in(&directory, 1).command(&hadal_command()?, &wait, &[]);
    let second = Running::start(second, b"")?;
    first.wait_for_output("about to deadlock\n", LIMIT)?;
    second.wait_for_output("waiting\n", LIMIT)?;
    let table = answer(&directory, &["ps"])?;
    if table.lines().count() != 3 {
        return Err(TestError::Wrong(format!("not two runs:\n{table}")));
    }
    // QEMU has translated for a while, so it has used CPU time.
    for (line, cpus) in table.lines().skip(1).zip(["2", "1"]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.get(2) != Some(&cpus) || words.get(6).is_none_or(|time| !time.contains(':')) {
            return Err(TestError::Wrong(format!("a wrong line:\n{table}")));
        }
    }
    expect_status(&ask(&directory, &["stacks"])?, 2)?;
    let said = answer(&directory, &["stop", "--all"])?;
    expect_status(&first.finish(LIMIT)?, 143)?;
    expect_status(&second.finish(LIMIT)?, 3)?;
    match said.lines().count() {
        2 => Ok(()),
        _ => Err(TestError::Wrong(format!("not two ends: {said}"))),
    }
}
