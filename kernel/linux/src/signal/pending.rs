// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals that were sent and not delivered yet: a [`Pending`] for each thread and one for each process.
//!
//! A standard signal is pending once, a real-time one as often as it was sent. What timers send queues in either case: a
//! timer has at most one signal on its way.

use alloc::collections::VecDeque;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible::MakeRoom;
use hadal_hal::sync::{Rank, SpinLock};

use super::info::Info;
use super::number::{SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP, is_realtime};
use super::set::{AtomicSigSet, SigSet};

/// What the program's own instructions caused is delivered before everything else.
const SYNCHRONOUS: SigSet = SigSet::of(&[SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS]);

/// Pending signals of one thread or process. Usable with interrupts off.
pub(crate) struct Pending {
    /// The signals in `queue`, and those that came when there was no memory for their content.
    set: AtomicSigSet,
    queue: SpinLock<VecDeque<Info>>,
    /// There have been more than [`FEW`] in it.
    has_grown: AtomicBool,
}

/// Signals for which the queue of a thread or a process that is over keeps its memory: there may be thousands of them that wait to
/// be used again.
const FEW: usize = 8;

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It is pending now.
    New,
    /// The same signal was pending already.
    Merged,
    /// The queue is full.
    Refused,
}

impl Pending {
    pub(crate) const fn new() -> Self {
        Self {
            set: AtomicSigSet::new(SigSet::EMPTY),
            queue: SpinLock::ranked(Rank::Process, VecDeque::new()),
            has_grown: AtomicBool::new(false),
        }
    }

    /// The signals that are pending.
    pub(crate) fn set(&self) -> SigSet {
        self.set.get()
    }

    /// Adds a signal; real-time ones only while fewer than `limit` entries are queued.
    #[inline(always)]
    pub(crate) fn push(&self, info: Info, limit: u64) -> Pushed {
        let mut queue = self.queue.lock();
        let from_timer = info.timer.is_some();
        if !from_timer && !is_realtime(info.signo) && self.set.get().contains(info.signo) {
            return Pushed::Merged;
        }
        if !from_timer && is_realtime(info.signo) && queue.len() as u64 >= limit {
            return Pushed::Refused;
        }
        if queue.make_room(1).is_ok() {
            queue.push_back(info);
            if queue.len() > FEW {
                self.has_grown.store(true, Ordering::Relaxed);
            }
        } else if is_realtime(info.signo) || from_timer {
            return Pushed::Refused;
        }
        self.set.insert(info.signo);
        Pushed::New
    }

    /// Takes the next signal that is `wanted`: the lowest number first, of one number the oldest.
    #[inline]
    pub(crate) fn take(&self, wanted: SigSet) -> Option<Info> {
        if self.set.get().intersection(wanted).is_empty() { None } else { self.take_available(wanted) }
    }

    #[inline(never)]
    fn take_available(&self, wanted: SigSet) -> Option<Info> {
        let mut queue = self.queue.lock();
        let available = self.set.get().intersection(wanted);
        let signo = available.intersection(SYNCHRONOUS).first().or(available.first())?;
        let is_it = |info: &Info| info.signo == signo;
        // Most often it is the only one.
        let mut info = match queue.front() {
            Some(first) if is_it(first) => queue.pop_front(),
            _ => queue.iter().position(is_it).and_then(|index| queue.remove(index)),
        };
        if queue.is_empty() || !queue.iter().any(is_it) {
            self.set.remove(signo);
        }
        if info.is_none() {
            info = Some(Info::sender(signo, super::info::code::USER, 0, 0));
        }
        info
    }

    /// Gives the memory of a queue back that has been long and is empty: its thread or process is over.
    #[inline]
    pub(crate) fn give_back(&self) {
        if self.has_grown.load(Ordering::Relaxed) {
            self.give_back_queue();
        }
    }

    #[cold]
    fn give_back_queue(&self) {
        let mut queue = self.queue.lock();
        if queue.is_empty() {
            self.has_grown.store(false, Ordering::Relaxed);
            let unneeded = core::mem::take(&mut *queue);
            drop(queue);
            drop(unneeded);
        }
    }

    /// Drops what timers of `timer_create` have sent, which are gone.
    pub(crate) fn forget_timers(&self) {
        self.forget_if(SigSet::EMPTY, |info| info.code == super::info::code::TIMER);
    }

    /// Drops some signals, but those whose timers wait to hear of their delivery.
    pub(crate) fn forget(&self, signals: SigSet) {
        if !self.set.get().intersection(signals).is_empty() {
            self.forget_if(signals, |info| signals.contains(info.signo) && info.timer.is_none());
        }
    }

