// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which CPU a thread goes to, and what a CPU without work does about it.
//!
//! A woken thread goes back to the CPU it ran on if it is bound there or not stealable, or if that CPU is idle; else to an
//! idle CPU, else back to its own, or to another that is clearly less busy. A CPU that becomes idle asks once one that has
//! threads to give ([`ask`]); that one answers from its interrupt handler ([`serve`]), so nobody but the owner touches a
//! CPU's rings. What falls between the two, and queues of unequal length, are put right at the end of a slice
//! ([`even_out`]). All of it concerns one other CPU at a time, the next in turn, so its cost does not grow with the machine.

use alloc::boxed::Box;

use hadal_hal::atomic::{AtomicU64, Ordering};
use hadal_hal::trace::{self, Kind};
use hadal_hal::{apic, cpu, irq};
use spin::Once;

use crate::cpus::{self, Cpu, Here};
use crate::thread::Thread;
use crate::wake::send_away;

/// One bit for each idle CPU. Whoever sends a thread there takes the bit, so that two wakers choose two CPUs.
static IDLE: Once<Box<[AtomicU64]>> = Once::new();

/// Threads by which queues may differ.
const TOLERANCE: usize = 2;
/// Most CPUs that one without work looks at.
const LOOKS: usize = 16;
/// Most threads of a level that are looked at to find one that may go elsewhere.
const CANDIDATES: usize = 16;

pub(crate) fn init(cpu_count: usize) {
    IDLE.call_once(|| (0..cpu_count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
}

fn word(cpu: usize) -> Option<(&'static AtomicU64, u64)> {
    IDLE.get().map(|words| (&words[cpu / 64], 1 << (cpu % 64)))
}

pub(crate) fn set_idle(cpu: usize) {
    if let Some((word, bit)) = word(cpu) {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

pub(crate) fn clear_idle(cpu: usize) {
    if let Some((word, bit)) = word(cpu)
        && word.load(Ordering::Relaxed) & bit != 0
    {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// How many CPUs have nothing to run.
pub(crate) fn idle_cpus() -> usize {
    let idle = |word: &AtomicU64| word.load(Ordering::Relaxed).count_ones() as usize;
    IDLE.get().map_or(0, |words| words.iter().map(idle).sum())
}

/// Takes a CPU's idle bit.
fn claim(cpu: usize) -> bool {
    word(cpu).is_some_and(|(word, bit)| {
        word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    })
}

fn claim_any(thread: &Thread, start: usize) -> Option<usize> {
    let words = IDLE.get()?;
    for step in 0..words.len() {
        let index = (start / 64 + step) % words.len();
        let mut idle = words[index].load(Ordering::Relaxed);
        if idle == 0 {
            continue;
        }
        idle &= thread.allowed_word(index);
        // One that was idle a moment ago is seldom claimed by somebody else meanwhile.
        while idle != 0 {
            let cpu = index * 64 + idle.trailing_zeros() as usize;
            if claim(cpu) {
                return Some(cpu);
            }
            idle &= idle - 1;
        }
    }
    None
}

/// Takes an idle CPU among those near `start`, for a thread that the caller will send there; in constant time.
pub fn claim_idle(start: usize) -> Option<usize> {
    let words = IDLE.get()?;
    let word = start / 64;
    let idle = words[word].load(Ordering::Relaxed);
    if idle == 0 {
        return None;
    }
    let turned = idle.rotate_right(start as u32 % 64).trailing_zeros() as usize;
    let cpu = word * 64 + (start + turned) % 64;
    claim(cpu).then_some(cpu)
}

/// The CPU on which a thread that becomes runnable should run.
#[inline]
pub(crate) fn choose(thread: &Thread) -> usize {
    match thread.bound() {
        Some(bound) => bound,
        None if !thread.stealable() && thread.allows(thread.cpu()) => thread.cpu(),
        None => choose_among_all(thread),
    }
}

fn choose_among_all(thread: &Thread) -> usize {
    let last = thread.cpu();
    if thread.allows(last) && claim(last) {
        return last;
    }
    if let Some(idle) = claim_any(thread, last) {
        return idle;
    }
    if thread.allows(last) {
        let shorter = |&other: &usize| {
            cpus::of(other).waiting() + TOLERANCE <= cpus::of(last).waiting() && thread.allows(other)
        };
        return next_in_turn(last).filter(shorter).unwrap_or(last);
    }
    first_allowed(thread, last).unwrap_or(last)
}

/// A CPU on which the thread may run, near `start`.
fn first_allowed(thread: &Thread, start: usize) -> Option<usize> {
    let words = cpu::count().div_ceil(64);
    (0..words).map(|step| (start / 64 + step) % words).find_map(|index| {
        let allowed = thread.allowed_word(index);
        let cpu = index * 64 + allowed.trailing_zeros() as usize;
        (allowed != 0 && cpu < cpu::count()).then_some(cpu)
    })
}

/// Another CPU, the next in turn; `None` when there is only one.
fn next_in_turn(own: usize) -> Option<usize> {
    let count = cpu::count();
    let turn = cpus::of(own).turn.fetch_add(1, Ordering::Relaxed) as usize;
    (count > 1).then(|| (own + 1 + turn % (count - 1)) % count)
}

/// Asks a CPU with threads to give, if one is among the next in turn, for this one, which has none. Interrupts are off.
pub(crate) fn ask(own: &Cpu) {
    let others = cpu::count() - 1;
    let looks = others.min(LOOKS);
    // Where all are looked at, the nearest first; else each time at others.
    let first = if others > LOOKS { own.turn.fetch_add(LOOKS as u32, Ordering::Relaxed) as usize } else { 0 };
    let other = |look: usize| cpus::of((own.id + 1 + (first + look) % others) % (others + 1));
    let victim = (0..looks).map(other).find(|cpu| cpu.spare() > 0);
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
    let to_idle = waiting().find_map(|thread| Some((thread, claim_any(thread, own.id)?)));
    let moved = to_idle.or_else(|| {
        let other = next_in_turn(own.id)?;
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
