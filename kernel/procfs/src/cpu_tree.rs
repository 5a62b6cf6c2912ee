// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/sys/devices/system/cpu`: which CPUs there are, their topology and caches.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::cpu::percpu::MAX_CPUS;
use hadal_topology::Topology;
use hadal_topology::lists::{list, mask};
use hadal_topology::{Cache, CacheKind as Kind};
use hadal_vfs::FileKind;
use hadal_vfs::Result;
use hadal_vfs::synthetic::{Child, Children, Directory};

use crate::{add_text, number_after, sys_file, text_link};

pub(super) fn add(sys: &Directory) {
    for name in ["online", "possible", "present"] {
        add_text(sys, &format!("devices/system/cpu/{name}"), || {
            list(Topology::get().count(), |_| true) + "\n"
        });
    }
    sys.text("devices/system/cpu/offline", "\n");
    sys.text("devices/system/cpu/kernel_max", format!("{}\n", MAX_CPUS - 1));
    sys.dynamic("devices/system/cpu", Arc::new(Cpus));
    sys.dynamic("bus/cpu/devices", Arc::new(BusLinks));
}

/// The directories `cpuN`.
struct Cpus;

impl Children for Cpus {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let cpu = number_after(name, "cpu").filter(|&cpu| cpu < Topology::get().count())?;
        Some(Child::Directory(Arc::new(CpuDirectory { topology: Topology::get(), cpu })))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let names = (0..Topology::get().count()).map(|cpu| format!("cpu{cpu}").into_bytes());
        Ok(names.map(|name| (name, FileKind::Directory)).collect())
    }
}

/// `/sys/bus/cpu/devices`: links to all of them.
struct BusLinks;

impl Children for BusLinks {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let cpu = number_after(name, "cpu").filter(|&cpu| cpu < Topology::get().count())?;
        Some(text_link(format!("../../../devices/system/cpu/cpu{cpu}")))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(Cpus.list()?.into_iter().map(|(name, _)| (name, FileKind::Symlink)).collect())
    }
}

/// `cpuN`.
struct CpuDirectory {
    topology: &'static Topology,
    cpu: usize,
}

impl Children for CpuDirectory {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let (topology, cpu) = (self.topology, self.cpu);
        match name {
            b"topology" => Some(Child::Directory(Arc::new(TopologyDirectory { topology, cpu }))),
            b"cache" if !topology.caches.is_empty() => {
                Some(Child::Directory(Arc::new(Caches { topology, cpu })))
            }
            // The first CPU cannot be switched off, and so has no such file.
            b"online" if cpu > 0 => Some(sys_file(|| String::from("1\n"))),
            _ => {
                let node = number_after(name, "node").filter(|&node| topology.cpus[cpu].zone == node)?;
                Some(text_link(format!("../../node/node{node}")))
            }
        }
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let mut names = alloc::vec![(b"topology".to_vec(), FileKind::Directory)];
        if !self.topology.caches.is_empty() {
            names.push((b"cache".to_vec(), FileKind::Directory));
        }
        if self.cpu > 0 {
            names.push((b"online".to_vec(), FileKind::Regular));
        }
        let zone = self.topology.cpus[self.cpu].zone;
        names.push((format!("node{zone}").into_bytes(), FileKind::Symlink));
        Ok(names)
    }
}

/// `cpuN/topology`.
struct TopologyDirectory {
    topology: &'static Topology,
    cpu: usize,
}

type TopologyFile = fn(&Topology, usize) -> String;

/// The files with their content. Linux has two names for each set.
const TOPOLOGY_FILES: [(&str, TopologyFile); 12] = [
    ("core_cpus", core_mask),
    ("core_cpus_list", core_list),
    ("core_id", |topology, cpu| topology.core(cpu).to_string()),
    ("core_siblings", package_mask),
    ("core_siblings_list", package_list),
    ("die_cpus_list", package_list),
    ("die_id", |_, _| String::from("0")),
    ("package_cpus", package_mask),
    ("package_cpus_list", package_list),
    ("physical_package_id", |topology, cpu| topology.package(cpu).to_string()),
    ("thread_siblings", core_mask),
    ("thread_siblings_list", core_list),
];

