// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal shell` with a script as input, and the same shell on the serial line of a machine without a command.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_in_order, expect_status, expect_texts, wrong};
use hadal_tests::machine::{Permit, hadal_command};
use hadal_tests::run;
use hadal_tests::{Outcome, TestError, scratch};

use crate::cc::{POWERED_OFF, image, qemu};
use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(90);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("shell/tables", tables);
    suite.hadal("shell/wrong-lines", wrong_lines);
    for cpus in ["1", "4"] {
        suite.hadal(format!("shell/run-again/{cpus}"), move |name| run_again(name, cpus));
    }
    suite.hadal("shell/run-after-fault", run_after_fault);
    suite.hadal("shell/refuses-after-leftovers", refuses_after_leftovers);
    suite.hadal("shell/trace", trace);
    suite.hadal("shell/serial", serial);
}

/// Runs `hadal shell` with these arguments in a directory, and commands as its input.
fn shell(directory: &Path, arguments: &[&str], script: &str) -> Result<Outcome, TestError> {
    let mut command = Command::new(hadal_command()?);
    command.args(["shell", "--timeout", "60"]).args(arguments).current_dir(directory);
    let _permit = Permit::one();
    run::run(command, script.as_bytes(), LIMIT)
}

fn tables(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let script = "help\nthreads\ncpus\nmemory\ncounters\nmodules\nlog warn\nhalt\n";
    let outcome = shell(&directory, &["--cpus", "4", "--numa", "2", "--memory", "1G"], script)?;
    expect_status(&outcome, 0)?;
    expect_in_order(
        &outcome,
        &[
            "run [ARGS...]",
            "waits for\n",
            "(idle)",
            "round robin",
            "switches",
            "3     1",
            "zone",
            "kernel's heap",
            "system calls",
            "hrt slots given back",
            "module  bytes",
        ],
    )
}

fn wrong_lines(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    // The end of the input is the end of the machine; the last line needs no end of its own.
    let script = "nonsense\ntrace\ntrace on\nlog loud\nrun\nrun 'x\n\ncpus 1";
    let outcome = shell(&directory, &["--cpus", "1"], script)?;
    expect_status(&outcome, 0)?;
    expect_in_order(
        &outcome,
        &[
            "nonsense: no such command",
            "usage: trace on|off",
            "no buffers",
            "'loud'",
            "there is no program",
            "a quote is not closed",
            "usage: cpus",
        ],
    )?;
    let outcome = shell(&directory, &["--gdb"], "")?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["--gdb needs a program"])
}

fn run_again(name: &str, cpus: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &["-fopenmp", "-lm", "--pthread=system"], "team.c")?;
    let outcome = shell(&directory, &["--cpus", cpus, "program.hadal"], "run\nrun\nthreads\nrun\nhalt\n")?;
    expect_status(&outcome, 0)?;
    let members = format!("members {cpus} of {cpus}, right\nthe program ended with status 0\n");
    expect_in_order(&outcome, &[&members, &members, "(kernel)", &members])?;
    image(&directory, "cc", &[], "everything.c")?;
    let script = "run 'two words' three\nrun\nhalt\n";
    let outcome = shell(&directory, &["--cpus", cpus, "program.hadal", "own"], script)?;
    expect_in_order(&outcome, &["argument two words\nargument three\n", "status 43"])
}

fn run_after_fault(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &[], "fault.c")?;
    let outcome = shell(&directory, &["--cpus", "2", "program.hadal"], "run\nmemory\nrun\nhalt\n")?;
    expect_status(&outcome, 0)?;
    expect_in_order(&outcome, &["ended by signal 11", "zone", "ended by signal 11"])?;
    expect_texts(&outcome, &["wrong_store", "caller_of_it"])
}

fn refuses_after_leftovers(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &[], "leaves.c")?;
    let outcome = shell(&directory, &["--cpus", "1", "program.hadal"], "run\nrun\nhalt\n")?;
    expect_status(&outcome, 0)?;
    expect_in_order(&outcome, &["key made", "status 0", "no program can run after it"])
}

fn trace(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &[], "everything.c")?;
    let script = "trace off\ntrace on\ntrace off\nhalt\n";
    let outcome = shell(&directory, &["--cpus", "2", "--trace", "out.json", "program.hadal"], script)?;
    expect_status(&outcome, 0)?;
    expect_in_order(&outcome, &["recording is off", "every CPU records", "recording is off"])?;
    match directory.join("out.json").metadata() {
        Ok(metadata) if metadata.len() > 0 => Ok(()),
        other => Err(wrong(&format!("the trace: {other:?}"), &outcome)),
    }
}

/// Keys as a terminal sends them, mistakes and the history included.
fn serial(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &["-fopenmp", "-lm", "--pthread=system"], "team.c")?;
    let mut command = qemu();
    command.args(["-smp", "2", "-append", "shell", "-kernel"]).arg(&image);
    let _permit = Permit::one();
    // A key that comes before the kernel has set the port up is lost.
    let outcome = run::run(command, b"\r\rcpusx\x7f\rrun\r\x1b[A\rhalt\r", LIMIT)?;
    expect_status(&outcome, POWERED_OFF)?;
    let members = "members 2 of 2, right";
    expect_in_order(&outcome, &["hadal> ", "interrupts", members, members, "ended with status 0"])
}
