// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The PVH start info (Xen's `arch-x86/hvm/start_info.h` describes the layout, version 1).

use zerocopy::FromBytes;

use super::{BootInfo, Protocol, boot_bytes, boot_text};

/// First word of the structure.
pub(super) const MAGIC: u32 = 0x336e_c578;
const MEMORY_USABLE: u32 = 1;
const COMMAND_LINE_LIMIT: usize = 4096;

#[derive(FromBytes)]
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    module_count: u32,
    modules_pa: u64,
    command_line_pa: u64,
    rsdp_pa: u64,
    memory_map_pa: u64,
    memory_map_count: u32,
    reserved: u32,
}

#[derive(FromBytes)]
#[repr(C)]
struct ModuleEntry {
    start: u64,
    len: u64,
    command_line_pa: u64,
    reserved: u64,
}

#[derive(FromBytes)]
#[repr(C)]
struct MemoryEntry {
    start: u64,
    len: u64,
    kind: u32,
    reserved: u32,
}

/// The entries of a table. Firmware may put it at any address: qboot has that of the modules on its stack.
fn entries<T: FromBytes>(pa: u64, count: u32) -> impl Iterator<Item = T> {
    let bytes = if count == 0 { &[] } else { boot_bytes(pa, count as usize * size_of::<T>()) };
    bytes.chunks_exact(size_of::<T>()).filter_map(|entry| T::read_from_bytes(entry).ok())
}

/// Reads the start info at a physical address.
pub(super) fn read(pa: u64) -> BootInfo {
    let start = StartInfo::read_from_bytes(boot_bytes(pa, size_of::<StartInfo>())).ok();
    let start = start.filter(|start| start.magic == MAGIC);
    let start = start.unwrap_or_else(|| panic!("no PVH start info at {pa:#x}"));
    let mut info = BootInfo::new(Protocol::Pvh);
    info.command_line = boot_text(start.command_line_pa, COMMAND_LINE_LIMIT);
    info.rsdp = (start.rsdp_pa != 0).then_some(start.rsdp_pa);
    for (index, module) in entries::<ModuleEntry>(start.modules_pa, start.module_count).enumerate() {
        // The first module needs no name, and qboot leaves the pointer to its text as it finds it in memory.
        let text = match index {
            0 => "",
            _ => boot_text(module.command_line_pa, COMMAND_LINE_LIMIT),
        };
        if !text.is_empty() {
            info.reserve(module.command_line_pa..module.command_line_pa + text.len() as u64);
        }
        info.add_module(module.start, module.len as usize, text);
    }
    for range in entries::<MemoryEntry>(start.memory_map_pa, start.memory_map_count) {
        if range.kind == MEMORY_USABLE {
            info.add_usable(range.start..range.start + range.len);
        }
    }
    // The command line stays referenced after the memory is handed out.
    info.reserve(start.command_line_pa..start.command_line_pa + COMMAND_LINE_LIMIT as u64);
    info
}