fn core_mask(topology: &Topology, cpu: usize) -> String {
    mask(topology.count(), |other| topology.same_core(cpu, other))
}

fn core_list(topology: &Topology, cpu: usize) -> String {
    list(topology.count(), |other| topology.same_core(cpu, other))
}

fn package_mask(topology: &Topology, cpu: usize) -> String {
    mask(topology.count(), |other| topology.same_package(cpu, other))
}

fn package_list(topology: &Topology, cpu: usize) -> String {
    list(topology.count(), |other| topology.same_package(cpu, other))
}

impl Children for TopologyDirectory {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let (topology, cpu) = (self.topology, self.cpu);
        let &(_, content) = TOPOLOGY_FILES.iter().find(|(file, _)| file.as_bytes() == name)?;
        Some(sys_file(move || content(topology, cpu) + "\n"))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(TOPOLOGY_FILES.iter().map(|(name, _)| (name.as_bytes().to_vec(), FileKind::Regular)).collect())
    }
}

/// `cpuN/cache`.
struct Caches {
    topology: &'static Topology,
    cpu: usize,
}

impl Children for Caches {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let cache = self.topology.caches.get(number_after(name, "index")?)?;
        Some(Child::Directory(Arc::new(CacheDirectory { topology: self.topology, cache, cpu: self.cpu })))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let names = (0..self.topology.caches.len()).map(|index| format!("index{index}").into_bytes());
        Ok(names.map(|name| (name, FileKind::Directory)).collect())
    }
}

/// `cpuN/cache/indexM`.
struct CacheDirectory {
    topology: &'static Topology,
    cache: &'static Cache,
    cpu: usize,
}

type CacheFile = fn(&Topology, &Cache, usize) -> String;

const CACHE_FILES: [(&str, CacheFile); 10] = [
    ("coherency_line_size", |_, cache, _| cache.line_bytes.to_string()),
    ("id", |topology, cache, cpu| topology.cache_id(cache, cpu).to_string()),
    ("level", |_, cache, _| cache.level.to_string()),
    ("number_of_sets", |_, cache, _| cache.sets.to_string()),
    ("physical_line_partition", |_, cache, _| cache.partitions.to_string()),
    ("shared_cpu_list", |topology, cache, cpu| {
        list(topology.count(), |other| topology.same_cache(cache, cpu, other))
    }),
    ("shared_cpu_map", |topology, cache, cpu| {
        mask(topology.count(), |other| topology.same_cache(cache, cpu, other))
    }),
    ("size", |_, cache, _| format!("{}K", cache.bytes() >> 10)),
    ("type", |_, cache, _| {
        String::from(match cache.kind {
            Kind::Data => "Data",
            Kind::Instruction => "Instruction",
            Kind::Unified => "Unified",
        })
    }),
    ("ways_of_associativity", |_, cache, _| cache.ways.to_string()),
];

impl Children for CacheDirectory {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let (topology, cache, cpu) = (self.topology, self.cache, self.cpu);
        let &(_, content) = CACHE_FILES.iter().find(|(file, _)| file.as_bytes() == name)?;
        Some(sys_file(move || content(topology, cache, cpu) + "\n"))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(CACHE_FILES.iter().map(|(name, _)| (name.as_bytes().to_vec(), FileKind::Regular)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_topology::fake::two_packages;

    #[test]
    fn siblings_are_those_of_core_and_package() {
        let topology = two_packages();
        let content = |name: &str| TOPOLOGY_FILES.iter().find(|file| file.0 == name).unwrap().1(&topology, 5);
        assert_eq!(content("thread_siblings_list"), "4-5");
        assert_eq!(content("thread_siblings"), "30");
        assert_eq!(content("core_siblings_list"), "4-7");
        assert_eq!(content("core_id"), "0");
        assert_eq!(content("physical_package_id"), "1");
    }

    #[test]
    fn names_are_sorted() {
        assert!(
            TOPOLOGY_FILES.is_sorted_by_key(|file| file.0) && CACHE_FILES.is_sorted_by_key(|file| file.0)
        );
    }
}
