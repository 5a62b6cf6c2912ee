// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All other CPUs held for a moment, so that one can look at what they do.
//!
//! A CPU that is held stands in an interrupt with interrupts off, so it holds no spin lock and is not in the middle of a
//! switch. It may have interrupted the holder of an [`RwSpinLock`](crate::sync::RwSpinLock).

use crate::cpu::percpu;
use crate::interrupts::{apic, irq};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::{cpu, sync};

/// How long CPUs may take to come before they get a non-maskable interrupt: program code may have turned interrupts off.
const NMI_DELAY_NS: u64 = 50_000_000;
/// How long they are waited for: virtual CPUs may stand still for a second or two on a busy host.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Odd while CPUs are to be held.
static ROUND: AtomicU64 = AtomicU64::new(0);

/// While CPUs are held.
pub struct Held {
    round: u64,
}

impl Held {
    /// Whether a CPU is held. One that runs a handler of the program may not come in time.
    pub fn has(&self, cpu: usize) -> bool {
        percpu::of(cpu).held_in.load(Ordering::Acquire) == self.round
    }
}

fn others() -> impl Iterator<Item = usize> {
    let own = cpu::current_id();
    (0..cpu::count()).filter(move |&other| other != own)
}

/// Holds the other CPUs while `look` runs, with interrupts off. `look` must be short, take no lock but spin locks, and
/// neither wait nor allocate. `now_ns` is a monotonic clock. For threads with interrupts on.
pub fn hold<R>(now_ns: fn() -> u64, look: impl FnOnce(&Held) -> R) -> R {
    sync::may_wait_for_cpus();
    let held = Held { round: begin() };
    let _irq = irq::disable();
    apic::send_ipi_all_but_self(irq::VECTOR_STOP);
    let start = now_ns();
    let mut nmi_sent = false;
    while !others().all(|other| held.has(other)) {
        let waited = now_ns().saturating_sub(start);
        if waited > PATIENCE_NS {
            break;
        }
        if waited > NMI_DELAY_NS && !nmi_sent {
            nmi_sent = true;
            others().filter(|&other| !held.has(other)).for_each(apic::send_nmi);
        }
        cpu::relax();
    }
    let seen = look(&held);
    ROUND.store(held.round + 1, Ordering::Release);
    seen
}

/// Begins a round when no other thread has one: interrupts are on, so this CPU is held meanwhile.
fn begin() -> u64 {
    loop {
        let round = ROUND.load(Ordering::Relaxed);
        let free = round.is_multiple_of(2);
        if free && ROUND.compare_exchange(round, round + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            return round + 1;
        }
        cpu::relax();
    }
}

/// In the interrupt: stays while this CPU is to be held. A program can raise the interrupt, too.
#[cfg(target_os = "none")]
pub(crate) fn stand() {
    let round = ROUND.load(Ordering::Acquire);
    if round.is_multiple_of(2) {
        return;
    }
    percpu::this().held_in.store(round, Ordering::Release);
    while ROUND.load(Ordering::Acquire) == round {
        cpu::relax();
    }
}
