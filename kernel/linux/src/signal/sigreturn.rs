// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The return from a handler: the frame that [`super::frame`] built, as the handler has left or edited it, becomes the
//! state of the thread again. Everything in it is checked or sanitised, since it lay in program memory.

use core::mem::offset_of;

use hadal_hal::cpu::fpu;
use hadal_hal::memory::layout;
use hadal_hal::memory::user::{self, Fault};
use hadal_hal::trap::{self, TrapFrame};

use super::frame::{MAGIC_END, Marker, RESERVED_AT, SigFrame, UContext};
use super::info::{Info, code};
use super::number::SIGSEGV;
use super::{alt_stack, force, mask};
use crate::process::Process;
use crate::task::Task;

/// Where MXCSR is in an image, with the mask of its bits behind it.
const MXCSR_AT: usize = 24;

/// The frame is not one.
struct BadFrame;

/// Restores the state in the frame at the stack pointer; a bad frame is a SIGSEGV.
pub fn sigreturn(task: &'static Task, process: &'static Process, frame: &mut TrapFrame) {
    if restore(task, process, frame).is_err() {
        force(task, process, frame, Info::fault(SIGSEGV, code::KERNEL, 0));
    }
}

fn restore(task: &Task, process: &Process, frame: &mut TrapFrame) -> Result<(), BadFrame> {
    // The handler's RET has taken the return address off.
    const CONTEXT_AT: usize = offset_of!(SigFrame, context) - size_of::<u64>();
    let context = (frame.rsp as usize).wrapping_add(CONTEXT_AT);
    user::read_for(context, |saved| restore_from(saved, task, process, frame)).unwrap_or(Err(BadFrame))
}

fn restore_from(
    saved: &UContext,
    task: &Task,
    process: &Process,
    frame: &mut TrapFrame,
) -> Result<(), BadFrame> {
    let registers = &saved.registers;
    if !layout::is_program(registers.rip) && !trap::is_return_of_call(registers.rip) {
        return Err(BadFrame);
    }
    if registers.vectors == 0 {
        fpu::load_fresh(fpu::components());
    } else if load_vectors(registers.vectors as usize).is_err() {
        // Some of them may be the image's.
        fpu::load_fresh(fpu::components());
        return Err(BadFrame);
    }
    registers.restore(frame);
    // A stack that cannot be set is not set, as on Linux: the program may have edited the frame or be on it still.
    let _ = alt_stack::set(task, saved.stack, frame.rsp);
    mask::set(task, process, saved.mask);
    Ok(())
}

/// Loads the vector registers from an image. What it lacks becomes what a fresh program has. The program may change the
/// image at any time: it is the processor that checks what it loads.
fn load_vectors(image: usize) -> Result<(), Fault> {
    // Emulated processors do not look at the bits that MXCSR does not have.
    if !fpu::is_mxcsr(user::load_u64(image.wrapping_add(MXCSR_AT))? as u32) {
        return Err(Fault);
    }
    let all = fpu::components();
    let Some(components) = marked_components(image)? else {
        if all != 0 {
            fpu::load_fresh(all & !fpu::LEGACY);
        }
        return user::load_legacy_vectors(image);
    };
    if all & !components != 0 {
        fpu::load_fresh(all & !components);
    }
    user::load_vectors(image, components)
}

/// The components that an image in XSAVE format has; `None` if it is not marked as one.
fn marked_components(image: usize) -> Result<Option<u64>, Fault> {
    if fpu::components() == 0 {
        return Ok(None);
    }
    let marker: Marker = user::read(image.wrapping_add(RESERVED_AT))?;
    let is_image = marker.is_valid(fpu::size())
        && user::load_u32(image.wrapping_add(marker.image_bytes as usize))? == MAGIC_END;
    Ok(is_image.then_some(marker.components))
}
