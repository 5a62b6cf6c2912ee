// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The root system description pointer: where the list of all tables is.
//!
//! PVH hands over its address ([`Rsdp::read`]), Multiboot2 a copy of it ([`Rsdp::parse`]); on a BIOS machine
//! without either it is found by [`Rsdp::scan`]. [`crate::Tables`] is opened from the result.

use crate::PhysicalMemory;
use crate::table::sum_of;

const SIGNATURE: &[u8; 8] = b"RSD PTR ";
/// Length of the ACPI 1.0 structure, which the first checksum covers.
const LENGTH_V1: usize = 20;
/// Length from ACPI 2.0 on, which the extended checksum covers.
const LENGTH_V2: usize = 36;
/// The real-mode segment of the extended BIOS data area is stored here.
const EBDA_SEGMENT_PA: u64 = 0x40e;
const EBDA_SEARCH_BYTES: u64 = 1024;
const BIOS_AREA: core::ops::Range<u64> = 0xe_0000..0x10_0000;
/// The structure is aligned to this.
const ALIGNMENT: usize = 16;

/// The two roots that the pointer can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rsdp {
    /// Physical address of the table of 32-bit pointers; 0 when absent.
    pub rsdt_pa: u32,
    /// Physical address of the table of 64-bit pointers; 0 when absent.
    pub xsdt_pa: u64,
}

impl Rsdp {
    /// Checks and decodes the bytes of the structure; more bytes than its length are ignored.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let v1 = bytes.get(..LENGTH_V1)?;
        if &v1[..8] != SIGNATURE || sum_of(v1) != 0 {
            return None;
        }
        let rsdt_pa = u32::from_le_bytes(v1[16..20].try_into().ok()?);
        let revision = v1[15];
        let xsdt_pa = match bytes.get(..LENGTH_V2) {
            Some(v2) if revision >= 2 && sum_of(v2) == 0 => u64::from_le_bytes(v2[24..32].try_into().ok()?),
            _ => 0,
        };
        (rsdt_pa != 0 || xsdt_pa != 0).then_some(Self { rsdt_pa, xsdt_pa })
    }

    /// Reads the structure at physical address `pa`.
    pub fn read(memory: &dyn PhysicalMemory, pa: u64) -> Option<Self> {
        let mut bytes = [0; LENGTH_V2];
        if memory.read(pa, &mut bytes) {
            return Self::parse(&bytes);
        }
        let mut bytes = [0; LENGTH_V1];
        if memory.read(pa, &mut bytes) { Self::parse(&bytes) } else { None }
    }

    /// Looks for the structure where a BIOS leaves it: the extended BIOS data area, then the BIOS area.
    pub fn scan(memory: &dyn PhysicalMemory) -> Option<Self> {
        let mut segment = [0; 2];
        if memory.read(EBDA_SEGMENT_PA, &mut segment) {
            let ebda = u64::from(u16::from_le_bytes(segment)) << 4;
            if ebda != 0
                && let Some(found) = scan_range(memory, ebda, ebda + EBDA_SEARCH_BYTES)
            {
                return Some(found);
            }
        }
        scan_range(memory, BIOS_AREA.start, BIOS_AREA.end)
    }
}

fn scan_range(memory: &dyn PhysicalMemory, start: u64, end: u64) -> Option<Rsdp> {
    const CHUNK: usize = 512;
    let mut chunk = [0; CHUNK];
    for pa in (start..end).step_by(CHUNK) {
        if !memory.read(pa, &mut chunk) {
            continue;
        }
        for (offset, candidate) in chunk.chunks_exact(ALIGNMENT).enumerate() {
            if candidate.starts_with(SIGNATURE)
                && let Some(found) = Rsdp::read(memory, pa + (offset * ALIGNMENT) as u64)
            {
                return Some(found);
            }
        }
    }
    None
}
