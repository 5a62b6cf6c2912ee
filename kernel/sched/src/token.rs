// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The wake-up protocol of one thread: runnable, runnable with a wake-up to spend, or parked.
//!
//! Whoever moves a parked thread to runnable has to queue it, and nobody else does. A wake-up that comes first is kept, so
//! "look at the condition, then park" and "change the condition, then unpark" never miss each other.

use hadal_hal::trace::Left;

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

const RUNNABLE: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = 2;
const FREE: u32 = 3;

/// The state of one thread.
#[derive(Debug)]
pub(crate) struct Token(AtomicU32);

impl Token {
    /// The state of a control block without a thread.
    pub(crate) fn free() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// A thread has been made and waits to be started: the first wake-up starts it.
    pub(crate) fn set_new(&self) {
        self.0.store(PARKED, Ordering::Release);
    }

    /// The code that is running has become a thread.
    pub(crate) fn set_running(&self) {
        self.0.store(RUNNABLE, Ordering::Release);
    }

    /// Whether there is a thread: made, and not ended.
    pub(crate) fn is_live(&self) -> bool {
        self.0.load(Ordering::Acquire) != FREE
    }

    /// The thread has ended.
    pub(crate) fn set_free(&self) {
        self.0.store(FREE, Ordering::Release);
    }

    /// Spends a wake-up that came early. For the thread itself.
    pub(crate) fn spend(&self) -> bool {
        self.0.compare_exchange(NOTIFIED, RUNNABLE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Parks the thread unless a wake-up came first, which stays to be spent. For the thread itself, which gives the CPU up
    /// next.
    pub(crate) fn park(&self) -> bool {
        self.0.compare_exchange(RUNNABLE, PARKED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Leaves a wake-up; returns whether the thread was parked, and the caller has to queue it.
    #[inline(always)]
    pub(crate) fn notify(&self) -> bool {
        self.unpark() || self.notify_later()
    }

    /// Ends the sleep of a parked thread, which the caller has to queue; false, and nothing done, if it is not parked.
    #[inline(always)]
    pub(crate) fn unpark(&self) -> bool {
        self.0.compare_exchange(PARKED, RUNNABLE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
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
                Ok(old) => return old == PARKED,
                Err(found) => seen = found,
            }
        }
    }

    /// What the thread is when it gives the CPU up, for the trace.
    pub(crate) fn left(&self) -> Left {
        match self.0.load(Ordering::Relaxed) {
            PARKED => Left::Waiting,
            FREE => Left::Ended,
            _ => Left::Ready,
        }
    }

    /// Whether the thread is parked, as of now.
    pub(crate) fn is_parked(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PARKED
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Token;

    #[test]
    fn a_wake_up_that_comes_first_is_kept() {
        let token = Token::free();
        assert!(!token.notify(), "a thread that has ended is not woken");
        token.set_running();
        assert!(!token.notify());
        assert!(!token.park());
        assert!(token.spend() && !token.spend());
        assert!(token.park() && token.is_parked());
        assert!(token.notify() && !token.is_parked());
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
            let token = Arc::new(Token::free());
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
