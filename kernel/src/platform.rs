// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the firmware says about the machine: processors, zones, clocks, PCI windows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use hadal_acpi::{CpuState, MadtEntry, PhysicalMemory, Polarity, Rsdp, Tables, Topology, Trigger};
use hadal_event::lines::{self, Lines, Signal};
use hadal_hal::boot::smp;
use hadal_hal::boot::{self, BootInfo, Protocol};
use hadal_hal::cpu;
use hadal_hal::cpu::percpu::MAX_CPUS;
use hadal_hal::devices::hpet::Hpet;
use hadal_hal::interrupts::apic;
use hadal_hal::interrupts::ioapic::{self, IoApic};
use hadal_hal::memory::mmio::Region;

use crate::{paths, power};

/// Physical memory for the table parser: what the boot page tables map.
#[derive(Clone, Copy)]
struct Firmware;

impl PhysicalMemory for Firmware {
    fn read(&self, pa: u64, buffer: &mut [u8]) -> bool {
        boot::read_firmware(pa, buffer)
    }
}

static FIRMWARE: Firmware = Firmware;

/// Zones that the kernel keeps apart; memory and CPUs of further ones count as zone 0's.
pub(crate) const MAX_ZONES: usize = hadal_mem::frames::MAX_ZONES;
const MAX_MEMORY_RANGES: usize = 64;
const MAX_IO_APICS: usize = 16;
const MAX_SIGNALS: usize = 16;
const HPET_BYTES: usize = 0x400;

/// A window of PCI configuration space.
pub(crate) type Window = hadal_acpi::EcamWindow;

/// The machine, read once while the boot page tables are in place.
pub(crate) struct Platform {
    /// APIC id and zone of each enabled processor, the boot processor first.
    processors: [(u32, u8); MAX_CPUS],
    processor_count: usize,
    zones: usize,
    distances: [[u8; MAX_ZONES]; MAX_ZONES],
    memory: [(u64, u64, u8); MAX_MEMORY_RANGES],
    memory_count: usize,
    hpet_pa: Option<u64>,
    windows: [Option<Window>; 4],
    /// Physical address and first line of each I/O APIC.
    io_apics: [Option<(u32, u32)>; MAX_IO_APICS],
    /// Lines that do not signal as their bus has it.
    signals: [Option<(u32, Signal)>; MAX_SIGNALS],
}

impl Platform {
    /// Reads the ACPI tables. A machine without them is one processor and one zone.
    #[inline(never)] // Its frame is large, and is to be gone when the caller goes on.
    pub(crate) fn read(info: &BootInfo) -> Self {
        let mut platform = Self {
            processors: [(0, 0); MAX_CPUS],
            processor_count: 1,
            zones: 1,
            distances: [[10; MAX_ZONES]; MAX_ZONES],
            memory: [(0, 0, 0); MAX_MEMORY_RANGES],
            memory_count: 0,
            hpet_pa: None,
            windows: [None; 4],
            io_apics: [None; MAX_IO_APICS],
            signals: [None; MAX_SIGNALS],
        };
        let rsdp = match (info.rsdp, info.protocol) {
            (Some(pa), Protocol::Pvh | Protocol::Multiboot2) => Rsdp::read(&FIRMWARE, pa),
            (None, _) => None,
        };
        let Some(rsdp) = rsdp.or_else(|| Rsdp::scan(&FIRMWARE)) else {
            log::warn!("no ACPI tables: one CPU, one zone");
            return platform;
        };
        match Tables::open(&FIRMWARE, rsdp) {
            Ok(tables) => platform.read_tables(&tables),
            Err(error) => log::warn!("ACPI tables: {error:?}: one CPU, one zone"),
        }
        platform
    }

    fn read_tables(&mut self, tables: &Tables<'_>) {
        let topology = Topology::new(tables);
        self.zones = topology.zone_count().clamp(1, MAX_ZONES);
        let zone = |zone: usize| if zone < MAX_ZONES { zone as u8 } else { 0 };
        let own = smp::own_apic_id();
        let mut count = 0;
        for processor in topology.cpus() {
            if processor.state == CpuState::Enabled && count < MAX_CPUS {
                self.processors[count] = (processor.apic_id, zone(processor.zone));
                count += 1;
            }
        }
        self.processor_count = count.max(1);
        // The boot processor is CPU 0 wherever the firmware lists it.
        if let Some(at) = self.processors[..count].iter().position(|&(apic_id, _)| apic_id == own) {
            self.processors[..=at].rotate_right(1);
        }
        for from in 0..self.zones {
            for to in 0..self.zones {
                self.distances[from][to] = topology.distance(from, to);
            }
        }
        for range in topology.memory().take(MAX_MEMORY_RANGES) {
            self.memory[self.memory_count] = (range.base, range.base + range.length, zone(range.zone));
            self.memory_count += 1;
        }
        self.read_lines(tables);
        power::read(tables);
        self.hpet_pa = tables.hpet().ok().map(|hpet| hpet.pa);
        if let Ok(mcfg) = tables.mcfg() {
            for (slot, window) in self.windows.iter_mut().zip(mcfg.windows()) {
                *slot = Some(window);
            }
        }
    }

