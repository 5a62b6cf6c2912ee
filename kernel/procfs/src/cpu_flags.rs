// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of processor features, as the line `flags` of `/proc/cpuinfo` has them.

use alloc::string::String;

use hadal_topology::cpuid::{self, Read};

/// A register of a CPUID leaf.
#[derive(Clone, Copy)]
enum Word {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

/// Names of the bits of one register, from bit 0 on; `-` stands for one that is not shown.
struct Names {
    leaf: u32,
    subleaf: u32,
    word: Word,
    bits: &'static str,
}

const fn names(leaf: u32, subleaf: u32, word: Word, bits: &'static str) -> Names {
    Names { leaf, subleaf, word, bits }
}

impl Names {
    fn iter(&self) -> impl Iterator<Item = (usize, &'static str)> {
        self.bits.split_ascii_whitespace().enumerate().filter(|&(_, name)| name != "-")
    }
}

/// In the order in which Linux prints them. What the kernel does not use or switch for programs is left out, as
/// Linux leaves out what it has switched off: AMX, and page tables of five levels.
static FEATURES: &[Names] = &[
    names(
        1,
        0,
        Word::Edx,
        "fpu vme de pse tsc msr pae mce cx8 apic - sep mtrr pge mca cmov pat pse36 pn clflush - dts \
         acpi mmx fxsr sse sse2 ss ht tm - pbe",
    ),
    names(
        0x8000_0001,
        0,
        Word::Edx,
        "- - - - - - - - - - - syscall - - - - - - - - nx - mmxext - - fxsr_opt pdpe1gb rdtscp - lm \
         3dnowext 3dnow",
    ),
    names(0x8000_0007, 0, Word::Edx, "- - - - - - - - constant_tsc"),
    names(0x8000_0007, 0, Word::Edx, "- - - - - - - - nonstop_tsc"),
    names(
        1,
        0,
        Word::Ecx,
        "pni pclmulqdq - monitor ds_cpl vmx smx est tm2 ssse3 - sdbg fma cx16 xtpr pdcm - pcid dca \
         sse4_1 sse4_2 x2apic movbe popcnt tsc_deadline_timer aes xsave - avx f16c rdrand hypervisor",
    ),
    names(
        0x8000_0001,
        0,
        Word::Ecx,
        "lahf_lm cmp_legacy svm extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs xop \
         skinit wdt - lwp fma4 tce - - - tbm topoext perfctr_core perfctr_nb - bpext - perfctr_llc \
         mwaitx",
    ),
    names(
        7,
        0,
        Word::Ebx,
        "fsgsbase tsc_adjust - bmi1 hle avx2 - smep bmi2 erms invpcid rtm cqm - mpx rdt_a avx512f \
         avx512dq rdseed adx smap avx512ifma - clflushopt clwb intel_pt avx512pf avx512er avx512cd \
         sha_ni avx512bw avx512vl",
    ),
    names(0xd, 1, Word::Eax, "xsaveopt xsavec xgetbv1 xsaves"),
    names(7, 1, Word::Eax, "- - - - avx_vnni avx512_bf16"),
    names(0x8000_0008, 0, Word::Ebx, "clzero - - - - - - - - wbnoinvd"),
    names(6, 0, Word::Eax, "- - arat"),
    names(
        7,
        0,
        Word::Ecx,
        "- avx512vbmi umip pku ospke waitpkg avx512_vbmi2 - gfni vaes vpclmulqdq avx512_vnni \
         avx512_bitalg - avx512_vpopcntdq - - - - - - - rdpid - - cldemote - movdiri movdir64b",
    ),
    names(
        7,
        0,
        Word::Edx,
        "- - avx512_4vnniw avx512_4fmaps fsrm - - - avx512_vp2intersect - md_clear - - - serialize - \
         tsxldtrk - - - - - - avx512_fp16 - - - - flush_l1d arch_capabilities",
    ),
];

/// In ECX of leaf 1: the kernel has turned XSAVE on, so registers wider than SSE's are switched.
const OSXSAVE: u32 = 1 << 27;
/// Features that work only with XSAVE on, besides those whose names start with `avx`.
const NEED_XSAVE: [&str; 8] = ["fma", "f16c", "fma4", "xop", "vaes", "vpclmulqdq", "xsave", "pku"];

/// The names of all features, separated by spaces.
pub(super) fn line(read: Read<'_>) -> String {
    let has_xsave = cpuid::leaf(read, 1, 0).ecx & OSXSAVE != 0;
    let mut line = String::new();
    for names in FEATURES {
        let answer = cpuid::leaf(read, names.leaf, names.subleaf);
        let word = match names.word {
            Word::Eax => answer.eax,
            Word::Ebx => answer.ebx,
            Word::Ecx => answer.ecx,
            Word::Edx => answer.edx,
        };
        for (bit, name) in names.iter() {
            let usable = has_xsave || !(name.starts_with("avx") || NEED_XSAVE.contains(&name));
            if word >> bit & 1 == 1 && usable {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(name);
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_topology::fake;

    #[test]
    fn wide_registers_need_the_kernel() {
        let answers = |xsave: u32| [fake::intel(1), (1, 0, [0, 0, 1 << 28 | 1 | xsave, 1 | 1 << 25])];
        assert_eq!(line(&fake::cpu(&answers(0))), "fpu sse pni");
        assert_eq!(line(&fake::cpu(&answers(OSXSAVE))), "fpu sse pni avx");
    }

    #[test]
    fn names_are_unique() {
        let mut all: Vec<_> = FEATURES.iter().flat_map(Names::iter).map(|(_, name)| name).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_register_has_at_most_32_bits() {
        assert!(FEATURES.iter().all(|names| names.iter().all(|(bit, _)| bit < 32)));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn this_processor_has_what_all_have() {
        let line = line(&cpuid::native);
        for name in ["fpu", "cx8", "sse2", "lm"] {
            assert!(line.split(' ').any(|flag| flag == name), "{line}");
        }
    }
}
