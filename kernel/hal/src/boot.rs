// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the boot loader to `kernel_main`: one [`BootInfo`] whatever the protocol, so nothing later knows the loader.
//!
//! `boot/entry.rs` is the assembly (PVH and Multiboot2 enter at the same place), `boot/pvh.rs` and `boot/multiboot2.rs`
//! read what the loader left, and this file says which memory is free.

use arrayvec::ArrayVec;
use core::ops::Range;

use crate::memory::layout::{BOOT_MAPPED, KERNEL_BASE};

mod entry;
pub(crate) use entry::BOOT_STACK_SIZE as STACK_SIZE;
mod linux_start;
mod multiboot2;
mod pvh;
pub mod smp;

/// How the kernel was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Xen's PVH, as QEMU's `-kernel` and other VMMs speak it.
    Pvh,
    /// Multiboot2, as GRUB speaks it.
    Multiboot2,
}

/// Boot protocols give a few dozen ranges at most.
pub(crate) const MAX_RANGES: usize = 128;
/// The run configuration, an initial file system, and room for a program's own.
const MAX_MODULES: usize = 16;

/// A file that the boot loader placed in memory.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// The loader's text for it: a name by convention. Empty if there is none.
    pub text: &'static str,
    start: u64,
    len: usize,
}

impl Module {
    /// The module's content; it is never overwritten.
    pub fn bytes(&self) -> &'static [u8] {
        // SAFETY: `BootInfo::free_memory` leaves the module out, so nobody writes there, and it is in mapped memory.
        unsafe { crate::memory::phys::bytes(self.start, self.len) }
    }
}

/// A linear framebuffer that the firmware set up.
#[derive(Clone, Copy, Debug)]
pub struct Framebuffer {
    /// Physical address of the first pixel.
    pub pa: u64,
    /// Bytes from one line to the next.
    pub pitch: u32,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// Bits in a pixel.
    pub bits_per_pixel: u8,
    /// Bit positions of red, green and blue.
    pub rgb_positions: [u8; 3],
}

/// What the display shows at boot.
#[derive(Clone, Copy, Debug)]
pub enum Display {
    /// VGA text mode, 80 by 25.
    Text,
    /// A linear framebuffer.
    Pixels(Framebuffer),
}

/// What the boot loader said.
#[derive(Debug)]
pub struct BootInfo {
    /// How the kernel was loaded.
    pub protocol: Protocol,
    /// The kernel's command line.
    pub command_line: &'static str,
    /// Modules, in order.
    pub modules: ArrayVec<Module, MAX_MODULES>,
    /// Physical address of the ACPI root pointer, if the loader passed it.
    pub rsdp: Option<u64>,
    /// The display, if the loader knows one.
    pub display: Option<Display>,
    /// What lies in the kernel's own segment for a program.
    pub payload: Option<Module>,
    usable: ArrayVec<Range<u64>, MAX_RANGES>,
    reserved: ArrayVec<Range<u64>, MAX_RANGES>,
}

impl BootInfo {
    fn new(protocol: Protocol) -> Self {
        let mut info = Self {
            protocol,
            command_line: "",
            modules: ArrayVec::new(),
            rsdp: None,
            display: None,
            payload: None,
            usable: ArrayVec::new(),
            reserved: ArrayVec::new(),
        };
        // Firmware data, the start-up page of the other processors, and the VGA hole.
        info.reserve(0..1 << 20);
        info.reserve(image());
        info.payload = payload();
        if let Some(Module { start, len, .. }) = info.payload {
            info.reserve(start..start + len as u64);
        }
        info
    }

    fn reserve(&mut self, range: Range<u64>) {
        let page = range.start & !0xfff..(range.end + 0xfff) & !0xfff;
        self.reserved.push(page);
    }

    fn add_module(&mut self, start: u64, len: usize, text: &'static str) {
        self.reserve(start..start + len as u64);
        // More modules than anybody names are left alone, but stay reserved.
        let _ = self.modules.try_push(Module { text, start, len });
    }

