// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vector and floating-point state of programs. The kernel is soft-float and never touches it, so it stays in the
//! registers through system calls and interrupts and is saved only on a switch and for signal frames.
//!
//! The image is the standard (non-compacted) XSAVE format of everything XCR0 enables, or FXSAVE's 512 bytes on a CPU
//! without XSAVE (Intel SDM vol. 1, 13.4).

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::fallible;

mod packed;

pub use packed::Packed;

/// Components that may be enabled: x87, SSE, AVX, AVX-512 (opmask, ZMM_Hi256, Hi16_ZMM), PKRU. AMX is left out: programs
/// have to ask for it first.
const WANTED: u64 = 0b1 | 1 << 1 | 1 << 2 | 0b111 << 5 | 1 << 9;
const LEGACY_SIZE: u32 = 512;
const HEADER_SIZE: usize = 64;
/// Control words of a fresh program: all exceptions masked, 64-bit precision.
const FRESH_X87: u16 = 0x37f;
const FRESH_MXCSR: u32 = 0x1f80;

static COMPONENTS: AtomicU64 = AtomicU64::new(0);
static SIZE: AtomicU32 = AtomicU32::new(LEGACY_SIZE);
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
    packed::note_places(enabled);
    COMPONENTS.store(enabled, Ordering::Relaxed);
    SIZE.store(core::arch::x86_64::__cpuid_count(0xd, 0).ebx, Ordering::Relaxed);
}

/// Asks the processor which bits of MXCSR it has: denormals-are-zeros is not in all.
#[cfg(target_os = "none")]
fn note_mxcsr_mask() {
    let mut area = [Line([0; 64]); LEGACY_SIZE as usize / 64];
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

impl State {
    /// The state of a fresh program.
    pub fn fresh() -> fallible::Result<Self> {
        let mut state = Self(fallible::filled(Line([0; 64]), size().div_ceil(64))?.into_boxed_slice());
        state.reset();
        Ok(state)
    }

    /// Makes this the state of a fresh program.
    pub fn reset(&mut self) {
        let bytes = self.bytes_mut();
        let head = bytes.len().min(LEGACY_SIZE as usize + HEADER_SIZE);
        // Of other components the header will say that they are in their initial state.
        bytes[..head].fill(0);
        bytes[..2].copy_from_slice(&FRESH_X87.to_le_bytes());
        bytes[24..28].copy_from_slice(&FRESH_MXCSR.to_le_bytes());
        // XSTATE_BV 0 would mean "all components initial", but FXRSTOR machines read the words above anyway.
        let length = bytes.len();
        if length > LEGACY_SIZE as usize {
            bytes[512..520].copy_from_slice(&0b11u64.to_le_bytes());
        }
    }

    /// The image.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Line` is 64 plain bytes without padding, so the slice is `64 * len` initialised bytes.
        unsafe { core::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 64) }
    }

    /// The image, to be changed.
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`; any bytes are valid.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 64) }
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

    /// Gives away what of the image is in use.
    pub fn pack(&self, packed: &mut Packed) {
        let present = if components() == 0 { 0 } else { word(self.bytes(), LEGACY_SIZE as usize) };
        packed.take(self, present & components());
    }

    /// Makes this an image that came from a program, as far as it can be loaded.
    pub fn unpack(&mut self, packed: &Packed) {
        let bytes = self.bytes_mut();
        for (at, piece) in packed.pieces() {
            bytes[at..at + piece.len()].copy_from_slice(piece);
        }
        self.sanitize(packed.present());
    }

    /// Clears reserved bits as the CPU demands, and names only components that are there.
    fn sanitize(&mut self, present: u64) {
        let enabled = components();
        let bytes = self.bytes_mut();
        let mxcsr = u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
        bytes[24..28].copy_from_slice(&(mxcsr & MXCSR_MASK.load(Ordering::Relaxed)).to_le_bytes());
        if enabled != 0 {
            let header = &mut bytes[LEGACY_SIZE as usize..][..HEADER_SIZE];
            header.fill(0);
            header[..8].copy_from_slice(&(present & enabled).to_le_bytes());
        }
    }

    /// Loads the registers of the calling CPU. The image is one that [`State::save`] or [`State::fresh`] made, or was
    /// sanitised.
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

/// Eight bytes of an image.
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
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
