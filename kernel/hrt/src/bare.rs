// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bare slots: threads without libc, on stacks that the kernel maps.
//!
//! A stack is in the program's window with an unmapped page below it, and is filled by the CPU that touches it first, so from
//! the zone of the slot's CPU. Its top has what code compiled for Linux expects at FS: the block's own address, and the value
//! for stack protectors, the same as the creator's.

use core::sync::atomic::Ordering;

use hadal_hal::memory::{layout, user};
use hadal_hal::threads::context;
use hadal_hal::trap::{self, TrapFrame};
use hadal_hrt_abi::calls::SlotKind;
use hadal_hrt_abi::thread::THREAD_BARE;
use hadal_mem::space::{MapRequest, Name, PAGE_SIZE, Placement, ProgramSpace, Prot, VmaFlags};
use zerocopy::IntoBytes;

use crate::program::Program;
use crate::record;
use crate::slot::Kind;
use crate::status::{Code, Status, code};

/// Bytes at the top of a stack for the block that FS points to and the slot's kind.
const TOP_BYTES: usize = 256;
/// Where the block's own address is, twice, and the value for stack protectors (System V ABI, `tcbhead_t` of glibc).
const SELF: [usize; 2] = [0, 0x10];
const PROTECTOR: usize = 0x28;
/// Where the kind is, from the block on.
const KIND: usize = 0x80;

fn add<P: Program>(kind_address: usize, entry: usize) -> Result<(), Status> {
    let Kind(kind) = Kind::read(kind_address)?;
    if kind.bare != 1 {
        return Err(Status::Invalid);
    }
    if !layout::is_program(entry as u64) || entry < layout::PROGRAM_START {
        return Err(Status::BadAddress);
    }
    let creator = P::current();
    let space = creator.space();
    let size = kind.stack_bytes as usize;
    let bottom = map_stack(space, size).ok_or(Status::NoMemory)?;
    let block = bottom + size - TOP_BYTES;
    // A creator without the value has code without stack protectors.
    let protector = user::load_u64(context::fs_base() as usize + PROTECTOR).unwrap_or(0);
    let Ok(thread) = creator.spawn(begin::<P>, protector as usize, block as u64) else {
        // The addresses go back; there is nothing else to be done about a failure.
        let _ = space.unmap(bottom - PAGE_SIZE, size + PAGE_SIZE);
        return Err(Status::TryAgain);
    };
    let record = record::of(thread.id());
    record.home.store(None, Ordering::Relaxed);
    record.stack_bottom.store(bottom, Ordering::Relaxed);
    record.stack_top.store(bottom + size, Ordering::Relaxed);
    record.entry.store(entry, Ordering::Relaxed);
    record.place.store(kind.cpu, Ordering::Relaxed);
    record.flags.store(THREAD_BARE, Ordering::Relaxed);
    thread.bind(Some(kind.cpu as usize));
    thread.start_on(kind.cpu as usize);
    Ok(())
}

/// Maps a stack with a guard below; returns its lowest address.
fn map_stack(space: &ProgramSpace, size: usize) -> Option<usize> {
    let guard = space.map(MapRequest::anonymous(size + PAGE_SIZE, Prot::empty())).ok()?;
    let mut request = MapRequest::anonymous(size, Prot::READ | Prot::WRITE);
    request.placement = Placement::Fixed(guard + PAGE_SIZE);
    request.flags = VmaFlags::STACK;
    request.name = Name::Static("[stack:hrt]");
    match space.map(request) {
        Ok(bottom) => Some(bottom),
        Err(_) => {
            let _ = space.unmap(guard, size + PAGE_SIZE);
            None
        }
    }
}

/// First code of a bare slot, on its own CPU.
fn begin<P: Program>(protector: usize) -> ! {
    let record = record::own();
    let top = record.stack_top.load(Ordering::Relaxed);
    let block = top - TOP_BYTES;
    if write_top(block, protector, top - record.stack_bottom.load(Ordering::Relaxed)).is_err() {
        // Memory is out: the program is being ended for it.
        P::current().exit();
    }
    trap::enter_program(|| {
        let mut frame = TrapFrame::program(record.entry.load(Ordering::Relaxed) as u64, (block - 8) as u64);
        frame.rdi = (block + KIND) as u64;
        frame
    })
}

fn write_top(block: usize, protector: usize, size: usize) -> Result<(), user::Fault> {
    let cpu = record::own().place.load(Ordering::Relaxed);
    let kind = SlotKind { cpu, bare: 1, stack_bytes: size as u64 };
    for offset in SELF {
        user::store_u64(block + offset, block as u64)?;
    }
    user::store_u64(block + PROTECTOR, protector as u64)?;
    user::copy_to(block + KIND, kind.as_bytes())
}

/// `slot_add_bare`.
pub(crate) extern "C" fn slot_add_bare<P: Program>(kind: usize, entry: usize) -> Code {
    code(add::<P>(kind, entry))
}
