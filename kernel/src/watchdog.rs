// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program in ring 0 can turn interrupts off, and its handlers run with them off. So CPU 1 looks once a second at all
//! others, and CPU 0 notices when CPU 1 does not:
//! - devices interrupt CPU 0: if none has been taken there since the last look, it gets a non-maskable interrupt, after
//!   which the interrupted program takes the others again. A program that keeps turning them off is looked after more
//!   often from then on: what a device asks for takes several interrupts;
//! - where interrupts have stayed off since `hrt_irq_disable()` for too long, the program is ended with a report;
//! - a handler that does not return is given up, which ends the program, too.
//!
//! A machine of one CPU has nobody to look.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use hadal_hal::cpu;
use hadal_hal::cpu::percpu;
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::interrupts::{apic, handler, irq};
use hadal_hal::sync::SpinLock;
use hadal_sched::TimerHandle;
use spin::Once;

const PERIOD_NS: u64 = 1_000_000_000;
/// Time between checks of a CPU that was found to take no interrupts.
const RECHECK_NS: u64 = 20_000_000;
/// Checks in a row that find it taking them before it is checked once a second again. One that masks them at once is found
/// taking them every other time, since the non-maskable interrupt lets the pending ones in.
const RECHECKS: usize = 8;
/// Looks that find a CPU in the same handler, or the same stretch without interrupts, before that is too long: virtual CPUs
/// may stand still for a second or two on a busy host.
const PATIENCE: u32 = 5;
/// The CPU that devices interrupt, and the one that looks after it.
const WATCHED: usize = 0;
const WATCHER: usize = 1;

/// Interrupts that the watched CPU had taken at the last look.
static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);
/// Whether [`recheck`] has a timer.
static IS_RECHECKING: AtomicBool = AtomicBool::new(false);
static STATES: Once<Box<[State]>> = Once::new();

/// What a CPU was found doing at the last look, and how often in a row.
struct State {
    handler: Lasting,
    interrupts_off: Lasting,
}

struct Lasting {
    what: AtomicU64,
    looks: AtomicU32,
}

impl Lasting {
    const fn new() -> Self {
        Self { what: AtomicU64::new(0), looks: AtomicU32::new(0) }
    }

    /// Notes what is found (0 for nothing) and returns whether it has lasted too long.
    fn is_too_long(&self, what: u64) -> bool {
        if what == 0 || self.what.swap(what, Ordering::Relaxed) != what {
            self.looks.store(0, Ordering::Relaxed);
            return false;
        }
        self.looks.fetch_add(1, Ordering::Relaxed) + 1 >= PATIENCE
    }
}

/// The timer on CPU 0 that CPU 1 keeps from firing.
static WATCHER_IS_LATE: SpinLock<Option<TimerHandle>> = SpinLock::new(None);

/// Starts the watch, by way of a thread on the CPU that looks: a timer belongs to the CPU that starts it.
pub(crate) fn start() {
    if cpu::count() <= WATCHER {
        return;
    }
    let state = |_| State { handler: Lasting::new(), interrupts_off: Lasting::new() };
    STATES.call_once(|| (0..cpu::count()).map(state).collect());
    irq::set_handler(irq::VECTOR_WATCH, on_watch, 0);
    let mut place = CpuSet::new_empty(cpu::count());
    place.insert(WATCHER);
    match hadal_sched::create(begin, 0, Some(Arc::new(place))) {
        Ok(thread) => thread.start(),
        Err(error) => log::warn!("no watchdog: {error:?}"),
    }
}

fn begin(_: usize) -> ! {
    look(0);
    hadal_sched::exit()
}

/// In the timer interrupt of the watcher.
fn look(_: usize) {
    if unmask_if_silent() && !IS_RECHECKING.swap(true, Ordering::Relaxed) {
        recheck_later(RECHECKS);
    }
    for (other, state) in STATES.get().into_iter().flatten().enumerate() {
        let (handler, since) = (handler::in_interrupt(other), irq::off_since(other));
        if state.handler.is_too_long(handler) {
            handler::give_up(other, handler);
        }
        if state.interrupts_off.is_too_long(since) {
            irq::complain(other, since);
        }
    }
    // Without memory for the timer the watch ends; the host's time limit remains.
    let _ = hadal_sched::call_at(hadal_time::now_ns() + PERIOD_NS, look, 0);
}

/// Makes the watched CPU take its pending interrupts if it has taken none since the last time, and sends it another. Returns
/// whether it had taken none.
fn unmask_if_silent() -> bool {
    let taken = percpu::interrupts_of(WATCHED);
    // `hrt_irq_disable()` has its own limit.
    let was_silent = SEEN.swap(taken, Ordering::Relaxed) == taken && irq::off_since(WATCHED) == 0;
    if was_silent {
        apic::send_nmi(WATCHED);
    }
    apic::send_ipi(WATCHED, irq::VECTOR_WATCH);
    was_silent
}

/// In the timer interrupt of the watcher, while interrupts are found off.
fn recheck(left: usize) {
    match if unmask_if_silent() { RECHECKS } else { left - 1 } {
        0 => IS_RECHECKING.store(false, Ordering::Relaxed),
        left => recheck_later(left),
    }
}

fn recheck_later(left: usize) {
    if hadal_sched::call_at(hadal_time::now_ns() + RECHECK_NS, recheck, left).is_none() {
        IS_RECHECKING.store(false, Ordering::Relaxed);
    }
}

/// In the interrupt that the watcher sends: it is alive.
fn on_watch(_: usize) {
    let late_ns = hadal_time::now_ns() + PERIOD_NS * u64::from(PATIENCE + 1);
    let late = hadal_sched::call_at(late_ns, on_late_watcher, 0);
    let before = core::mem::replace(&mut *WATCHER_IS_LATE.lock(), late);
    if let Some(before) = before {
        before.cancel();
    }
}

/// In the timer interrupt of CPU 0: the watcher has not looked for too long.
fn on_late_watcher(_: usize) {
    match (handler::in_interrupt(WATCHER), irq::off_since(WATCHER)) {
        // It only stood still.
        (0, 0) => {}
        (0, since) => irq::complain(WATCHER, since),
        (handler, _) => handler::give_up(WATCHER, handler),
    }
    // A non-maskable interrupt may have found it in the kernel.
    *WATCHER_IS_LATE.lock() = hadal_sched::call_at(hadal_time::now_ns() + PERIOD_NS, on_late_watcher, 0);
}
