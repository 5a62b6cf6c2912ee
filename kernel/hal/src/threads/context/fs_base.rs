// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The FS base of program threads, and the instructions that read and write it where the processor has them.

use core::sync::atomic::AtomicBool;

#[cfg(target_os = "none")]
use super::switch_code::PIECES;
#[cfg(target_os = "none")]
use crate::cpu;
use crate::sync::atomic::Ordering;

const MSR_FS_BASE: u32 = 0xc000_0100;

/// FS base of the running program thread.
pub fn fs_base() -> u64 {
    #[cfg(target_os = "none")]
    // SAFETY: FSGSBASE instructions are used only if `FSGSBASE` says that CR4 enables them; the MSR always exists.
    unsafe {
        if FSGSBASE.load(Ordering::Relaxed) {
            let base: u64;
            core::arch::asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags));
            return base;
        }
        cpu::read_msr(MSR_FS_BASE)
    }
    #[cfg(not(target_os = "none"))]
    0
}

/// Sets the FS base of the running program thread; the kernel does not use FS.
///
/// # Panics
/// If the address is not canonical.
pub fn set_fs_base(base: u64) {
    // The program may have written any that the processor takes, by WRFSBASE.
    assert!(crate::memory::layout::is_canonical(base), "FS base is an address");
    #[cfg(target_os = "none")]
    // SAFETY: as for `fs_base`; the address is canonical.
    unsafe {
        if FSGSBASE.load(Ordering::Relaxed) {
            core::arch::asm!("wrfsbase {}", in(reg) base, options(nomem, nostack, preserves_flags));
        } else {
            cpu::write_msr(MSR_FS_BASE, base);
        }
    }
    #[cfg(not(target_os = "none"))]
    let _ = MSR_FS_BASE;
}

/// The entry of faults reads it.
pub(crate) static FSGSBASE: AtomicBool = AtomicBool::new(false);

/// Whether programs may use WRFSBASE (AT_HWCAP2 bit 1).
pub fn has_fsgsbase() -> bool {
    FSGSBASE.load(Ordering::Relaxed)
}

/// Turns the FSGSBASE instructions on where the CPU has them; on every CPU.
#[cfg(target_os = "none")]
pub(crate) fn enable_fsgsbase() {
    use x86_64::registers::control::{Cr4, Cr4Flags};
    let supported =
        raw_cpuid::CpuId::new().get_extended_feature_info().is_some_and(|features| features.has_fsgsbase());
    if supported {
        // SAFETY: makes instructions available, no more.
        unsafe { Cr4::update(|flags| flags.insert(Cr4Flags::FSGSBASE)) };
    }
    FSGSBASE.store(supported, Ordering::Relaxed);
    if supported {
        PIECES.use_fsgsbase();
    }
}
