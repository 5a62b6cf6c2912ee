// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The local APIC: interprocessor interrupts and the one-shot timer, by xAPIC or x2APIC (Intel SDM vol. 3, chapter 11).

use core::sync::atomic::{AtomicU64, Ordering};

use spin::Once;

use crate::cpu;
use crate::cpu::percpu;
use crate::interrupts::irq;
use crate::memory::mmio::Region;
use crate::trace::{self, Kind};

const MSR_APIC_BASE: u32 = 0x1b;
const MSR_X2APIC: u32 = 0x800;
const MSR_TSC_DEADLINE: u32 = 0x6e0;

/// Register offsets of the memory-mapped form; x2APIC's are these divided by 16.
mod reg {
    pub(super) const ID: usize = 0x20;
    pub(super) const EOI: usize = 0xb0;
    pub(super) const SPURIOUS: usize = 0xf0;
    /// One bit for each vector, 32 in a register, those 16 bytes apart.
    pub(super) const REQUESTED: usize = 0x200;
    pub(super) const ICR: usize = 0x300;
    pub(super) const ICR_HIGH: usize = 0x310;
    pub(super) const LVT_TIMER: usize = 0x320;
    pub(super) const TIMER_INITIAL: usize = 0x380;
    pub(super) const TIMER_CURRENT: usize = 0x390;
    pub(super) const TIMER_DIVIDE: usize = 0x3e0;
}

const LVT_MASKED: u32 = 1 << 16;
const LVT_TSC_DEADLINE: u32 = 0b10 << 17;
const ICR_PENDING: u32 = 1 << 12;
const ICR_ASSERT: u32 = 1 << 14;
const ICR_NMI: u32 = 0b100 << 8;
const ICR_INIT: u32 = 0b101 << 8;
const ICR_STARTUP: u32 = 0b110 << 8;
const ICR_ALL: u32 = 0b10 << 18;
const ICR_ALL_BUT_SELF: u32 = 0b11 << 18;
const ICR_SHORTHAND: u32 = 0b11 << 18;

enum Mode {
    Memory(Region),
    X2,
}

static MODE: Once<Mode> = Once::new();
/// Timer ticks per 2^32 ns, or 0 while the timer counts TSC deadlines.
static TIMER_SCALE: AtomicU64 = AtomicU64::new(0);
static TSC_DEADLINE: Once<bool> = Once::new();

fn read(register: usize) -> u32 {
    match MODE.get() {
        Some(Mode::Memory(region)) => region.read32(register),
        // SAFETY: x2APIC is on, so its registers exist.
        Some(Mode::X2) => unsafe { cpu::read_msr(MSR_X2APIC + (register >> 4) as u32) as u32 },
        None => 0,
    }
}

fn write(register: usize, value: u32) {
    match MODE.get() {
        Some(Mode::Memory(region)) => region.write32(register, value),
        // SAFETY: as for `read`.
        Some(Mode::X2) => unsafe { cpu::write_msr(MSR_X2APIC + (register >> 4) as u32, u64::from(value)) },
        None => {}
    }
}

/// Turns the local APIC of the calling CPU on, with the timer masked.
pub fn enable() {
    let has_x2apic = raw_cpuid::CpuId::new().get_feature_info().is_some_and(|features| features.has_x2apic());
    // SAFETY: every x86-64 CPU has the APIC base register.
    let base = unsafe { cpu::read_msr(MSR_APIC_BASE) };
    const ENABLE: u64 = 1 << 11;
    const EXTENDED: u64 = 1 << 10;
    let mode = if has_x2apic { ENABLE | EXTENDED } else { ENABLE };
    // SAFETY: turns the APIC on in a mode that the CPU has.
    unsafe { cpu::write_msr(MSR_APIC_BASE, base | mode) };
    MODE.call_once(|| {
        if has_x2apic { Mode::X2 } else { Mode::Memory(Region::map_any(base & 0xf_ffff_f000, 4096)) }
    });
    const SOFTWARE_ENABLE: u32 = 1 << 8;
    write(reg::SPURIOUS, SOFTWARE_ENABLE | u32::from(irq::VECTOR_SPURIOUS));
    write(reg::LVT_TIMER, LVT_MASKED | u32::from(irq::VECTOR_TIMER));
    const DIVIDE_BY_1: u32 = 0b1011;
    write(reg::TIMER_DIVIDE, DIVIDE_BY_1);
    if uses_tsc_deadline() {
        start_tsc_deadline();
    } else if TIMER_SCALE.load(Ordering::Relaxed) != 0 {
        write(reg::LVT_TIMER, u32::from(irq::VECTOR_TIMER));
    }
}

