// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Placing the segments of an image in the program's window.

use alloc::string::String;
use alloc::sync::Arc;

use hadal_abi::machine::PIE_BASE_ADDRESS;
use hadal_hal::memory::user;
use hadal_mem::space::{
    Limits, MapBacking, MapRequest, Name, PAGE_SIZE, PageSource, Placement, Prot, SpaceError, VmaFlags,
};

use super::image::Segment;
use super::{ElfFile, StartError};
use crate::process::Process;
use crate::{Errno, filling};

/// What an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The program: a position-independent one goes where Linux puts it without randomisation.
    Program,
    /// The dynamic linker: anywhere.
    Interpreter,
}

/// Where an image has been placed.
pub(super) struct Placed {
    /// Address of its first page.
    pub(super) start: usize,
    /// Page after its last byte: where the break starts.
    pub(super) end: usize,
    /// What was added to its addresses.
    pub(super) bias: usize,
    /// Its first instruction.
    pub(super) entry: usize,
}

/// Maps all segments.
pub(super) fn place(process: &Process, elf: &ElfFile, kind: Kind) -> Result<Placed, StartError> {
    let image = &elf.image;
    let failed = |error| StartError::Map(elf.path.clone(), error);
    let start = if image.relocatable {
        reserve_anywhere(process, image.span(), image.align, kind).map_err(failed)?
    } else {
        reserve_at(process, image.start(), image.span()).map_err(failed)?
    };
    let bias = start.wrapping_sub(image.start());
    let unmappable = || StartError::Read(elf.path.clone(), Errno::ENODEV);
    let file = elf.file.file().map_err(|error| StartError::Read(elf.path.clone(), error))?;
    let source = file.clone().page_source().ok_or_else(unmappable)?;
    let name: Arc<str> = String::from_utf8_lossy(elf.file.location().path()).into();
    // What lies between the segments is not the program's.
    process.space().unmap(start, image.span()).map_err(failed)?;
    for segment in &image.segments {
        map_segment(process, segment, bias, &source, &name).map_err(failed)?;
        let (first, end) = (segment.first_page() + bias, segment.end_page() + bias);
        filling::fill(process, first, end - first);
    }
    Ok(Placed { start, end: start + image.span(), bias, entry: image.entry.wrapping_add(bias) })
}

/// Makes a mapping that the process's limits admit.
fn map(process: &Process, request: MapRequest) -> Result<usize, SpaceError> {
    process.space().map_within(request, None, Limits::mapped(process.mapping_limits()))
}

fn reserve(process: &Process, len: usize, placement: Placement) -> Result<usize, SpaceError> {
    let mut request = MapRequest::anonymous(len, Prot::empty());
    request.placement = placement;
    map(process, request)
}

fn reserve_at(process: &Process, start: usize, len: usize) -> Result<usize, SpaceError> {
    reserve(process, len, Placement::FixedNoReplace(start))
}

/// Finds a place for a position-independent image whose alignment may be larger than a page.
fn reserve_anywhere(process: &Process, len: usize, align: usize, kind: Kind) -> Result<usize, SpaceError> {
    if kind == Kind::Program {
        let preferred = (PIE_BASE_ADDRESS as usize).next_multiple_of(align);
        if let Ok(start) = reserve_at(process, preferred, len) {
            return Ok(start);
        }
    }
    let slack = align - PAGE_SIZE;
    let found = reserve(process, len + slack, Placement::Anywhere)?;
    let start = found.next_multiple_of(align);
    for (at, extra) in [(found, start - found), (start + len, found + slack - start)] {
        if extra > 0 {
            process.space().unmap(at, extra)?;
        }
    }
    Ok(start)
}

fn map_segment(
    process: &Process,
    segment: &Segment,
    bias: usize,
    source: &Arc<dyn PageSource>,
    name: &Arc<str>,
) -> Result<(), SpaceError> {
    let first = segment.first_page() + bias;
    let end = segment.end_page() + bias;
    let file_end = segment.address + bias + segment.file_len;
    let mut zero_from = first;
    if segment.file_len > 0 {
        let lead = segment.address % PAGE_SIZE;
        zero_from = file_end.next_multiple_of(PAGE_SIZE);
        let mut request = MapRequest::anonymous(zero_from - first, segment.prot);
        request.placement = Placement::Fixed(first);
        request.name = Name::Path(name.clone());
        request.backing =
            MapBacking::File { source: source.clone(), offset: segment.offset - lead as u64, shared: false };
        map(process, request)?;
        // The rest of the last file page starts as zeros, to the page's end: the dynamic linker allocates from there.
        if segment.memory_len > segment.file_len && segment.prot.contains(Prot::WRITE) {
            user::zero(file_end, zero_from - file_end).map_err(|_| SpaceError::Io)?;
        }
    }
    if end > zero_from {
        let mut request = MapRequest::anonymous(end - zero_from, segment.prot);
        request.placement = Placement::Fixed(zero_from);
        map(process, request)?;
    }
    Ok(())
}

/// The frames of a stack and other things that the loader maps itself.
pub(super) fn map_stack(process: &Process, start: usize, len: usize, prot: Prot) -> Result<(), SpaceError> {
    let mut request = MapRequest::anonymous(len, prot);
    request.placement = Placement::FixedNoReplace(start);
    request.flags = VmaFlags::STACK;
    request.name = Name::Static("[stack]");
    process.space().map(request)?;
    process.space().set_first_stack(len);
    Ok(())
}
