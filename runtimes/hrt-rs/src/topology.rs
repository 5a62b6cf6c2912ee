// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUs, caches and NUMA zones. Fixed after boot.

use crate::error::{Result, check};
use crate::ffi;

pub use hadal_hrt_abi::topology::{CacheInfo, CpuInfo, ZoneInfo};

/// Number of CPUs; they are numbered from 0.
#[must_use]
pub fn cpu_count() -> u32 {
    ffi::hrt_rs_cpu_count()
}

/// How many CPUs can run at the same time: fewer than [`cpu_count`] in a virtual machine whose host has fewer cores, where
/// spinning keeps a core from whoever is waited for.
#[must_use]
pub fn core_count() -> u32 {
    ffi::hrt_rs_core_count()
}

/// The CPU that runs the caller, as of the call.
#[must_use]
pub fn cpu_self() -> u32 {
    ffi::hrt_rs_cpu_self()
}

/// Where a CPU is.
///
/// # Errors
///
/// [`Error::Invalid`](crate::Error::Invalid): no such CPU.
pub fn cpu(cpu: u32) -> Result<CpuInfo> {
    let mut info = CpuInfo::default();
    // SAFETY: the structure has the C one's layout, and is the caller's.
    check(unsafe { ffi::hrt_rs_cpu_info(cpu, &raw mut info) })?;
    Ok(info)
}

/// The caches of a CPU, nearest first; none if there is no such CPU.
pub fn caches(cpu: u32) -> impl Iterator<Item = CacheInfo> {
    (0..).map_while(move |index| {
        let mut info = CacheInfo::default();
        // SAFETY: as in `cpu`.
        check(unsafe { ffi::hrt_rs_cache_info(cpu, index, &raw mut info) }).ok()?;
        Some(info)
    })
}

/// Number of memory zones; they are numbered from 0.
#[must_use]
pub fn zone_count() -> u32 {
    ffi::hrt_rs_zone_count()
}

/// A zone's figures.
///
/// # Errors
///
/// [`Error::Invalid`](crate::Error::Invalid): no such zone.
pub fn zone(zone: u32) -> Result<ZoneInfo> {
    let mut info = ZoneInfo::default();
    // SAFETY: as in `cpu`.
    check(unsafe { ffi::hrt_rs_zone_info(zone, &raw mut info) })?;
    Ok(info)
}

/// The relative distance of two zones, 10 for a zone to itself.
#[must_use]
pub fn distance(from: u32, to: u32) -> Option<u32> {
    Some(ffi::hrt_rs_zone_distance(from, to)).filter(|&distance| distance != 0)
}
