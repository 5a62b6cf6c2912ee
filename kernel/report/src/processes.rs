// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list of the machine's processes, for `hadal ps` and the shell.

use alloc::format;
use alloc::string::String;

use hadal_hal::memory::fallible;
use hadal_linux::family::{self, Held};
use hadal_linux::process::Process;
use hadal_linux::task::Task;

use crate::Seconds;

/// Characters of a command that are shown.
const COMMAND_CHARS: usize = 100;
const MIB: usize = 1 << 20;

/// Every process, a line each, handed to `report` line by line; nothing where there is none.
pub fn list_processes(mut report: impl FnMut(&str)) {
    let Ok(mut ids) = fallible::collected(family::all().filter_map(Held::of).map(|process| process.pid()))
    else {
        return report("hadal: memory is too short for the list of processes\n");
    };
    ids.sort_unstable();
    if !ids.is_empty() {
        report("    PID   PARENT  STATE    THREADS     CPU TIME  MEMORY MIB  COMMAND\n");
    }
    for process in ids.into_iter().filter_map(family::find_held) {
        report(&line(&process));
    }
}

fn line(process: &Process) -> String {
    let stats = process.space().stats();
    let memory = if family::is_alive(process) { stats.resident_bytes + stats.shared_bytes } else { 0 };
    format!(
        "{:7}  {:7}  {:8} {:7}  {:>11}  {:10}  {}\n",
        process.pid(),
        family::parent_id(process),
        state(process),
        process.thread_count(),
        format!("{}", Seconds(process.run_time_ns())),
        memory.div_ceil(MIB),
        command(process)
    )
}

fn state(process: &Process) -> &'static str {
    if !family::is_alive(process) {
        return "zombie";
    }
    let first = process.thread_ids().next().and_then(|tid| Task::find(process, tid));
    match first {
        Some(task) if task.signals.is_stopped() => "stopped",
        _ if process.runnable_count() > 0 => "running",
        _ => "sleeping",
    }
}

/// The command line, as far as a line has room for it.
fn command(process: &Process) -> String {
    let mut text = String::new();
    for argument in process.program().arguments.iter() {
        if text.len() > COMMAND_CHARS {
            break;
        }
        let shown = &argument[..argument.len().min(COMMAND_CHARS)];
        text.push_str(if text.is_empty() { "" } else { " " });
        text.push_str(&String::from_utf8_lossy(shown));
    }
    match text.char_indices().nth(COMMAND_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
