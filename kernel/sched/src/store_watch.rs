// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sleeping until somebody stores to a word (MONITOR and MWAIT) without depending on it.
//!
//! There are processors and emulators that do not notice every store (`docs/decisions/0031-bounded-sleep-on-stores.md`).
//! So a timer ends each sleep after a while, at first soon, and twice as late each time it has found nothing: a lost store
//! costs that time. A CPU on which stores get lost again and again sleeps on them no more: it halts, or polls.

use hadal_hal::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hadal_hal::cpu;
use hadal_hal::interrupts::irq;
use hadal_time::now_ns;

use crate::counters::Count;
use crate::cpus::{self, Cpu};
use crate::timers;

/// The first sleep is this long at most ...
const BOUND_LEAST_NS: u64 = 1_000_000;
/// ... and none is longer: an idle CPU has 8 timer interrupts in a second.
const BOUND_MOST_NS: u64 = 128_000_000;
/// The timer is not exact: this much before its time it is over, too.
const SLACK_NS: u64 = 10_000;
/// Missed stores that may be no more than a store and the timer at the same moment ...
const MISSED_BY_CHANCE: u64 = 3;
/// ... if there is no more than one in so many sleeps.
const SLEEPS_PER_MISS: u64 = 256;

/// What a CPU knows of its sleeps on stores. Only the CPU itself changes it, with interrupts off.
pub(crate) struct StoreWatch {
    works: AtomicBool,
    bound_ns: AtomicU64,
    sleeps: Count,
    pub(crate) missed: Count,
}

impl StoreWatch {
    pub(crate) fn new(works: bool) -> Self {
        Self {
            works: AtomicBool::new(works),
            bound_ns: AtomicU64::new(BOUND_LEAST_NS),
            sleeps: Count::default(),
            missed: Count::default(),
        }
    }

    /// Whether the CPU sleeps on stores: it can, and it has noticed them so far.
    pub(crate) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    fn bound_ns(&self) -> u64 {
        self.bound_ns.load(Ordering::Relaxed)
    }

    /// The bound has ended a sleep: there was a store that had not, or there was none.
    fn bound_is_over(&self, has_come: bool) {
        if has_come {
            self.missed.up();
            self.bound_ns.store(BOUND_LEAST_NS, Ordering::Relaxed);
            let missed = self.missed.get();
            if missed > MISSED_BY_CHANCE && missed * SLEEPS_PER_MISS > self.sleeps.get() {
                self.works.store(false, Ordering::Relaxed);
            }
        } else {
            self.bound_ns.store((self.bound_ns() * 2).min(BOUND_MOST_NS), Ordering::Relaxed);
        }
    }
}

/// Whether the calling CPU can sleep on stores ([`sleep_on_store`]), and has noticed them so far. From any context.
pub fn can_sleep_on_stores() -> bool {
    let _irq = irq::disable();
    cpus::this().store_watch.works()
}

/// Whether a CPU sleeps on stores when it has nothing to run: it has MONITOR and MWAIT, and they have not failed.
pub fn idles_on_stores(cpu: usize) -> bool {
    for_idling(cpus::of(cpu))
}

/// [`idles_on_stores`]. On a single CPU only interrupts bring anything.
pub(crate) fn for_idling(own: &Cpu) -> bool {
    cpu::count() > 1 && own.store_watch.works()
}

/// Calls `sleep`, which waits for a store with MONITOR and MWAIT, and has the timer end it after a while; `has_come` says
/// whether the store is there. Interrupts are off but for the sleep itself.
pub fn sleep_on_store<R>(sleep: impl FnOnce() -> R, has_come: impl FnOnce() -> bool) -> R {
    sleep_on(cpus::this(), sleep, has_come)
}

pub(crate) fn sleep_on<R>(own: &Cpu, sleep: impl FnOnce() -> R, has_come: impl FnOnce() -> bool) -> R {
    let watch = &own.store_watch;
    let end_ns = now_ns() + watch.bound_ns();
    timers::interrupt_at(own, end_ns);
    watch.sleeps.up();
    let result = sleep();
    if now_ns() + SLACK_NS >= end_ns {
        watch.bound_is_over(has_come());
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sleeps: u64, missed: u64) -> StoreWatch {
        let watch = StoreWatch::new(true);
        watch.sleeps.add(sleeps);
        (0..missed).for_each(|_| watch.bound_is_over(true));
        watch
    }

    #[test]
    fn the_bound_grows_to_its_most_while_nothing_is_missed() {
        let watch = StoreWatch::new(true);
        let mut interrupts = 0;
        let mut slept_ns = 0;
        while slept_ns < 1_000_000_000 {
            slept_ns += watch.bound_ns();
            watch.bound_is_over(false);
            interrupts += 1;
        }
        assert_eq!(watch.bound_ns(), BOUND_MOST_NS);
        assert!(interrupts <= 14, "{interrupts} interrupts in the first second of idling");
        assert!(watch.works());
    }

    #[test]
    fn a_missed_store_makes_the_next_sleep_short_and_is_counted() {
        let watch = StoreWatch::new(true);
        (0..20).for_each(|_| watch.bound_is_over(false));
        watch.bound_is_over(true);
        assert_eq!((watch.bound_ns(), watch.missed.get()), (BOUND_LEAST_NS, 1));
        assert!(watch.works());
    }

    #[test]
    fn a_cpu_that_misses_stores_soon_stops_sleeping_on_them() {
        assert!(!after(MISSED_BY_CHANCE + 1, MISSED_BY_CHANCE + 1).works());
        assert!(!after(1000, 4).works());
    }

    #[test]
    fn coincidences_of_store_and_timer_change_nothing() {
        assert!(after(10, MISSED_BY_CHANCE).works());
        assert!(after(1_000_000, 1000).works());
    }

    #[test]
    fn without_the_instructions_it_never_works() {
        assert!(!StoreWatch::new(false).works());
    }
}
