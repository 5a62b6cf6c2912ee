// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structures of a handler's frame in program memory.

use core::mem::offset_of;

use hadal_hal::cpu::fpu;
use hadal_hal::trap::{TrapFrame, program_flags};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::super::alt_stack::RawStack;
use super::super::info::RawInfo;
use super::super::set::SigSet;

/// Marks an XSAVE image: in its software-reserved bytes, and behind it.
pub(super) const MAGIC_START: u32 = 0x4650_5853;
/// See [`MAGIC_START`].
pub(in crate::signal) const MAGIC_END: u32 = 0x4650_5845;
/// Offset of the software-reserved bytes in the image.
pub(in crate::signal) const RESERVED_AT: usize = 464;
/// `struct sigcontext`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(in crate::signal) struct SigContext {
    r8: u64,
    r9: u64,
    r10: u64,
    r11: u64,
    r12: u64,
    r13: u64,
    r14: u64,
    r15: u64,
    rdi: u64,
    rsi: u64,
    rbp: u64,
    rbx: u64,
    rdx: u64,
    rax: u64,
    rcx: u64,
    pub(in crate::signal) rsp: u64,
    pub(in crate::signal) rip: u64,
    rflags: u64,
    cs: u16,
    gs: u16,
    fs: u16,
    ss: u16,
    error: u64,
    vector: u64,
    old_mask: u64,
    fault_address: u64,
    /// Address of the vector state, or 0.
    pub(in crate::signal) vectors: u64,
    reserved: [u64; 8],
}

/// `struct ucontext`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(in crate::signal) struct UContext {
    pub(super) flags: u64,
    pub(super) link: u64,
    pub(in crate::signal) stack: RawStack,
    pub(in crate::signal) registers: SigContext,
    pub(in crate::signal) mask: SigSet,
}

/// `struct rt_sigframe` without the vector state.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(in crate::signal) struct SigFrame {
    pub(super) return_address: u64,
    pub(in crate::signal) context: UContext,
    pub(super) info: RawInfo,
}

/// `struct _fpx_sw_bytes`: what stands in the software-reserved bytes of the image.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(in crate::signal) struct Marker {
    pub(super) magic: u32,
    /// Bytes of image and end mark.
    pub(super) extended_bytes: u32,
    /// Components in the image.
    pub(in crate::signal) components: u64,
    /// Bytes of the image.
    pub(in crate::signal) image_bytes: u32,
    pub(super) padding: [u32; 7],
}

impl Marker {
    /// Whether this is the marker of an XSAVE image of at most `size` bytes. The end mark is left to look at.
    pub(in crate::signal) fn is_valid(&self, size: usize) -> bool {
        self.magic == MAGIC_START
            && (fpu::LEGACY_BYTES + fpu::HEADER_BYTES..=size).contains(&(self.image_bytes as usize))
            && self.extended_bytes > self.image_bytes
    }
}

const _: () = {
    assert!(size_of::<SigContext>() == 256);
    assert!(offset_of!(SigContext, rip) == 128);
    assert!(offset_of!(SigContext, cs) == 144);
    assert!(offset_of!(SigContext, vectors) == 184);
    assert!(offset_of!(UContext, stack) == 16);
    assert!(offset_of!(UContext, registers) == 40);
    assert!(offset_of!(UContext, mask) == 296);
    assert!(size_of::<UContext>() == 304);
    assert!(offset_of!(SigFrame, info) == 312);
    assert!(size_of::<SigFrame>() == 440);
    assert!(size_of::<Marker>() == fpu::LEGACY_BYTES - RESERVED_AT);
};

impl SigContext {
    pub(super) fn save(frame: &TrapFrame, mask: SigSet, is_fault: bool, vectors: u64) -> Self {
        let (error, vector, fault_address) =
            if is_fault { (frame.error, frame.vector, frame.fault_address) } else { (0, 0, 0) };
        Self {
            r8: frame.r8,
            r9: frame.r9,
            r10: frame.r10,
            r11: frame.r11,
            r12: frame.r12,
            r13: frame.r13,
            r14: frame.r14,
            r15: frame.r15,
            rdi: frame.rdi,
            rsi: frame.rsi,
            rbp: frame.rbp,
            rbx: frame.rbx,
            rdx: frame.rdx,
            rax: frame.rax,
            rcx: frame.rcx,
            rsp: frame.rsp,
            rip: frame.rip,
            rflags: frame.rflags,
            cs: frame.cs as u16,
            gs: 0,
            fs: 0,
            ss: frame.ss as u16,
            error,
            vector,
            old_mask: mask.bits(),
            fault_address,
            vectors,
            reserved: [0; 8],
        }
    }

    /// Stores the registers, as the program left or edited them, in a frame that returns to it: one of a program already,
    /// whose selectors it keeps.
    pub(in crate::signal) fn restore(&self, frame: &mut TrapFrame) {
        *frame = TrapFrame {
            r8: self.r8,
            r9: self.r9,
            r10: self.r10,
            r11: self.r11,
            r12: self.r12,
            r13: self.r13,
            r14: self.r14,
            r15: self.r15,
            rdi: self.rdi,
            rsi: self.rsi,
            rbp: self.rbp,
            rbx: self.rbx,
            rdx: self.rdx,
            rax: self.rax,
            rcx: self.rcx,
            rsp: self.rsp,
            rip: self.rip,
            rflags: program_flags(self.rflags),
            full_restore: 1,
            ..*frame
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_survive_the_frame() {
        let before = TrapFrame {
            r15: 1,
            rdi: 2,
            rax: 3,
            rip: 4,
            rsp: 5,
            rflags: 0x246,
            rcx: 6,
            ..TrapFrame::default()
        };
        let saved = SigContext::save(&before, SigSet::EMPTY, false, 0);
        let mut after = TrapFrame::default();
        saved.restore(&mut after);
        assert_eq!((after.r15, after.rdi, after.rax, after.rip, after.rsp, after.rcx), (1, 2, 3, 4, 5, 6));
        assert_eq!((after.rflags, after.full_restore), (0x246, 1));
    }

    #[test]
    fn markers_are_believed_only_if_they_fit() {
        let marker = |magic, extended_bytes, image_bytes| Marker {
            magic,
            extended_bytes,
            components: 0b111,
            image_bytes,
            padding: [0; 7],
        };
        assert!(marker(MAGIC_START, 836, 832).is_valid(832));
        assert!(!marker(MAGIC_START, 836, 832).is_valid(800), "longer than the kernel's image");
        assert!(!marker(MAGIC_START, 600, 500).is_valid(832), "no room for a header");
        assert!(!marker(MAGIC_START, 832, 832).is_valid(832), "no end mark");
        assert!(!marker(1, 836, 832).is_valid(832));
    }

    #[test]
    fn privileged_flags_are_not_restored() {
        let saved = SigContext { rflags: u64::MAX, ..SigContext::default() };
        let mut frame = TrapFrame::default();
        saved.restore(&mut frame);
        assert_eq!(frame.rflags & (0b11 << 12), 0, "I/O privilege level");
        assert_eq!(frame.rflags & (1 << 14 | 1 << 17), 0, "nested task, virtual 8086");
        assert_ne!(frame.rflags & (1 << 9), 0, "interrupts stay on");
    }
}
