// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Virtio 1.x devices over PCI.
//!
//! Layers, from the bottom: [`ring`] is the split virtqueue in shared memory, [`device`] the PCI transport (features,
//! status, queues with their interrupt), [`exchange`] one request and its answer per queue entry. On them stand the
//! drivers, one file each: [`console`], [`ninep`], [`rng`]. Section numbers are those of the Virtual I/O Device
//! specification, version 1.2.

pub(crate) mod console;
pub(crate) mod device;
pub(crate) mod exchange;
pub(crate) mod memory;
pub(crate) mod ninep;
pub(crate) mod ring;
pub(crate) mod rng;

use crate::pci::Function;

const VENDOR: u16 = 0x1af4;
/// Device identifiers of modern devices are their class plus this (section 4.1.2.1).
const MODERN_BASE: u16 = 0x1040;
/// Below [`MODERN_BASE`] from here on: transitional devices, with the class in the subsystem identifier.
const TRANSITIONAL_BASE: u16 = 0x1000;

/// The classes this crate drives (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Console,
    Entropy,
    NineP,
}

impl Class {
    /// What people call such a device.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Console => "virtio-console",
            Self::Entropy => "virtio-rng",
            Self::NineP => "virtio-9p",
        }
    }
}

/// The class of a virtio function; `None` for other functions and other classes.
pub(crate) fn class(function: &Function) -> Option<Class> {
    if function.vendor() != VENDOR {
        return None;
    }
    match function.device() {
        TRANSITIONAL_BASE..MODERN_BASE => class_of(function.subsystem()),
        device => class_of(device.wrapping_sub(MODERN_BASE)),
    }
}

fn class_of(number: u16) -> Option<Class> {
    match number {
        3 => Some(Class::Console),
        4 => Some(Class::Entropy),
        9 => Some(Class::NineP),
        _ => None,
    }
}
