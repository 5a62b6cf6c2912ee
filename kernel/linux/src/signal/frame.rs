// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frame on a handler's stack: Linux's `rt_sigframe` of x86-64, and the entry into a handler.
//!
//! From the stack pointer at handler entry upwards: return address, `ucontext`, `siginfo`, a gap, the vector state at the
//! next multiple of 64. The whole frame begins below the 128 bytes that the interrupted function may use, or at the top of
//! the alternate stack.

mod wire;

use core::mem::offset_of;

use hadal_hal::cpu::fpu;
use hadal_hal::memory::user;
use hadal_hal::trap::TrapFrame;
use zerocopy::IntoBytes;

pub(super) use wire::{MAGIC_END, Marker, RESERVED_AT, SigFrame, UContext};
use wire::{MAGIC_START, SigContext};

use super::action::{Action, ActionFlags};
use super::alt_stack::{self, AltStack};
use super::info::Info;
use super::set::SigSet;
use crate::task::Task;

/// Bytes below the stack pointer that a function may use without moving it (System V ABI).
const RED_ZONE: u64 = 128;
/// `uc_flags`: the vector state is an XSAVE image.
const UC_FP_XSTATE: u64 = 1;
/// `uc_flags`: `ss` in the frame is meaningful.
const UC_SIGCONTEXT_SS: u64 = 2;
/// `uc_flags`: `ss` is restored.
const UC_STRICT_RESTORE_SS: u64 = 4;
/// CPU flags that a handler starts without: trap and direction.
const TRAP_FLAG: u64 = 1 << 8;
const DIRECTION_FLAG: u64 = 1 << 10;

/// Alignment of the image.
const VECTORS_ALIGN: u64 = 64;

/// The frame cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadStack;

/// Where the parts of a frame go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// The stack pointer at handler entry: the address of the return address.
    frame: u64,
    vectors: u64,
}

/// Bytes of a vector image with its end mark.
fn vectors_bytes() -> usize {
    fpu::size() + if fpu::components() != 0 { size_of_val(&MAGIC_END) } else { 0 }
}

/// Finds the place of a frame for a program whose stack pointer is `sp`.
fn place(sp: u64, use_alt: bool, alt: AltStack, vectors_bytes: usize) -> Result<Place, BadStack> {
    let was_on_alt = alt.is_set() && alt.contains(sp);
    let enters_alt = use_alt && alt.is_set() && !was_on_alt && !(alt.auto_disarms() && alt.holds(sp));
    let top = if enters_alt { alt.top() } else { sp.wrapping_sub(RED_ZONE) };
    let vectors = top.wrapping_sub(vectors_bytes as u64) & !(VECTORS_ALIGN - 1);
    // As after a call: the stack pointer is a multiple of 16 before the return address is pushed.
    let frame = (vectors.wrapping_sub(size_of::<SigFrame>() as u64) & !15).wrapping_sub(8);
    let overflows = (was_on_alt || enters_alt) && !alt.holds(frame);
    if frame > sp && !enters_alt || overflows { Err(BadStack) } else { Ok(Place { frame, vectors }) }
}

/// Most bytes that a frame takes on a stack (`AT_MINSIGSTKSZ`): more than the frame, because of the alignments, and what
/// the kernel's own minimum leaves to the handler.
pub fn min_stack_bytes() -> usize {
    const ALIGNMENTS: usize = VECTORS_ALIGN as usize + 2 * 16;
    const HANDLER: usize = 512;
    (size_of::<SigFrame>() + ALIGNMENTS + vectors_bytes() + HANDLER).next_multiple_of(16)
}

