// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/cpuinfo`.

use alloc::string::String;
use core::fmt::{self, Write};

use hadal_topology::Topology;
use hadal_topology::cpuid::{self, Read};

use crate::cpu_flags;

/// Bits of an address with page tables of four levels, which is what the kernel uses.
const VIRTUAL_BITS: u32 = 48;

pub(super) fn text() -> String {
    render(Topology::get(), &cpuid::native, hadal_time::tsc_hz())
}

/// Thousandths, as a number with three digits behind the point.
struct Thousandths(u64);

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// What all CPUs have in common.
struct Model {
    vendor: String,
    family: u32,
    model: u32,
    stepping: u32,
    name: String,
    /// The highest basic CPUID leaf.
    level: u32,
    line_bytes: u32,
    physical_bits: u32,
    virtual_bits: u32,
    flags: String,
}

impl Model {
    fn read(read: Read<'_>) -> Self {
        let signature = cpuid::leaf(read, 1, 0);
        let (base_family, base_model) = (signature.eax >> 8 & 0xf, signature.eax >> 4 & 0xf);
        let family = base_family + if base_family == 0xf { signature.eax >> 20 & 0xff } else { 0 };
        let extends = base_family == 0xf || base_family == 6;
        let model = base_model | if extends { (signature.eax >> 16 & 0xf) << 4 } else { 0 };
        let sizes = cpuid::leaf(read, 0x8000_0008, 0).eax;
        let named = cpuid::has(read, 0x8000_0004);
        let name: String = if named {
            let part = |leaf| {
                let answer = read(leaf, 0);
                [answer.eax, answer.ebx, answer.ecx, answer.edx]
            };
            cpuid::text([0x8000_0002, 0x8000_0003, 0x8000_0004].map(part).as_flattened())
        } else {
            String::from("unknown")
        };
        Self {
            vendor: cpuid::vendor(read),
            family,
            model,
            stepping: signature.eax & 0xf,
            name: String::from(name.trim()),
            level: read(0, 0).eax,
            line_bytes: (signature.ebx >> 8 & 0xff) * 8,
            physical_bits: if sizes == 0 { 36 } else { sizes & 0xff },
            virtual_bits: VIRTUAL_BITS,
            flags: cpu_flags::line(read),
        }
    }
}

fn render(topology: &Topology, read: Read<'_>, tsc_hz: u64) -> String {
    let model = Model::read(read);
    let mut text = String::new();
    for cpu in 0..topology.count() {
        // Writing to a string cannot fail.
        let _ = write_cpu(&mut text, topology, &model, cpu, tsc_hz);
    }
    text
}

fn write_cpu(text: &mut String, topology: &Topology, model: &Model, cpu: usize, tsc_hz: u64) -> fmt::Result {
    let largest = topology.caches.iter().map(|cache| cache.bytes()).max();
    let apic_id = topology.cpus[cpu].apic_id;
    writeln!(text, "processor\t: {cpu}")?;
    writeln!(text, "vendor_id\t: {}", model.vendor)?;
    writeln!(text, "cpu family\t: {}", model.family)?;
    writeln!(text, "model\t\t: {}", model.model)?;
    writeln!(text, "model name\t: {}", model.name)?;
    writeln!(text, "stepping\t: {}", model.stepping)?;
    writeln!(text, "cpu MHz\t\t: {}", Thousandths(tsc_hz / 1000))?;
    if let Some(bytes) = largest {
        writeln!(text, "cache size\t: {} KB", bytes >> 10)?;
    }
    writeln!(text, "physical id\t: {}", topology.package(cpu))?;
    writeln!(text, "siblings\t: {}", topology.threads_of_package(cpu))?;
    writeln!(text, "core id\t\t: {}", topology.core(cpu))?;
    writeln!(text, "cpu cores\t: {}", topology.cores_of_package(cpu))?;
    writeln!(text, "apicid\t\t: {apic_id}")?;
    writeln!(text, "initial apicid\t: {apic_id}")?;
    writeln!(text, "fpu\t\t: yes\nfpu_exception\t: yes")?;
    writeln!(text, "cpuid level\t: {}", model.level)?;
    writeln!(text, "wp\t\t: yes")?;
    writeln!(text, "flags\t\t: {}", model.flags)?;
    // Two loops of the delay calibration in each cycle, as Linux finds it on every machine with a TSC.
    writeln!(text, "bogomips\t: {}.{:02}", tsc_hz / 500_000, tsc_hz / 5000 % 100)?;
    writeln!(text, "clflush size\t: {}", model.line_bytes)?;
    writeln!(text, "cache_alignment\t: {}", model.line_bytes)?;
    writeln!(
        text,
        "address sizes\t: {} bits physical, {} bits virtual",
        model.physical_bits, model.virtual_bits
    )?;
    writeln!(text, "power management:\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_topology::fake;
    use hadal_topology::fake::two_packages;

    #[test]
    fn every_cpu_has_a_section() {
        let cpu = fake::cpu(&[
            fake::intel(0xd),
            (1, 0, [0x000c_06f2, 0x0800, 0, 1]),
            (0x8000_0000, 0, [0x8000_0008, 0, 0, 0]),
            (0x8000_0002, 0, [0x6164_6148, 0x7270_206c, 0x7365_636f, 0x0072_6f73]),
            (0x8000_0008, 0, [0x3028, 0, 0, 0]),
        ]);
        let text = render(&two_packages(), &cpu, 2_399_998_500);
        let sections: Vec<&str> = text.split_terminator("\n\n").collect();
        assert_eq!(sections.len(), 8);
        for line in [
            "processor\t: 7",
            "vendor_id\t: GenuineIntel",
            "cpu family\t: 6",
            "model\t\t: 207",
            "model name\t: Hadal processor",
            "stepping\t: 2",
            "cpu MHz\t\t: 2399.998",
            "physical id\t: 1",
            "siblings\t: 4",
            "core id\t\t: 1",
            "cpu cores\t: 2",
            "apicid\t\t: 11",
            "flags\t\t: fpu",
            "bogomips\t: 4799.99",
            "clflush size\t: 64",
            "address sizes\t: 40 bits physical, 48 bits virtual",
        ] {
            assert!(sections[7].lines().any(|found| found == line), "no {line:?} in {}", sections[7]);
        }
    }
}
