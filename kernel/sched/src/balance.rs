// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which CPU a thread goes to, and what a CPU without work does about it.
//!
//! A woken thread goes back to the CPU it ran on if it is bound there or not stealable, or if that CPU is idle; else to an
//! idle CPU, else back to its own, or to another that is clearly less busy. Where the host has fewer cores than there are
//! CPUs, it stays with its waker unless an idle CPU finds a core (`overcommit.rs`). A CPU that becomes idle asks once one that has
//! threads to give ([`ask`]); that one answers from its interrupt handler ([`serve`]), so nobody but the owner touches a
//! CPU's rings. What falls between the two, and queues of unequal length, are put right at the end of a slice
//! ([`even_out`]). All of it concerns one other CPU at a time, the next in turn; finding an idle one looks at a bit of each CPU,
//! 64 at a time.

use hadal_hal::cpu;
use hadal_hal::interrupts::{apic, irq};
use hadal_hal::sync::atomic::Ordering;
use hadal_hal::trace::{self, Kind};

use crate::cpu_bits::CpuBits;
use crate::cpus::{self, Cpu, Here, RUNNING};
use crate::overcommit;
use crate::thread::Thread;
use crate::wake::send_away;

/// The CPUs that have nothing to run. Whoever sends a thread there takes the CPU out, so that two wakers choose two CPUs.
pub(crate) static IDLE: CpuBits = CpuBits::new();
/// Those of them that poll, on a machine with more CPUs than its host has cores.
pub(crate) static AWAKE: CpuBits = CpuBits::new();

/// Threads by which queues may differ.
const TOLERANCE: usize = 2;
/// Most CPUs that one without work looks at.
const LOOKS: usize = 16;
/// Most threads of a level that are looked at to find one that may go elsewhere.
const CANDIDATES: usize = 16;

pub(crate) fn init(cpu_count: usize) {
    IDLE.init(cpu_count);
    AWAKE.init(cpu_count);
}

/// Takes an idle CPU among those near `start`, for a thread that the caller will send there; in constant time.
pub fn claim_idle(start: usize) -> Option<usize> {
    IDLE.take_near(start)
}

/// The CPU on which a thread that becomes runnable should run.
#[inline(always)]
pub(crate) fn choose(thread: &Thread) -> usize {
    match thread.bound() {
        Some(bound) => bound,
        None if !thread.stealable() && thread.allows(thread.cpu()) => thread.cpu(),
        None => choose_among_all(thread),
    }
}

#[inline(always)]
fn choose_among_all(thread: &Thread) -> usize {
    if overcommit::is_set() {
        return choose_where_cores_are_short(thread);
    }
    if IDLE.is_seen_empty() {
        return choose_busy(thread, thread.cpu());
    }
    choose_among_idle(thread)
}

#[inline(never)]
fn choose_among_idle(thread: &Thread) -> usize {
    let last = thread.cpu();
    take_idle(thread, last).unwrap_or_else(|| choose_busy(thread, last))
}

/// The CPU that the thread ran on, if that is idle, or any other that is.
fn take_idle(thread: &Thread, last: usize) -> Option<usize> {
    if IDLE.is_seen_empty() {
        return None;
    }
    if thread.allows(last) && IDLE.take(last) { Some(last) } else { IDLE.take_for(thread, last) }
}

/// One CPU, or another that is clearly less busy, when none is idle that the thread could go to.
#[inline(always)]
fn choose_busy(thread: &Thread, home: usize) -> usize {
    match (thread.allows(home), cpu::count()) {
        (true, 1) => home,
        (true, _) => home_or_less_busy(thread, home),
        (false, _) => first_allowed(thread, home).unwrap_or(home),
    }
}

/// The CPU `home`, where the thread may run, or the next in turn if that is clearly less busy.
#[inline(never)]
fn home_or_less_busy(thread: &Thread, home: usize) -> usize {
    let shorter = |&other: &usize| {
        cpus::of(other).waiting() + TOLERANCE <= cpus::of(home).waiting()
            && thread.allows(other)
            && !IDLE.has(other)
    };
    next_in_turn(home).filter(shorter).unwrap_or(home)
}

/// On a machine with more CPUs than cores: a CPU that polls; or an idle one if it finds a core, or if the thread had better not
/// wait here; else the waker's, which has one.
#[inline(never)]
fn choose_where_cores_are_short(thread: &Thread) -> usize {
    let (last, own) = (thread.cpu(), cpu::current_id());
    let awake =
        if thread.allows(last) && AWAKE.take(last) { Some(last) } else { AWAKE.take_for(thread, last) };
    if let Some(awake) = awake {
        IDLE.take(awake);
        return awake;
    }
    let may_wait = thread.allows(own) && runs_equal(own, thread);
    let idle = if may_wait && !overcommit::has_core_left() { None } else { take_idle(thread, last) };
    idle.unwrap_or_else(|| choose_busy(thread, if may_wait { own } else { last }))
}

