// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices on the PCI bus.
//!
//! [`probe`] walks the bus once and starts what it knows: the virtio console that carries the control channel
//! ([`Console`]), 9P servers ([`NinepTransport`]) and the entropy source ([`Rng`]). Every device has one MSI-X
//! interrupt, taken by the boot CPU, and lives until the machine ends.
//!
//! The crate has no `unsafe`: queues that a device shares are arrays of atomic words in frames that are never freed,
//! and buffers lent to a device stay borrowed until the device has answered.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod devices;
mod error;
mod msix;
pub mod pci;
mod virtio;

pub use devices::{DeviceCounters, Devices, probe};
pub use error::{Closed, DriverError, Structure};
pub use virtio::console::Console;
pub use virtio::ninep::NinepTransport;
pub use virtio::rng::Rng;
