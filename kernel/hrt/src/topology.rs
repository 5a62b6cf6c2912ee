// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUs, caches and zones.

use hadal_hal::cpu;
use hadal_hrt_abi::topology::{CacheInfo, CacheKind as Kind, CpuInfo, ZoneInfo};
use hadal_mem::frames::{self, ZoneId};
use hadal_topology::{CacheKind, Topology};

use crate::memory;
use crate::memory_of_program::write_prefix;
use crate::status::{Code, Status, code};

/// `core_count`.
pub(crate) extern "C" fn core_count() -> u32 {
    hadal_sched::cores() as u32
}

/// `cpu_count`.
pub(crate) extern "C" fn cpu_count() -> u32 {
    cpu::count() as u32
}

/// `cpu_self`.
pub(crate) extern "C" fn cpu_self() -> u32 {
    cpu::current_id() as u32
}

/// A CPU's number, checked.
fn known(cpu: u32) -> Result<usize, Status> {
    let number = cpu as usize;
    if number < cpu::count() { Ok(number) } else { Err(Status::Invalid) }
}

fn describe_cpu(cpu: u32, out: usize, bytes: u64) -> Result<(), Status> {
    let number = known(cpu)?;
    let topology = Topology::get();
    let place = topology.cpus[number];
    let info = CpuInfo {
        cpu,
        apic_id: place.apic_id,
        socket: topology.package(number),
        core: topology.core(number),
        thread: topology.thread(number),
        zone: place.zone as u32,
    };
    write_prefix(out, &info, bytes)
}

/// `cpu_info`.
pub(crate) extern "C" fn cpu_info(cpu: u32, out: usize, bytes: u64) -> Code {
    code(describe_cpu(cpu, out, bytes))
}

fn describe_cache(cpu: u32, index: u32, out: usize, bytes: u64) -> Result<(), Status> {
    let number = known(cpu)?;
    let topology = Topology::get();
    let cache = topology.caches.get(index as usize).ok_or(Status::NoDevice)?;
    let mut users = (0..topology.count()).filter(|&other| topology.same_cache(cache, number, other));
    let first = users.next().unwrap_or(number);
    let info = CacheInfo {
        level: cache.level,
        kind: match cache.kind {
            CacheKind::Data => Kind::Data,
            CacheKind::Instruction => Kind::Instruction,
            CacheKind::Unified => Kind::Unified,
        } as u32,
        bytes: cache.bytes(),
        line_bytes: cache.line_bytes,
        ways: cache.ways,
        first_cpu: first as u32,
        cpus: users.count() as u32 + 1,
    };
    write_prefix(out, &info, bytes)
}

/// `cache_info`.
pub(crate) extern "C" fn cache_info(cpu: u32, index: u32, out: usize, bytes: u64) -> Code {
    code(describe_cache(cpu, index, out, bytes))
}

/// `zone_count`.
pub(crate) extern "C" fn zone_count() -> u32 {
    frames::global().zone_count() as u32
}

/// A zone's number, checked.
pub(crate) fn known_zone(zone: u32) -> Option<ZoneId> {
    let exists = (zone as usize) < frames::global().zone_count();
    exists.then_some(ZoneId(zone as u8))
}

fn describe_zone(zone: u32, out: usize, bytes: u64) -> Result<(), Status> {
    let id = known_zone(zone).ok_or(Status::Invalid)?;
    let memory = frames::global();
    let (stats, given) = (memory.zone_stats(id), memory::figures(id));
    let info = ZoneInfo {
        zone,
        cpus: (0..cpu::count()).filter(|&cpu| memory.cpu_zone(cpu) == id).count() as u32,
        total_bytes: stats.total_bytes,
        free_bytes: stats.free_bytes,
        hrt_bytes: given.bytes,
        allocations: given.allocations,
        huge_pages_total: memory.free_large_pages(id),
    };
    write_prefix(out, &info, bytes)
}

/// `zone_info`.
pub(crate) extern "C" fn zone_info(zone: u32, out: usize, bytes: u64) -> Code {
    code(describe_zone(zone, out, bytes))
}

/// `zone_distance`.
pub(crate) extern "C" fn zone_distance(from: u32, to: u32) -> u32 {
    match (known_zone(from), known_zone(to)) {
        (Some(from), Some(to)) => frames::global().distance(from, to).into(),
        _ => 0,
    }
}
