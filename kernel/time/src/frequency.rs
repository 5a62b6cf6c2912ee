// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frequency of the time-stamp counter as CPUID states it.

/// The registers that CPUID fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers {
    /// Register EAX.
    pub eax: u32,
    /// Register EBX.
    pub ebx: u32,
    /// Register ECX.
    pub ecx: u32,
    /// Register EDX.
    pub edx: u32,
}

/// A frequency from CPUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// From the hypervisor's timing leaf, 0x40000010.
    Hypervisor(u64),
    /// From the ratio to the crystal, leaf 0x15.
    Crystal(u64),
    /// The nominal frequency of the processor, leaf 0x16: right to about a percent.
    Nominal(u64),
}

const LEAF_FEATURES: u32 = 1;
const LEAF_CRYSTAL: u32 = 0x15;
const LEAF_NOMINAL: u32 = 0x16;
const LEAF_HYPERVISOR: u32 = 0x4000_0000;
const LEAF_HYPERVISOR_TIMING: u32 = 0x4000_0010;
/// Leaves of the hypervisor lie below this; a higher maximum is not one.
const LEAF_HYPERVISOR_END: u32 = 0x4000_0100;
const FEATURE_HYPERVISOR: u32 = 1 << 31;

/// No x86-64 processor counts slower or faster than this; what is outside is a leaf that means something
/// else.
pub const PLAUSIBLE_HZ: core::ops::RangeInclusive<u64> = 100_000_000..=20_000_000_000;

/// Reads the frequency from the leaves that this machine has; `cpuid` executes the instruction for one leaf.
pub fn stated(cpuid: impl Fn(u32) -> Registers) -> Option<Stated> {
    hypervisor(&cpuid).or_else(|| processor(&cpuid))
}

fn plausible(hz: u64) -> Option<u64> {
    PLAUSIBLE_HZ.contains(&hz).then_some(hz)
}

fn hypervisor(cpuid: &impl Fn(u32) -> Registers) -> Option<Stated> {
    if cpuid(LEAF_FEATURES).ecx & FEATURE_HYPERVISOR == 0 {
        return None;
    }
    let last = cpuid(LEAF_HYPERVISOR).eax;
    if !(LEAF_HYPERVISOR_TIMING..LEAF_HYPERVISOR_END).contains(&last) {
        return None;
    }
    let khz = cpuid(LEAF_HYPERVISOR_TIMING).eax;
    plausible(u64::from(khz) * 1000).map(Stated::Hypervisor)
}

fn processor(cpuid: &impl Fn(u32) -> Registers) -> Option<Stated> {
    let last = cpuid(0).eax;
    if last < LEAF_CRYSTAL {
        return None;
    }
    let ratio = cpuid(LEAF_CRYSTAL);
    if ratio.ecx != 0
        && let Some(hz) = (u64::from(ratio.ecx) * u64::from(ratio.ebx)).checked_div(ratio.eax.into())
        && let Some(hz) = plausible(hz)
    {
        return Some(Stated::Crystal(hz));
    }
    if last < LEAF_NOMINAL {
        return None;
    }
    let mhz = cpuid(LEAF_NOMINAL).eax & 0xffff;
    plausible(u64::from(mhz) * 1_000_000).map(Stated::Nominal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(leaves: &[(u32, [u32; 4])]) -> Option<Stated> {
        stated(|leaf| {
            let found = leaves.iter().find(|(number, _)| *number == leaf);
            let [eax, ebx, ecx, edx] = found.map_or([0; 4], |(_, registers)| *registers);
            Registers { eax, ebx, ecx, edx }
        })
    }

    const HYPERVISOR: (u32, [u32; 4]) = (1, [0, 0, 1 << 31, 0]);

    #[test]
    fn hypervisor_leaf_comes_first() {
        let crystal = (0x15, [2, 216, 24_000_000, 0]);
        let timing = [(0x4000_0000, [0x4000_0010, 0, 0, 0]), (0x4000_0010, [2_500_000, 1_000_000, 0, 0])];
        let basic = (0, [0x16, 0, 0, 0]);
        let all = [basic, HYPERVISOR, timing[0], timing[1], crystal];
        assert_eq!(machine(&all), Some(Stated::Hypervisor(2_500_000_000)));
        assert_eq!(machine(&[basic, timing[0], timing[1], crystal]), Some(Stated::Crystal(2_592_000_000)));
    }

    #[test]
    fn leaves_beyond_the_maximum_are_not_read() {
        let timing = (0x4000_0010, [2_500_000, 0, 0, 0]);
        assert_eq!(machine(&[HYPERVISOR, (0x4000_0000, [0x4000_0001, 0, 0, 0]), timing]), None);
        assert_eq!(machine(&[HYPERVISOR, (0x4000_0000, [u32::MAX, 0, 0, 0]), timing]), None);
        assert_eq!(machine(&[(0, [0x14, 0, 0, 0]), (0x15, [2, 216, 24_000_000, 0])]), None);
    }

    #[test]
    fn incomplete_leaves() {
        let basic = (0, [0x16, 0, 0, 0]);
        let nominal = (0x16, [0xabcd_0000 + 3000, 0, 0, 0]);
        // The crystal's frequency is not stated: the nominal frequency is all there is.
        assert_eq!(machine(&[basic, (0x15, [2, 250, 0, 0]), nominal]), Some(Stated::Nominal(3_000_000_000)));
        assert_eq!(machine(&[basic, (0x15, [0, 250, 24_000_000, 0])]), None);
        assert_eq!(machine(&[basic, (0x15, [1, 1, 1, 0])]), None);
        assert_eq!(machine(&[basic]), None);
        assert_eq!(machine(&[]), None);
    }
}
