// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine as the kernel sees it: CPUs, memory ranges and distances by dense zone number.
//!
//! [`Topology`] joins [`Madt`], [`Srat`] and [`Slit`]. Zones are the proximity domains in ascending order,
//! numbered from 0; a machine without an SRAT is one zone. Nothing is stored but the list of domains: the
//! iterators read the tables again, and [`Cpus`] exploits that firmware lists CPUs in the same order in MADT
//! and SRAT, so that a pass over all CPUs costs one pass over each table.

use crate::madt::MadtEntries;
use crate::srat::SratEntries;
use crate::{
    CpuState, LOCAL_DISTANCE, Madt, MadtEntry, MemoryFlags, REMOTE_DISTANCE, Slit, Srat, SratEntry, Tables,
};

/// The most zones that are told apart; what lies in further domains is counted to zone 0.
pub const MAX_ZONES: usize = 64;

/// Joined view of the tables.
#[derive(Clone)]
pub struct Topology<'m> {
    madt: Option<Madt<'m>>,
    srat: Option<Srat<'m>>,
    slit: Option<Slit<'m>>,
    domains: Domains,
}

impl<'m> Topology<'m> {
    /// Joins whichever of the tables the machine has; a damaged one counts as absent.
    pub fn new(tables: &Tables<'m>) -> Self {
        let srat = tables.srat().ok();
        let mut domains = Domains { ids: [0; MAX_ZONES], count: 0 };
        for entry in srat.iter().flat_map(Srat::entries) {
            domains.insert(entry.domain());
        }
        Self { madt: tables.madt().ok(), srat, slit: tables.slit().ok(), domains }
    }

    /// Number of zones, at least 1.
    pub fn zone_count(&self) -> usize {
        self.domains.count.max(1)
    }

    /// The proximity domain behind a zone; the zone's own number where the firmware names none.
    pub fn domain_of(&self, zone: usize) -> u32 {
        self.domains.as_slice().get(zone).copied().unwrap_or(zone as u32)
    }

    /// The processors in the firmware's order, each once, disabled ones included.
    pub fn cpus(&self) -> Cpus<'_, 'm> {
        let entries = self.madt.map(|madt| madt.entries());
        let has_local_apics = entries.clone().is_some_and(|mut all| {
            all.any(|entry| matches!(entry, MadtEntry::LocalApic { x2apic: false, .. }))
        });
        let affinity = self.srat.map(|srat| srat.entries());
        Cpus { topology: self, entries, has_local_apics, affinity }
    }

    /// The memory ranges that the SRAT names, non-volatile and hot-pluggable ones included; empty without
    /// one.
    pub fn memory(&self) -> MemoryRanges<'_, 'm> {
        MemoryRanges { topology: self, entries: self.srat.map(|srat| srat.entries()) }
    }

    /// Relative distance from CPUs of one zone to memory of another: [`LOCAL_DISTANCE`] is "the same".
    pub fn distance(&self, from_zone: usize, to_zone: usize) -> u8 {
        let (from, to) = (self.domain_of(from_zone), self.domain_of(to_zone));
        let default = if from_zone == to_zone { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
        // The standard reserves the values below 10; some firmware leaves a matrix of zeros.
        let stated = self.slit.and_then(|slit| slit.distance(from, to));
        stated.filter(|&distance| distance >= LOCAL_DISTANCE).unwrap_or(default)
    }
}

/// Sorted set of proximity domains.
#[derive(Clone)]
struct Domains {
    ids: [u32; MAX_ZONES],
    count: usize,
}

impl Domains {
    fn as_slice(&self) -> &[u32] {
        &self.ids[..self.count]
    }

    fn insert(&mut self, domain: u32) {
        if let Err(at) = self.as_slice().binary_search(&domain)
            && self.count < MAX_ZONES
        {
            self.ids.copy_within(at..self.count, at + 1);
            self.ids[at] = domain;
            self.count += 1;
        }
    }

    fn zone_of(&self, domain: u32) -> usize {
        self.as_slice().binary_search(&domain).unwrap_or(0)
    }
}

/// One processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Identifier of its local APIC: the destination of interrupts.
    pub apic_id: u32,
    /// Its number in other ACPI tables.
    pub uid: u32,
    /// Whether it can be started.
    pub state: CpuState,
    /// The zone that it is in.
    pub zone: usize,
}

/// Iterator over processors.
#[derive(Clone)]
pub struct Cpus<'t, 'm> {
    topology: &'t Topology<'m>,
    entries: Option<MadtEntries<'m>>,
    has_local_apics: bool,
    /// Where the search for the next CPU's zone begins: after the entry of the CPU before it.
    affinity: Option<SratEntries<'m>>,
}

impl Iterator for Cpus<'_, '_> {
    type Item = Cpu;

    fn next(&mut self) -> Option<Cpu> {
        loop {
            let MadtEntry::LocalApic { uid, apic_id, x2apic, state } = self.entries.as_mut()?.next()? else {
                continue;
            };
            // Some firmware lists the CPUs with an 8-bit identifier a second time in the x2APIC form.
            if x2apic && apic_id < 0xff && self.has_local_apics {
                continue;
            }
            return Some(Cpu { apic_id, uid, state, zone: self.zone_of(apic_id) });
        }
    }
}

impl Cpus<'_, '_> {
    fn zone_of(&mut self, wanted: u32) -> usize {
        let find = |entries: &mut SratEntries<'_>| {
            entries.find_map(|entry| match entry {
                SratEntry::Cpu { apic_id, domain } if apic_id == wanted => Some(domain),
                _ => None,
            })
        };
        let Some(mut entries) = self.affinity.clone() else { return 0 };
        let mut domain = find(&mut entries);
        if domain.is_none() {
            entries = match self.topology.srat {
                Some(srat) => srat.entries(),
                None => return 0,
            };
            domain = find(&mut entries);
        }
        match domain {
            Some(domain) => {
                self.affinity = Some(entries);
                self.topology.domains.zone_of(domain)
            }
            None => 0,
        }
    }
}

/// A range of physical addresses in one zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRange {
    /// First physical address.
    pub base: u64,
    /// Length in bytes; `base + length` does not overflow.
    pub length: u64,
    /// The zone that it is in.
    pub zone: usize,
    /// Its properties.
    pub flags: MemoryFlags,
}

/// Iterator over memory ranges.
#[derive(Clone)]
pub struct MemoryRanges<'t, 'm> {
    topology: &'t Topology<'m>,
    entries: Option<SratEntries<'m>>,
}

impl Iterator for MemoryRanges<'_, '_> {
    type Item = MemoryRange;

    fn next(&mut self) -> Option<MemoryRange> {
        let domains = &self.topology.domains;
        self.entries.as_mut()?.find_map(|entry| match entry {
            SratEntry::Memory { base, length, domain, flags } => {
                Some(MemoryRange { base, length, zone: domains.zone_of(domain), flags })
            }
            SratEntry::Cpu { .. } => None,
        })
    }
}
