// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vector and floating-point state of programs. The kernel is soft-float and never touches it, so it stays in the
//! registers through system calls and interrupts and is saved only on a switch and for signal frames; these are saved to
//! program memory, and loaded from there, without a copy in between (`memory::user`).
//!
//! The image is the standard (non-compacted) XSAVE format of everything XCR0 enables, or FXSAVE's 512 bytes on a CPU
//! without XSAVE (Intel SDM vol. 1, 13.4).

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::fallible;

/// Components that may be enabled: x87, SSE, AVX, AVX-512 (opmask, ZMM_Hi256, Hi16_ZMM), PKRU. AMX is left out: programs
/// have to ask for it first.
const WANTED: u64 = 0b1 | 1 << 1 | 1 << 2 | 0b111 << 5 | 1 << 9;
/// Bytes of the image that FXSAVE defines.
pub const LEGACY_BYTES: usize = 512;
/// Bytes of the header that follows in XSAVE format.
pub const HEADER_BYTES: usize = 64;
/// Components of the legacy part: x87 and SSE.
pub const LEGACY: u64 = 0b11;
/// Control words of a fresh program: all exceptions masked, 64-bit precision.
const FRESH_X87: u16 = 0x37f;
const FRESH_MXCSR: u32 = 0x1f80;

static COMPONENTS: AtomicU64 = AtomicU64::new(0);
static SIZE: AtomicU32 = AtomicU32::new(LEGACY_BYTES as u32);
static MXCSR_MASK: AtomicU32 = AtomicU32::new(0xffbf);

/// The components that XCR0 enables, or 0 without XSAVE.
pub fn components() -> u64 {
    COMPONENTS.load(Ordering::Relaxed)
}

/// Bytes of a state image.
pub fn size() -> usize {
    SIZE.load(Ordering::Relaxed) as usize
}

/// Turns on x87, SSE and, where the CPU has XSAVE, all wanted components; called on every CPU before it runs programs.
#[cfg(target_os = "none")]
pub(crate) fn enable() {
    use x86_64::registers::control::{Cr0, Cr0Flags, Cr4, Cr4Flags};
    use x86_64::registers::xcontrol::{XCr0, XCr0Flags};
    let cpuid = raw_cpuid::CpuId::new();
    let xsave = cpuid.get_feature_info().is_some_and(|features| features.has_xsave());
    // SAFETY: these bits only make instructions available to programs.
    unsafe {
        Cr0::update(|flags| {
            flags.remove(Cr0Flags::EMULATE_COPROCESSOR | Cr0Flags::TASK_SWITCHED);
            flags.insert(Cr0Flags::MONITOR_COPROCESSOR | Cr0Flags::NUMERIC_ERROR);
        });
        Cr4::update(|flags| {
            flags.insert(Cr4Flags::OSFXSR | Cr4Flags::OSXMMEXCPT_ENABLE);
            flags.set(Cr4Flags::OSXSAVE, xsave);
        });
    }
    note_mxcsr_mask();
    if !xsave {
        return;
    }
    let supported = cpuid.get_extended_state_info().map_or(3, |leaf| {
        // SAFETY: leaf 0xd exists when XSAVE does.
        let _ = leaf;
        let raw = core::arch::x86_64::__cpuid_count(0xd, 0);
        u64::from(raw.edx) << 32 | u64::from(raw.eax)
    });
    let enabled = supported & WANTED;
    // SAFETY: the value is a subset of what the CPU supports, with x87 and SSE; AVX-512 bits come together in CPUID.
    unsafe { XCr0::write_raw(enabled | XCr0Flags::X87.bits()) };
    COMPONENTS.store(enabled, Ordering::Relaxed);
    SIZE.store(core::arch::x86_64::__cpuid_count(0xd, 0).ebx, Ordering::Relaxed);
}

/// Asks the processor which bits of MXCSR it has: denormals-are-zeros is not in all.
#[cfg(target_os = "none")]
fn note_mxcsr_mask() {
    let mut area = [Line([0; 64]); LEGACY_BYTES / 64];
    // SAFETY: FXSAVE is turned on and writes 512 bytes to an area that is aligned to more than 16.
    unsafe { core::arch::asm!("fxsave64 [{}]", in(reg) area.as_mut_ptr(), options(nostack)) };
    let bytes = &area[0].0;
    let mask = u32::from_le_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]);
    // 0 is that of the oldest (Intel SDM vol. 1, 11.6.6).
    if mask != 0 {
        MXCSR_MASK.store(mask, Ordering::Relaxed);
    }
}

/// Whether the processor loads this value into MXCSR.
pub fn is_mxcsr(value: u32) -> bool {
    value & !MXCSR_MASK.load(Ordering::Relaxed) == 0
}

