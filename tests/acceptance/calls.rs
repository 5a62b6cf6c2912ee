// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls and counters of a run: `--strace=CALLS`, `--strace=count`, `--stats=json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{EVENTS, HELLO};
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};
use serde_json::Value;

use crate::suite::Suite;

/// What [`EVENTS`] does: threads, rounds of each, calls of `getppid` in a round.
const WORKERS: u64 = 4;
const ROUNDS: u64 = 10;
const CALLS: u64 = 25;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("observe/strace/chosen", chosen);
    suite.hadal("observe/strace/processes", of_processes);
    suite.hadal("observe/strace/misspelt", misspelt);
    suite.hadal("observe/strace/count", counted);
    suite.hadal("observe/strace/count-threads", counted_by_cpus);
    suite.hadal("observe/stats/json", json);
}

/// A run of [`HELLO`] on one CPU, which makes the same calls every time.
fn hello(directory: &Path, option: &str) -> Result<Outcome, TestError> {
    let outcome = Hadal::new(1)
        .cwd(directory)
        .option(option)
        .env("LC_ALL", "C")
        .run(&HELLO.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    Ok(outcome)
}

/// Name of the call in a line of a trace, `[4] close(3) = 0`.
fn name(line: &str) -> Option<&str> {
    let (head, rest) = line.split_once(' ')?;
    let (name, _) = rest.split_once('(')?;
    head.starts_with('[').then_some(name)
}

fn names(outcome: &Outcome) -> Vec<String> {
    outcome.stderr_text().lines().filter_map(name).map(str::to_owned).collect()
}

/// Whether a list of calls has this one.
type IsChosen = Box<dyn Fn(&str) -> bool>;

/// The calls that are asked for, and no others, in their order.
fn chosen(directory: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(directory)?;
    let all = names(&hello(&directory, "--strace")?);
    let of_file = ["openat", "access", "newfstatat", "execve", "readlink", "statx", "open", "stat"];
    let of_memory = ["mmap", "munmap", "mprotect", "brk"];
    let lists: [(&str, IsChosen); 5] = [
        ("--strace=all", Box::new(|_| true)),
        ("--strace=read,openat", Box::new(|name| ["read", "openat"].contains(&name))),
        ("--strace=%file", Box::new(move |name| of_file.contains(&name))),
        (
            "--strace=%memory,exit_group",
            Box::new(move |name| of_memory.contains(&name) || name == "exit_group"),
        ),
        ("--strace=!%memory,read", Box::new(move |name| !of_memory.contains(&name) && name != "read")),
    ];
    for (option, is_chosen) in lists {
        let outcome = hello(&directory, option)?;
        let expected: Vec<&String> = all.iter().filter(|name| is_chosen(name)).collect();
        let shown = names(&outcome);
        if expected.is_empty() || shown.iter().ne(expected.iter().copied()) {
            return Err(wrong(&format!("{option}: expected {expected:?}"), &outcome));
        }
    }
    Ok(())
}

/// The calls of the processes that the program makes are shown only where that is asked for, with their numbers.
fn of_processes(directory: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(directory)?;
    let script = arguments(&["-c", "/bin/true; /bin/echo done"]);
    let machine = Hadal::new(1).cwd(&directory).option("--strace=execve");
    for (follows, expected) in [(false, vec![]), (true, vec!["/bin/true", "/bin/echo"])] {
        let machine = if follows { machine.clone().option("--follow-forks") } else { machine.clone() };
        let outcome = machine.run(Path::new("/bin/sh"), &script)?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "done\n")?;
        let text = outcome.stderr_text();
        let shown: Vec<&str> = text.lines().filter(|line| line.contains("] execve(")).collect();
        let is_of_process = |line: &str| {
            let (pid, rest) = line.strip_prefix('[')?.split_once('/')?;
            Some(rest.strip_prefix(pid)?.starts_with("] execve("))
        };
        let are_as_expected = shown.len() == expected.len()
            && shown.iter().zip(&expected).all(|(line, program)| {
                line.contains(&format!("(\"{program}\"")) && is_of_process(line) == Some(true)
            });
        if !are_as_expected {
            return Err(wrong(&format!("expected calls of {expected:?}"), &outcome));
        }
    }
    Ok(())
}

/// A wrong name is an error before the machine starts.
fn misspelt(directory: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(directory)?;
    let outcome = Hadal::new(1)
        .cwd(&directory)
        .option("--strace=read,opnat")
        .run(&HELLO.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 2)?;
    expect_stdout(&outcome, "")?;
    expect_texts(&outcome, &["Linux has no system call opnat; is openat meant?"])
}

/// A row of the table of `--strace=count`.
#[derive(Debug, Default, PartialEq)]
struct Row {
    share: f64,
    seconds: f64,
    calls: u64,
    errors: u64,
}

