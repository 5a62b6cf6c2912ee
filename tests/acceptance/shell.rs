// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal shell` with a script as input and at a terminal, and the same shell on the serial line of a machine without a
//! command.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hadal_tests::case::{expect_in_order, expect_status, expect_texts, wrong};
use hadal_tests::machine::{Permit, hadal_command};
use hadal_tests::run::{self, Running};
use hadal_tests::{Outcome, TestError, scratch};

use crate::cc::{POWERED_OFF, image, qemu};
use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(90);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("shell/tables", tables);
    suite.hadal("shell/wrong-lines", wrong_lines);
    suite.hadal("shell/endless-line", endless_line);
    for cpus in ["1", "4"] {
        suite.hadal(format!("shell/run-again/{cpus}"), move |name| run_again(name, cpus));
    }
    suite.hadal("shell/run-after-fault", run_after_fault);
    suite.hadal("shell/refuses-after-leftovers", refuses_after_leftovers);
    suite.hadal("shell/trace", trace);
    suite.hadal("shell/serial", serial);
    suite.hadal("shell/serial-tab", serial_tab);
    suite.hadal("shell/terminal", terminal);
    suite.hadal("shell/terminal-history", terminal_history);
    suite.hadal("shell/terminal-program-input", terminal_program_input);
    suite.hadal("shell/terminal-program-looks", terminal_program_looks);
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

/// More input without the end of a line than the machine has memory.
fn endless_line(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let script = "x".repeat(96 << 20) + "\nhalt\n";
    let outcome = shell(&directory, &["--cpus", "1", "--memory", "64M"], &script)?;
    expect_status(&outcome, 0)?;
    expect_in_order(&outcome, &["xxx: no such command"])
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

/// The shell of an image on the serial line, once it has said that it listens: a key that comes before is lost.
fn on_serial_line(image: &Path) -> Result<Running, TestError> {
    let mut command = qemu();
    command.args(["-smp", "2", "-append", "shell", "-kernel"]).arg(image);
    let running = Running::start_typed(command)?;
    running.wait_for_output("hadal> ", LIMIT)?;
    Ok(running)
}

/// Keys as a terminal sends them, mistakes and the history included.
fn serial(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &["-fopenmp", "-lm", "--pthread=system"], "team.c")?;
    let _permit = Permit::one();
    let mut shell = on_serial_line(&image)?;
    shell.type_in(b"cpusx\x7f\rrun\r")?;
    shell.wait_for_output("ended with status 0", LIMIT)?;
    shell.type_in(b"\x1b[A\x1b[A\x0e\rhalt\r")?;
    let outcome = shell.finish(LIMIT)?;
    expect_status(&outcome, POWERED_OFF)?;
    let members = "members 2 of 2, right";
    expect_in_order(&outcome, &["hadal> ", "interrupts", members, members, "ended with status 0"])
}

/// Tab completes on the serial line, and lists what it cannot decide.
fn serial_tab(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "everything.c")?;
    let _permit = Permit::one();
    let mut shell = on_serial_line(&image)?;
    // At a prompt each: what is typed ahead is shown when it is read, in the middle of a command's output. A list of
    // completions brings a prompt, too.
    for (keys, prompts) in [("cp\t\r", 1), ("m\to\t\r", 2), ("\x10\x10\x10\x0e\r", 4), ("ha\t\r", 5)] {
        wait_for(&shell, "hadal> ", prompts)?;
        shell.type_in(keys.as_bytes())?;
    }
    let outcome = shell.finish(LIMIT)?;
    expect_status(&outcome, POWERED_OFF)?;
    let listed =
        ["hadal> cpus ", "interrupts", "memory  modules  ", "hadal> modules ", "module", "hadal> halt "];
    expect_in_order(&outcome, &listed)
}

/// Waits until a text has been shown so many times.
fn wait_for(running: &Running, text: &str, times: usize) -> Result<(), TestError> {
    wait_until(running, |shown| shown.matches(text).count() >= times)
        .map_err(|shown| TestError::Wrong(format!("{text:?} was not shown {times} times: {shown:?}")))
}