/// A state image in kernel memory, 64-byte aligned.
pub struct State(Box<[Line]>);

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// Legacy part and header of a fresh program's image.
static FRESH: [Line; (LEGACY_BYTES + HEADER_BYTES) / size_of::<Line>()] = {
    let mut image = [Line([0; 64]); _];
    [image[0].0[0], image[0].0[1]] = FRESH_X87.to_le_bytes();
    [image[0].0[24], image[0].0[25], image[0].0[26], image[0].0[27]] = FRESH_MXCSR.to_le_bytes();
    image[LEGACY_BYTES / size_of::<Line>()].0[0] = LEGACY as u8;
    image
};

impl State {
    /// The state of a fresh program.
    pub fn fresh() -> fallible::Result<Self> {
        let mut state = Self(fallible::filled(Line([0; 64]), size().div_ceil(64))?.into_boxed_slice());
        state.reset();
        Ok(state)
    }

    /// Makes this the state of a fresh program.
    pub fn reset(&mut self) {
        // Of the components behind it the header says that they are in their initial state.
        for (line, fresh) in self.0.iter_mut().zip(&FRESH) {
            *line = *fresh;
        }
    }

    /// The image.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Line` is 64 plain bytes without padding, so the slice is `64 * len` initialised bytes.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 64) }
    }

    /// Saves the registers of the calling CPU.
    #[inline]
    pub fn save(&mut self) {
        let area = self.0.as_mut_ptr();
        #[cfg(target_os = "none")]
        // SAFETY: the area is 64-byte aligned and `size()` bytes long.
        unsafe {
            if components() != 0 {
                core::arch::asm!("xsave64 [{}]", in(reg) area, in("eax") u32::MAX, in("edx") u32::MAX, options(nostack));
            } else {
                core::arch::asm!("fxsave64 [{}]", in(reg) area, options(nostack));
            }
        }
        #[cfg(not(target_os = "none"))]
        let _ = area;
    }

    /// Loads the registers of the calling CPU. The image is one that [`State::save`] or [`State::fresh`] made.
    #[inline]
    pub fn load(&self) {
        let area = self.0.as_ptr();
        #[cfg(target_os = "none")]
        // SAFETY: the area is aligned and long enough; the kernel uses none of these registers. A malformed header would
        // raise #GP and be reported as a kernel fault, not corrupt memory.
        unsafe {
            if components() != 0 {
                core::arch::asm!("xrstor64 [{}]", in(reg) area, in("eax") u32::MAX, in("edx") u32::MAX, options(nostack));
            } else {
                core::arch::asm!("fxrstor64 [{}]", in(reg) area, options(nostack));
            }
        }
        #[cfg(not(target_os = "none"))]
        let _ = area;
    }
}

/// Gives some components of the calling CPU's registers what a fresh program has there; without XSAVE all of them.
pub fn load_fresh(components: u64) {
    #[cfg(target_os = "none")]
    // SAFETY: the kernel uses none of these registers. The image is aligned, and all that is read of it is there: the header
    // names no component behind itself, and the processor reads none that it does not name (Intel SDM vol. 1, 13.8.1).
    unsafe {
        let image = FRESH.as_ptr();
        if self::components() != 0 {
            core::arch::asm!(
                "xrstor64 [{}]", in(reg) image, in("eax") components as u32, in("edx") (components >> 32) as u32,
                options(nostack, readonly),
            );
        } else {
            core::arch::asm!("fxrstor64 [{}]", in(reg) image, options(nostack, readonly));
        }
    }
    #[cfg(not(target_os = "none"))]
    let _ = components;
}

/// Sets the control words to those of a fresh program and empties the x87 stack; the other registers keep what they hold.
pub fn reset_control() {
    #[cfg(target_os = "none")]
    // SAFETY: the kernel uses none of these registers; the operand is a constant in memory.
    unsafe {
        core::arch::asm!("fninit", "ldmxcsr [{}]", in(reg) &FRESH_MXCSR, options(nostack, readonly));
    }
}

/// Executes one SSE arithmetic instruction in ring 0 and returns whether it gave the right result: some hosts that emulate
/// ring 0 cannot. For kernel threads only: it overwrites vector registers.
#[cfg(target_os = "none")]
pub fn arithmetic_works() -> bool {
    let (six, seven) = (6.0f64.to_bits(), 7.0f64.to_bits());
    let product: u64;
    // SAFETY: SSE2 is part of x86-64 and `enable` has turned it on; the caller's thread has no vector state.
    unsafe {
        core::arch::asm!(
            "movq xmm0, {six}",
            "movq xmm1, {seven}",
            "mulsd xmm0, xmm1",
            "movq {product}, xmm0",
            six = in(reg) six,
            seven = in(reg) seven,
            product = out(reg) product,
            options(nomem, nostack),
        );
    }
    product == 42.0f64.to_bits()
}
