// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices interrupt CPU 0, and a program in ring 0 can turn its interrupts off. So CPU 1 looks once a second: it sends an
//! interrupt to CPU 0, and if none has been taken there by the next look, a non-maskable one, after which the interrupted
//! program takes the others again. A machine of one CPU has nobody to look.

use core::sync::atomic::{AtomicU64, Ordering};

use alloc::sync::Arc;

use hadal_hal::cpuset::CpuSet;
use hadal_hal::{apic, cpu, irq, percpu};

const PERIOD_NS: u64 = 1_000_000_000;
/// The CPU that devices interrupt, and the one that looks after it.
const WATCHED: usize = 0;
const WATCHER: usize = 1;

/// Interrupts that the watched CPU had taken at the last look.
static SEEN: AtomicU64 = AtomicU64::new(u64::MAX);

/// Starts the watch, by way of a thread on the CPU that looks: a timer belongs to the CPU that starts it.
pub(crate) fn start() {
    if cpu::count() <= WATCHER {
        return;
    }
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
    let taken = percpu::interrupts_of(WATCHED);
    if SEEN.swap(taken, Ordering::Relaxed) == taken {
        apic::send_nmi(WATCHED);
    }
    apic::send_ipi(WATCHED, irq::VECTOR_RESCHEDULE);
    // Without memory for the timer the watch ends; the host's time limit remains.
    let _ = hadal_sched::call_at(hadal_time::now_ns() + PERIOD_NS, look, 0);
}