/// Waits until what was shown is as it should be; otherwise says what was.
fn wait_until(running: &Running, is_right: impl Fn(&str) -> bool) -> Result<(), String> {
    let limit = Instant::now() + LIMIT;
    loop {
        let shown = running.output();
        if is_right(&shown) {
            return Ok(());
        }
        if Instant::now() > limit {
            return Err(shown);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The prompt of the editor, which puts it over the kernel's: the terminal gives it keys from now on. Before that Ctrl-C
/// is a signal, Ctrl-D and Ctrl-R are the terminal's own.
const EDITOR_PROMPT: &str = "\x1b[Khadal> ";

/// `hadal shell` on a terminal of its own, with this place for its history.
struct Typed {
    running: Running,
    _permit: Permit,
}

impl Typed {
    fn start(directory: &Path, state: &Path, arguments: &[&str]) -> Result<Self, TestError> {
        let mut command = Command::new(hadal_command()?);
        command.args(["shell", "--timeout", "60", "--cpus", "2"]).args(arguments).current_dir(directory);
        command.env("TERM", "xterm").env("XDG_STATE_HOME", state);
        // Nobody's own history, whatever becomes of that.
        command.env("HOME", "/proc/none").env("XDG_CACHE_HOME", directory.join("cache"));
        let permit = Permit::one();
        let typed = Self { running: Running::start_on_terminal(command)?, _permit: permit };
        typed.wait_for(EDITOR_PROMPT, 1)?;
        Ok(typed)
    }

    /// Waits until a text has been shown so many times and the next command can be typed.
    fn wait_for_end_of(&self, text: &str, times: usize) -> Result<(), TestError> {
        let is_prompted = |shown: &str| {
            let mut ends = shown.match_indices(text).skip(times - 1);
            ends.next().is_some_and(|(place, _)| shown[place..].contains(EDITOR_PROMPT))
        };
        wait_until(&self.running, is_prompted).map_err(|shown| {
            TestError::Wrong(format!("{text:?} was not shown {times} times with a prompt behind: {shown:?}"))
        })
    }

    fn wait_for(&self, text: &str, times: usize) -> Result<(), TestError> {
        wait_for(&self.running, text, times)
    }

    fn halt(mut self) -> Result<Outcome, TestError> {
        self.running.type_in(b"halt\r")?;
        self.running.finish(LIMIT)
    }
}

/// Keys at the host's terminal: Tab, the arrow up, Ctrl-R, Ctrl-C, Ctrl-D.
fn terminal(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let mut shell = Typed::start(&directory, &directory, &[])?;
    shell.running.type_in(b"cp\t\r")?;
    shell.wait_for_end_of("interrupts", 1)?;
    shell.running.type_in(b"\x1b[A\r")?;
    shell.wait_for_end_of("interrupts", 2)?;
    shell.running.type_in(b"memory\r")?;
    shell.wait_for_end_of("kernel's heap has", 1)?;
    shell.running.type_in(b"\x12cpu\r")?;
    shell.wait_for_end_of("interrupts", 3)?;
    // A line that is dropped is no command.
    shell.running.type_in(b"nonsense\x03")?;
    shell.wait_for_end_of("nonsense\r\n", 1)?;
    shell.running.type_in(b"memory\r")?;
    shell.wait_for_end_of("kernel's heap has", 2)?;
    shell.running.type_in(b"\x04")?;
    let outcome = shell.running.finish(LIMIT)?;
    expect_status(&outcome, 0)?;
    match outcome.stdout_text().contains("no such command") {
        false => Ok(()),
        true => Err(wrong("Ctrl-C did not drop the line", &outcome)),
    }
}

/// What was typed is there in the next machine; a place that cannot be written is no error.
fn terminal_history(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let state = directory.join("state");
    let mut first = Typed::start(&directory, &state, &[])?;
    first.running.type_in(b"cpus\r")?;
    first.wait_for_end_of("interrupts", 1)?;
    expect_status(&first.halt()?, 0)?;
    let file = state.join("hadal/shell-history");
    let text = fs::read_to_string(&file).map_err(TestError::io("the history"))?;
    if !text.ends_with("cpus\nhalt\n") {
        return Err(TestError::Wrong(format!("the history: {text:?}")));
    }
    let mode = fs::metadata(&file).map_err(TestError::io("the history"))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(TestError::Wrong(format!("others may read the history: {mode:o}")));
    }
    let mut second = Typed::start(&directory, &state, &[])?;
    second.running.type_in(b"\x1b[A\x1b[A\r")?;
    second.wait_for_end_of("interrupts", 1)?;
    expect_status(&second.halt()?, 0)?;
    for absent in [Path::new("/proc/none"), Path::new("relative")] {
        let mut shell = Typed::start(&directory, absent, &[])?;
        shell.running.type_in(b"cpus\r")?;
        shell.wait_for_end_of("interrupts", 1)?;
        expect_status(&shell.halt()?, 0)?;
    }
    Ok(())
}

/// A program has asked for what is typed and ended: the next command is whole.
fn terminal_program_looks(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &[], "looks.c")?;
    let mut shell = Typed::start(&directory, &directory.join("state"), &["program.hadal"])?;
    for turn in 1..=5 {
        shell.running.type_in(b"run\r")?;
        shell.wait_for_end_of("ended with status 0", turn)?;
        for key in ["cp", "us", "\r"] {
            shell.running.type_in(key.as_bytes())?;
            thread::sleep(Duration::from_millis(50));
        }
        shell.wait_for_end_of("interrupts", turn)?;
    }
    expect_status(&shell.halt()?, 0)
}

/// What is typed while a program runs is the program's, and does not get into the history.
fn terminal_program_input(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &[], "echoes.c")?;
    let mut shell = Typed::start(&directory, &directory.join("state"), &["program.hadal"])?;
    for turn in 1..=2 {
        shell.running.type_in(b"run\r")?;
        shell.wait_for("a line, please", turn)?;
        shell.running.type_in(b"for the program\n")?;
        shell.wait_for("read: for the program", turn)?;
        shell.wait_for_end_of("ended with status 0", turn)?;
    }
    shell.running.type_in(b"\x1b[A\r")?;
    shell.wait_for("a line, please", 3)?;
    shell.running.type_in(b"the last\n")?;
    shell.wait_for_end_of("ended with status 0", 3)?;
    expect_status(&shell.halt()?, 0)
}
