// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/sys/devices/system/node`: the NUMA zones, their CPUs, memory and distances; and what `/sys` says about memory as such.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;

use hadal_mem::frames::{self, ZoneId, ZoneStats};
use hadal_topology::Topology;
use hadal_topology::lists::{list, mask};
use hadal_vfs::FileKind;
use hadal_vfs::Result;
use hadal_vfs::synthetic::{Child, Children, Directory};

use crate::{add_text, number_after, sys_file, text_link};

pub(super) fn add(sys: &Directory) {
    for name in ["online", "possible"] {
        add_text(sys, &format!("devices/system/node/{name}"), || {
            list(Topology::get().zones, |_| true) + "\n"
        });
    }
    add_text(sys, "devices/system/node/has_cpu", || {
        let topology = Topology::get();
        list(topology.zones, |zone| topology.cpus.iter().any(|cpu| cpu.zone == zone)) + "\n"
    });
    for name in ["has_memory", "has_normal_memory"] {
        add_text(sys, &format!("devices/system/node/{name}"), || {
            list(Topology::get().zones, |zone| stats(zone).total_bytes > 0) + "\n"
        });
    }
    sys.dynamic("devices/system/node", Arc::new(Nodes));
    sys.dynamic("bus/node/devices", Arc::new(BusLinks));
    // Anonymous memory gets pages of 2 MiB where it can, without being asked.
    sys.text("kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    sys.text("kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n");
}

fn stats(zone: usize) -> ZoneStats {
    frames::global().zone_stats(ZoneId(zone as u8))
}

/// The directories `nodeN`.
struct Nodes;

impl Children for Nodes {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let zone = number_after(name, "node").filter(|&zone| zone < Topology::get().zones)?;
        Some(Child::Directory(Arc::new(Node { topology: Topology::get(), zone })))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let names = (0..Topology::get().zones).map(|zone| format!("node{zone}").into_bytes());
        Ok(names.map(|name| (name, FileKind::Directory)).collect())
    }
}

/// `/sys/bus/node/devices`: links to all of them.
struct BusLinks;

impl Children for BusLinks {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let zone = number_after(name, "node").filter(|&zone| zone < Topology::get().zones)?;
        Some(text_link(format!("../../../devices/system/node/node{zone}")))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(Nodes.list()?.into_iter().map(|(name, _)| (name, FileKind::Symlink)).collect())
    }
}

/// `nodeN`: a few files, and links to the CPUs of the zone.
struct Node {
    topology: &'static Topology,
    zone: usize,
}

type NodeFile = fn(&Topology, usize) -> String;

const FILES: [(&str, NodeFile); 5] = [
    ("cpulist", |topology, zone| list(topology.count(), |cpu| topology.cpus[cpu].zone == zone) + "\n"),
    ("cpumap", |topology, zone| mask(topology.count(), |cpu| topology.cpus[cpu].zone == zone) + "\n"),
    ("distance", |topology, zone| {
        distances(topology.zones, |other| frames::global().distance(ZoneId(zone as u8), ZoneId(other as u8)))
    }),
    ("meminfo", |_, zone| memory(zone, stats(zone))),
    ("vmstat", |_, zone| format!("nr_free_pages {}\n", stats(zone).free_bytes >> 12)),
];

fn distances(zones: usize, distance: impl Fn(usize) -> u8) -> String {
    let all: Vec<String> = (0..zones).map(|other| distance(other).to_string()).collect();
    all.join(" ") + "\n"
}

fn memory(zone: usize, stats: ZoneStats) -> String {
    let mut text = String::new();
    let ZoneStats { total_bytes, free_bytes, .. } = stats;
    for (name, bytes) in
        [("MemTotal", total_bytes), ("MemFree", free_bytes), ("MemUsed", total_bytes - free_bytes)]
    {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Node {zone} {:<15} {:>8} kB", format!("{name}:"), bytes >> 10);
    }
    for name in ["HugePages_Total", "HugePages_Free", "HugePages_Surp"] {
        let _ = writeln!(text, "Node {zone} {name}: {:>5}", 0);
    }
    text
}

impl Children for Node {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let (topology, zone) = (self.topology, self.zone);
        if let Some(&(_, content)) = FILES.iter().find(|(file, _)| file.as_bytes() == name) {
            return Some(sys_file(move || content(topology, zone)));
        }
        let cpu = number_after(name, "cpu")?;
        let own = topology.cpus.get(cpu).is_some_and(|cpu| cpu.zone == zone);
        own.then(|| text_link(format!("../../cpu/cpu{cpu}")))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let files = FILES.iter().map(|(name, _)| (name.as_bytes().to_vec(), FileKind::Regular));
        let cpus = (0..self.topology.count()).filter(|&cpu| self.topology.cpus[cpu].zone == self.zone);
        Ok(files.chain(cpus.map(|cpu| (format!("cpu{cpu}").into_bytes(), FileKind::Symlink))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_topology::fake::two_packages;

    #[test]
    fn zones_have_their_cpus() {
        let topology = two_packages();
        let content = |name: &str| FILES.iter().find(|file| file.0 == name).unwrap().1(&topology, 1);
        assert_eq!(content("cpulist"), "4-7\n");
        assert_eq!(content("cpumap"), "f0\n");
    }

    #[test]
    fn memory_is_in_kilobytes() {
        let text = memory(1, ZoneStats { total_bytes: 1 << 30, free_bytes: 1 << 29, high_water_bytes: 0 });
        assert!(
            text.starts_with("Node 1 MemTotal:        1048576 kB\nNode 1 MemFree:          524288 kB\n"),
            "{text}"
        );
    }

    #[test]
    fn distances_are_one_line() {
        assert_eq!(distances(3, |zone| 10 + zone as u8), "10 11 12\n");
    }
}
