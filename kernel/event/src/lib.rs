// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events between CPUs, near the cost of an interprocessor interrupt (Nemo; Hale and Dinda, 2016).
//!
//! - [`notify`], [`notify_set`], [`notify_all`]: **active messages**. An action runs on the notified CPUs in interrupt
//!   context. All events share one vector; what is pending is in memory that the sender writes and the CPU takes: no lock,
//!   no allocation. Notifications of one event to one CPU that has not begun to run the action yet become one.
//! - [`wait`]: threads that sleep until an event arrives at a CPU.
//! - [`ipi`]: raw interprocessor interrupts with a vector each.
//! - [`lines`]: device interrupts of programs, and where device interrupts go.
//! - [`memory`]: waits for a word of memory to change.
//!
//! The logic is in `events.rs` and what that uses; this file binds it to interrupts and threads.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod atomic;
mod broadcast;
mod events;
pub mod ipi;
pub mod lines;
pub mod memory;
#[cfg(all(test, loom))]
mod model;
mod nodes;
mod pending;
mod section;
mod slots;
mod waiters;

use hadal_hal::cpu;
use hadal_hal::interrupts::handler::{self, Kind};
use hadal_hal::interrupts::{apic, irq};
use hadal_hal::trace::{self, Kind as Trace};
use hadal_sched::park;
use hadal_time::now_ns;
use spin::Once;

use events::Events;
pub use events::Unknown;
use nodes::NODES;
pub use nodes::prepare_table;
pub use slots::Action;

/// Most events at a time.
pub const EVENTS: usize = 256;

/// Why a notification or a wait had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The event is not registered (any more).
    Unknown,
    /// There is no such CPU.
    NoCpu,
    /// The caller has interrupts off, or is a handler: waiting would stop the CPU.
    NotHere,
    /// The deadline has passed.
    TimedOut,
    /// A signal is pending.
    Interrupted,
}

impl From<Unknown> for Error {
    fn from(_: Unknown) -> Self {
        Self::Unknown
    }
}

static ALL: Once<Events> = Once::new();

fn all() -> &'static Events {
    ALL.get().expect("events are set up before the program starts")
}

/// Sets events up for all CPUs; once, when their number is known.
pub fn init() {
    handler::init();
    ALL.call_once(|| Events::new(cpu::count()));
    ipi::init();
    irq::set_handler(irq::VECTOR_EVENT, on_interrupt, 0);
}

/// Registers an action and returns the number of its event, or `None` when all are taken. An action without a function only
/// counts and wakes. For the calling program thread.
pub fn register(action: Action) -> Option<u32> {
    handler::prepare(&action.handler(Kind::Event));
    all().register(action)
}

/// Takes an event away: what is pending is dropped, those who wait get [`Error::Unknown`]. Returns when no CPU runs the
/// action any more.
pub fn unregister(event: u32) -> Result<(), Error> {
    if !may_wait() {
        return Err(Error::NotHere);
    }
    Ok(all().unregister(event, &NODES, wake)?)
}

/// Notifies one CPU, which may be the caller's. From any context.
#[inline]
pub fn notify(event: u32, target: usize) -> Result<(), Error> {
    if target >= cpu::count() {
        return Err(Error::NoCpu);
    }
    trace::point(Trace::EventNotify, target as u64, u64::from(event));
    if all().notify(cpu::current_id(), event, target)? {
        apic::send_ipi(target, irq::VECTOR_EVENT);
    }
    Ok(())
}

/// Notifies the CPUs whose bits are set; none if there is no such CPU among them. From any context.
pub fn notify_set(event: u32, cpus: &[u64]) -> Result<(), Error> {
    let members = || {
        cpus.iter().enumerate().flat_map(|(word, &bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| word * 64 + bit)
        })
    };
    if members().any(|target| target >= cpu::count()) {
        return Err(Error::NoCpu);
    }
    if !all().is_registered(event) {
        return Err(Error::Unknown);
    }
    members().try_for_each(|target| notify(event, target))
}

/// Notifies all CPUs, the caller's only with `include_own`, by one interrupt command. From any context.
pub fn notify_all(event: u32, include_own: bool) -> Result<(), Error> {
    let _irq = irq::disable();
    trace::point(Trace::EventNotify, trace::ALL_BUT_SELF, u64::from(event));
    all().notify_all(cpu::current_id(), event, include_own)?;
    if include_own {
        apic::send_ipi_all(irq::VECTOR_EVENT);
    } else if cpu::count() > 1 {
        apic::send_ipi_all_but_self(irq::VECTOR_EVENT);
    }
    Ok(())
}

fn on_interrupt(_: usize) {
    let run = |event, action: Action| {
        trace::point(Trace::EventEnter, u64::from(event), action.arg as u64);
        handler::run(action.handler(Kind::Event));
        trace::point(Trace::EventExit, u64::from(event), 0);
    };
    all().drain(cpu::current_id(), &NODES, run, wake);
}

fn wake(thread: u32) {
    hadal_sched::thread(thread).unpark();
}

/// Blocks until an event has arrived at the caller's CPU more often than `seen` times, or the deadline (monotonic, `None`
/// for never). Returns the number of arrivals in any case. The CPU is the one at the time of the call, also if the thread
/// moves meanwhile.
pub fn wait(event: u32, seen: u64, deadline_ns: Option<u64>) -> (u64, Result<(), Error>) {
    let (events, own, thread) = (all(), cpu::current_id(), hadal_sched::current());
    let list = events.waiting(own, event);
    loop {
        let arrived = events.arrivals(own, event);
        if !events.is_registered(event) {
            return (arrived, Err(Error::Unknown));
        }
        if arrived > seen {
            return (arrived, Ok(()));
        }
        if deadline_ns.is_some_and(|deadline| deadline <= now_ns()) {
            return (arrived, Err(Error::TimedOut));
        }
        if thread.interrupted() {
            return (arrived, Err(Error::Interrupted));
        }
        if !may_wait() {
            return (arrived, Err(Error::NotHere));
        }
        list.push(&NODES, thread.id());
        // An event that came before the push has not seen this thread.
        if events.is_registered(event) && events.arrivals(own, event) <= seen {
            park(deadline_ns);
        }
        let _irq = irq::disable();
        list.leave(&NODES, thread.id(), wake);
    }
}

/// Whether the caller is a thread with interrupts on.
fn may_wait() -> bool {
    irq::enabled() || cfg!(not(target_os = "none"))
}
