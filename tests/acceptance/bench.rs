// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal bench`: one path length from its source to the table, the file, the page and the comparison. No Linux guest: its
//! packages would have to be downloaded.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hadal_tests::case::{expect_status, wrong};
use hadal_tests::machine::hadal;
use hadal_tests::{Outcome, TestError, scratch};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(180);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("bench/list", list);
    suite.hadal("bench/path-to-page", path_to_page);
    suite.hadal("bench/compare", compare);
    suite.hadal("bench/parallel", parallel);
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
    let names = ["thread.create ", "event.condvar_wake_kick", "boot.entry_to_main", "path parallel"];
    expect_parts(&outcome.stdout_text(), &names, &outcome)?;
    let unknown = hadal(&["bench", "run", "no.such"], &directory, LIMIT)?;
    expect_parts(&unknown.stderr_text(), &["no.such: no benchmark"], &unknown)
}

fn path_to_page(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let run = [
        "bench", "run", "--mode", "path", "--peer", "none", "--json", "r.json", "--html", "r.html", "syscall",
    ];
    let outcome = hadal(&run, &directory, LIMIT)?;
    expect_status(&outcome, 0)?;
    expect_parts(&outcome.stdout_text(), &["syscall.getppid", "instructions", "TCG models no"], &outcome)?;
    let json = read(&directory.join("r.json"))?;
    let parts = [
        "\"name\": \"syscall.getppid\"",
        "\"mode\": \"path\"",
        "\"cpus\": 1",
        "\"hadal\": {",
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
