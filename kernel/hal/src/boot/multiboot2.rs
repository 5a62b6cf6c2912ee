// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Multiboot2 information structure, through the `multiboot2` crate (specification 2.0, section 3.6).

use multiboot2::{BootInformation, BootInformationHeader, FramebufferType, MemoryAreaType};

use super::{BootInfo, Display, Framebuffer, Protocol};
use crate::memory::layout::DIRECT_MAP;

/// What the loader leaves in EAX.
pub(super) const MAGIC: u32 = multiboot2::MAGIC;

/// Reads the information structure at a physical address.
pub(super) fn read(pa: u64) -> BootInfo {
    let address = (DIRECT_MAP + pa as usize) as *const BootInformationHeader;
    // SAFETY: the loader passed the address of the structure, the boot page tables map it, and it is reserved below, so
    // it is never written.
    let loaded = unsafe { BootInformation::load(address) };
    let loader = match loaded {
        Ok(loader) => loader,
        Err(error) => panic!("Multiboot2 information at {pa:#x}: {error:?}"),
    };
    let mut info = BootInfo::new(Protocol::Multiboot2);
    info.reserve(pa..pa + loader.total_size() as u64);
    for module in loader.module_tags() {
        let (start, end) = (u64::from(module.start_address()), u64::from(module.end_address()));
        info.add_module(start, (end - start) as usize, module.cmdline().map_or("", for_ever));
    }
    if let Some(map) = loader.memory_map_tag() {
        for area in map.memory_areas() {
            if area.typ() == MemoryAreaType::Available {
                info.add_usable(area.start_address()..area.end_address());
            }
        }
    }
    info.rsdp = rsdp(&loader, pa);
    info.display = display(&loader);
    info.command_line = command_line(&loader);
    info
}

/// The loader passes a copy of the root pointer inside the tag; its physical address is what ACPI readers want.
fn rsdp(loader: &BootInformation<'_>, _pa: u64) -> Option<u64> {
    let copy = |tag: usize| Some((tag - DIRECT_MAP + 8) as u64);
    if let Some(tag) = loader.rsdp_v2_tag() {
        return copy(core::ptr::from_ref(tag) as *const u8 as usize);
    }
    loader.rsdp_v1_tag().and_then(|tag| copy(core::ptr::from_ref(tag) as *const u8 as usize))
}

fn display(loader: &BootInformation<'_>) -> Option<Display> {
    let tag = loader.framebuffer_tag()?.ok()?;
    match tag.buffer_type().ok()? {
        FramebufferType::Text => Some(Display::Text),
        FramebufferType::RGB { red, green, blue } => Some(Display::Pixels(Framebuffer {
            pa: tag.address(),
            pitch: tag.pitch(),
            width: tag.width(),
            height: tag.height(),
            bits_per_pixel: tag.bpp(),
            rgb_positions: [red.position, green.position, blue.position],
        })),
        FramebufferType::Indexed { .. } => None,
    }
}

fn command_line(loader: &BootInformation<'_>) -> &'static str {
    loader.command_line_tag().and_then(|tag| tag.cmdline().ok()).map_or("", for_ever)
}

/// A text of the information structure, with the lifetime that it has.
fn for_ever(text: &str) -> &'static str {
    // SAFETY: the text lies in the information structure, which is reserved and never written, so it lives for ever.
    unsafe { core::str::from_utf8_unchecked(core::slice::from_raw_parts(text.as_ptr(), text.len())) }
}
