// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which CPU a thread goes to, and what a CPU without work does about it.
//!
//! A woken thread goes back to the CPU it ran on if that one is idle, else to an idle CPU, else back to its own, or to
//! another that is clearly less busy. A CPU that becomes idle looks once at the others before it sleeps. What falls between
//! the two looks, and queues of unequal length, are put right at the end of a slice ([`even_out`]). All of it looks at one
//! other CPU at a time, the next in turn, so its cost does not grow with the machine.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::trace::{self, Kind};
use hadal_hal::{apic, cpu, irq};
use spin::Once;

use crate::cpus;
use crate::thread::Thread;

/// One bit for each idle CPU. Whoever sends a thread there takes the bit, so that two wakers choose two CPUs.
static IDLE: Once<Box<[AtomicU64]>> = Once::new();

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
    if let Some((word, bit)) = word(cpu) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
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
        while idle != 0 {
            let cpu = index * 64 + idle.trailing_zeros() as usize;
            if thread.allows(cpu) && claim(cpu) {
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

/// Threads by which queues may differ.
const TOLERANCE: usize = 2;

/// Another CPU, the next in turn; `None` when there is only one.
fn next_in_turn(own: usize) -> Option<usize> {
    let count = cpu::count();
    let turn = cpus::of(own).turn.fetch_add(1, Ordering::Relaxed) as usize;
    (count > 1).then(|| (own + 1 + turn % (count - 1)) % count)
}

/// The end of a slice on a CPU with a queue: wakes an idle CPU to come and look, or gives a thread away.
pub(crate) fn even_out() {
    let own = cpu::current_id();
    if wake_idle() {
        return;
    }
    let Some(other) = next_in_turn(own) else { return };
    if cpus::of(own).ready_len() >= cpus::of(other).ready_len() + TOLERANCE
        && let Some(thread) = cpus::of(own).steal(other)
    {
        trace::point(Kind::Migrate, trace::pair(thread.id(), other as u32), own as u64);
        cpus::enqueue(thread, other);
    }
}

fn wake_idle() -> bool {
    let Some(words) = IDLE.get() else { return false };
    words.iter().enumerate().any(|(index, word)| {
        let idle = word.load(Ordering::Relaxed);
        let cpu = index * 64 + idle.trailing_zeros() as usize;
        let claimed = idle != 0 && claim(cpu);
        if claimed {
            apic::send_ipi(cpu, irq::VECTOR_RESCHEDULE);
        }
        claimed
    })
}

/// The CPU on which a thread that becomes runnable should run.
pub(crate) fn choose(thread: &Thread) -> usize {
    let last = thread.cpu();
    if !thread.stealable() && thread.allows(last) {
        return last;
    }
    if thread.allows(last) && claim(last) {
        return last;
    }
    if let Some(idle) = claim_any(thread, last) {
        return idle;
    }
    if thread.allows(last) {
        let shorter = |&other: &usize| {
            cpus::of(other).ready_len() + TOLERANCE <= cpus::of(last).ready_len() && thread.allows(other)
        };
        return next_in_turn(last).filter(shorter).unwrap_or(last);
    }
    let count = cpu::count();
    (1..=count).map(|step| (last + step) % count).find(|&cpu| thread.allows(cpu)).unwrap_or(last)
}

/// Takes a ready thread from the CPU with a queue that comes first after this one.
pub(crate) fn steal() -> Option<&'static Thread> {
    let (own, count) = (cpu::current_id(), cpu::count());
    let thread = (1..count)
        .map(|step| (own + step) % count)
        .filter(|&victim| cpus::of(victim).ready_len() > 0)
        .find_map(|victim| cpus::of(victim).steal(own))?;
    trace::point(Kind::Migrate, trace::pair(thread.id(), own as u32), thread.cpu() as u64);
    thread.cpu.store(own, Ordering::Relaxed);
    cpus::of(own).steals.fetch_add(1, Ordering::Relaxed);
    Some(thread)
}
