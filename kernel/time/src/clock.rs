// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Publication of the clock to all CPUs without a lock on the reading side.
//!
//! The state is kept twice. A reader uses the copy that the generation number points at and looks afterwards
//! whether that is still so; a writer fills the other copy and then advances the number. A reader therefore
//! never waits for a writer, not even a non-maskable interrupt that arrives in the middle of an update.
//! Writers exclude each other by a lock.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

use hadal_hal::sync::{Rank, SpinLock};

use crate::line::{Line, Rate};
use crate::vvar::Page;

/// What a reader needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Counter to monotonic nanoseconds.
    pub line: Line,
    /// What to add to get nanoseconds since 1970.
    pub realtime_offset_ns: i64,
}

/// One copy of [`State`].
struct Slot {
    origin_tsc: AtomicU64,
    origin_ns: AtomicU64,
    origin_fraction: AtomicU32,
    rate: AtomicU64,
    rate_before: AtomicU64,
    realtime_offset_ns: AtomicI64,
}

impl Slot {
    const fn new() -> Self {
        Self {
            origin_tsc: AtomicU64::new(0),
            origin_ns: AtomicU64::new(0),
            origin_fraction: AtomicU32::new(0),
            rate: AtomicU64::new(0),
            rate_before: AtomicU64::new(0),
            realtime_offset_ns: AtomicI64::new(0),
        }
    }

    fn load(&self) -> State {
        State {
            line: Line {
                origin_tsc: self.origin_tsc.load(Ordering::Relaxed),
                origin_ns: self.origin_ns.load(Ordering::Relaxed),
                origin_fraction: self.origin_fraction.load(Ordering::Relaxed),
                rate: Rate(self.rate.load(Ordering::Relaxed)),
                rate_before: Rate(self.rate_before.load(Ordering::Relaxed)),
            },
            realtime_offset_ns: self.realtime_offset_ns.load(Ordering::Relaxed),
        }
    }

    fn store(&self, state: &State) {
        let line = &state.line;
        self.origin_tsc.store(line.origin_tsc, Ordering::Relaxed);
        self.origin_ns.store(line.origin_ns, Ordering::Relaxed);
        self.origin_fraction.store(line.origin_fraction, Ordering::Relaxed);
        self.rate.store(line.rate.0, Ordering::Relaxed);
        self.rate_before.store(line.rate_before.0, Ordering::Relaxed);
        self.realtime_offset_ns.store(state.realtime_offset_ns, Ordering::Relaxed);
    }
}

/// A clock that every CPU may read at any time.
pub struct Clock {
    generation: AtomicU32,
    slots: [Slot; 2],
    /// Held while writing; also the page that programs read, once there is one.
    writer: SpinLock<Option<Page>>,
}

impl Clock {
    /// A clock that stands at zero.
    pub const fn new() -> Self {
        Self {
            generation: AtomicU32::new(0),
            slots: [Slot::new(), Slot::new()],
            writer: SpinLock::ranked(Rank::Last, None),
        }
    }

    /// The state in force.
    pub fn state(&self) -> State {
        self.read(|state| *state)
    }

    /// What `reading` makes of the state, which is still in force when it is done: a reader that is held up
    /// between learning the rate and looking at the counter tries again.
    pub fn read<T>(&self, reading: impl Fn(&State) -> T) -> T {
        loop {
            // Pairs with the release in `update`: the copy that the number points at is complete.
            let generation = self.generation.load(Ordering::Acquire);
            let state = self.slots[generation as usize % 2].load();
            let result = reading(&state);
            // Pairs with the release fence in `update`: whoever saw a value of the next writer of this copy
            // also sees that the number has moved on.
            fence(Ordering::Acquire);
            if self.generation.load(Ordering::Relaxed) == generation {
                return result;
            }
        }
    }

    /// Changes the state for all CPUs, one change at a time.
    pub fn update(&self, change: impl FnOnce(State) -> State) {
        let writer = self.writer.lock();
        let state = change(self.state());
        let generation = self.generation.load(Ordering::Relaxed).wrapping_add(1);
        fence(Ordering::Release);
        self.slots[generation as usize % 2].store(&state);
        self.generation.store(generation, Ordering::Release);
        if let Some(page) = &*writer {
            page.publish(&state);
        }
    }

    /// From now on, shows every state on this page too.
    pub fn attach(&self, page: Page) {
        let mut writer = self.writer.lock();
        page.publish(&self.state());
        *writer = Some(page);
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Clock {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.state().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn starts_stopped() {
        assert_eq!(Clock::new().state(), State { line: Line::STOPPED, realtime_offset_ns: 0 });
    }

    #[test]
    fn readers_never_see_a_mixture() {
        let clock = Clock::new();
        let done = AtomicBool::new(false);
        let state_of = |n: u64| State {
            line: Line {
                origin_tsc: n,
                origin_ns: n,
                origin_fraction: n as u32,
                rate: Rate(n),
                rate_before: Rate(n),
            },
            realtime_offset_ns: n as i64,
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let state = clock.state();
                        assert_eq!(state, state_of(state.line.origin_tsc));
                        assert!(state.line.origin_tsc >= last);
                        last = state.line.origin_tsc;
                    }
                });
            }
            for _ in 0..100_000 {
                clock.update(|state| state_of(state.line.origin_tsc + 1));
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(clock.state(), state_of(100_000));
    }
}
