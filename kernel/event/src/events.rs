// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Active messages without the machine: what is registered, what is pending where, who waits. Whoever uses this sends the
//! interrupts, calls the actions and wakes the threads.
//!
//! # Taking an event away
//! Notifiers and handlers look at the table and at pending bits in a section of their CPU ([`crate::section`]).
//! [`Events::unregister`] clears the table's entry and waits until all CPUs have left theirs: from then on no notifier sets
//! the bit. It clears the bits and waits again, for handlers that have taken one before. Only then the slot is free.

use alloc::boxed::Box;

use crate::EVENTS;
use crate::atomic::{AtomicU64, Ordering};
use crate::broadcast::{Broadcasts, Seen};
use crate::pending::Pending;
use crate::section::Section;
use crate::slots::{Action, Slots};
use crate::waiters::{Nodes, WaitList};

/// The event is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// One CPU's part, on cache lines of its own.
#[repr(align(128))]
struct Cpu {
    section: Section,
    pending: Pending,
    seen: Seen,
    /// How often each event has arrived.
    arrivals: [AtomicU64; EVENTS],
    waiting: [WaitList; EVENTS],
}

impl Cpu {
    fn new() -> Self {
        Self {
            section: Section::new(),
            pending: Pending::new(),
            seen: Seen::new(),
            arrivals: core::array::from_fn(|_| AtomicU64::new(0)),
            waiting: core::array::from_fn(|_| WaitList::new()),
        }
    }
}

/// All events and CPUs.
pub(crate) struct Events {
    slots: Slots<EVENTS>,
    broadcasts: Broadcasts,
    cpus: Box<[Cpu]>,
}

impl Events {
    pub(crate) fn new(cpus: usize) -> Self {
        Self {
            slots: Slots::new(),
            broadcasts: Broadcasts::new(),
            cpus: (0..cpus).map(|_| Cpu::new()).collect(),
        }
    }

    pub(crate) fn register(&self, action: Action) -> Option<u32> {
        self.slots.register(action)
    }

    /// Whether there is such an event.
    pub(crate) fn is_registered(&self, event: u32) -> bool {
        self.slots.is_registered(event)
    }

    /// Takes an event away and wakes those who wait for it; returns when no CPU runs its action or ever will.
    pub(crate) fn unregister(
        &self,
        event: u32,
        nodes: &impl Nodes,
        mut wake: impl FnMut(u32),
    ) -> Result<(), Unknown> {
        if !self.slots.begin_unregister(event) {
            return Err(Unknown);
        }
        let index = Slots::<EVENTS>::index(event);
        self.cpus.iter().for_each(|cpu| cpu.section.wait_until_left());
        for cpu in &self.cpus {
            cpu.pending.clear(index);
            self.broadcasts.forget(index, &cpu.seen);
        }
        self.broadcasts.retire(index);
        for cpu in &self.cpus {
            cpu.section.wait_until_left();
            cpu.arrivals[index].store(0, Ordering::SeqCst);
            cpu.waiting[index].wake_all(nodes, &mut wake);
        }
        self.slots.give_back(event);
        Ok(())
    }

    /// Marks an event pending on `target`, from CPU `own`; returns whether to send an interrupt there.
    #[inline]
    pub(crate) fn notify(&self, own: usize, event: u32, target: usize) -> Result<bool, Unknown> {
        let _section = self.cpus[own].section.enter();
        if !self.slots.is_registered(event) {
            return Err(Unknown);
        }
        Ok(self.cpus[target].pending.set(Slots::<EVENTS>::index(event)))
    }

    /// Marks an event pending on all CPUs, `own` only with `include_own`. Interrupts are off; send one to all of them.
    #[inline]
    pub(crate) fn notify_all(&self, own: usize, event: u32, include_own: bool) -> Result<(), Unknown> {
        let cpu = &self.cpus[own];
        let _section = cpu.section.enter();
        if !self.slots.is_registered(event) {
            return Err(Unknown);
        }
        let skip = (!include_own).then_some(&cpu.seen);
        self.broadcasts.post(Slots::<EVENTS>::index(event), skip);
        Ok(())
    }

