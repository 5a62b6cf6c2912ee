// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal bench`: one path length from its source to the table, the file, the page and the comparison. No Linux guest: its
//! packages would have to be downloaded.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hadal_tests::case::{expect_status, wrong};
use hadal_tests::machine::{Permit, hadal, hadal_command, with_default_signals};
use hadal_tests::run::{self, Running, descendants};
use hadal_tests::{Outcome, TestError, scratch};
use rustix::process::Signal;
use serde_json::Value;

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(180);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("bench/list", list);
    suite.hadal("bench/path-to-page", path_to_page);
    suite.hadal("bench/compare", compare);
    suite.hadal("bench/quick", quick);
    suite.hadal("bench/busy", busy);
    suite.hadal("bench/resume", resume);
    suite.hadal("bench/parallel", parallel);
    suite.hadal("bench/wakes-in-turns", wakes_in_turns);
    suite.hadal("bench/groups", groups);
    suite.hadal("bench/openmp", openmp);
    suite.hadal("bench/nas", nas);
    suite.hadal("bench/slices", slices);
    suite.hadal("bench/slices-killed", slices_killed);
    suite.hadal("bench/languages", languages);
    suite.hadal_slow("bench/boot-in-turns", boot_in_turns);
}

fn expect_parts(text: &str, parts: &[&str], outcome: &Outcome) -> Result<(), TestError> {
    match parts.iter().find(|part| !text.contains(**part)) {
        Some(missing) => Err(wrong(&format!("{missing:?} is missing in\n{text}"), outcome)),
        None => Ok(()),
    }
}

fn read(file: &Path) -> Result<String, TestError> {
    fs::read_to_string(file).map_err(TestError::io(format!("cannot read {}", file.display())))
}

fn write(file: &Path, text: &str) -> Result<(), TestError> {
    fs::write(file, text).map_err(TestError::io(format!("cannot write {}", file.display())))
}

