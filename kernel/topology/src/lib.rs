// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the machine's processors are: packages, cores and threads, the caches they share, and their zones.
//!
//! Facts come from CPUID, from the APIC ids that the hardware layer has found, and from the zones of
//! [`hadal_mem::frames`]. `/sys`, `/proc/cpuinfo` and the topology calls of `hadal/hrt.h` show them.
//! - [`Topology`]: which CPUs belong together;
//! - [`Cache`]: what they share;
//! - [`cpuid`]: reading leaves;
//! - [`lists`]: the notation of sets of CPUs and zones.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod caches;
pub mod cpuid;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod lists;
mod topology;

pub use caches::{Cache, Kind as CacheKind};
pub use topology::{Cpu, Topology};