/// Whether a CPU runs a thread of this one's priority: another one would have to wait for long, or take the CPU at once.
fn runs_equal(cpu: usize, thread: &Thread) -> bool {
    RUNNING.thread_of(cpu).is_some_and(|running| running.place.level() == thread.priority())
}

/// A CPU on which the thread may run, near `start`.
#[inline(never)]
fn first_allowed(thread: &Thread, start: usize) -> Option<usize> {
    let words = cpu::count().div_ceil(64);
    (0..words).map(|step| (start / 64 + step) % words).find_map(|index| {
        let allowed = thread.allowed_word(index);
        let cpu = index * 64 + allowed.trailing_zeros() as usize;
        (allowed != 0 && cpu < cpu::count()).then_some(cpu)
    })
}

/// A CPU that runs an equal of a thread of this one, which may go there, among the next in turn.
pub(crate) fn busy_cpu_for(thread: &Thread, own: &Cpu) -> Option<usize> {
    others_in_turn(own).find(|&cpu| runs_equal(cpu, thread) && thread.allows(cpu))
}

/// Other CPUs to look at, at most [`LOOKS`]: where that is not all, each time others.
fn others_in_turn(own: &Cpu) -> impl Iterator<Item = usize> {
    let (own, others) = (own.id, cpu::count() - 1);
    let first = if others > LOOKS {
        cpus::of(own).turn.fetch_add(LOOKS as u32, Ordering::Relaxed) as usize
    } else {
        0
    };
    (0..others.min(LOOKS)).map(move |look| (own + 1 + (first + look) % others) % (others + 1))
}

/// Another CPU, the next in turn; `None` when there is only one.
fn next_in_turn(own: usize) -> Option<usize> {
    let others = cpu::count() - 1;
    if others == 0 {
        return None;
    }
    let turn = cpus::of(own).turn.fetch_add(1, Ordering::Relaxed) as usize;
    Some((own + 1 + turn % others) % (others + 1))
}

/// Asks a CPU with threads to give, if one is among the next in turn, for this one, which has none. Interrupts are off.
pub(crate) fn ask(own: &Cpu) {
    let victim = others_in_turn(own).map(cpus::of).find(|cpu| cpu.spare() > 0);
    if let Some(victim) = victim
        && victim.asked_by.compare_exchange(0, own.id as u32 + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    {
        apic::send_ipi(victim.id, irq::VECTOR_RESCHEDULE);
    }
}

/// Gives a thread to the CPU that has asked for one.
pub(crate) fn serve(here: Here<'_>) {
    let own = here.cpu();
    if own.asked_by.load(Ordering::Relaxed) == 0 {
        return;
    }
    let thief = own.asked_by.swap(0, Ordering::AcqRel) as usize - 1;
    let thread = own
        .levels
        .waiting(here.thread(), CANDIDATES)
        .find(|thread| thread.place.is_movable() && thread.allows(thief));
    if let Some(thread) = thread {
        trace::point(Kind::Migrate, trace::pair(thread.id(), thief as u32), own.id as u64);
        own.counters.steals.up();
        send_away(here, thread, thief);
    }
}

/// The end of a slice on a CPU with a queue: gives a thread to an idle CPU, or to one with a shorter queue.
pub(crate) fn even_out(here: Here<'_>) {
    let own = here.cpu();
    if own.spare() == 0 {
        return;
    }
    let waiting = || own.levels.waiting(here.thread(), CANDIDATES).filter(|thread| thread.place.is_movable());
    // Who waits actively for others is no better off on a CPU of its own that finds no core.
    let core_left = overcommit::has_core_left();
    let to_idle = waiting()
        .filter(|thread| core_left || !thread.seen.has_given_way())
        .find_map(|thread| Some((thread, IDLE.take_for(thread, own.id)?)));
    let moved = to_idle.or_else(|| {
        let other = next_in_turn(own.id).filter(|&other| core_left || !IDLE.has(other))?;
        if own.waiting() < cpus::of(other).waiting() + TOLERANCE {
            return None;
        }
        Some((waiting().find(|thread| thread.allows(other))?, other))
    });
    if let Some((thread, target)) = moved {
        trace::point(Kind::Migrate, trace::pair(thread.id(), target as u32), own.id as u64);
        send_away(here, thread, target);
    }
}
