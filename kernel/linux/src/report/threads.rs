// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report about what every thread of a program does, for one that does not end.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::{apic, call, trap, user};
use syscalls::Sysno;

use super::symbols::Names;
use super::unwind::{self, Frame, Registers};
use super::view::View;
use super::{Seconds, fault, program_name, thread_name};
use crate::machine;
use crate::process::Process;
use crate::task::Task;

/// Threads whose stacks are looked at; of a program with more the others are only listed.
const MAX_BACKTRACES: usize = 64;

/// One thread.
struct Line {
    tid: u32,
    name: String,
    run_ns: u64,
    /// When it got a CPU last.
    last_run_ns: u64,
    state: String,
    frames: Vec<Frame>,
}

pub(super) fn text(process: &Process) -> String {
    let mut out = String::new();
    let (idle, tasks): (Vec<_>, Vec<_>) =
        process.tasks().into_iter().partition(|task| task.signals.is_resting());
    ask_for_places(&tasks);
    let view = View::of(process);
    let lines: Vec<Line> =
        tasks.iter().enumerate().map(|(index, task)| line(&view, task, index < MAX_BACKTRACES)).collect();
    let names = Names::of(&view, lines.iter().flat_map(|line| &line.frames));
    // Writing to a string cannot fail.
    let _ = write_text(&mut out, process, &lines, &names);
    let _ = match idle.len() {
        0 => Ok(()),
        1 => writeln!(out, "  and 1 idle slot: a thread that waits for work"),
        count => writeln!(out, "  and {count} idle slots: threads that wait for work"),
    };
    out
}

/// Interrupts the threads that run, so that they note where they are in program code. One that is in the kernel notes
/// nothing.
fn ask_for_places(tasks: &[&'static Task]) {
    /// For an interrupt on each CPU, also when the machine is emulated and has more CPUs than the host.
    const PATIENCE_NS: u64 = 50_000_000;
    let own = hadal_sched::current().id();
    let running = |task: &&&Task| task.thread().is_running() && task.thread().id() != own;
    let asked: Vec<&&Task> = tasks.iter().filter(running).collect();
    for task in &asked {
        task.last_rip.store(0, Ordering::Relaxed);
        task.thread().set_interrupted(true);
        task.thread().poke();
    }
    if asked.is_empty() {
        return;
    }
    hadal_sched::sleep_until(hadal_time::now_ns() + PATIENCE_NS);
    // Who still has not answered is in the kernel, or has turned interrupts off.
    for task in asked.iter().filter(|task| task.last_rip.load(Ordering::Relaxed) == 0 && running(task)) {
        apic::send_nmi(task.thread().cpu());
    }
    hadal_sched::sleep_until(hadal_time::now_ns() + PATIENCE_NS / 10);
}

fn write_text(out: &mut String, process: &Process, lines: &[Line], names: &Names) -> fmt::Result {
    let now = hadal_time::now_ns();
    let since_start = Seconds(now.saturating_sub(process.started_ns));
    let plural = if lines.len() == 1 { "" } else { "s" };
    writeln!(
        out,
        "hadal: {}: {} thread{plural}, {since_start} after the start",
        program_name(process),
        lines.len()
    )?;
    let mut rest: Vec<&Line> = lines.iter().collect();
    // Threads at the same place, as in a barrier, share one backtrace.
    while let Some(&first) = rest.first() {
        let (same, others): (Vec<&Line>, Vec<&Line>) =
            rest.iter().partition(|line| line.state == first.state && line.frames == first.frames);
        for line in &same {
            write!(out, "  thread {} \"{}\": {}", line.tid, line.name, line.state)?;
            if line.state.starts_with(WAITS) {
                write!(out, ", {} by now", Seconds(now.saturating_sub(line.last_run_ns)))?;
            }
            writeln!(out, "; CPU time {}", Seconds(line.run_ns))?;
        }
        fault::backtrace(out, &first.frames, names, 6)?;
        rest = others;
    }
    Ok(())
}

/// What the state of a waiting thread starts with.
const WAITS: &str = "waits";

fn line(view: &View<'_>, task: &Task, with_frames: bool) -> Line {
    let thread = task.thread();
    let mut state = String::new();
    // Writing to a string cannot fail.
    let _ = if thread.is_parked() {
        waiting(&mut state, task)
    } else if thread.is_running() {
        write!(state, "runs on CPU {}", thread.cpu())
    } else {
        write!(state, "is ready to run on CPU {}", thread.cpu())
    };
    let registers = if with_frames { registers_of(task) } else { None };
    let frames = registers.map_or(Vec::new(), |registers| unwind::frames(view, registers));
    Line {
        tid: task.tid(),
        name: thread_name(&task.name()),
        run_ns: thread.run_time_ns(),
        last_run_ns: thread.last_run_ns(),
        state,
        frames,
    }
}

/// Where a thread is in the program.
fn registers_of(task: &Task) -> Option<Registers> {
    let thread = task.thread();
    if thread.is_running() {
        let noted = |register: &AtomicU64| register.load(Ordering::Relaxed);
        let rip = noted(&task.last_rip);
        return (rip != 0).then(|| Registers::new(rip, noted(&task.last_rsp), noted(&task.last_rbp)));
    }
    if machine::get().waits_for(thread.id()).is_some() {
        // It came by a call, with nothing but a return address.
        let stack = call::stack_pointer_of(thread.context());
        let return_address = user::load_u64(stack).ok()?;
        return Some(Registers::new(return_address, stack as u64 + 8, 0));
    }
    let frame = trap::frame_of(thread.context())?;
    Some(Registers::new(frame.rip, frame.rsp, frame.rbp))
}

fn waiting(out: &mut String, task: &Task) -> fmt::Result {
    out.write_str(WAITS)?;
    match machine::get().waits_for(task.thread().id()) {
        Some(("thread", tid)) => return write!(out, " for thread {tid} to end"),
        Some((what, place)) => return write!(out, " for {what} {place:#x}"),
        None => {}
    }
    let call = task.call_in_progress().and_then(|number| Sysno::new(usize::try_from(number).ok()?));
    let call = call.map(|call| call.name());
    if let Some(call) = call {
        write!(out, " in {call}")?;
    }
    match task.thread().waits_for() {
        Some((what, place)) if Some(what) == call => write!(out, " at {place:#x}"),
        Some((what, detail)) => write!(out, " for {what} {detail:#x}"),
        None => Ok(()),
    }
}