/// The rows by name, and the sum.
fn table(outcome: &Outcome) -> Result<(BTreeMap<String, Row>, Row), TestError> {
    let text = outcome.stderr_text();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (numbers, name) = words.split_at_checked(words.len().checked_sub(1)?)?;
        let &[share, seconds, _, calls, ref errors @ ..] = numbers else { return None };
        let errors = errors.first().map_or(Some(0), |errors| errors.parse().ok())?;
        let row = Row {
            share: share.parse().ok()?,
            seconds: seconds.parse().ok()?,
            calls: calls.parse().ok()?,
            errors,
        };
        Some((name[0].to_owned(), row))
    };
    let mut rows: BTreeMap<String, Row> = text.lines().filter_map(row).collect();
    let sum = rows.remove("total").ok_or_else(|| wrong("no sum", outcome))?;
    Ok((rows, sum))
}

/// The table has the calls and the errors of the lines; the columns have their sums.
fn counted(directory: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(directory)?;
    let lines = hello(&directory, "--strace")?;
    let outcome = hello(&directory, "--strace=count")?;
    let (rows, sum) = table(&outcome)?;
    let mut expected: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in lines.stderr_text().lines() {
        let Some(name) = name(line) else { continue };
        let (calls, errors) = expected.entry(name.to_owned()).or_default();
        *calls += 1;
        *errors += u64::from(line.contains(" = -1 E"));
    }
    let found: BTreeMap<String, (u64, u64)> =
        rows.iter().map(|(name, row)| (name.clone(), (row.calls, row.errors))).collect();
    if found != expected || !found.contains_key("exit_group") {
        return Err(wrong(&format!("expected {expected:?}"), &outcome));
    }
    let total = |of: fn(&Row) -> u64| rows.values().map(of).sum::<u64>();
    if total(|row| row.calls) != sum.calls || total(|row| row.errors) != sum.errors {
        return Err(wrong("the sums are wrong", &outcome));
    }
    // Each row is rounded.
    let seconds: f64 = rows.values().map(|row| row.seconds).sum();
    let share: f64 = rows.values().map(|row| row.share).sum();
    if (seconds - sum.seconds).abs() > 1e-6 * rows.len() as f64
        || (share - 100.0).abs() > 0.005 * rows.len() as f64
    {
        return Err(wrong("the times have another sum", &outcome));
    }
    if outcome.stderr_text().lines().any(|line| name(line).is_some()) {
        return Err(wrong("there are lines of calls, too", &outcome));
    }
    let of_memory = hello(&directory, "--strace=count,%memory")?;
    let chosen: Vec<String> = table(&of_memory)?.0.into_keys().collect();
    let expected: Vec<&String> = expected
        .keys()
        .filter(|name| ["mmap", "munmap", "mprotect", "brk"].contains(&name.as_str()))
        .collect();
    if chosen.iter().ne(expected.iter().copied()) {
        return Err(wrong(&format!("expected {expected:?}"), &of_memory));
    }
    Ok(())
}

/// Threads on several CPUs lose no call.
fn counted_by_cpus(directory: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(directory)?;
    let hadal = Hadal::new(4).cwd(&directory).option("--strace=count");
    let outcome = hadal.run(&EVENTS.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    let (rows, _) = table(&outcome)?;
    let calls = |name: &str| rows.get(name).map_or(0, |row| row.calls);
    for (name, expected) in [
        ("getppid", WORKERS * ROUNDS * CALLS),
        ("clock_nanosleep", WORKERS * ROUNDS),
        ("clone3", WORKERS),
        ("exit_group", 1),
    ] {
        if calls(name) != expected {
            return Err(wrong(&format!("{name}: {} calls instead of {expected}", calls(name)), &outcome));
        }
    }
    // They sleep, and that is time in the call.
    match rows["clock_nanosleep"].seconds > 0.0 {
        true => Ok(()),
        false => Err(wrong("sleeping took no time", &outcome)),
    }
}

/// The document is JSON, what each CPU has adds up, and the file has the same without the program's standard error.
fn json(directory: &str) -> Result<(), TestError> {
    const CPUS: usize = 3;
    let directory = scratch::empty_directory(directory)?;
    let file = directory.join("stats.json");
    let hadal = Hadal::new(CPUS as u32).cwd(&directory).option("--stats=json").with("--stats-file", &file);
    let outcome = hadal.run(&EVENTS.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    let text = outcome.stderr_text();
    let written = fs::read_to_string(&file).map_err(TestError::io("--stats-file"))?;
    if text.lines().count() != 1 || text != written {
        return Err(wrong(&format!("not the line that is in the file: {written}"), &outcome));
    }
    let document: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string(), &outcome))?;
    let counters = document["counters"].as_object().ok_or_else(|| wrong("no counters", &outcome))?;
    if document["format"] != 1 || counters.len() < 20 {
        return Err(wrong("not the counters", &outcome));
    }
    for (name, counter) in counters {
        let total =
            counter["total"].as_u64().ok_or_else(|| wrong(&format!("{name} has no total"), &outcome))?;
        let Some(by_cpu) = counter["by_cpu"].as_array() else { continue };
        let sum: Option<u64> = by_cpu.iter().map(Value::as_u64).sum();
        if by_cpu.len() != CPUS || sum != Some(total) {
            return Err(wrong(&format!("{name} does not add up"), &outcome));
        }
    }
    match counters["system calls"]["total"].as_u64() {
        Some(calls) if calls > WORKERS * ROUNDS * CALLS => Ok(()),
        _ => Err(wrong("system calls are missing", &outcome)),
    }
}
