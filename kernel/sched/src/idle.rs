// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU does that has nothing to run: it polls for a moment, does the kernel's own idle work, then waits for a store to
//! its inbox (MONITOR and MWAIT, where they work: [`store_watch`]), else halts.
//!
//! While it checks its inbox by itself, no CPU has to interrupt it. On a machine with more CPUs than the host has cores, only
//! as many CPUs poll as find a core (`overcommit.rs`): one more would take a core from the CPU that has the work.

use hadal_hal::cpu::{self, hold, tsc};
use hadal_hal::interrupts::irq;
use hadal_hal::interrupts::irq::Masked;
use hadal_hal::memory::tlb;
use hadal_hal::sync::atomic::{AtomicU64, Ordering};
use hadal_hal::trace::{self, Kind};

use spin::Once;

use crate::cpus::{self, Cpu, turn, watch};
use crate::{balance, overcommit, store_watch, switch};

/// How long a CPU polls before it sleeps: what an interrupt and its return cost a few times over.
const POLL_NS: u64 = 20_000;

/// [`POLL_NS`] in cycles of the time-stamp counter; 0 on a machine with one CPU.
static POLL_CYCLES: AtomicU64 = AtomicU64::new(0);

/// What is to be done in idle time.
static WORK: Once<fn(&dyn Fn() -> bool)> = Once::new();

/// Names work for CPUs that have nothing to run, the first call wins. It is called with interrupts
/// on, and returns when there is no more of it, or when it is told that the CPU has something to run: it asks every
/// microsecond or so.
pub fn use_idle_time(work: fn(&dyn Fn() -> bool)) {
    WORK.call_once(|| work);
}

/// Needs the clock, so that it is no part of [`crate::init`], which comes before it.
fn set_polling() {
    // On a single CPU only interrupts bring anything.
    if cpu::count() > 1 {
        let cycles = u128::from(POLL_NS) * u128::from(hadal_time::tsc_hz()) / 1_000_000_000;
        POLL_CYCLES.store(cycles as u64, Ordering::Relaxed);
    }
}

/// Makes an application processor, in its start-up code, one that schedules: [`enter_idle_loop`].
pub fn join() -> ! {
    cpus::join();
    enter_idle_loop()
}

/// Turns the calling code into the CPU's idle loop; on the boot CPU, after [`crate::init`] and the start of the clock.
pub fn enter_idle_loop() -> ! {
    set_polling();
    loop {
        let mut masked = irq::mask();
        if !switch::run_ready(turn(&mut masked)) {
            masked = rest(masked, cpus::this());
        }
        masked.unmask();
    }
}

/// Waits for something to do.
fn rest(masked: Masked, own: &'static Cpu) -> Masked {
    own.watch.store(watch::POLLING, Ordering::Relaxed);
    balance::IDLE.set(own.id);
    if overcommit::has_core_left() {
        balance::ask(own);
    }
    let (masked, found) = poll(masked, own);
    let (mut masked, found) = if found { (masked, true) } else { idle_work(masked, own) };
    if !found && own.inbox.looks_empty() {
        trace::point(Kind::IdleEnter, 0, 0);
        if store_watch::for_idling(own) {
            wait_for_store(&mut masked, own);
        } else {
            halt(&mut masked, own);
        }
        trace::point(Kind::IdleLeave, 0, 0);
    }
    // Who pushed before this store is seen by the next look; who pushes after it interrupts.
    own.watch.store(watch::NEEDS_IPI, Ordering::SeqCst);
    balance::IDLE.take(own.id);
    masked
}

/// Looks for a while with interrupts on; returns whether there is something.
fn poll(masked: Masked, own: &Cpu) -> (Masked, bool) {
    let overcommitted = overcommit::is_set();
    if overcommitted {
        if !overcommit::may_poll() {
            return (masked, false);
        }
        balance::AWAKE.set(own.id);
    }
    let end = tsc::read_unordered().wrapping_add(POLL_CYCLES.load(Ordering::Relaxed));
    masked.unmask();
    let mut found = has_work(own);
    while !found && tsc::read_unordered() < end {
        cpu::relax();
        found = has_work(own);
    }
    let masked = irq::mask();
    if overcommitted {
        balance::AWAKE.take(own.id);
    }
    // An interrupt may have brought something with the last look.
    (masked, found || has_work(own))
}

/// Does idle work, unless that would take a core of the host from a CPU with something to run; returns whether there is
/// something to run.
fn idle_work(masked: Masked, own: &Cpu) -> (Masked, bool) {
    let Some(work) = WORK.get().filter(|_| overcommit::has_core_left()) else { return (masked, false) };
    masked.unmask();
    work(&|| has_work(own));
    (irq::mask(), has_work(own))
}

fn has_work(own: &Cpu) -> bool {
    !own.inbox.looks_empty() || own.levels.len() > 0 || own.edf.is_busy()
}

fn halt(masked: &mut Masked, own: &Cpu) {
    own.watch.store(watch::NEEDS_IPI, Ordering::SeqCst);
    // A push before the store was visible sends no interrupt, so look once more.
    if own.inbox.is_empty() {
        tlb::enter_idle();
        match hold::is_wanted() {
            true => hold::wait_for_interrupt(masked),
            false => cpu::wait_for_interrupt(masked),
        }
        tlb::leave_idle();
    }
}

/// A push is a store to the monitored word, so nobody has to interrupt the CPU.
fn wait_for_store(masked: &mut Masked, own: &Cpu) {
    tlb::enter_idle();
    let sleep = || cpu::wait_for_store(masked, own.inbox.word(), || own.inbox.is_empty());
    store_watch::sleep_on(own, sleep, || !own.inbox.is_empty());
    tlb::leave_idle();
}
