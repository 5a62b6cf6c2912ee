// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one address-space map (decision 0002): numbers that the linker script, the boot code and the page tables share.
//!
//! ```text
//! 0000_0000_0000_0000  64 KiB never mapped
//! 0000_0000_0001_0000  the program's window
//! 0000_7fff_ffff_f000  its end
//! ffff_8000_0000_0000  direct map of physical memory (64 TiB)
//! ffff_c000_0000_0000  device memory, uncached (64 TiB)
//! ffff_ffff_8000_0000  the kernel image (physical 0 + this)
//! ```

/// Lowest address a program may map.
pub const PROGRAM_START: usize = 0x1_0000;
/// First address past the program's window.
pub const PROGRAM_END: usize = 0x7fff_ffff_f000;
/// Virtual address of physical address 0 in the direct map.
pub const DIRECT_MAP: usize = 0xffff_8000_0000_0000;
/// Size of the direct map in bytes: physical memory beyond it is not used.
pub const DIRECT_MAP_SIZE: u64 = 1 << 46;
/// Virtual address of physical address 0 in the uncached device map.
pub const DEVICE_MAP: usize = 0xffff_c000_0000_0000;
/// Virtual minus physical address of the kernel image.
pub const KERNEL_BASE: usize = 0xffff_ffff_8000_0000;
/// Physical memory that the boot page tables map, in bytes.
pub const BOOT_MAPPED: u64 = 4 << 30;
/// Physical page that the application processors start on.
pub const TRAMPOLINE_PA: u64 = 0x8000;
/// Bytes in a base page.
pub const PAGE_SIZE: usize = 4096;

/// Bits of an address in program memory's half that are not always 0.
pub const PROGRAM_BITS: u32 = 47;

/// Whether an address is in program memory's half.
pub const fn is_program(address: u64) -> bool {
    address < 1 << PROGRAM_BITS
}

/// Whether the processor takes a word for an address: its upper 17 bits are alike.
pub const fn is_canonical(address: u64) -> bool {
    (address as i64) << 16 >> 16 == address as i64
}
