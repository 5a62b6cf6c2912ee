// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The return from a handler: the frame that [`super::frame`] built, as the handler has left or edited it, becomes the
//! state of the thread again. Everything in it is checked or sanitised, since it lay in program memory.

use hadal_hal::cpu::fpu::{self, Packed};
use hadal_hal::memory::{layout, user};
use hadal_hal::threads::context;
use hadal_hal::trap::{self, TrapFrame};
use zerocopy::FromBytes;

use super::frame::{MAGIC_END, MAGIC_START, Marker, RESERVED_AT, SigFrame};
use super::info::{Info, code};
use super::number::SIGSEGV;
use super::{alt_stack, force, mask};
use crate::memory;
use crate::process::Process;
use crate::task::Task;

/// Bytes of the image that FXSAVE defines.
const LEGACY_BYTES: usize = 512;
/// Bytes of the header that follows in XSAVE format.
const HEADER_BYTES: usize = 64;
/// Where MXCSR is in it.
const MXCSR_AT: usize = 24;
/// Alignment of an image for FXRSTOR.
const LEGACY_ALIGN: usize = 16;
/// Alignment of an image in XSAVE format.
const STATE_ALIGN: usize = 64;
/// Components of the legacy part: x87 and SSE.
const LEGACY_COMPONENTS: u64 = 0b11;

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
    let address = frame.rsp.wrapping_sub(size_of::<u64>() as u64);
    let saved: SigFrame = memory::read(address as usize).map_err(|_| BadFrame)?;
    let registers = &saved.context.registers;
    if !layout::is_program(registers.rip) && !trap::is_return_of_call(registers.rip) {
        return Err(BadFrame);
    }
    let mut vectors = Packed::new();
    if registers.vectors != 0 {
        read_vectors(registers.vectors as usize, &mut vectors)?;
    }
    context::with_vectors(task.thread().context(), |state| match registers.vectors {
        0 => state.reset(),
        _ => state.unpack(&vectors),
    });
    registers.restore(frame);
    // A stack that cannot be set is not set, as on Linux: the program may have edited the frame or be on it still.
    let _ = alt_stack::set(task, saved.context.stack, frame.rsp);
    mask::set(task, process, saved.context.mask);
    Ok(())
}

/// Reads the vector state at an address. What the program's image lacks is in its initial state.
fn read_vectors(address: usize, vectors: &mut Packed) -> Result<(), BadFrame> {
    let read = |at: usize, bytes: &mut [u8]| user::copy_from(bytes, address + at).map_err(|_| BadFrame);
    let mut head = [0; LEGACY_BYTES + HEADER_BYTES];
    read(0, &mut head[..LEGACY_BYTES])?;
    if !fpu::is_mxcsr(word(&head, MXCSR_AT) as u32) {
        return Err(BadFrame);
    }
    let size = fpu::size();
    if size < head.len() {
        return vectors.read(&head[..LEGACY_BYTES], 0, LEGACY_BYTES, read);
    }
    if !address.is_multiple_of(LEGACY_ALIGN) {
        return Err(BadFrame);
    }
    let (mut components, mut end) = (LEGACY_COMPONENTS, head.len());
    if let Some(marker) = marker(&head, size)
        && user::load_u32(address + marker.image_bytes as usize) == Ok(MAGIC_END)
    {
        read(LEGACY_BYTES, &mut head[LEGACY_BYTES..])?;
        if !address.is_multiple_of(STATE_ALIGN) || !is_header(&head, fpu::components()) {
            return Err(BadFrame);
        }
        components = word(&head, LEGACY_BYTES) & marker.components;
        end = marker.image_bytes as usize;
    }
    vectors.read(&head, components, end, read)
}

/// The marker of an XSAVE image that fits into `size` bytes, if the image has one.
fn marker(image: &[u8], size: usize) -> Option<Marker> {
    let (marker, _) = Marker::read_from_prefix(&image[RESERVED_AT..]).ok()?;
    let end = marker.image_bytes as usize;
    let fits = (LEGACY_BYTES + HEADER_BYTES..=size).contains(&end) && marker.extended_bytes as usize > end;
    (marker.magic == MAGIC_START && fits).then_some(marker)
}

/// Whether XRSTOR would take the header of an image: XSTATE_BV names only components that are enabled, the format is the
/// standard one, and the next word is 0 (Intel SDM vol. 1, 13.8).
fn is_header(image: &[u8], enabled: u64) -> bool {
    let [components, compaction, reserved] = [0, 8, 16].map(|at| word(image, LEGACY_BYTES + at));
    components & !enabled == 0 && compaction == 0 && reserved == 0
}

/// Eight bytes of an image.
fn word(image: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&image[at..at + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(magic: u32, extended: u32, bytes: u32) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[RESERVED_AT..RESERVED_AT + 4].copy_from_slice(&magic.to_le_bytes());
        image[RESERVED_AT + 4..RESERVED_AT + 8].copy_from_slice(&extended.to_le_bytes());
        image[RESERVED_AT + 16..RESERVED_AT + 20].copy_from_slice(&bytes.to_le_bytes());
        image
    }

    #[test]
    fn markers_are_believed_only_if_they_fit() {
        assert!(marker(&image(MAGIC_START, 836, 832), 832).is_some());
        assert!(marker(&image(MAGIC_START, 836, 832), 800).is_none(), "longer than the kernel's image");
        assert!(marker(&image(MAGIC_START, 600, 500), 832).is_none(), "no room for a header");
        assert!(marker(&image(MAGIC_START, 832, 832), 832).is_none(), "no end mark");
        assert!(marker(&image(1, 836, 832), 832).is_none());
    }

    #[test]
    fn headers_are_refused_that_the_processor_would() {
        let header = |words: [u64; 3]| {
            let mut image = vec![0; 1024];
            for (index, word) in words.iter().enumerate() {
                image[LEGACY_BYTES + 8 * index..][..8].copy_from_slice(&word.to_le_bytes());
            }
            is_header(&image, 0b111)
        };
        assert!(header([0b101, 0, 0]) && header([0, 0, 0]));
        assert!(!header([0b1000, 0, 0]), "a component that is not enabled");
        assert!(!header([0b1, 1 << 63 | 1, 0]), "the compacted format");
        assert!(!header([0b1, 0, 1]), "a reserved word");
    }
}
