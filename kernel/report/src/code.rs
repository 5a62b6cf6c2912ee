// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unwind tables of mapped files, read at once for walks that cannot read files: those of a profile's interrupts.

use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_linux::process::Process;
use hadal_mem::space::{Name, VmaInfo};
use hadal_unwind::{Section, Tables};

use crate::elf::{Module, Part};
use crate::view;

/// Largest section that is read: the tables of the largest libraries have about 20 MiB.
const MAX_SECTION: u64 = 64 << 20;

/// The unwind tables of the file behind an executable mapping, if they take no more memory than `room` bytes; `None` if it has
/// none, or if memory is short.
pub fn unwind_tables(process: &Process, vma: &VmaInfo, room: usize) -> Option<Tables> {
    let content = view::open_file(process, &vma.name)?;
    let offset = if matches!(vma.name, Name::Path(_)) { vma.offset } else { 0 };
    let module = Module::open(content, vma.start as u64, offset)?;
    let part = module.eh_frame().filter(|part| part.len <= room as u64)?;
    let eh_frame = section(&module, part)?;
    let header = module.eh_frame_hdr.and_then(|part| section(&module, part));
    // The index has 16 bytes for each function, which has at least 16 bytes in the section, or 8 in the header. It grows by
    // doubling.
    let listed_bytes = header.as_ref().map_or(0, |header| 2 * header.bytes.len());
    fallible::admit(2 * listed_bytes.max(eh_frame.bytes.len())).ok()?;
    Tables::new(eh_frame, header.as_ref()).filter(|tables| tables.memory_bytes() <= room)
}

fn section(module: &Module, part: Part) -> Option<Section> {
    let len = usize::try_from(part.len).ok().filter(|_| part.len <= MAX_SECTION)?;
    let mut bytes: Vec<u8> = fallible::filled(0, len).ok()?;
    let address = part.address.wrapping_add(module.bias);
    module.read_file(part.offset, &mut bytes).then_some(Section { address, bytes })
}