    fn read_lines(&mut self, tables: &Tables<'_>) {
        let Ok(madt) = tables.madt() else { return };
        let (mut io_apics, mut signals) = (self.io_apics.iter_mut(), self.signals.iter_mut());
        for entry in madt.entries() {
            match entry {
                MadtEntry::IoApic { pa, first_gsi, .. } => {
                    if let Some(slot) = io_apics.next() {
                        *slot = Some((pa, first_gsi));
                    }
                }
                MadtEntry::SourceOverride { gsi, polarity, trigger, .. } => {
                    let signal =
                        Signal { active_low: polarity == Polarity::Low, level: trigger == Trigger::Level };
                    if let Some(slot) = signals.next() {
                        *slot = Some((gsi, signal));
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes the interrupt lines over, all masked.
    pub(crate) fn start_lines(&self) {
        let chip =
            |&(pa, first): &(u32, u32)| IoApic::new(Region::map(pa.into(), ioapic::REGION_BYTES), first);
        lines::init(Lines {
            chips: self.io_apics.iter().flatten().map(chip).collect(),
            signals: self.signals.iter().flatten().copied().collect(),
        });
    }

    /// The zone that a physical address belongs to, and where that stops being so.
    pub(crate) fn zone_at(&self, pa: u64) -> (u8, u64) {
        let ranges = &self.memory[..self.memory_count];
        if let Some(&(_, end, zone)) = ranges.iter().find(|&&(start, end, _)| (start..end).contains(&pa)) {
            return (zone, end);
        }
        let next = ranges.iter().map(|&(start, ..)| start).filter(|&start| start > pa).min();
        (0, next.unwrap_or(u64::MAX))
    }

    /// Number of NUMA zones.
    pub(crate) fn zone_count(&self) -> usize {
        self.zones
    }

    /// Distance between two zones, 10 for the same.
    pub(crate) fn distance(&self, from: usize, to: usize) -> u8 {
        self.distances[from][to]
    }

    /// The zone of a CPU.
    pub(crate) fn cpu_zone(&self, cpu: usize) -> u8 {
        self.processors[cpu].1
    }

    /// APIC ids by CPU.
    pub(crate) fn apic_ids(&self) -> Vec<u32> {
        self.processors[..self.processor_count].iter().map(|&(apic_id, _)| apic_id).collect()
    }

    /// PCI configuration windows.
    pub(crate) fn windows(&self) -> impl Iterator<Item = Window> + '_ {
        self.windows.iter().flatten().copied()
    }

    /// Begins to measure clock and local APIC timer.
    pub(crate) fn begin_clock(&self) -> Box<ClockSearch> {
        let hpet = self.hpet_pa.and_then(|pa| Hpet::open(Region::map(pa, HPET_BYTES)));
        apic::start_calibration();
        let start_tsc = hadal_hal::cpu::tsc::read();
        Box::new(ClockSearch { start_tsc, search: hadal_time::begin(hpet) })
    }

    /// Remembers the CPUs' zones for [`name_zone_of_this_cpu`], and names the boot CPU's.
    pub(crate) fn name_zones(&self) {
        let zones = self.processors[..self.processor_count].iter().map(|&(_, zone)| zone);
        CPU_ZONES.call_once(|| zones.collect());
        name_zone_of_this_cpu();
    }
}

/// The measurement of clock and local APIC timer, while it goes on.
pub(crate) struct ClockSearch {
    start_tsc: u64,
    search: hadal_time::Search,
}

impl ClockSearch {
    /// Starts the clock, after a wait for what is missing of the interval.
    #[expect(clippy::boxed_local, reason = "the start-up code's frame has no room for what it calls this on")]
    pub(crate) fn start_clock(self: Box<Self>) {
        let calibration = hadal_time::init(self.search);
        paths::set_clock(calibration.source);
        // An exact frequency from CPUID takes no time to find; the timer still needs an interval to be measured over.
        const INTERVAL_US: u64 = 100;
        let passed = || hadal_hal::cpu::tsc::read() - self.start_tsc;
        while passed() < calibration.hz / 1_000_000 * INTERVAL_US {
            cpu::relax();
        }
        let elapsed_ns = u128::from(passed()) * 1_000_000_000 / u128::from(calibration.hz);
        apic::finish_calibration(elapsed_ns as u64, calibration.hz);
    }
}

static CPU_ZONES: spin::Once<Vec<u8>> = spin::Once::new();

/// Makes RDTSCP return the calling CPU's zone.
pub(crate) fn name_zone_of_this_cpu() {
    // Application processors come here when all are online, perhaps before the boot CPU has made the list.
    let zones = loop {
        match CPU_ZONES.get() {
            Some(zones) => break zones,
            None => cpu::relax(),
        }
    };
    let id = cpu::current_id();
    smp::set_tsc_aux_zone(id, usize::from(zones[id]));
}
