// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long the program has run on all CPUs, without asking its threads, which may be many: what the CPUs have run since they
//! began to schedule, less what their idle threads and the kernel's own threads have.

use hadal_hal::sync::atomic::Ordering;

use hadal_hal::cpu::tsc;
use hadal_hal::threads::link::AtomicRef;
use spin::LazyLock;

use crate::cpus;
use crate::thread::Thread;

/// The kernel has at most so many threads of its own.
const MAX_KERNEL_THREADS: usize = 8;

static KERNEL_THREADS: LazyLock<[AtomicRef<Thread>; MAX_KERNEL_THREADS]> =
    LazyLock::new(|| core::array::from_fn(|_| AtomicRef::none()));

impl Thread {
    /// Has the CPU time of the thread not count as the program's. For threads that are about to start and never end.
    ///
    /// # Panics
    /// If there are too many.
    pub fn keep_for_kernel(&'static self) {
        let free = KERNEL_THREADS.iter().any(|place| {
            let mut outcome = Err(None);
            // It may fail for no reason.
            while outcome == Err(None) {
                let (none, own) = (None, Some(self));
                let exchanged = place.compare_exchange_weak(none, own, Ordering::Relaxed, Ordering::Relaxed);
                outcome = exchanged.map_err(|found| found.map(Thread::id));
            }
            outcome.is_ok()
        });
        assert!(free, "the kernel has few threads");
    }
}

/// CPU time of all threads but the kernel's own since boot, past and present. In time that grows with the number of CPUs; from
/// any context. Two calls may differ by a little in the wrong direction.
pub fn program_time_ns() -> u64 {
    let now = tsc::read_unordered();
    let of_cpus: u64 = cpus::iter().map(|cpu| cpu.program_cycles(now)).sum();
    let threads = KERNEL_THREADS.iter().filter_map(|place| place.load(Ordering::Relaxed));
    let of_kernel: u64 = threads.map(|thread| thread.cycles_until(now)).sum();
    hadal_time::duration_ns(of_cpus.saturating_sub(of_kernel))
}
