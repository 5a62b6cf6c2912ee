// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUID, as far as more than one reader needs it (Intel SDM vol. 2, CPUID; AMD APM vol. 3, appendix E).

use alloc::string::String;

use raw_cpuid::CpuIdResult;

/// Reads a leaf and subleaf: the instruction, or what a test gives.
pub type Read<'a> = &'a dyn Fn(u32, u32) -> CpuIdResult;

/// The calling CPU. All CPUs of a machine say the same, but for their APIC ids.
pub fn native(leaf: u32, subleaf: u32) -> CpuIdResult {
    raw_cpuid::native_cpuid::cpuid_count(leaf, subleaf)
}

/// First of the leaves that AMD defined.
const EXTENDED: u32 = 0x8000_0000;

/// Whether a leaf exists.
pub fn has(read: Read<'_>, leaf: u32) -> bool {
    let highest = read(leaf & EXTENDED, 0).eax;
    // A CPU without extended leaves may answer for the highest basic leaf instead.
    highest >= leaf && highest & EXTENDED == leaf & EXTENDED
}

/// A leaf, or zeros if it does not exist.
pub fn leaf(read: Read<'_>, leaf: u32, subleaf: u32) -> CpuIdResult {
    if has(read, leaf) { read(leaf, subleaf) } else { CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 } }
}

/// The vendor's twelve letters.
pub fn vendor(read: Read<'_>) -> String {
    let CpuIdResult { ebx, ecx, edx, .. } = read(0, 0);
    text(&[ebx, edx, ecx])
}

/// Whether the CPU follows AMD where AMD and Intel differ.
pub fn is_amd_like(read: Read<'_>) -> bool {
    matches!(vendor(read).as_str(), "AuthenticAMD" | "HygonGenuine")
}

/// Registers that hold text, up to the first NUL.
pub fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.take_while(|&byte| byte != 0).map(char::from).collect()
}

/// Number of bits that `count` different values need.
pub fn bits_for(count: u32) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn leaves_that_do_not_exist_are_zero() {
        let cpu = fake::cpu(&[fake::amd(1), (1, 0, [1; 4]), (2, 0, [2; 4])]);
        assert_eq!(vendor(&cpu), "AuthenticAMD");
        assert!(is_amd_like(&cpu));
        assert_eq!(leaf(&cpu, 1, 0).eax, 1);
        assert_eq!(leaf(&cpu, 2, 0).eax, 0);
        assert!(!has(&cpu, 0x8000_0001));
    }

    #[test]
    fn bits_are_rounded_up() {
        assert_eq!([0, 1, 2, 3, 4, 5, 255].map(bits_for), [0, 0, 1, 2, 2, 3, 8]);
    }
}
