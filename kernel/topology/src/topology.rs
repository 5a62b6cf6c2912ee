// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which CPUs are threads of the same core, cores of the same package, and neighbours in the same zone.
//!
//! An APIC id is a package number, a core number and a thread number one after the other; CPUID says how many bits each
//! has. CPUs here are by Hadal's (and so Linux's) number.

use alloc::vec::Vec;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu;
use hadal_mem::frames;
use spin::Once;

use crate::caches::{self, Cache};
use crate::cpuid::{self, Read};

/// Widths of the parts of an APIC id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Widths {
    /// Bits of the thread number.
    pub(crate) thread: u32,
    /// Bits of thread and core number: what follows is the package.
    pub(crate) package: u32,
}

impl Widths {
    /// What CPUID says.
    pub(crate) fn read(read: Read<'_>) -> Self {
        const EXTENDED_TOPOLOGY_V2: u32 = 0x1f;
        const EXTENDED_TOPOLOGY: u32 = 0xb;
        let usable = |leaf: &u32| cpuid::leaf(read, *leaf, 0).ebx & 0xffff != 0;
        match [EXTENDED_TOPOLOGY_V2, EXTENDED_TOPOLOGY].iter().find(|leaf| usable(leaf)) {
            Some(&leaf) => Self::by_levels(read, leaf),
            None => Self::by_counts(read),
        }
    }

    /// From the leaves that list the levels.
    fn by_levels(read: Read<'_>, leaf: u32) -> Self {
        const MAX_LEVELS: u32 = 8;
        const THREADS: u32 = 1;
        let mut widths = Self { thread: 0, package: 0 };
        for level in 0..MAX_LEVELS {
            let answer = read(leaf, level);
            let (kind, shift) = (answer.ecx >> 8 & 0xff, answer.eax & 0x1f);
            if kind == 0 {
                break;
            }
            if kind == THREADS {
                widths.thread = shift;
            }
            widths.package = widths.package.max(shift);
        }
        widths
    }

    /// From the numbers of threads and cores in a package.
    fn by_counts(read: Read<'_>) -> Self {
        let features = cpuid::leaf(read, 1, 0);
        let threads = if features.edx >> 28 & 1 == 1 { features.ebx >> 16 & 0xff } else { 1 };
        let cores = if cpuid::is_amd_like(read) {
            (cpuid::leaf(read, 0x8000_0008, 0).ecx & 0xff) + 1
        } else {
            (cpuid::leaf(read, 4, 0).eax >> 26) + 1
        };
        let package = cpuid::bits_for(threads).max(cpuid::bits_for(cores));
        Self { thread: package - cpuid::bits_for(cores), package }
    }
}

/// One CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Number of its local APIC.
    pub apic_id: u32,
    /// Its zone.
    pub zone: usize,
}

/// All CPUs with their caches.
#[derive(Clone, Debug)]
pub struct Topology {
    /// By number.
    pub cpus: Vec<Cpu>,
    /// Number of zones.
    pub zones: usize,
    /// The caches of a CPU, nearest first: all have the same.
    pub caches: Vec<Cache>,
    widths: Widths,
}

impl Topology {
    pub(crate) fn new(cpus: Vec<Cpu>, zones: usize, widths: Widths, caches: Vec<Cache>) -> Self {
        Self { cpus, zones, caches, widths }
    }

