// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all threads of a program do at one time, for which the other CPUs are held.

use alloc::vec::Vec;
use core::fmt;

use hadal_hal::cpu::standstill::{self, Held};
use hadal_hal::memory::fallible::{self, OutOfMemory};
use hadal_hal::trap;
use hadal_hal::trap::call;
use hadal_linux::machine;
use hadal_linux::process::Process;
use hadal_linux::task::{NAME_LEN, Task};
use syscalls::Sysno;

/// Threads that may begin between the making of room and the snapshot, and are listed still.
const SPARE: usize = 64;

/// What they do.
pub(crate) struct Snapshot {
    pub(crate) now_ns: u64,
    /// Every thread that has not ended and is no idle slot, by ascending id, as far as there was room.
    pub(crate) threads: Vec<Seen>,
    /// Threads for which there was no room.
    pub(crate) more: usize,
    /// Threads that run-times keep for the next piece of work.
    pub(crate) idle_slots: usize,
}

/// One thread.
pub(crate) struct Seen {
    pub(crate) tid: u32,
    pub(crate) name: [u8; NAME_LEN],
    pub(crate) run_ns: u64,
    /// When it got a CPU last.
    pub(crate) last_run_ns: u64,
    pub(crate) state: State,
    pub(crate) place: Place,
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Runs { cpu: usize },
    IsReady { cpu: usize },
    Waits(Wait),
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The system call that it is in.
    call: Option<Sysno>,
    /// What it has said: a noun and an address or number.
    thing: Option<(&'static str, u64)>,
    /// It said so in a call that is none of Linux's.
    by_run_time: bool,
}

/// Where a thread is in the program.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// It runs in the kernel, or its CPU was not held.
    Unknown,
    At {
        rip: u64,
        rsp: u64,
        rbp: u64,
    },
    /// In a call whose return address is at this address.
    CalledFrom(usize),
}

/// Looks at all threads.
pub(crate) fn of(process: &Process) -> Result<Snapshot, OutOfMemory> {
    let threads = fallible::room_for(process.thread_count() + SPARE)?;
    let mut snapshot = Snapshot { now_ns: 0, threads, more: 0, idle_slots: 0 };
    standstill::hold(hadal_time::now_ns, |held| {
        snapshot.now_ns = hadal_time::now_ns();
        for task in process.tasks().filter(|task| !task.ends()) {
            if machine::get().is_idle_slot(task.thread().id()) {
                snapshot.idle_slots += 1;
            } else if snapshot.threads.len() == snapshot.threads.capacity() {
                snapshot.more += 1;
            } else {
                snapshot.threads.push(see(task, held));
            }
        }
    });
    Ok(snapshot)
}

fn see(task: &Task, held: &Held) -> Seen {
    let thread = task.thread();
    let cpu = thread.cpu();
    let state = if thread.is_running() {
        State::Runs { cpu }
    } else if thread.is_parked() {
        State::Waits(wait_of(task))
    } else {
        State::IsReady { cpu }
    };
    Seen {
        tid: task.tid(),
        name: task.name(),
        run_ns: thread.run_time_ns(),
        last_run_ns: thread.last_run_ns(),
        state,
        place: place_of(task, state, held),
    }
}

fn wait_of(task: &Task) -> Wait {
    if let Some(thing) = machine::get().waits_for(task.thread().id()) {
        return Wait { call: None, thing: Some(thing), by_run_time: true };
    }
    let call = task.call_in_progress().and_then(|number| Sysno::new(usize::try_from(number).ok()?));
    let thing = task.thread().waits_for().map(|(noun, number)| (*noun, number));
    Wait { call, thing, by_run_time: false }
}

fn place_of(task: &Task, state: State, held: &Held) -> Place {
    let thread = task.thread();
    if let State::Runs { cpu } = state {
        let noted = task.noted_place().filter(|_| held.has(cpu));
        return noted.map_or(Place::Unknown, |[rip, rsp, rbp]| Place::At { rip, rsp, rbp });
    }
    if machine::get().waits_for(thread.id()).is_some() {
        return Place::CalledFrom(call::stack_pointer_of(thread.context()));
    }
    trap::frame_of(thread.context()).map_or(Place::Unknown, |frame| Place::At {
        rip: frame.rip,
        rsp: frame.rsp,
        rbp: frame.rbp,
    })
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs { cpu } => write!(f, "runs on CPU {cpu}"),
            Self::IsReady { cpu } => write!(f, "is ready to run on CPU {cpu}"),
            Self::Waits(wait) => write!(f, "waits{wait}"),
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.thing {
            Some(("thread", tid)) if self.by_run_time => return write!(f, " for thread {tid} to end"),
            Some((what, place)) if self.by_run_time => return write!(f, " for {what} {place:#x}"),
            _ => {}
        }
        let call = self.call.map(|call| call.name());
        if let Some(call) = call {
            write!(f, " in {call}")?;
        }
        match self.thing {
            Some((what, place)) if Some(what) == call => write!(f, " at {place:#x}"),
            Some((what, detail)) => write!(f, " for {what} {detail:#x}"),
            None => Ok(()),
        }
    }
}
