// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the static ACPI tables that describe the machine's processors, zones and timers.
//!
//! [`Tables`] is the way in: it is opened from the root pointer and hands out the tables by type, among them
//! [`Madt`] (interrupt controllers), [`Srat`] and [`Slit`] (zones and their distances), [`HpetTable`],
//! [`Mcfg`] (PCI configuration windows), [`Fadt`] (reset register, power-management timer) and [`SoftOff`].
//! [`Topology`] joins the first three into what the kernel asks: which CPUs, in which zone, which memory.
//!
//! Everything is read through [`PhysicalMemory`], a few bytes at a time, so the crate needs no allocation and
//! no pointer into firmware memory. No input makes it panic or read past what a table's own length allows:
//! malformed entries end an iteration. The byte code of ACPI (AML) is not interpreted: one
//! constant is found in it by its name ([`SoftOff`]).
//!
//! The hardware layer above (`hadal-hal`) supplies the memory and acts on what is found here.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

mod fadt;
mod hpet;
mod madt;
mod mcfg;
mod rsdp;
mod slit;
mod soft_off;
mod srat;
mod table;
#[cfg(test)]
mod tests;
mod topology;

pub use fadt::{BootFlags, Fadt, GenericAddress, ResetRegister};
pub use hpet::HpetTable;
pub use madt::{CpuState, Madt, MadtEntries, MadtEntry, Polarity, Trigger};
pub use mcfg::{EcamWindow, EcamWindows, Mcfg};
pub use rsdp::Rsdp;
pub use slit::{LOCAL_DISTANCE, REMOTE_DISTANCE, Slit};
pub use soft_off::SoftOff;
pub use srat::{MemoryFlags, Srat, SratEntries, SratEntry};
pub use table::{Error, Table, Tables};
pub use topology::{Cpu, Cpus, MAX_ZONES, MemoryRange, MemoryRanges, Topology};

/// Read access to physical memory, supplied by the hardware layer.
pub trait PhysicalMemory {
    /// Fills `buf` from physical address `pa` on; false when any byte of the range is not readable memory.
    fn read(&self, pa: u64, buf: &mut [u8]) -> bool;
}