    fn add_usable(&mut self, range: Range<u64>) {
        let _ = self.usable.try_push(range);
    }

    /// All RAM that the loader called usable, page-aligned inwards, whether something lies there or not.
    pub fn memory(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.usable
            .iter()
            .map(|range| (range.start + 0xfff) & !0xfff..range.end & !0xfff)
            .filter(|range| range.start < range.end)
    }

    /// Usable RAM without the kernel, the modules, the first mebibyte and the ledger of frames, in ascending order.
    pub fn free_memory(&self) -> ArrayVec<Range<u64>, MAX_RANGES> {
        let mut free: ArrayVec<Range<u64>, MAX_RANGES> = self.memory().collect();
        for hole in self.reserved.iter().chain(&crate::memory::frames::ledger::places()) {
            let mut cut = ArrayVec::new();
            for range in &free {
                let before = range.start..range.end.min(hole.start);
                let after = range.start.max(hole.end)..range.end;
                for part in [before, after] {
                    if part.start < part.end {
                        let _ = cut.try_push(part);
                    }
                }
            }
            free = cut;
        }
        free.sort_unstable_by_key(|range| range.start);
        free
    }

    /// Bytes of free memory that the boot page tables reach; page tables must come from there.
    pub fn is_boot_mapped(pa: u64) -> bool {
        pa < BOOT_MAPPED
    }
}

unsafe extern "C" {
    safe static __image_start: u8;
    safe static __kernel_end: u8;
    safe static __payload: u8;
}

/// Bytes from the payload's start to its length, a `u64` that is 0 without a payload.
const PAYLOAD_LEN_AT: usize = 8;

/// Physical range of the kernel image with its BSS.
fn image() -> Range<u64> {
    let end = core::ptr::from_ref(&__kernel_end) as usize - KERNEL_BASE;
    core::ptr::from_ref(&__image_start) as u64..end as u64
}

/// The segment that an image's maker fills: it starts with a magic and its length, both eight bytes.
fn payload() -> Option<Module> {
    let start = (core::ptr::from_ref(&__payload) as usize - KERNEL_BASE) as u64;
    let head = boot_bytes(start, PAYLOAD_LEN_AT + size_of::<u64>());
    let len = head[PAYLOAD_LEN_AT..].first_chunk().map_or(0, |len| u64::from_le_bytes(*len));
    (len > 0 && start.checked_add(len)? <= BOOT_MAPPED).then_some(Module {
        text: "",
        start,
        len: len as usize,
    })
}

/// Bytes of boot data at a physical address.
fn boot_bytes(pa: u64, len: usize) -> &'static [u8] {
    assert!(pa + len as u64 <= BOOT_MAPPED, "boot data at {pa:#x} is beyond the boot page tables");
    // SAFETY: the boot page tables map the range, and boot data is not written before free memory is handed out.
    unsafe { crate::memory::phys::bytes(pa, len) }
}

/// Reads what the firmware has left in memory, before the kernel uses any ([`crate::memory::frames::init`]); false for what the boot
/// page tables do not map, and for the kernel's own image.
pub fn read_firmware(pa: u64, buffer: &mut [u8]) -> bool {
    let own = image();
    let readable = |&end: &u64| end <= BOOT_MAPPED && (end <= own.start || pa >= own.end);
    let end = pa.checked_add(buffer.len() as u64).filter(readable);
    if end.is_none() || crate::memory::frames::ledger::is_made() {
        return false;
    }
    // SAFETY: the boot page tables map the range, and nothing of Rust is outside of the image yet.
    unsafe { crate::memory::phys::read(pa, buffer) };
    true
}

/// The text up to the first NUL at a physical address.
fn boot_text(pa: u64, limit: usize) -> &'static str {
    if pa == 0 {
        return "";
    }
    let bytes = boot_bytes(pa, limit);
    let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(limit);
    core::str::from_utf8(&bytes[..len]).unwrap_or("")
}
