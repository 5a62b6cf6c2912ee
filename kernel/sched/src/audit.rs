// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the simulator checks while the scheduler runs: each event of a thread against `transition.rs`, and, when nothing is
//! under way, where the threads are against what was asked for. In the kernel all of it is nothing.

#[cfg(not(feature = "sim"))]
use crate::transition::Event;

/// The thread that a token belongs to, where that is of interest.
#[cfg(not(feature = "sim"))]
#[derive(Debug)]
pub(crate) struct Subject;

#[cfg(not(feature = "sim"))]
impl Subject {
    #[inline(always)]
    pub(crate) fn new(_: u32) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn saw(&self, _: Event) {}
}

/// Something has happened to the thread with an index, on this CPU.
#[cfg(not(feature = "sim"))]
#[inline(always)]
pub(crate) fn saw(_: u32, _: Event) {}

#[cfg(feature = "sim")]
pub(crate) use simulated::{Subject, saw};
#[cfg(feature = "sim")]
pub use simulated::{check, check_end};

#[cfg(feature = "sim")]
mod simulated {
    extern crate std;

    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use hadal_hal::cpu::percpu::attention;
    use hadal_hal::{cpu, sim};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use crate::cpus;
    use crate::levels::NOWHERE;
    use crate::table::threads;
    use crate::thread::Thread;
    use crate::transition::{Event, State, step};

    /// The thread that a token belongs to.
    #[derive(Debug)]
    pub(crate) struct Subject(u32);

    impl Subject {
        pub(crate) fn new(index: u32) -> Self {
            Self(index)
        }

        pub(crate) fn saw(&self, event: Event) {
            saw(self.0, event);
        }
    }

    static STATES: Mutex<Vec<State>> = Mutex::new(Vec::new());

    fn states() -> MutexGuard<'static, Vec<State>> {
        STATES.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has happened to the thread with an index, on this CPU.
    pub(crate) fn saw(index: u32, event: Event) {
        if sim::clock_ns().is_none() {
            return;
        }
        let cpu = cpu::current_id();
        sim::note(name(event), [u64::from(index), if let Event::Sent(to) = event { to as u64 } else { 0 }]);
        let mut states = states();
        if states.len() <= index as usize {
            states.resize(index as usize + 1, State::default());
        }
        let state = &mut states[index as usize];
        match step(*state, event, cpu) {
            Ok(new) => *state = new,
            Err(why) => sim::fail(&format!("{why}: thread {index}, {event:?} on CPU {cpu} in {state:?}")),
        }
    }

    fn name(event: Event) -> &'static str {
        match event {
            Event::Created => "created",
            Event::Adopted => "adopted",
            Event::Started => "started",
            Event::Woken => "woken",
            Event::Kept => "wake-up kept",
            Event::Spent => "wake-up spent",
            Event::Parked => "parked",
            Event::Ended => "ended",
            Event::Sent(_) => "sent",
            Event::Received => "received",
            Event::Inserted => "inserted",
            Event::Removed => "removed",
            Event::Begins => "begins",
            Event::Stops => "stops",
        }
    }

    /// What is wrong about a CPU's running thread, when all that was asked for has been seen to.
    fn flaw_of_running(cpu: usize) -> Option<String> {
        let thread = cpus::running_on(cpu)?;
        let own = cpus::of(cpu);
        if thread.is(own.idle_thread()) {
            return None;
        }
        let raised = sim::attention_of(cpu);
        let level = thread.place.level();
        let says = |what: &str| Some(format!("{what}: thread {} on CPU {cpu}", thread.id()));
        if raised & attention::SIGNAL == 0 && thread.interrupted() {
            return says("a running thread was not told that it is interrupted");
        }
        if raised & attention::RESCHEDULE != 0 {
            return None;
        }
        if !thread.allows(cpu) {
            return says("a thread runs where it must not");
        }
        if own.levels.top().is_some_and(|top| top > level) {
            return says("a thread runs before a more urgent one");
        }
        (level != NOWHERE && level != thread.priority()).then(|| says("a thread runs at an old priority"))?
    }

    fn flaw_of_waiting(thread: &Thread, state: State) -> Option<String> {
        let cpu = state.queued.filter(|_| state.running.is_none())?;
        let level = thread.place.level();
        let says = |what: &str| Some(format!("{what}: thread {} on CPU {cpu}", thread.id()));
        if !thread.allows(cpu) {
            return says("a thread waits where it must not run");
        }
        (level != NOWHERE && level != thread.priority()).then(|| says("a thread waits at an old priority"))?
    }

    /// Checks places, priorities and attention of all threads. To be called when [`sim::is_settled`] and no call that changes
    /// a thread is under way.
    pub fn check() {
        sim::observe(|| {
            let states = states();
            let running = (0..cpu::count()).find_map(flaw_of_running);
            let waiting =
                || threads().zip(states.iter()).find_map(|(thread, state)| flaw_of_waiting(thread, *state));
            if let Some(flaw) = running.or_else(waiting) {
                sim::fail(&flaw);
            }
        });
    }

    /// Checks that no thread is lost, when none is on its way.
    pub fn check_end() {
        let idles: Vec<u32> = (0..cpu::count()).map(cpus::idle_thread).collect();
        let states = states();
        let busy = (0..).zip(states.iter()).filter(|(index, _)| !idles.contains(index));
        let flaw = busy.filter_map(|(index, state)| Some((index, state, state.flaw()?))).next();
        if let Some((index, state, flaw)) = flaw {
            sim::fail(&format!("{flaw}: thread {index}, {state:?}"));
        }
    }
}
