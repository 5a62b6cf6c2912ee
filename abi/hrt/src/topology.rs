// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUs, caches and zones.

#[cfg(feature = "zerocopy")]
use zerocopy::{Immutable, IntoBytes};

/// Where a CPU is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(IntoBytes, Immutable))]
pub struct CpuInfo {
    /// Its number.
    pub cpu: u32,
    /// Its number in the machine's interrupt controllers.
    pub apic_id: u32,
    /// Socket.
    pub socket: u32,
    /// Core within the socket.
    pub core: u32,
    /// Hardware thread within the core.
    pub thread: u32,
    /// The zone whose memory is local.
    pub zone: u32,
}

/// What a cache keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Data.
    Data = 1,
    /// Instructions.
    Instruction = 2,
    /// Both.
    Unified = 3,
}

/// A cache of a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(IntoBytes, Immutable))]
pub struct CacheInfo {
    /// 1 is the nearest.
    pub level: u32,
    /// enum hrt_cache_kind: 1 for data, 2 for instructions, 3 for both.
    pub kind: u32,
    /// Size.
    pub bytes: u64,
    /// Size of a line.
    pub line_bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// The lowest CPU that shares it.
    pub first_cpu: u32,
    /// How many CPUs share it.
    pub cpus: u32,
}

/// A zone: memory, and the CPUs to which it is local.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(IntoBytes, Immutable))]
pub struct ZoneInfo {
    /// Its number.
    pub zone: u32,
    /// How many CPUs are local to it.
    pub cpus: u32,
    /// Memory of the zone.
    pub total_bytes: u64,
    /// Free memory, as of the call.
    pub free_bytes: u64,
    /// Given out by hrt_alloc().
    pub hrt_bytes: u64,
    /// hrt_alloc() calls served from it.
    pub allocations: u64,
    /// Free blocks of at least 2 MiB, as of the call.
    pub huge_pages_total: u64,
}
