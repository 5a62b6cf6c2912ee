// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unwind tables of mapped files, read at once for walks that cannot read files: those of a profile's interrupts.

use alloc::vec::Vec;

use hadal_mem::space::{Name, VmaInfo};
use hadal_unwind::{Object, Section};

use super::elf::{Module, Part};
use super::view;
use crate::process::Process;

/// Largest section that is read: the tables of the largest libraries have about 20 MiB.
const MAX_SECTION: u64 = 64 << 20;

/// An executable mapping with the unwind tables of its file; without them if it has none, or if memory is out.
pub fn object(process: &Process, vma: &VmaInfo) -> Object {
    let range = vma.start as u64..vma.end as u64;
    with_tables(process, vma).unwrap_or_else(|| Object::without_tables(range))
}

fn with_tables(process: &Process, vma: &VmaInfo) -> Option<Object> {
    let content = view::open_file(process, &vma.name)?;
    let offset = if matches!(vma.name, Name::Path(_)) { vma.offset } else { 0 };
    let module = Module::open(content, vma.start as u64, offset)?;
    let eh_frame = section(&module, module.eh_frame()?)?;
    let header = module.eh_frame_hdr.and_then(|part| section(&module, part));
    Object::new(vma.start as u64..vma.end as u64, eh_frame, header.as_ref())
}

fn section(module: &Module, part: Part) -> Option<Section> {
    let len = usize::try_from(part.len).ok().filter(|_| part.len <= MAX_SECTION)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 0);
    let address = part.address.wrapping_add(module.bias);
    module.read_file(part.offset, &mut bytes).then_some(Section { address, bytes })
}