/// Whether the local APIC is reached by model-specific registers, not through memory.
pub fn is_x2apic() -> bool {
    matches!(MODE.get(), Some(Mode::X2))
}

/// Whether the timer is set to a value of the time-stamp counter, not to a number of its own ticks.
pub fn uses_tsc_deadline() -> bool {
    TSC_DEADLINE.get() == Some(&true)
}

/// APIC id of the calling CPU.
pub fn id() -> u32 {
    let id = read(reg::ID);
    if matches!(MODE.get(), Some(Mode::X2)) { id } else { id >> 24 }
}

/// Ends the interrupt in service.
#[inline]
pub fn end_of_interrupt() {
    write(reg::EOI, 0);
}

fn command(destination: u32, low: u32) {
    match MODE.get() {
        Some(Mode::Memory(region)) => {
            // The two halves must not be torn apart by an interrupt that sends another IPI.
            let _irq = irq::disable();
            while region.read32(reg::ICR) & ICR_PENDING != 0 {
                cpu::relax();
            }
            // Each access costs as much as hundreds of instructions: the destination is often the last one's, and a
            // shorthand needs none.
            let target = &percpu::this().ipi_target;
            if low & ICR_SHORTHAND == 0 && target.load(Ordering::Relaxed) != destination {
                target.store(destination, Ordering::Relaxed);
                region.write32(reg::ICR_HIGH, destination << 24);
            }
            region.write32(reg::ICR, low);
        }
        Some(Mode::X2) => {
            // SAFETY: x2APIC is on. Unlike the memory-mapped form this write is not serialising: MFENCE makes earlier stores
            // visible, and LFENCE keeps the WRMSR, which is no memory access, from overtaking it (Intel SDM vol. 3, 11.12.3).
            unsafe {
                core::arch::x86_64::_mm_mfence();
                core::arch::x86_64::_mm_lfence();
                cpu::write_msr(
                    MSR_X2APIC + (reg::ICR >> 4) as u32,
                    u64::from(destination) << 32 | u64::from(low),
                );
            }
        }
        None => {}
    }
}

/// Sends an interrupt to one CPU, which may be the calling one.
#[inline]
pub fn send_ipi(target: usize, vector: u8) {
    percpu::this().ipis_sent.fetch_add(1, Ordering::Relaxed);
    trace::point(Kind::IpiSend, target as u64, u64::from(vector));
    command(percpu::apic_id(target), ICR_ASSERT | u32::from(vector));
    #[cfg(feature = "sim")]
    crate::sim::send(target, vector);
}

/// Sends an interrupt to all CPUs but the calling one.
pub fn send_ipi_all_but_self(vector: u8) {
    percpu::this().ipis_sent.fetch_add(1, Ordering::Relaxed);
    trace::point(Kind::IpiSend, trace::ALL_BUT_SELF, u64::from(vector));
    command(0, ICR_ALL_BUT_SELF | ICR_ASSERT | u32::from(vector));
    #[cfg(feature = "sim")]
    crate::sim::send_to_others(vector);
}

/// Sends an interrupt to all CPUs, the calling one among them.
pub fn send_ipi_all(vector: u8) {
    percpu::this().ipis_sent.fetch_add(1, Ordering::Relaxed);
    command(0, ICR_ALL | ICR_ASSERT | u32::from(vector));
}

/// Sends a non-maskable interrupt to one CPU.
pub fn send_nmi(target: usize) {
    command(percpu::apic_id(target), ICR_ASSERT | ICR_NMI);
}

/// Resets an application processor so that it waits for [`send_startup`].
pub(crate) fn send_init(apic_id: u32) {
    command(apic_id, ICR_ASSERT | ICR_INIT);
}

/// Starts an application processor in real mode on the 4 KiB page at `page_pa`, below 1 MiB.
pub(crate) fn send_startup(apic_id: u32, page_pa: u64) {
    command(apic_id, ICR_ASSERT | ICR_STARTUP | (page_pa >> 12) as u32);
}

/// Starts the timer counting so that its frequency can be measured.
pub fn start_calibration() {
    write(reg::TIMER_INITIAL, u32::MAX);
}

