// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The caches of a CPU, from CPUID.

use alloc::vec::Vec;

use crate::cpuid::{self, Read};
use crate::topology::Widths;

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// Who uses a cache together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// CPUs whose APIC ids differ in this many low bits only.
    Bits(u32),
    /// The threads of a core.
    Core,
    /// The CPUs of a package.
    Package,
}

/// One cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is the nearest.
    pub level: u32,
    /// What it holds.
    pub kind: Kind,
    /// Associativity.
    pub ways: u32,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Sets of lines.
    pub sets: u32,
    /// Physical line partitions.
    pub partitions: u32,
    pub(crate) sharing: Sharing,
}

impl Cache {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.ways) * u64::from(self.line_bytes) * u64::from(self.sets) * u64::from(self.partitions)
    }

    /// How many low bits of the APIC ids of its users may differ.
    pub(crate) fn shared_bits(&self, widths: Widths) -> u32 {
        match self.sharing {
            Sharing::Bits(bits) => bits,
            Sharing::Core => widths.thread,
            Sharing::Package => widths.package,
        }
    }
}

const DETERMINISTIC_INTEL: u32 = 4;
const DETERMINISTIC_AMD: u32 = 0x8000_001d;
const FEATURES_AMD: u32 = 0x8000_0001;
/// In ECX of [`FEATURES_AMD`].
const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;

/// All caches, in the order of their index in `/sys`.
pub(crate) fn read(read: Read<'_>) -> Vec<Cache> {
    let amd = cpuid::is_amd_like(read);
    if amd && cpuid::leaf(read, FEATURES_AMD, 0).ecx & TOPOLOGY_EXTENSIONS != 0 {
        return deterministic(read, DETERMINISTIC_AMD);
    }
    let caches = deterministic(read, DETERMINISTIC_INTEL);
    if amd && caches.is_empty() { legacy_amd(read) } else { caches }
}

/// The leaves that describe one cache in each subleaf.
fn deterministic(read: Read<'_>, leaf: u32) -> Vec<Cache> {
    const MAX_CACHES: u32 = 16;
    let mut caches = Vec::new();
    for index in 0..MAX_CACHES {
        let answer = cpuid::leaf(read, leaf, index);
        let kind = match answer.eax & 0x1f {
            1 => Kind::Data,
            2 => Kind::Instruction,
            3 => Kind::Unified,
            _ => break,
        };
        caches.push(Cache {
            level: answer.eax >> 5 & 7,
            kind,
            ways: (answer.ebx >> 22) + 1,
            line_bytes: (answer.ebx & 0xfff) + 1,
            sets: answer.ecx.saturating_add(1),
            partitions: (answer.ebx >> 12 & 0x3ff) + 1,
            sharing: Sharing::Bits(cpuid::bits_for((answer.eax >> 14 & 0xfff) + 1)),
        });
    }
    caches
}

/// The leaves that older AMD processors, and emulators of them, have.
fn legacy_amd(read: Read<'_>) -> Vec<Cache> {
    let first = cpuid::leaf(read, 0x8000_0005, 0);
    let others = cpuid::leaf(read, 0x8000_0006, 0);
    let mut caches = Vec::new();
    let mut add = |level, kind, bytes: u64, ways: u32, line_bytes: u32, sharing| {
        if bytes > 0 && ways > 0 && line_bytes > 0 {
            let sets = (bytes / u64::from(ways) / u64::from(line_bytes)) as u32;
            caches.push(Cache { level, kind, ways, line_bytes, sets, partitions: 1, sharing });
        }
    };
    for (word, kind) in [(first.ecx, Kind::Data), (first.edx, Kind::Instruction)] {
        let bytes = u64::from(word >> 24) << 10;
        let ways = match word >> 16 & 0xff {
            // Fully associative: one set.
            0xff => (bytes / u64::from((word & 0xff).max(1))) as u32,
            ways => ways,
        };
        add(1, kind, bytes, ways, word & 0xff, Sharing::Core);
    }
    let second = others.ecx;
    add(2, Kind::Unified, u64::from(second >> 16) << 10, ways_of_code(second), second & 0xff, Sharing::Core);
    let third = others.edx;
    add(3, Kind::Unified, u64::from(third >> 18) << 19, ways_of_code(third), third & 0xff, Sharing::Package);
    caches
}

/// The four bits that stand for the associativity of levels 2 and 3.
fn ways_of_code(word: u32) -> u32 {
    match word >> 12 & 0xf {
        code @ 1..=4 => code,
        5 => 6,
        6 => 8,
        8 => 16,
        0xa => 32,
        0xb => 48,
        0xc => 64,
        0xd => 96,
        0xe => 128,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn intel_caches_are_read_in_order() {
        let cpu = fake::cpu(&[
            fake::intel(4),
            (4, 0, [0x0400_0121, 0x01c0_003f, 63, 0]),
            (4, 1, [0x0400_0122, 0x01c0_003f, 63, 0]),
            (4, 2, [0x0400_0143, 0x03c0_003f, 4095, 0]),
            (4, 3, [0x0403_c163, 0x03c0_003f, 16383, 0]),
        ]);
        let caches = read(&cpu);
        let sizes: Vec<_> = caches.iter().map(|cache| (cache.level, cache.bytes() >> 10)).collect();
        assert_eq!(sizes, [(1, 32), (1, 32), (2, 4096), (3, 16384)]);
        assert_eq!(caches[1].kind, Kind::Instruction);
        assert_eq!((caches[0].sharing, caches[3].sharing), (Sharing::Bits(0), Sharing::Bits(4)));
    }

    #[test]
    fn old_amd_caches_are_read() {
        let cpu = fake::cpu(&[
            fake::amd(1),
            (0x8000_0000, 0, [0x8000_0008, 0, 0, 0]),
            (0x8000_0005, 0, [0, 0, 0x4002_0140, 0x4002_0140]),
            (0x8000_0006, 0, [0, 0, 0x0200_8140, 0x0080_8140]),
        ]);
        let caches = read(&cpu);
        let sizes: Vec<_> =
            caches.iter().map(|cache| (cache.level, cache.ways, cache.bytes() >> 10)).collect();
        assert_eq!(sizes, [(1, 2, 64), (1, 2, 64), (2, 16, 512), (3, 16, 16384)]);
        let widths = Widths { thread: 1, package: 3 };
        assert_eq!((caches[2].shared_bits(widths), caches[3].shared_bits(widths)), (1, 3));
    }

    #[test]
    fn no_caches_are_an_empty_list() {
        assert!(read(&fake::cpu(&[fake::intel(1)])).is_empty());
    }
}
