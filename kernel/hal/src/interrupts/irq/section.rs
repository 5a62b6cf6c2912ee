// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long the kernel keeps interrupts off, measured by the debug kernel: the longest sections of each CPU by the place
//! where they begin.
//!
//! A section begins where the kernel turns interrupts off, or an interrupt arrives, and ends where they are turned on again,
//! or the program goes on. A switch of threads ends one, and another begins behind it. What the program does with interrupts
//! off, handlers among it, does not count.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::panic::Location;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::cpu::{percpu, tsc};
use crate::threads::link::AtomicRef;

/// Places that are kept for each CPU.
const KEPT: usize = 8;

struct Longest {
    place: AtomicRef<Location<'static>>,
    vector: AtomicU8,
    ticks: AtomicU64,
}

impl Longest {
    const fn new() -> Self {
        Self { place: AtomicRef::none(), vector: AtomicU8::new(0), ticks: AtomicU64::new(0) }
    }
}

/// The section that is open on a CPU, and the longest ones so far. Only that CPU changes it, with interrupts off.
pub(crate) struct Sections {
    /// Time stamp of the begin, or 0.
    since: AtomicU64,
    place: AtomicRef<Location<'static>>,
    /// The interrupt with which it began, or 0.
    vector: AtomicU8,
    longest: [Longest; KEPT],
}

impl Sections {
    pub(crate) const fn new() -> Self {
        Self {
            since: AtomicU64::new(0),
            place: AtomicRef::none(),
            vector: AtomicU8::new(0),
            longest: [const { Longest::new() }; KEPT],
        }
    }

    fn begin(&self, now: u64, place: &'static Location<'static>, vector: u8) {
        if self.since.load(Ordering::Relaxed) == 0 {
            self.since.store(now | 1, Ordering::Relaxed);
            self.place.store(Some(place), Ordering::Relaxed);
            self.vector.store(vector, Ordering::Relaxed);
        }
    }

    fn end(&self, now: u64) {
        let since = self.since.load(Ordering::Relaxed);
        if since == 0 {
            return;
        }
        self.since.store(0, Ordering::Relaxed);
        let Some(place) = self.place.load(Ordering::Relaxed) else { return };
        let (ticks, vector) = (now.saturating_sub(since), self.vector.load(Ordering::Relaxed));
        let is_same = |kept: &&Longest| {
            kept.place.load(Ordering::Relaxed) == Some(place) && kept.vector.load(Ordering::Relaxed) == vector
        };
        let shortest = || self.longest.iter().min_by_key(|kept| kept.ticks.load(Ordering::Relaxed));
        if let Some(kept) = self.longest.iter().find(is_same).or_else(shortest)
            && kept.ticks.load(Ordering::Relaxed) < ticks
        {
            kept.ticks.store(ticks, Ordering::Relaxed);
            kept.place.store(Some(place), Ordering::Relaxed);
            kept.vector.store(vector, Ordering::Relaxed);
        }
    }

    fn list(&self) -> Vec<(String, u64)> {
        let kept = self.longest.iter().filter_map(|kept| {
            let place = kept.place.load(Ordering::Relaxed)?;
            let ticks = kept.ticks.load(Ordering::Relaxed);
            Some(match kept.vector.load(Ordering::Relaxed) {
                0 => (format!("{}:{}", place.file(), place.line()), ticks),
                vector => (format!("interrupt {vector:#x}"), ticks),
            })
        });
        kept.collect()
    }
}

/// Interrupts have been turned off.
#[track_caller]
pub(super) fn begin() {
    percpu::this().sections.begin(tsc::read(), Location::caller(), 0);
}

/// An interrupt has arrived.
pub(super) fn begin_interrupt(vector: u8) {
    percpu::this().sections.begin(tsc::read(), Location::caller(), vector);
}

/// Interrupts are about to be turned on.
pub(super) fn end() {
    percpu::this().sections.end(tsc::read());
}

/// Where the open section began.
pub(super) fn place() -> Option<&'static Location<'static>> {
    let sections = &percpu::this().sections;
    (sections.since.load(Ordering::Relaxed) != 0).then(|| sections.place.load(Ordering::Relaxed)).flatten()
}

/// The longest sections of a CPU: where they began, and time-stamp ticks.
pub(super) fn longest(cpu: usize) -> Vec<(String, u64)> {
    percpu::of(cpu).sections.list()
}

#[cfg(test)]
mod tests {
    use core::panic::Location;

    use super::{KEPT, Sections};

    #[test]
    fn the_longest_section_of_each_place_is_kept() {
        let sections = Sections::new();
        let here = Location::caller();
        for (begin, end) in [(10, 15), (20, 130), (200, 220)] {
            sections.begin(begin, here, 0);
            sections.begin(begin + 1, Location::caller(), 3);
            sections.end(end);
            sections.end(end + 1000);
        }
        sections.begin(300, here, 0xf0);
        sections.end(350);
        let mut list = sections.list();
        list.sort_by_key(|(_, ticks)| *ticks);
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].0.as_str(), list[0].1), ("interrupt 0xf0", 49));
        assert!(list[1].0.contains("section.rs:") && list[1].1 == 109);
        // More places than are kept: the shortest go.
        for vector in 1..=2 * KEPT as u8 {
            sections.begin(1000, here, vector);
            sections.end(1001 + 10 * u64::from(vector));
        }
        assert!(sections.list().iter().all(|(_, ticks)| *ticks >= 90));
    }
}
