// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which CPU a thread goes to, and what a CPU without work does about it.
//!
//! A woken thread goes back to the CPU it ran on if that one is idle, else to an idle CPU, else back to its own. So a queue
//! grows only while no CPU is idle, and a CPU that becomes idle looks once at the others before it sleeps.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::cpu;
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

/// The CPU on which a thread that becomes runnable should run.
pub(crate) fn choose(thread: &Thread) -> usize {
    let last = thread.cpu();
    if thread.allows(last) && claim(last) {
        return last;
    }
    if let Some(idle) = claim_any(thread, last) {
        return idle;
    }
    if thread.allows(last) {
        return last;
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
    thread.cpu.store(own, Ordering::Relaxed);
    cpus::of(own).steals.fetch_add(1, Ordering::Relaxed);
    Some(thread)
}