    /// `bare`: signals that are dropped also where there was no memory for their content.
    fn forget_if(&self, bare: SigSet, goes: impl Fn(&Info) -> bool) {
        let mut queue = self.queue.lock();
        let mut dropped = bare;
        queue.retain(|info| {
            let stays = !goes(info);
            if !stays {
                dropped = dropped.with(info.signo);
            }
            stays
        });
        let is_left = |signo: u8| queue.iter().any(|info| info.signo == signo);
        dropped.iter().filter(|&signo| !is_left(signo)).for_each(|signo| self.set.remove(signo));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::info::code;
    use super::*;

    fn queued(signo: u8, value: u64) -> Info {
        Info { fields: [0, value, 0, 0], ..Info::sender(signo, code::QUEUE, 1, 0) }
    }

    #[test]
    fn a_long_queue_is_given_back_when_it_is_empty() {
        let pending = Pending::new();
        let room = || pending.queue.lock().capacity();
        let send = |count: u64| {
            (0..count).for_each(|value| assert_eq!(pending.push(queued(40, value), 100), Pushed::New));
        };
        send(3);
        while pending.take(SigSet::ALL).is_some() {}
        pending.give_back();
        assert!((3..=2 * FEW).contains(&room()), "what is short is kept");
        send(100);
        pending.give_back();
        assert!(room() >= 100, "what is in it is kept");
        while pending.take(SigSet::ALL).is_some() {}
        pending.give_back();
        assert_eq!(room(), 0);
    }

    #[test]
    fn standard_signals_are_pending_once() {
        let pending = Pending::new();
        assert_eq!(pending.push(queued(10, 1), 100), Pushed::New);
        assert_eq!(pending.push(queued(10, 2), 100), Pushed::Merged);
        assert_eq!(pending.take(SigSet::ALL).map(|info| info.fields[1]), Some(1));
        assert_eq!(pending.take(SigSet::ALL), None);
        assert!(pending.set().is_empty());
    }

    #[test]
    fn faults_come_first() {
        let pending = Pending::new();
        pending.push(queued(1, 0), 100);
        pending.push(queued(SIGSEGV, 0), 100);
        assert_eq!(pending.take(SigSet::ALL).map(|info| info.signo), Some(SIGSEGV));
    }

    #[test]
    fn timers_that_are_gone_leave_nothing() {
        let pending = Pending::new();
        let of_timer = |signo| Info { code: code::TIMER, ..Info::kernel(signo) };
        for info in [of_timer(10), of_timer(40), queued(40, 1), queued(12, 0)] {
            assert_eq!(pending.push(info, 100), Pushed::New);
        }
        pending.forget_timers();
        assert_eq!(pending.set(), SigSet::of(&[12, 40]));
        assert_eq!(pending.take(SigSet::of(&[40])).map(|info| info.code), Some(code::QUEUE));
        assert_eq!(pending.set(), SigSet::of(&[12]));
    }

    #[test]
    fn the_limit_is_for_real_time_signals() {
        let pending = Pending::new();
        assert_eq!(pending.push(queued(40, 0), 1), Pushed::New);
        assert_eq!(pending.push(queued(40, 0), 1), Pushed::Refused);
        assert_eq!(pending.push(queued(15, 0), 1), Pushed::New);
    }

    #[test]
    fn blocked_signals_stay() {
        let pending = Pending::new();
        pending.push(queued(40, 7), 10);
        assert_eq!(pending.take(SigSet::ALL.without(40)), None);
        assert_eq!(pending.take(SigSet::of(&[40])).map(|info| info.fields[1]), Some(7));
    }

    proptest! {
        #[test]
        fn real_time_signals_come_out_in_order(sent in proptest::collection::vec(FIRST..=64_u8, 0..60)) {
            let pending = Pending::new();
            for (value, &signo) in sent.iter().enumerate() {
                prop_assert_eq!(pending.push(queued(signo, value as u64), 1000), Pushed::New);
            }
            let mut expected: Vec<(u8, u64)> = sent.iter().copied().zip(0..).collect();
            expected.sort();
            let taken: Vec<(u8, u64)> =
                core::iter::from_fn(|| pending.take(SigSet::ALL)).map(|info| (info.signo, info.fields[1])).collect();
            prop_assert_eq!(taken, expected);
            prop_assert!(pending.set().is_empty());
        }
    }

    const FIRST: u8 = super::super::number::FIRST_REALTIME;
}