fn list(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = hadal(&["bench", "list"], &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    let names = ["thread.create ", "event.condvar_polling", "boot.entry_to_main", "path parallel"];
    expect_parts(&outcome.stdout_text(), &names, &outcome)?;
    let unknown = hadal(&["bench", "run", "no.such"], &directory, LIMIT)?;
    expect_parts(&unknown.stderr_text(), &["no.such: no benchmark"], &unknown)
}

fn path_to_page(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = [
        "bench", "run", "--mode", "path", "--peer", "pik", "--json", "r.json", "--html", "r.html", "syscall",
    ];
    let outcome = hadal(&run, &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    // Where rep movsb is said to be fast, QEMU counts the bytes that it copies.
    let parts = ["syscall.getppid", "instructions", "Hadal pik", "erms=off,fsrm=off", "TCG models no"];
    expect_parts(&outcome.stdout_text(), &parts, &outcome)?;
    let json = read(&directory.join("r.json"))?;
    let parts = [
        "\"name\": \"syscall.getppid\"",
        "\"mode\": \"path\"",
        "\"cpus\": 1",
        "\"hadal\": {",
        "\"pik\": {",
        "\"median\": ",
    ];
    expect_parts(&json, &parts, &outcome)?;
    expect_parts(
        &read(&directory.join("r.html"))?,
        &["<!DOCTYPE html>", "syscall.getppid", "</html>"],
        &outcome,
    )?;
    let report = hadal(&["bench", "report", "r.json", "--html", "again.html"], &directory, LIMIT)?;
    expect_status(&report, 0)?;
    expect_parts(&read(&directory.join("again.html"))?, &["syscall.getppid", "</html>"], &report)
}

/// The verdicts of a comparison, on files: what is measured is above.
fn compare(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let results = |length: u32| {
        format!(
            "{{\"results\": [{{\"name\": \"syscall.getppid\", \"mode\": \"path\", \"cpus\": 1, \"unit\": \
             \"instructions\", \"hadal\": {{\"median\": {length}, \"p5\": {length}, \"p95\": {length}, \
             \"samples\": 9}}}}]}}"
        )
    };
    write(&directory.join("old.json"), &results(1000))?;
    for (length, status, part) in
        [(1000, 0, "0 failed"), (1020, 0, "0 failed"), (1021, 1, "GROWN"), (10, 0, "shorter")]
    {
        write(&directory.join("new.json"), &results(length))?;
        let outcome = hadal(&["bench", "compare", "old.json", "new.json"], &directory, LIMIT)?;
        expect_status(&outcome, status)?;
        expect_parts(&outcome.stdout_text(), &[part], &outcome)?;
    }
    Ok(())
}

/// A first look is marked as one, and not taken for a whole run.
fn quick(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = ["bench", "run", "--quick", "--peer", "none", "--json", "q.json", "syscall"];
    let outcome = hadal(&run, &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &["syscall.getppid", "Quick:"], &outcome)?;
    let json = parse(&directory.join("q.json"))?;
    if json["settings"][0]["quick"] != true || json["results"][0]["hadal"]["samples"].as_u64() >= Some(100) {
        return Err(wrong(&format!("no quick run: {json}"), &outcome));
    }
    write(
        &directory.join("full.json"),
        &one_result(r#""median": 1000, "p5": 1000, "p95": 1000, "samples": 9"#),
    )?;
    let refused = hadal(&["bench", "compare", "full.json", "q.json"], &directory, LIMIT)?;
    expect_parts(&refused.stderr_text(), &["one of these is a quick run"], &refused)
}

fn one_result(summary: &str) -> String {
    format!(
        "{{\"results\": [{{\"name\": \"syscall.getppid\", \"mode\": \"parallel\", \"cpus\": 2, \"unit\": \"ns\", \
         \"hadal\": {{{summary}}}}}]}}"
    )
}

fn parse(file: &Path) -> Result<Value, TestError> {
    serde_json::from_str(&read(file)?)
        .map_err(|error| TestError::Wrong(format!("{} is no JSON: {error}", file.display())))
}

/// Times that were taken while others used the host are marked, those of a quiet host and old files' are not.
fn busy(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let numbers = r#""median": 1234, "p5": 1234, "p95": 1234, "samples": 9"#;
    let host =
        |others: &str| format!(r#"{numbers}, "host": {{"load": 1.0, "others": {others}, "steal": 0.0}}"#);
    let note = "! others took more than 5%";
    for (summary, is_marked) in [(numbers.to_owned(), false), (host("0.04"), false), (host("0.06"), true)] {
        write(&directory.join("r.json"), &one_result(&summary))?;
        let outcome = hadal(&["bench", "report", "r.json"], &directory, LIMIT)?;
        expect_status(&outcome, 0)?;
        let text = outcome.stdout_text();
        if text.contains("1234!") != is_marked || text.contains(note) != is_marked {
            return Err(wrong(&format!("of {summary}, a mark is {is_marked}"), &outcome));
        }
    }
    Ok(())
}

const RESUMED: [&str; 3] = ["syscall", "fiber", "task"];

/// A run that is ended by Ctrl-C, and then by force, goes on where it was; not with another QEMU.
fn resume(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let file = directory.join("r.json");
    let begin = ["bench", "run", "--peer", "pik", "--json", "r.json"];
    let interrupted = end_after(&directory, &[&begin[..], &RESUMED].concat(), 1, Signal::INT)?;
    expect_status(&interrupted, 130)?;
    let text = interrupted.stderr_text();
    expect_parts(
        &text,
        &["of 6 turns, which are in r.json", "hadal bench run --resume r.json"],
        &interrupted,
    )?;

    let shown = hadal(&["bench", "report", "r.json"], &directory, LIMIT)?;
    expect_parts(&shown.stdout_text(), &["syscall.getppid", "UNFINISHED: "], &shown)?;
    let good = read(&file)?;
    write(&file, &good.replace("QEMU emulator version", "QEMU emulator of another version"))?;
    let refused = hadal(&["bench", "run", "--resume", "r.json"], &directory, LIMIT)?;
    expect_parts(&refused.stderr_text(), &["cannot go on here: QEMU was"], &refused)?;
    let options = hadal(&["bench", "run", "--resume", "r.json", "--quick"], &directory, LIMIT)?;
    expect_parts(&options.stderr_text(), &["cannot be used with"], &options)?;

    write(&file, &good)?;
    let done = turns_done(&file).unwrap_or(0);
    let killed = end_after(&directory, &["bench", "run", "--resume", "r.json"], done + 1, Signal::KILL)?;
    expect_status(&killed, 137)?;
    let done = turns_done(&file).unwrap_or(0);
    let outcome = hadal(&["bench", "run", "--resume", "r.json"], &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    if outcome.stderr_text().lines().filter(|line| line.starts_with('[')).count() as u64 != 6 - done {
        return Err(wrong(&format!("it did not go on after turn {done}"), &outcome));
    }
    let json = parse(&file)?;
    let of_both = |entry: &Value| entry.get("hadal").is_some() && entry.get("pik").is_some();
    let figures =
        json["results"].as_array().map_or(0, |entries| entries.iter().filter(|e| of_both(e)).count());
    match (figures, json.get("unfinished")) {
        (4, None) => Ok(()),
        _ => Err(wrong(&format!("{figures} figures in\n{json}"), &outcome)),
    }
}

/// Turns done by the unfinished run in a file.
fn turns_done(file: &Path) -> Option<u64> {
    parse(file).ok()?["unfinished"]["done"].as_u64()
}

/// Starts a run and ends it as soon as its file says that so many turns are done.
fn end_after(directory: &Path, line: &[&str], turns: u64, signal: Signal) -> Result<Outcome, TestError> {
    let mut command = with_default_signals(&hadal_command()?);
    command.args(line).current_dir(directory);
    let _permit = Permit::one();
    let running = Running::start(command, b"")?;
    let deadline = Instant::now() + LIMIT;
    while turns_done(&directory.join("r.json")) < Some(turns) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    running.signal_group(signal);
    running.finish(LIMIT)
}

/// Two machines' CPUs, threads on each, and the host beside them.
fn parallel(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = ["bench", "run", "--mode", "parallel", "--peer", "native", "--rounds", "1", "noise.fixed_work"];
    let outcome = hadal(&run, &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &["noise.fixed_work", "native", "ns"], &outcome)
}

/// Up to eight CPUs that take turns in one thread of QEMU's, where one that waits must let go of its turn.
fn boot_in_turns(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = ["bench", "run", "--mode", "path", "--peer", "none", "boot.entry_to_main"];
    let outcome = hadal(&run, &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    let text = outcome.stdout_text();
    match text.lines().filter(|line| line.starts_with("boot.entry_to_main ")).count() {
        4 => Ok(()),
        other => Err(wrong(&format!("{other} figures instead of those of 1, 2, 4 and 8 CPUs"), &outcome)),
    }
}

/// Two CPUs in turns: a CPU that still polls is woken by fewer instructions than one that has halted and is interrupted.
fn wakes_in_turns(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let figures = ["event.condvar_polling", "event.condvar_halted"];
    let run = ["bench", "run", "--quick", "--mode", "path", "--peer", "none", "--json", "r.json"];
    let outcome = hadal(&[&run[..], &figures].concat(), &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    let results: Value = serde_json::from_str(&read(&directory.join("r.json"))?)
        .map_err(|error| wrong(&format!("r.json: {error}"), &outcome))?;
    let entries = results["results"].as_array().into_iter().flatten();
    let of = |figure: &str| {
        let entry = entries.clone().find(|entry| entry["name"] == figure && entry["cpus"] == 2);
        entry.and_then(|entry| entry["hadal"]["median"].as_f64())
    };
    match (of(figures[0]), of(figures[1])) {
        (Some(polling), Some(halted)) if 0.0 < polling && polling < halted => Ok(()),
        other => Err(wrong(&format!("polling and halted took {other:?} instructions"), &outcome)),
    }
}

/// Constructs of OpenMP, one of each program, with a result for each way and each size of team.
fn openmp(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let figures = ["openmp.barrier", "openmp.dynamic8", "openmp.copyin", "openmp.taskwait"];
    let run = ["bench", "run", "--quick", "--mode", "path", "--peer", "pik", "--json", "r.json"];
    let outcome = hadal(&[&run[..], &figures].concat(), &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &["RTK", "pik --omp=native", "Hadal pik"], &outcome)?;
    let json = parse(&directory.join("r.json"))?;
    let results = json["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in ["openmp.barrier", "openmp.barrier_1", "openmp.barrier_4", "openmp.copyin_59049"] {
        let entry = results.iter().find(|entry| entry["name"] == name);
        let is_there = |key: &&str| entry.is_some_and(|entry| entry[*key]["median"].is_number());
        if let Some(missing) = ["rtk", "pik_native", "pik"].iter().find(|key| !is_there(key)) {
            return Err(wrong(&format!("{name} has no {missing}"), &outcome));
        }
    }
    Ok(())
}

/// A program of NAS by its name, programs of tasks and those that check a solution, in the kernel and on the host.
fn nas(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = ["bench", "run", "--quick", "--mode", "parallel", "--peer", "native", "--json", "r.json"];
    let figures = ["nas.is.S", "openmp.strassen", "hpccg", "stream.triad"];
    let outcome = hadal(&[&run[..], &figures].concat(), &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    let parts = ["nas.is.S", "openmp.strassen_1", "hpccg.solve", "stream.triad", "native libgomp"];
    expect_parts(&outcome.stdout_text(), &parts, &outcome)?;
    let listed = hadal(&["bench", "list", "nas"], &directory, LIMIT)?;
    expect_parts(&listed.stdout_text(), &["nas.ep.S", "nas.lu.C"], &listed)
}

/// Two programs of NAS in turns of all their places, whose times are what each was given and not how long it was there.
fn slices(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = ["bench", "run", "--mode", "parallel", "--slices", "--rounds", "1", "--json", "r.json"];
    let what = ["--peer", "native", "nas.is.S", "nas.cg.S"];
    let started = Instant::now();
    let outcome = hadal(&[&run[..], &what].concat(), &directory, LIMIT)?;
    let all = started.elapsed().as_nanos() as f64;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &["Slices:"], &outcome)?;
    expect_parts(&outcome.stderr_text(), &["nas.cg.S on 2 CPUs: RTK and 4 others in slices"], &outcome)?;
    let json = parse(&directory.join("r.json"))?;
    let results = json["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut sum = 0.0;
    for name in what.iter().filter(|word| word.starts_with("nas")) {
        for place in ["rtk", "rtk_clang", "native_hadal", "native_libgomp", "native_libomp"] {
            let entry = results.iter().find(|entry| entry["name"] == *name);
            match entry.map(|entry| (&entry[place]["samples"], entry[place]["median"].as_f64())) {
                Some((samples, Some(median))) if *samples == 1 && median > 0.0 => sum += median,
                other => return Err(wrong(&format!("{name} has {other:?} in {place}"), &outcome)),
            }
        }
    }
    // One ran at a time.
    if sum > all {
        return Err(wrong(&format!("{sum} ns of computing in {all} ns"), &outcome));
    }
    let refused = hadal(&[&run[..], &["noise.fixed_work"]].concat(), &directory, LIMIT)?;
    expect_parts(&refused.stderr_text(), &["--slices is for the NAS parallel benchmarks"], &refused)?;
    expect_status(&refused, 125)
}

/// When the harness is killed, so are the machines that it has stopped.
fn slices_killed(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let mut command = with_default_signals(&hadal_command()?);
    let run =
        ["bench", "run", "--mode", "parallel", "--slices", "--rounds", "1", "--peer", "none", "nas.ep.W"];
    command.args(run).current_dir(&directory);
    let _permit = Permit::one();
    let running = Running::start(command, b"")?;
    let deadline = Instant::now() + LIMIT;
    let wait_for = |condition: &dyn Fn() -> bool, what: &str| {
        while !condition() {
            if Instant::now() > deadline {
                return Err(TestError::Wrong(what.to_owned()));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    let are_stopped = || descendants(running.pid()).into_iter().any(|process| state(process) == Some('T'));
    wait_for(&are_stopped, "no machine was ever stopped")?;
    let family = descendants(running.pid());
    run::kill(running.pid());
    let have_ended = || family.iter().all(|process| matches!(state(*process), None | Some('Z')));
    wait_for(&have_ended, "a machine or its command outlives the harness")?;
    expect_status(&running.finish(LIMIT)?, 137)
}

/// The letter of a process's state; `None` when there is none.
fn state(process: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Programs in all three languages, beside the same by hand; the answers of all are checked.
fn languages(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let path = ["bench", "run", "--quick", "--mode", "path", "--peer", "none"];
    let figures = ["nesl.scalar_instruction", "ndpc.fork_join"];
    let outcome = hadal(&[&path[..], &figures].concat(), &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &figures, &outcome)?;
    let times = ["bench", "run", "--quick", "--mode", "parallel", "--peer", "native", "--json", "r.json"];
    let outcome = hadal(&[&times[..], &["nesl.queens", "ndpc.queens"]].concat(), &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    let json = parse(&directory.join("r.json"))?;
    let results = json["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in [
        "nesl.queens",
        "nesl.queens_short",
        "nesl.queens_1",
        "ndpc.queens",
        "ndpc.queens_short",
        "ndpc.queens_1",
    ] {
        let entry = results.iter().find(|entry| entry["name"] == name);
        let is_there = |key: &&str| entry.is_some_and(|entry| entry[*key]["median"].is_number());
        if let Some(missing) = ["hadal", "native", "native_libgomp"].iter().find(|key| !is_there(key)) {
            return Err(wrong(&format!("{name} has no {missing}"), &outcome));
        }
    }
    Ok(())
}

/// One figure of each group that is about unmodified programs, as an image and unmodified.
fn groups(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let figures = [
        "mmap.map_touch_unmap",
        "signal.to_sleeping",
        "file.proc_self_stat",
        "pipe.ping_pong",
        "pthread.cond_ping_pong",
        "scaling.barrier",
        "thread.create_first",
    ];
    let run = ["bench", "run", "--quick", "--mode", "path", "--peer", "pik"];
    let outcome = hadal(&[&run[..], &figures].concat(), &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &figures, &outcome)
}
