// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The wake-up protocol of one thread: new, runnable, runnable with a wake-up to spend, or parked.
//!
//! Whoever moves a parked thread to runnable has to queue it, and nobody else does. A wake-up that comes first is kept, so
//! "look at the condition, then park" and "change the condition, then unpark" never miss each other. A new thread waits for
//! nothing yet: only its start makes it runnable, and a wake-up that was meant for its predecessor does nothing.

use hadal_hal::trace::Left;

use crate::audit::Subject;
use crate::transition::Event;

#[cfg(not(loom))]
use hadal_hal::sync::atomic::{AtomicU32, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

const RUNNABLE: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = 2;
const FREE: u32 = 3;
const NEW: u32 = 4;

/// The state of one thread.
#[derive(Debug)]
pub(crate) struct Token(AtomicU32, Subject);

impl Token {
    /// The state of the control block with this index, without a thread.
    pub(crate) fn free(index: u32) -> Self {
        Self(AtomicU32::new(FREE), Subject::new(index))
    }

    /// Tells the simulator of a change.
    #[inline(always)]
    fn changed(&self, done: bool, event: Event) -> bool {
        if done {
            self.1.saw(event);
        }
        done
    }

    /// A thread has been made and waits for [`Token::start`].
    pub(crate) fn set_new(&self) {
        self.0.store(NEW, Ordering::Release);
        self.1.saw(Event::Created);
    }

    /// Makes a new thread runnable, and the caller has to queue it; false, and nothing done, if it is not new.
    pub(crate) fn start(&self) -> bool {
        let done = self.0.compare_exchange(NEW, RUNNABLE, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.changed(done, Event::Started)
    }

    /// The code that is running has become a thread.
    pub(crate) fn set_running(&self) {
        self.0.store(RUNNABLE, Ordering::Release);
        self.1.saw(Event::Adopted);
    }

    /// Whether there is a thread: made, and not ended.
    pub(crate) fn is_live(&self) -> bool {
        self.0.load(Ordering::Acquire) != FREE
    }

    /// The thread has ended.
    pub(crate) fn set_free(&self) {
        self.0.store(FREE, Ordering::Release);
        self.1.saw(Event::Ended);
    }

    /// Spends a wake-up that came early. For the thread itself.
    pub(crate) fn spend(&self) -> bool {
        let done = self.0.compare_exchange(NOTIFIED, RUNNABLE, Ordering::Acquire, Ordering::Relaxed).is_ok();
        self.changed(done, Event::Spent)
    }

    /// Parks the thread unless a wake-up came first, which stays to be spent. For the thread itself, which gives the CPU up
    /// next.
    pub(crate) fn park(&self) -> bool {
        let done = self.0.compare_exchange(RUNNABLE, PARKED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        self.changed(done, Event::Parked)
    }

    /// Leaves a wake-up; returns whether the thread was parked, and the caller has to queue it.
    #[inline(always)]
    pub(crate) fn notify(&self) -> bool {
        self.unpark() || self.notify_later()
    }

    /// Ends the sleep of a parked thread, which the caller has to queue; false, and nothing done, if it is not parked.
    #[inline(always)]
    pub(crate) fn unpark(&self) -> bool {
        let done = self.0.compare_exchange(PARKED, RUNNABLE, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        self.changed(done, Event::Woken)
    }

    /// [`Token::notify`] of a thread that was not parked just now.
    #[inline(never)]
    fn notify_later(&self) -> bool {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let new = match seen {
                PARKED => RUNNABLE,
                RUNNABLE | NOTIFIED => NOTIFIED,
                _ => return false,
            };
            match self.0.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(PARKED) => return self.changed(true, Event::Woken),
                Ok(_) => return !self.changed(true, Event::Kept),
                Err(found) => seen = found,
            }
        }
    }

    /// What the thread is when it gives the CPU up, for the trace.
    pub(crate) fn left(&self) -> Left {
        match self.0.load(Ordering::Relaxed) {
            PARKED | NEW => Left::Waiting,
            FREE => Left::Ended,
            _ => Left::Ready,
        }
    }

    /// Whether the thread is parked or not started yet, as of now.
    pub(crate) fn is_parked(&self) -> bool {
        matches!(self.0.load(Ordering::Relaxed), PARKED | NEW)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Token;

    #[test]
    fn a_wake_up_that_comes_first_is_kept() {
        let token = Token::free(0);
        assert!(!token.notify(), "a thread that has ended is not woken");
        token.set_running();
        assert!(!token.notify());
        assert!(!token.park());
        assert!(token.spend() && !token.spend());
        assert!(token.park() && token.is_parked());
        assert!(token.notify() && !token.is_parked());
    }

    #[test]
    fn only_its_start_makes_a_new_thread_runnable() {
        let token = Token::free(0);
        token.set_new();
        // A late wake-up of the thread that had the control block before.
        assert!(!token.notify() && !token.unpark());
        assert!(token.is_live() && token.is_parked());
        assert!(token.start() && !token.start());
        assert!(!token.spend(), "the late wake-up is not kept either");
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-sched --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::Token;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A sleeper that parks until two conditions hold, and two wakers: it must end, and be queued once for each time it
    /// parked.
    #[test]
    fn model_no_wake_up_is_lost() {
        let mut model = loom::model::Builder::new();
        // Every interleaving with up to three involuntary switches; all of them would take hours.
        model.preemption_bound = Some(3);
        model.check(|| {
            let token = Arc::new(Token::free(0));
            token.set_running();
            let conditions = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let queued = Arc::new(AtomicUsize::new(0));
            let wakers: Vec<_> = (0..2)
                .map(|which| {
                    let (token, conditions, queued) = (token.clone(), conditions.clone(), queued.clone());
                    loom::thread::spawn(move || {
                        conditions[which].store(true, Ordering::Relaxed);
                        if token.notify() {
                            queued.fetch_add(1, Ordering::Release);
                        }
                    })
                })
                .collect();
            let mut parked = 0;
            while !conditions.iter().all(|condition| condition.load(Ordering::Relaxed)) {
                if token.spend() {
                    continue;
                }
                if token.park() {
                    parked += 1;
                    // What the scheduler does: the thread runs again when it has been queued.
                    while queued.load(Ordering::Acquire) < parked {
                        loom::thread::yield_now();
                    }
                }
            }
            for waker in wakers {
                waker.join().unwrap();
            }
            assert_eq!(queued.load(Ordering::Relaxed), parked);
        });
    }
}