    /// This machine's; found when it is first asked for.
    pub fn get() -> &'static Self {
        static TOPOLOGY: Once<Topology> = Once::new();
        TOPOLOGY.call_once(|| {
            let frames = frames::global();
            let place =
                |cpu| Cpu { apic_id: percpu::apic_id(cpu), zone: usize::from(frames.cpu_zone(cpu).0) };
            let cpus = (0..cpu::count()).map(place).collect();
            Self::new(cpus, frames.zone_count(), Widths::read(&cpuid::native), caches::read(&cpuid::native))
        })
    }

    /// Number of CPUs.
    pub fn count(&self) -> usize {
        self.cpus.len()
    }

    /// Number of the package that a CPU is in.
    pub fn package(&self, cpu: usize) -> u32 {
        self.above(cpu, self.widths.package)
    }

    /// Number of a CPU in its core.
    pub fn thread(&self, cpu: usize) -> u32 {
        self.cpus[cpu].apic_id & !(u32::MAX.checked_shl(self.widths.thread).unwrap_or(0))
    }

    /// Number of the core in its package.
    pub fn core(&self, cpu: usize) -> u32 {
        let in_package = self.cpus[cpu].apic_id & !(u32::MAX.checked_shl(self.widths.package).unwrap_or(0));
        in_package.checked_shr(self.widths.thread).unwrap_or(0)
    }

    /// Whether two CPUs are threads of one core.
    pub fn same_core(&self, a: usize, b: usize) -> bool {
        self.share(a, b, self.widths.thread)
    }

    /// Whether two CPUs are in one package.
    pub fn same_package(&self, a: usize, b: usize) -> bool {
        self.share(a, b, self.widths.package)
    }

    /// Whether two CPUs use the same cache.
    pub fn same_cache(&self, cache: &Cache, a: usize, b: usize) -> bool {
        self.share(a, b, cache.shared_bits(self.widths))
    }

    /// The number of a CPU's cache among those of its level and kind.
    pub fn cache_id(&self, cache: &Cache, cpu: usize) -> u32 {
        self.above(cpu, cache.shared_bits(self.widths))
    }

    /// Number of CPUs in a package.
    pub fn threads_of_package(&self, cpu: usize) -> usize {
        (0..self.count()).filter(|&other| self.same_package(cpu, other)).count()
    }

    /// Number of cores in a package.
    pub fn cores_of_package(&self, cpu: usize) -> usize {
        let first_of_core = |other: usize| (0..other).all(|earlier| !self.same_core(earlier, other));
        (0..self.count()).filter(|&other| self.same_package(cpu, other) && first_of_core(other)).count()
    }

    fn above(&self, cpu: usize, bits: u32) -> u32 {
        self.cpus[cpu].apic_id.checked_shr(bits).unwrap_or(0)
    }

    fn share(&self, a: usize, b: usize, bits: u32) -> bool {
        self.above(a, bits) == self.above(b, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, two_packages};

    #[test]
    fn apic_ids_are_taken_apart() {
        let topology = two_packages();
        assert_eq!([0, 3, 4, 7].map(|cpu| topology.package(cpu)), [0, 0, 1, 1]);
        assert_eq!([0, 1, 2, 3, 4, 7].map(|cpu| topology.core(cpu)), [0, 0, 1, 1, 0, 1]);
        assert!(topology.same_core(4, 5) && !topology.same_core(3, 4) && topology.same_package(4, 7));
        assert_eq!((topology.threads_of_package(0), topology.cores_of_package(7)), (4, 2));
    }

    #[test]
    fn levels_give_the_widths() {
        let cpu = fake::cpu(&[fake::intel(0xb), (0xb, 0, [1, 2, 0x100, 0]), (0xb, 1, [4, 16, 0x201, 0])]);
        assert_eq!(Widths::read(&cpu), Widths { thread: 1, package: 4 });
    }

    #[test]
    fn counts_give_the_widths_of_old_processors() {
        let intel =
            fake::cpu(&[fake::intel(4), (1, 0, [0, 8 << 16, 0, 1 << 28]), (4, 0, [3 << 26, 0, 0, 0])]);
        assert_eq!(Widths::read(&intel), Widths { thread: 1, package: 3 });
        let alone = fake::cpu(&[fake::intel(1), (1, 0, [0; 4])]);
        assert_eq!(Widths::read(&alone), Widths { thread: 0, package: 0 });
        let amd = fake::cpu(&[
            fake::amd(1),
            (1, 0, [0, 4 << 16, 0, 1 << 28]),
            (0x8000_0000, 0, [0x8000_0008, 0, 0, 0]),
            (0x8000_0008, 0, [0, 0, 3, 0]),
        ]);
        assert_eq!(Widths::read(&amd), Widths { thread: 0, package: 2 });
    }
}
