// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's shell: commands from the host's standard input (`hadal shell`) or the serial line, answers where the
//! program's output goes.
//!
//! It is a thread that waits for lines, and runs the program when it is told to. How lines are typed and what they mean is
//! in `hadal_shell`; `shell/tables.rs` has the answers. While the program runs, input is the program's.

mod tables;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use hadal_abi::control::{ExitStatus, OutputStream};
use hadal_hal::sync::SpinLock;
use hadal_shell::{Command, HELP, PROMPT, parse};
use hadal_sync::{WaitMode, WaitQueue};

use crate::{console, control, end, run, stdio, trace};

/// Where the shell's program is.
#[derive(Debug)]
enum Program {
    /// There is no shell: the end of the program is the end of the machine.
    NoShell,
    /// It does not run.
    None,
    /// It has been started.
    Running,
    /// It could not be loaded; its thread has not left yet.
    Failed(String),
    /// It has ended, and the shell has not seen that yet.
    Ended(ExitStatus),
}

static PROGRAM: SpinLock<Program> = SpinLock::new(Program::NoShell);
static ENDED: WaitQueue = WaitQueue::new();

/// The program could not be started. Returns whether there is a shell to tell.
pub(crate) fn cannot_start(why: &dyn Display) -> bool {
    let mut program = PROGRAM.lock();
    if matches!(*program, Program::NoShell) {
        return false;
    }
    *program = Program::Failed(why.to_string());
    true
}

/// The program's last thread leaves. Returns whether there is a shell that goes on.
pub(crate) fn program_ended(status: ExitStatus) -> bool {
    let mut program = PROGRAM.lock();
    *program = match core::mem::replace(&mut *program, Program::NoShell) {
        Program::NoShell => return false,
        Program::Failed(why) => Program::Ended(ExitStatus::CannotStart(why)),
        _ => Program::Ended(status),
    };
    drop(program);
    ENDED.wake_all();
    true
}

/// Whether lines of input are commands.
pub(crate) fn is_reading() -> bool {
    matches!(*PROGRAM.lock(), Program::None)
}

/// Starts the shell's thread.
pub(crate) fn start() {
    // Programs come one after the other.
    hadal_hrt::keep_records();
    *PROGRAM.lock() = Program::None;
    match hadal_sched::create(shell_thread, 0, None) {
        Ok(thread) => {
            thread.keep_for_kernel();
            thread.start();
        }
        Err(error) => panic!("no thread for the shell: {error:?}"),
    }
}

fn shell_thread(_: usize) -> ! {
    let interactive = stdio::is_terminal(run::config());
    say("Hadal's shell; `help` lists the commands.\n");
    loop {
        if interactive {
            say(PROMPT);
        }
        let Some(line) = stdio::read_line(interactive) else { break };
        match parse(&String::from_utf8_lossy(&line)) {
            Ok(None) => {}
            Ok(Some(Command::Halt)) => break,
            Ok(Some(command)) => say(&answer(command)),
            Err(wrong) => say(&format!("{wrong}\n")),
        }
    }
    end::machine(ExitStatus::Exited(0))
}

fn say(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        rest = &rest[control::output(OutputStream::Stdout, rest)..];
    }
}

fn answer(command: Command) -> String {
    match command {
        Command::Help => HELP.into(),
        Command::Processes => {
            let mut text = String::new();
            hadal_report::list_processes(|line| text.push_str(line));
            if text.is_empty() { "no program runs\n".into() } else { text }
        }
        Command::Threads => tables::threads().to_string(),
        Command::Cpus => tables::cpus().to_string(),
        Command::Memory => tables::memory(),
        Command::Counters => tables::counters(),
        Command::Modules => tables::modules().to_string(),
        Command::Run(arguments) => run_program(&arguments),
        Command::Trace(on) => record(on),
        Command::Log(filter) => match console::set_filter(&filter) {
            Ok(()) => String::new(),
            Err(wrong) => format!("{wrong}\n"),
        },
        Command::Halt => String::new(),
    }
}

fn record(on: bool) -> String {
    match (on, trace::set_recording(on)) {
        (true, true) => "every CPU records\n".into(),
        (true, false) => "there are no buffers to record into: start with hadal shell --trace FILE\n".into(),
        (false, _) => {
            let made: u64 = hadal_trace::rings().iter().map(|ring| ring.made()).sum();
            format!("recording is off; {made} events so far\n")
        }
    }
}

/// Runs the program and waits for its end.
fn run_program(arguments: &[String]) -> String {
    // What the kernel keeps for a program beside its memory and files is not taken back when it ends.
    if hadal_hrt::outlives_program() {
        return "the program before has used threads, keys, events, timers or interrupts of hadal/hrt.h: they stay \
                in the kernel until the machine ends, so no program can run after it. halt, and start again.\n"
            .into();
    }
    *PROGRAM.lock() = Program::Running;
    let arguments: Vec<Vec<u8>> = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    let process = match run::start_program(&arguments) {
        Ok(process) => process,
        Err(why) => {
            *PROGRAM.lock() = Program::None;
            return format!("{why}\n");
        }
    };
    let ended = ENDED.wait_until(None, WaitMode::Uninterruptible, || {
        let mut program = PROGRAM.lock();
        match core::mem::replace(&mut *program, Program::None) {
            Program::Ended(status) => Some(status),
            other => {
                *program = other;
                None
            }
        }
    });
    run::forget_program(process);
    stdio::reopen();
    match ended {
        Ok(ExitStatus::Exited(code)) => format!("the program ended with status {code}\n"),
        Ok(ExitStatus::Signaled { signal }) => format!("the program was ended by signal {signal}\n"),
        Ok(ExitStatus::CannotStart(why) | ExitStatus::KernelFailure(why)) => format!("{why}\n"),
        Err(_) => String::new(),
    }
}
