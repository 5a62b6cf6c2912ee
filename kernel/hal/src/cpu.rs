// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calling processor: identity, model-specific registers, control registers, halting.

use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::interrupts::irq::Masked;

#[cfg(target_os = "none")]
pub mod backtrace;
pub mod fpu;
pub mod hold;
pub mod percpu;
pub mod port;
pub mod set;
pub mod standstill;
pub mod tsc;

static ONLINE: AtomicUsize = AtomicUsize::new(1);

/// Number of online CPUs; ids are `0..count()`.
pub fn count() -> usize {
    ONLINE.load(Ordering::Relaxed)
}

/// Records the number of online CPUs, once, after the processors were started.
pub(crate) fn set_count(count: usize) {
    ONLINE.store(count, Ordering::Release);
}

/// Id of the calling CPU.
#[inline(always)]
pub fn current_id() -> usize {
    crate::cpu::percpu::cpu_id()
}

/// Tells the core that this is a busy-wait loop.
#[inline(always)]
pub fn relax() {
    core::hint::spin_loop();
    #[cfg(feature = "sim")]
    crate::sim::relax();
}

/// Stops this CPU for good; interrupts stay off.
pub fn halt_forever() -> ! {
    loop {
        let _ = crate::interrupts::irq::mask();
        #[cfg(target_os = "none")]
        // SAFETY: halting with interrupts off changes no memory.
        unsafe {
            core::arch::asm!("hlt", options(nomem, nostack));
        }
    }
}

/// Turns interrupts on and halts until one arrives, with no window in between; they are off again afterwards.
pub fn wait_for_interrupt(masked: &mut Masked) {
    crate::interrupts::irq::end_section();
    #[cfg(target_os = "none")]
    // SAFETY: `sti` holds interrupts for one instruction, so the halt cannot miss one; handlers keep to their own stacks.
    unsafe {
        core::arch::asm!("sti", "hlt", options(nostack));
    }
    #[cfg(feature = "sim")]
    crate::sim::halt();
    masked.again();
}

/// Turns interrupts on and waits until one arrives or something is stored near `word`, with no window in between; does not
/// wait if `still` is false once the word is watched. Interrupts are off again afterwards. The CPU has MONITOR.
pub fn wait_for_store(masked: &mut Masked, word: *const (), still: impl FnOnce() -> bool) {
    #[cfg(target_os = "none")]
    // SAFETY: MONITOR only names a cache line to watch, whatever the address; hint 0 of MWAIT is the lightest sleep. `sti`
    // holds interrupts for one instruction, so MWAIT cannot miss one; handlers keep to their own stacks.
    unsafe {
        core::arch::asm!("monitor", in("rax") word, in("ecx") 0, in("edx") 0, options(nostack));
        if still() {
            crate::interrupts::irq::end_section();
            core::arch::asm!("sti", "mwait", in("eax") 0, in("ecx") 0, options(nostack));
        } else {
            crate::interrupts::irq::unmask();
        }
    }
    #[cfg(feature = "sim")]
    crate::sim::wait(word, still);
    #[cfg(not(any(target_os = "none", feature = "sim")))]
    let _ = (word, still());
    masked.again();
}

/// Reads a model-specific register.
///
/// # Safety
/// The register exists on this CPU.
pub unsafe fn read_msr(msr: u32) -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: the caller says the register exists; reading has no side effect on memory.
    unsafe {
        core::arch::asm!("rdmsr", in("ecx") msr, out("eax") low, out("edx") high, options(nomem, nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Writes a model-specific register.
///
/// # Safety
/// The register exists and the value keeps the assumptions in the crate head.
pub unsafe fn write_msr(msr: u32, value: u64) {
    // SAFETY: the caller vouches for register and value.
    unsafe {
        core::arch::asm!("wrmsr", in("ecx") msr, in("eax") value as u32, in("edx") (value >> 32) as u32, options(nostack));
    }
}

/// Whether RDTSCP and the TSC_AUX register exist.
pub fn has_rdtscp() -> bool {
    raw_cpuid::CpuId::new()
        .get_extended_processor_and_feature_identifiers()
        .is_some_and(|features| features.has_rdtscp())
}

/// Whether there are pages of 1 GiB.
pub fn has_gigabyte_pages() -> bool {
    raw_cpuid::CpuId::new()
        .get_extended_processor_and_feature_identifiers()
        .is_some_and(|features| features.has_1gib_pages())
}

/// Whether the CPU has MONITOR and MWAIT.
pub fn has_monitor() -> bool {
    #[cfg(feature = "sim")]
    if crate::sim::is_on() {
        return crate::sim::has_monitor();
    }
    let id = raw_cpuid::CpuId::new();
    // QEMU's translator has the instruction, but with several CPUs it does nothing. Where the CPUs take turns in one
    // thread, one that "waits" so only keeps the turn, and whoever has work never gets it.
    !is_translated() && id.get_feature_info().is_some_and(|features| features.has_monitor_mwait())
}

/// Whether QEMU's translator executes the instructions, as CPUID says.
pub fn is_translated() -> bool {
    let info = raw_cpuid::CpuId::new().get_hypervisor_info();
    info.is_some_and(|info| info.identify() == raw_cpuid::Hypervisor::QEMU)
}

/// The hypervisor that CPUID names; "none" where there is none, or it hides.
pub fn hypervisor() -> String {
    match raw_cpuid::CpuId::new().get_hypervisor_info() {
        Some(info) => format!("{:?}", info.identify()),
        None => String::from("none"),
    }
}

/// What CPUID answers: EAX, EBX, ECX and EDX.
pub fn cpuid(leaf: u32, subleaf: u32) -> [u32; 4] {
    let answer = core::arch::x86_64::__cpuid_count(leaf, subleaf);
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

/// CPUID leaf 1, EDX: the feature word that Linux passes to programs as `AT_HWCAP`.
pub fn features_edx() -> u32 {
    core::arch::x86_64::__cpuid(1).edx
}

/// Takes all breakpoints off the calling CPU, which a program in ring 0 may have set.
#[cfg(target_os = "none")]
pub(crate) fn clear_breakpoints() {
    /// Bit 10 of DR7 is always set (Intel SDM vol. 3, figure 18-1).
    const NONE: u64 = 1 << 10;
    // SAFETY: the kernel uses no debug registers.
    unsafe { core::arch::asm!("mov dr7, {}", in(reg) NONE, options(nomem, nostack, preserves_flags)) };
}

/// Whether the processor has reported a machine check that nobody has ended: the vector alone can be an instruction's.
#[cfg(target_os = "none")]
pub(crate) fn is_machine_check_in_progress() -> bool {
    const MSR_MCG_STATUS: u32 = 0x17a;
    const IN_PROGRESS: u64 = 1 << 2;
    let has_registers = raw_cpuid::CpuId::new().get_feature_info().is_some_and(|features| features.has_mca());
    // SAFETY: CPUs with the machine-check architecture have the register.
    has_registers && unsafe { read_msr(MSR_MCG_STATUS) } & IN_PROGRESS != 0
}
