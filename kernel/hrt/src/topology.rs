// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CPUs, caches and zones.

use hadal_hal::cpu;

/// `cpu_count`.
pub(crate) extern "C" fn cpu_count() -> u32 {
    cpu::count() as u32
}

/// `cpu_self`.
pub(crate) extern "C" fn cpu_self() -> u32 {
    cpu::current_id() as u32
}