    /// The event interrupt of CPU `own`: runs what is pending.
    #[inline]
    pub(crate) fn drain(
        &self,
        own: usize,
        nodes: &impl Nodes,
        mut run: impl FnMut(u32, Action),
        mut wake: impl FnMut(u32),
    ) {
        let cpu = &self.cpus[own];
        let _section = cpu.section.enter();
        let mut deliver = |index: usize| {
            let Some((event, action)) = self.slots.action(index) else { return };
            run(event, action);
            // Before the look at the list: a thread that comes later sees the count.
            cpu.arrivals[index].fetch_add(1, Ordering::SeqCst);
            cpu.waiting[index].wake_all(nodes, &mut wake);
        };
        cpu.pending.take_each(&mut deliver);
        self.broadcasts.take_each(&cpu.seen, &mut deliver);
    }

    /// How often an event has arrived at a CPU.
    pub(crate) fn arrivals(&self, cpu: usize, event: u32) -> u64 {
        self.cpus[cpu].arrivals[Slots::<EVENTS>::index(event)].load(Ordering::SeqCst)
    }

    /// The threads that wait for an event on a CPU.
    pub(crate) fn waiting(&self, cpu: usize, event: u32) -> &WaitList {
        &self.cpus[cpu].waiting[Slots::<EVENTS>::index(event)]
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;
    use std::vec::Vec;

    use super::*;
    use crate::nodes::NODES;

    fn action(arg: usize) -> Action {
        Action { function: 0x40_0000, arg, vectors: false }
    }

    /// Runs the interrupt of a CPU; returns the arguments of the actions and the threads woken.
    fn interrupt(events: &Events, cpu: usize) -> (Vec<usize>, Vec<u32>) {
        let (runs, woken) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        events.drain(
            cpu,
            &NODES,
            |_, action| runs.borrow_mut().push(action.arg),
            |thread| woken.borrow_mut().push(thread),
        );
        (runs.into_inner(), woken.into_inner())
    }

    #[test]
    fn notifications_merge_until_the_interrupt() {
        let events = Events::new(2);
        let (first, second) = (events.register(action(1)).unwrap(), events.register(action(2)).unwrap());
        assert_eq!(events.notify(0, second, 1), Ok(true));
        assert_eq!(events.notify(0, second, 1), Ok(false));
        assert_eq!(events.notify(1, first, 1), Ok(true));
        assert_eq!(interrupt(&events, 0).0, []);
        assert_eq!(interrupt(&events, 1).0, [1, 2]);
        assert_eq!(interrupt(&events, 1).0, []);
        assert_eq!((events.arrivals(1, second), events.arrivals(0, second)), (1, 0));
        events.notify_all(0, first, false).unwrap();
        assert_eq!((interrupt(&events, 0).0, interrupt(&events, 1).0), (Vec::new(), Vec::from([1])));
        events.notify_all(0, first, true).unwrap();
        assert_eq!((interrupt(&events, 0).0, interrupt(&events, 1).0), (Vec::from([1]), Vec::from([1])));
    }

    #[test]
    fn what_is_pending_goes_with_the_event() {
        let events = Events::new(2);
        let old = events.register(action(1)).unwrap();
        events.notify(0, old, 1).unwrap();
        events.notify_all(0, old, false).unwrap();
        events.waiting(1, old).push(&NODES, 9);
        let mut woken = Vec::new();
        events.unregister(old, &NODES, |thread| woken.push(thread)).unwrap();
        assert_eq!(woken, [9]);
        assert_eq!(events.unregister(old, &NODES, |_| ()), Err(Unknown));
        assert_eq!(events.notify(0, old, 1), Err(Unknown));
        assert_eq!(events.notify_all(0, old, true), Err(Unknown));
        // All slots once around: one of them is the old event's.
        let new: Vec<_> = (0..EVENTS).map(|arg| events.register(action(arg)).unwrap()).collect();
        assert_eq!(events.register(action(0)), None);
        assert!(!new.contains(&old) && new.iter().any(|event| event % 256 == old % 256));
        assert_eq!(interrupt(&events, 1).0, []);
    }

    #[test]
    fn waiting_threads_are_woken_where_the_event_arrives() {
        let events = Events::new(2);
        let event = events.register(Action { function: 0, arg: 0, vectors: false }).unwrap();
        events.waiting(0, event).push(&NODES, 3);
        events.waiting(1, event).push(&NODES, 4);
        events.notify(0, event, 1).unwrap();
        assert_eq!(interrupt(&events, 1).1, [4]);
        assert_eq!(interrupt(&events, 0).1, []);
    }
}
