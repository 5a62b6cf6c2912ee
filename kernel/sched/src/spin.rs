// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Program code that waits by spinning, on machines with more CPUs than their host has cores.
//!
//! What it waits for may wait for this CPU, or be on one that the host is not running because it runs this one. So the timer
//! interrupt of a CPU looks now and then whether it has interrupted a loop with PAUSE ([`hadal_hal::trap::spinning`]). A thread that
//! is found twice in a row in the same loop gives way, if others want the CPU or more CPUs are busy than there are cores: to
//! a thread of this CPU, or on a busy CPU, which it joins. One that must stay makes its CPU rest: that halts for a moment,
//! runs the loop for a shorter one, and so on. A rest is the longer the more CPUs share a core, and the longer the wait has
//! lasted, but then an eighth of it at most: threads that pass something round would else wait for each other's rests. Code
//! that does not spin is looked at rarely; with a core for each CPU there are no looks.

use hadal_hal::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::interrupts::irq;
use hadal_hal::interrupts::irq::Off;
use hadal_time::now_ns;

use crate::cpus::{self, Cpu, current, here};
use crate::switch::{join_busy_cpu, yield_now};
use crate::thread::{Policy, Thread};
use crate::{overcommit, timers};

/// Time between two looks that decide whether a loop lasts, and between the first ones that find none.
const LOOK_LEAST_NS: u64 = 50_000;
/// Time to the first look at a CPU that several threads share.
const LOOK_SHARED_NS: u64 = 250_000;
/// Time between looks at code that does not spin.
const LOOK_MOST_NS: u64 = 2_000_000;
/// How long a loop runs between two rests, or after another has given way to it.
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
}

/// What has been seen of a thread. Only the CPU that the thread is on uses it.
pub(crate) struct Seen {
    /// The PAUSE of the loop in which it was at the last look, or 0.
    pause: AtomicU64,
    /// When it was seen there first.
    since_ns: AtomicU64,
    /// It has given its CPU to others that wait for it since [`Seen::has_given_way`] was asked last.
    gave_way: AtomicBool,
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self { pause: AtomicU64::new(0), since_ns: AtomicU64::new(0), gave_way: AtomicBool::new(false) }
    }

    /// For a new thread.
    pub(crate) fn reset(&self) {
        self.pause.store(0, Ordering::Relaxed);
        self.gave_way.store(false, Ordering::Relaxed);
    }

    /// The thread gives way because it waits for something that others do.
    pub(crate) fn note_gave_way(&self) {
        self.gave_way.store(true, Ordering::Relaxed);
    }

    /// Whether the thread has given way since the last call.
    pub(crate) fn has_given_way(&self) -> bool {
        self.gave_way.swap(false, Ordering::Relaxed)
    }
}

impl Spin {
    pub(crate) fn new() -> Self {
        Self { look_at_ns: AtomicU64::new(NEVER), period_ns: AtomicU64::new(LOOK_LEAST_NS) }
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

/// Several threads share this CPU, on a machine with more CPUs than cores: it is looked at from now on. Interrupts are off.
pub(crate) fn begin_shared(own: &Cpu) {
    if overcommit::is_set() && own.spin.look_at_ns() == NEVER {
        own.spin.look_in(LOOK_SHARED_NS);
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
        return;
    }
    let seen = &running.seen;
    let Some(pause) = pause().filter(|_| !running.is_realtime()) else {
        seen.pause.store(0, Ordering::Relaxed);
        return spin.look_in((spin.period_ns.load(Ordering::Relaxed) * 2).min(LOOK_MOST_NS));
    };
    let again = seen.pause.swap(pause, Ordering::Relaxed) == pause;
    if !again {
        seen.since_ns.store(now, Ordering::Relaxed);
    } else if own.is_wanted() || overcommit::is_crowded() {
        here.raise_attention(attention::REST);
        // Whoever runs instead may wait in the same way.
        return spin.look_in(LOOK_AGAIN_NS);
    }
    spin.look_in(LOOK_LEAST_NS);
}

/// A CPU has been found spinning, and is about to return to the program: it lets others run, here or elsewhere. For
/// [`crate::attend`].
pub(crate) fn rest() {
    let running = current();
    if running.seen.pause.load(Ordering::Relaxed) == 0 || percpu::pending_attention() != 0 {
        // Another thread has come meanwhile, or something to do.
        return;
    }
    let gives_way = || yield_now() || overcommit::is_crowded() && join_busy_cpu();
    if running.policy() == Policy::RoundRobin && gives_way() {
        running.seen.note_gave_way();
        return;
    }
    if overcommit::is_crowded() {
        halt(running);
    }
}

/// Halts a CPU whose thread spins for a moment, or until an interrupt.
fn halt(running: &Thread) {
    let mut masked = irq::mask();
    let here = here(masked.off());
    let own = here.cpu();
    // Another thread may have come meanwhile.
    if !here.thread().is(running) || percpu::pending_attention() != 0 || own.is_wanted() {
        return masked.unmask();
    }
    let spun_ns = now_ns().saturating_sub(running.seen.since_ns.load(Ordering::Relaxed));
    own.counters.rests.up();
    RESTING.fetch_add(1, Ordering::Relaxed);
    // The interrupt that ends the rest is no look: that comes when the loop has run for a while.
    let least_ns = REST_FOR_EACH_NS * overcommit::cpus_for_each_core();
    let rest_ns = least_ns.max(spun_ns / PART_OF_WAIT).min(REST_MOST_NS);
    own.spin.look_at_ns.store(now_ns() + rest_ns + LOOK_AGAIN_NS, Ordering::Relaxed);
    timers::interrupt_within(rest_ns);
    cpu::wait_for_interrupt(&mut masked);
    RESTING.fetch_sub(1, Ordering::Relaxed);
    cpus::this().spin.look_in(LOOK_AGAIN_NS);
    masked.unmask();
}
