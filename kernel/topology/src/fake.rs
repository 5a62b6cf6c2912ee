// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processors and machines that there are not, for tests of this crate and of those that show what it finds.

use alloc::vec::Vec;

use raw_cpuid::CpuIdResult;

use crate::topology::{Cpu, Topology, Widths};

/// A CPU that answers with the given (leaf, subleaf, [eax, ebx, ecx, edx]) and zeros otherwise.
pub fn cpu(answers: &[(u32, u32, [u32; 4])]) -> impl Fn(u32, u32) -> CpuIdResult + use<> {
    let answers = answers.to_vec();
    move |leaf, subleaf| {
        let found = answers.iter().find(|answer| (answer.0, answer.1) == (leaf, subleaf));
        let [eax, ebx, ecx, edx] = found.map_or([0; 4], |answer| answer.2);
        CpuIdResult { eax, ebx, ecx, edx }
    }
}

/// The letters of `AuthenticAMD` in leaf 0 with the highest leaf given.
pub fn amd(highest: u32) -> (u32, u32, [u32; 4]) {
    (0, 0, [highest, 0x6874_7541, 0x444d_4163, 0x6974_6e65])
}

/// The letters of `GenuineIntel`.
pub fn intel(highest: u32) -> (u32, u32, [u32; 4]) {
    (0, 0, [highest, 0x756e_6547, 0x6c65_746e, 0x4965_6e69])
}

/// Two packages in two zones, two cores each, two threads each; the second package's APIC ids start at 8.
pub fn two_packages() -> Topology {
    let cpus = [0, 1, 2, 3, 8, 9, 10, 11].map(|apic_id| Cpu { apic_id, zone: (apic_id / 8) as usize });
    Topology::new(cpus.into(), 2, Widths { thread: 1, package: 3 }, Vec::new())
}
