// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report about what every thread of a program does, for one that does not end.
//!
//! All threads are looked at in one [`snapshot`]; callers and names are found afterwards.

mod snapshot;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use hadal_hal::memory::fallible::{self, MakeRoom, OutOfMemory};
use hadal_hal::memory::user;
use hadal_linux::process::Process;

use self::snapshot::{Place, Seen, Snapshot, State};
use crate::symbols::Names;
use crate::unwind::{self, Frame, Registers};
use crate::view::View;
use crate::{Seconds, fault, program_name, thread_name};

/// Threads whose stacks are looked at; of a program with more the others are only listed.
const MAX_BACKTRACES: usize = 64;
/// More than the symbols take that are looked at for them, but for those of huge programs.
const BACKTRACES_BYTES: usize = 4 << 20;

/// Text that ends where memory does.
#[derive(Default)]
struct Text(String);

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.make_room(text.len()).map_err(|OutOfMemory| fmt::Error)?;
        self.0.push_str(text);
        Ok(())
    }
}

/// Where each thread of a program is and what it waits for, all in one moment: handed to `report` in parts, which says so if
/// memory is too short for all of it. For any kernel thread.
pub fn list_threads(process: &Process, report: impl Fn(&str)) {
    let mut text = Text::default();
    let outcome = snapshot::of(process)
        .map_err(|OutOfMemory| fmt::Error)
        .and_then(|snapshot| write_snapshot(&mut text, process, &snapshot));
    report(&text.0);
    if outcome.is_err() {
        report("hadal: memory is too short for the list of threads\n");
    }
}

fn write_snapshot(out: &mut dyn Write, process: &Process, snapshot: &Snapshot) -> fmt::Result {
    if fallible::admit(BACKTRACES_BYTES).is_err() {
        return write_text(out, process, snapshot, &[], &Names::default());
    }
    let view = View::of(process);
    let frames: Vec<Vec<Frame>> =
        snapshot.threads.iter().take(MAX_BACKTRACES).map(|seen| frames_of(&view, seen)).collect();
    let names = Names::of(&view, frames.iter().flatten());
    write_text(out, process, snapshot, &frames, &names)
}

fn frames_of(view: &View<'_>, seen: &Seen) -> Vec<Frame> {
    let registers = match seen.place {
        Place::Unknown => None,
        Place::At { rip, rsp, rbp } => Some(Registers::new(rip, rsp, Some(rbp))),
        // It came by a call, with nothing but a return address.
        Place::CalledFrom(stack) => {
            user::load_u64(stack).ok().map(|return_to| Registers::new(return_to, stack as u64 + 8, None))
        }
    };
    registers.map_or(Vec::new(), |registers| unwind::frames(view, registers))
}

fn write_text(
    out: &mut dyn Write,
    process: &Process,
    snapshot: &Snapshot,
    frames: &[Vec<Frame>],
    names: &Names,
) -> fmt::Result {
    let count = snapshot.threads.len() + snapshot.more;
    let since_start = Seconds(snapshot.now_ns.saturating_sub(process.started_ns()));
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "hadal: {}: {count} thread{plural}, {since_start} after the start", program_name(process))?;
    let frames_at = |index: usize| frames.get(index).map_or(&[][..], Vec::as_slice);
    let mut written: Vec<bool> =
        fallible::filled(false, snapshot.threads.len()).map_err(|OutOfMemory| fmt::Error)?;
    for (index, first) in snapshot.threads.iter().enumerate() {
        if written[index] {
            continue;
        }
        // Threads at the same place, as in a barrier, share one backtrace.
        for (other, seen) in snapshot.threads.iter().enumerate().skip(index) {
            if !written[other] && seen.state == first.state && frames_at(other) == frames_at(index) {
                written[other] = true;
                write_thread(out, seen, snapshot.now_ns)?;
            }
        }
        fault::backtrace(out, frames_at(index), names, 6)?;
    }
    if snapshot.more > 0 {
        writeln!(out, "  and {} threads that began while the list was made", snapshot.more)?;
    }
    match snapshot.idle_slots {
        0 => Ok(()),
        1 => writeln!(out, "  and 1 idle slot: a thread that waits for work"),
        count => writeln!(out, "  and {count} idle slots: threads that wait for work"),
    }
}

fn write_thread(out: &mut dyn Write, seen: &Seen, now_ns: u64) -> fmt::Result {
    write!(out, "  thread {} \"{}\": {}", seen.tid, thread_name(&seen.name), seen.state)?;
    if matches!(seen.state, State::Waits(_)) {
        write!(out, ", {} by now", Seconds(now_ns.saturating_sub(seen.last_run_ns)))?;
    }
    writeln!(out, "; CPU time {}", Seconds(seen.run_ns))
}