/// Writes the frame for a handler to the program's stack and changes the registers to those at handler entry.
/// `mask` is what the handler's return restores.
pub(super) fn push(
    task: &Task,
    frame: &mut TrapFrame,
    info: &Info,
    (action, handler): (&Action, u64),
    mask: SigSet,
    is_fault: bool,
) -> Result<(), BadStack> {
    if !action.flags.contains(ActionFlags::RESTORER) {
        return Err(BadStack);
    }
    let alt = alt_stack::get(task);
    let place = place(frame.rsp, action.flags.contains(ActionFlags::ONSTACK), alt, vectors_bytes())?;
    save_vectors(place.vectors as usize)?;
    let xstate = if fpu::components() != 0 { UC_FP_XSTATE } else { 0 };
    let contents = SigFrame {
        return_address: action.restorer,
        context: UContext {
            flags: xstate | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
            link: 0,
            stack: alt.to_raw(frame.rsp),
            registers: SigContext::save(frame, mask, is_fault, place.vectors),
            mask,
        },
        info: info.to_raw(),
    };
    user::copy_to(place.frame as usize, contents.as_bytes()).map_err(|_| BadStack)?;
    // Handlers start with a fresh floating-point state.
    fpu::load_fresh(fpu::components());
    if alt.auto_disarms() {
        alt_stack::disarm(task);
    }
    frame.rdi = info.signo.into();
    frame.rsi = place.frame + offset_of!(SigFrame, info) as u64;
    frame.rdx = place.frame + offset_of!(SigFrame, context) as u64;
    frame.rax = 0;
    // Together, for who looks at the thread meanwhile.
    (frame.rsp, frame.rip) = (place.frame, handler);
    frame.rflags &= !(TRAP_FLAG | DIRECTION_FLAG);
    frame.full_restore = 1;
    Ok(())
}

/// Saves the vector registers in an image that is marked as XSAVE format, if it is in that.
fn save_vectors(image: usize) -> Result<(), BadStack> {
    let marker =
        [u64::from(MAGIC_START) | (vectors_bytes() as u64) << 32, fpu::components(), fpu::size() as u64];
    user::save_vectors(image, marker, MAGIC_END).map_err(|_| BadStack)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zerocopy::FromBytes;

    use super::super::alt_stack::RawStack;
    use super::*;

    const VECTORS: usize = 2696 + 4;

    fn alt(sp: u64, size: u64) -> AltStack {
        let mut bytes = [0; size_of::<RawStack>()];
        bytes[..8].copy_from_slice(&sp.to_le_bytes());
        bytes[16..].copy_from_slice(&size.to_le_bytes());
        AltStack::from_raw(RawStack::read_from_bytes(&bytes).unwrap()).unwrap()
    }

    #[test]
    fn the_alternate_stack_is_entered_once() {
        let stack = alt(0x10_0000, 16384);
        let first = place(0x7000_0000, true, stack, VECTORS).unwrap();
        assert!(stack.holds(first.frame));
        let nested = place(first.frame, true, stack, VECTORS).unwrap();
        assert!(nested.vectors + VECTORS as u64 + RED_ZONE <= first.frame && stack.holds(nested.frame));
        let unasked = place(0x7000_0000, false, stack, VECTORS).unwrap();
        assert!(unasked.frame < 0x7000_0000 && !stack.holds(unasked.frame));
    }

    #[test]
    fn an_overflowing_alternate_stack_is_noticed() {
        assert_eq!(place(0x7000_0000, true, alt(0x10_0000, 2048), VECTORS), Err(BadStack));
        let stack = alt(0x10_0000, 4096);
        let first = place(0x7000_0000, true, stack, VECTORS).unwrap();
        assert_eq!(place(first.frame, true, stack, VECTORS), Err(BadStack));
    }

    #[test]
    fn a_stack_pointer_near_zero_is_bad() {
        assert_eq!(place(100, false, AltStack::NONE, VECTORS), Err(BadStack));
    }

    proptest! {
        #[test]
        fn places_are_aligned_and_below_the_red_zone(sp in 0x1_0000_u64..1 << 47, vectors in 512_usize..12_000) {
            let place = place(sp, false, AltStack::NONE, vectors).unwrap();
            prop_assert_eq!(place.frame % 16, 8);
            prop_assert_eq!(place.vectors % 64, 0);
            prop_assert!(place.frame + size_of::<SigFrame>() as u64 <= place.vectors);
            prop_assert!(place.vectors + vectors as u64 + RED_ZONE <= sp);
            prop_assert!(sp - place.frame < (vectors + size_of::<SigFrame>() + 128 + 64 + 32) as u64);
        }
    }
}
