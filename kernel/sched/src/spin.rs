// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Program code that waits by spinning, on machines with more CPUs than their host has cores.
//!
//! What it waits for may be on a CPU that the host is not running, because it runs this one. So the timer interrupt of a
//! CPU looks now and then whether it has interrupted a loop with PAUSE ([`hadal_hal::spinning`]); if it finds the same loop
//! twice in a row, and more CPUs are busy than there are cores, the CPU rests: it halts for a moment, runs the loop for a
//! shorter one, and so on. A rest is the longer the more CPUs share a core, and the longer the wait has lasted, but then an
//! eighth of it at most: threads that pass something round would else wait for each other's rests. Code that does not spin
//! is looked at rarely; with a core for each CPU there are no looks.

use hadal_hal::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::irq::Off;
use hadal_hal::percpu::{self, attention};
use hadal_hal::{cpu, irq};
use hadal_time::now_ns;

use crate::cpus::{self, Cpu, here};
use crate::overcommit;
use crate::timers;

/// Time between two looks that decide whether a loop lasts, and between the first ones that find none.
const LOOK_LEAST_NS: u64 = 50_000;
/// Time between looks at code that does not spin.
const LOOK_MOST_NS: u64 = 2_000_000;
/// How long a loop runs between two rests.
const LOOK_AGAIN_NS: u64 = 20_000;
/// Length of a rest for each CPU that shares a core.
const REST_FOR_EACH_NS: u64 = 50_000;
/// Longest rest; what it waits for may come right after its begin.
const REST_MOST_NS: u64 = 1_000_000;
/// What part of the wait a rest may last.
const PART_OF_WAIT: u64 = 8;
const NEVER: u64 = u64::MAX;

/// CPUs that rest.
static RESTING: AtomicUsize = AtomicUsize::new(0);

/// What a CPU has seen. Only that CPU uses it, with interrupts off.
pub(crate) struct Spin {
    /// When to look next, or [`NEVER`].
    look_at_ns: AtomicU64,
    /// Time from one look to the next.
    period_ns: AtomicU64,
    /// The PAUSE of the loop that was seen at the last look, or 0.
    pause: AtomicU64,
    /// The thread that ran it.
    thread: AtomicU32,
    /// When it was seen there first.
    since_ns: AtomicU64,
}

impl Spin {
    pub(crate) fn new() -> Self {
        Self {
            look_at_ns: AtomicU64::new(NEVER),
            period_ns: AtomicU64::new(LOOK_LEAST_NS),
            pause: AtomicU64::new(0),
            thread: AtomicU32::new(0),
            since_ns: AtomicU64::new(0),
        }
    }

    /// When the timer has to interrupt this CPU for a look.
    pub(crate) fn look_at_ns(&self) -> u64 {
        self.look_at_ns.load(Ordering::Relaxed)
    }

    fn look_in(&self, delay_ns: u64) {
        self.period_ns.store(delay_ns, Ordering::Relaxed);
        self.look_at_ns.store(now_ns() + delay_ns, Ordering::Relaxed);
        timers::interrupt_within(delay_ns);
    }
}

/// CPUs that rest.
pub(crate) fn resting() -> usize {
    RESTING.load(Ordering::Relaxed)
}

/// A CPU that was idle has a thread to run: it is looked at from now on if it is one too many. Interrupts are off.
#[inline]
pub(crate) fn begin(own: &Cpu) {
    if overcommit::is_crowded() && own.spin.look_at_ns() == NEVER {
        own.spin.look_in(LOOK_LEAST_NS);
    }
}

/// In each timer interrupt, before its timers run: looks, if that is due, at what was interrupted. `pause` finds a loop with
/// PAUSE in it.
pub fn look(off: Off<'_>, pause: impl FnOnce() -> Option<u64>) {
    let here = here(off);
    let (own, running) = (here.cpu(), here.thread());
    let spin = &own.spin;
    let now = now_ns();
    if now < spin.look_at_ns() {
        return;
    }
    spin.look_at_ns.store(NEVER, Ordering::Relaxed);
    if running.is(own.idle_thread()) {
        // The next look is when it runs something again.
        return spin.pause.store(0, Ordering::Relaxed);
    }
    let Some(pause) = pause().filter(|_| !running.is_realtime()) else {
        spin.pause.store(0, Ordering::Relaxed);
        return spin.look_in((spin.period_ns.load(Ordering::Relaxed) * 2).min(LOOK_MOST_NS));
    };
    let again = spin.pause.swap(pause, Ordering::Relaxed) == pause
        && spin.thread.swap(running.id(), Ordering::Relaxed) == running.id();
    if !again {
        spin.since_ns.store(now, Ordering::Relaxed);
        spin.thread.store(running.id(), Ordering::Relaxed);
    } else if overcommit::is_crowded() {
        here.raise_attention(attention::REST);
    }
    spin.look_in(LOOK_LEAST_NS);
}

/// A CPU has been found spinning, and is about to return to the program: it rests. For [`crate::attend`].
pub(crate) fn rest() {
    let mut masked = irq::mask();
    let here = here(masked.off());
    let (own, running) = (here.cpu(), here.thread());
    let spin = &own.spin;
    // Another thread may have come meanwhile, or become ready.
    let spins = spin.pause.load(Ordering::Relaxed) != 0
        && spin.thread.load(Ordering::Relaxed) == running.id()
        && percpu::pending_attention() == 0;
    if !spins || !own.inbox.looks_empty() || own.levels.len() > 1 {
        return masked.unmask();
    }
    let spun_ns = now_ns().saturating_sub(spin.since_ns.load(Ordering::Relaxed));
    own.counters.rests.up();
    RESTING.fetch_add(1, Ordering::Relaxed);
    // The interrupt that ends the rest is no look: that comes when the loop has run for a while.
    let least_ns = REST_FOR_EACH_NS * overcommit::cpus_for_each_core();
    let rest_ns = least_ns.max(spun_ns / PART_OF_WAIT).min(REST_MOST_NS);
    spin.look_at_ns.store(now_ns() + rest_ns + LOOK_AGAIN_NS, Ordering::Relaxed);
    timers::interrupt_within(rest_ns);
    cpu::wait_for_interrupt(&mut masked);
    RESTING.fetch_sub(1, Ordering::Relaxed);
    cpus::this().spin.look_in(LOOK_AGAIN_NS);
    masked.unmask();
}
