// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts to CPUs that were given a thread: at once, some time later, or for many CPUs together.

use alloc::boxed::Box;

use hadal_hal::cpu;
use hadal_hal::interrupts::{apic, irq};
use hadal_hal::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cpus::{self, Cpu, watch};
use crate::table::thread;
use crate::{balance, overcommit, timers};

/// Whether a wake-up interrupts the CPU that the thread goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// Yes, if that CPU would not look soon by itself.
    Yes,
    /// No. A CPU that idles and polls sees the thread at once; another one when it looks next, at most 1 ms later: then the
    /// waker's CPU makes up for the interrupt if it is still needed.
    No,
}

/// The kicks that a CPU has not sent yet. Only that CPU uses them, with interrupts off.
pub(crate) struct Kicks {
    /// CPUs that were given a thread without an interrupt.
    owed: Cpus,
    /// CPUs that get one when all threads of [`wake_all`] are in their queues.
    gathered: Cpus,
    gathers: AtomicBool,
}

impl Kicks {
    pub(crate) fn new() -> Self {
        Self { owed: Cpus::new(), gathered: Cpus::new(), gathers: AtomicBool::new(false) }
    }
}

/// A set of CPUs.
struct Cpus(Box<[AtomicU64]>);

impl Cpus {
    fn new() -> Self {
        Self((0..cpu::count().div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    fn insert(&self, cpu: usize) {
        let word = &self.0[cpu / 64];
        word.store(word.load(Ordering::Relaxed) | 1 << (cpu % 64), Ordering::Relaxed);
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    /// Empties the set and calls `act` for each member.
    fn drain(&self, mut act: impl FnMut(usize)) {
        for (index, word) in self.0.iter().enumerate() {
            let mut left = word.load(Ordering::Relaxed);
            word.store(0, Ordering::Relaxed);
            while left != 0 {
                act(index * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }
}

/// Sees to it that a CPU which was given a thread looks at its queue. Interrupts are off.
pub(crate) fn kick(own: &'static Cpu, target: usize, kick: Kick) {
    irq::must_be_off();
    match kick {
        Kick::Yes if own.kicks.gathers.load(Ordering::Relaxed) => own.kicks.gathered.insert(target),
        Kick::Yes => send(own, target),
        Kick::No => {
            own.kicks.owed.insert(target);
            timers::settle_soon(own);
        }
    }
}

fn send(own: &Cpu, target: usize) {
    own.counters.kicks.up();
    apic::send_ipi(target, irq::VECTOR_RESCHEDULE);
}

/// Interrupts an idle CPU, if there is one near, so that it does idle work ([`crate::use_idle_time`]). From any context.
pub fn nudge_idle() {
    let _irq = irq::disable();
    let own = cpus::this();
    if overcommit::has_core_left()
        && let Some(target) = balance::claim_idle(own.id)
    {
        send(own, target);
    }
}

/// Sends the interrupts that are owed for 1 ms, where nobody has looked. In the timer interrupt.
pub(crate) fn settle(own: &Cpu) {
    own.kicks.owed.drain(|target| {
        let queue = cpus::of(target);
        if !queue.inbox.is_empty() && queue.watch.load(Ordering::SeqCst) == watch::NEEDS_IPI {
            send(own, target);
        }
    });
}

/// [`Thread::wake`](crate::Thread::wake) for many threads, a bounded number: the CPUs to interrupt are told when all threads
/// are in their queues, so that the first to run do not get in the waker's way, and by one command if that is most of
/// them. From any context.
#[inline]
pub fn wake_all(threads: &[u32], how: Kick) {
    match threads {
        &[index] => thread(index).wake(how),
        _ => wake_many(threads, how),
    }
}

#[inline(never)]
fn wake_many(threads: &[u32], how: Kick) {
    let _irq = irq::disable();
    let own = cpus::this();
    own.kicks.gathers.store(true, Ordering::Relaxed);
    for &index in threads {
        thread(index).wake(how);
    }
    own.kicks.gathers.store(false, Ordering::Relaxed);
    let (meant, others) = (own.kicks.gathered.len(), cpu::count() - 1);
    if meant > 2 && meant * 4 >= others * 3 {
        own.kicks.gathered.drain(|_| own.counters.kicks.up());
        apic::send_ipi_all_but_self(irq::VECTOR_RESCHEDULE);
    } else {
        own.kicks.gathered.drain(|target| send(own, target));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_each_cpu_back_once() {
        let set = Cpus((0..4).map(|_| AtomicU64::new(0)).collect());
        for cpu in [200, 3, 63, 64, 3] {
            set.insert(cpu);
        }
        assert_eq!(set.len(), 4);
        let mut drained = alloc::vec::Vec::new();
        set.drain(|cpu| drained.push(cpu));
        assert_eq!(drained, [3, 63, 64, 200]);
        assert_eq!(set.len(), 0);
    }
}