/// Ends the measurement: `elapsed_ns` have passed since [`start_calibration`]. Uses TSC deadlines instead of the
/// timer's own frequency where the CPU has them; `tsc_hz` is for those.
pub fn finish_calibration(elapsed_ns: u64, tsc_hz: u64) {
    let ticks = u64::from(u32::MAX - read(reg::TIMER_CURRENT));
    write(reg::TIMER_INITIAL, 0);
    let deadline =
        raw_cpuid::CpuId::new().get_feature_info().is_some_and(|features| features.has_tsc_deadline());
    TSC_DEADLINE.call_once(|| deadline);
    let hz_scale = if deadline {
        (u128::from(tsc_hz) << 32) / 1_000_000_000
    } else {
        (u128::from(ticks) << 32) / u128::from(elapsed_ns.max(1))
    };
    TIMER_SCALE.store(hz_scale as u64, Ordering::Relaxed);
    if deadline {
        start_tsc_deadline();
    } else {
        write(reg::LVT_TIMER, u32::from(irq::VECTOR_TIMER));
    }
}

/// Has the timer of the calling CPU count to deadlines.
fn start_tsc_deadline() {
    write(reg::LVT_TIMER, LVT_TSC_DEADLINE | u32::from(irq::VECTOR_TIMER));
    // A deadline that is written before the mode has changed is lost: through memory the change may be late (Intel SDM
    // vol. 3, 11.5.4.1).
    #[cfg(target_os = "none")]
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_mfence();
    }
}

/// Arms the one-shot timer of the calling CPU; it may fire early when the delay is beyond the counter's range.
pub fn arm_timer(delay_ns: u64) {
    #[cfg(feature = "sim")]
    crate::sim::arm_timer(delay_ns);
    let scale = u128::from(TIMER_SCALE.load(Ordering::Relaxed));
    let ticks = ((u128::from(delay_ns) * scale) >> 32) as u64;
    if uses_tsc_deadline() {
        let deadline = crate::cpu::tsc::read().saturating_add(ticks.max(1));
        // SAFETY: the CPU has the register.
        unsafe { cpu::write_msr(MSR_TSC_DEADLINE, deadline) };
    } else {
        write(reg::TIMER_INITIAL, ticks.clamp(1, u64::from(u32::MAX)) as u32);
    }
}

/// Disarms the timer of the calling CPU.
pub fn disarm_timer() {
    #[cfg(feature = "sim")]
    crate::sim::disarm_timer();
    if uses_tsc_deadline() {
        // SAFETY: the CPU has the register; 0 disarms.
        unsafe { cpu::write_msr(MSR_TSC_DEADLINE, 0) };
    } else {
        write(reg::TIMER_INITIAL, 0);
    }
}

/// Ticks until the timer of the calling CPU interrupts; 0 if it is not armed. For timers without TSC deadlines.
pub(crate) fn timer_left() -> u64 {
    u64::from(read(reg::TIMER_CURRENT))
}

/// Arms the timer of the calling CPU in ticks of its own, 1 to `u32::MAX`, and has it interrupt at `vector`. For timers without
/// TSC deadlines. Interrupts are off.
pub(crate) fn send_timer_to(vector: u8, ticks: u64) {
    write(reg::LVT_TIMER, u32::from(vector));
    write(reg::TIMER_INITIAL, ticks as u32);
}

/// Whether an interrupt waits to be taken by the calling CPU.
pub(crate) fn is_requested(vector: u8) -> bool {
    let register = reg::REQUESTED + usize::from(vector / 32) * 16;
    read(register) & 1 << (vector % 32) != 0
}

/// What the timer of a CPU was armed with, if it was: a deadline of the time-stamp counter, or ticks that are left.
#[derive(Clone, Copy, Debug)]
#[must_use = "the timer stays disarmed"]
pub(crate) struct TakenTimer(Option<u64>);

impl TakenTimer {
    /// That of the two that ends sooner.
    pub(crate) fn sooner(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).min())
    }
}

/// Disarms the timer of the calling CPU. Interrupts are off.
pub(crate) fn take_timer() -> TakenTimer {
    let armed = if uses_tsc_deadline() {
        // SAFETY: the CPU has the register.
        unsafe { cpu::read_msr(MSR_TSC_DEADLINE) }
    } else {
        u64::from(read(reg::TIMER_CURRENT))
    };
    disarm_timer();
    TakenTimer((armed != 0).then_some(armed))
}

/// Arms it again. Interrupts are off.
pub(crate) fn put_back_timer(timer: TakenTimer) {
    let Some(armed) = timer.0 else { return };
    if uses_tsc_deadline() {
        // SAFETY: the CPU has the register.
        unsafe { cpu::write_msr(MSR_TSC_DEADLINE, armed) };
    } else {
        write(reg::TIMER_INITIAL, armed as u32);
    }
}
