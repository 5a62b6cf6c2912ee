// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a device could not be started, or stopped working.

use core::fmt;

/// A register block that a modern virtio device describes in its capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Features, status and queues.
    Common,
    /// Doorbells of the queues.
    Notify,
    /// Configuration of the device class.
    Device,
}

/// Why a device could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverError {
    /// The virtio device has no such capability.
    NoStructure(Structure),
    /// A capability names a base address register that is absent or an I/O port range.
    BarMissing(u8),
    /// The firmware gave the base address register no address.
    BarUnassigned(u8),
    /// A capability describes fewer bytes than its structure has.
    BarTooSmall(u8),
    /// The device has no MSI-X capability.
    NoMsix,
    /// All interrupt vectors of the kernel are taken.
    NoVector,
    /// The device refused the message of its table for a queue.
    VectorRefused,
    /// The device did not come out of reset.
    ResetTimeout,
    /// The device is not a modern (version 1) virtio device.
    Legacy,
    /// The device refused the features the driver needs.
    FeaturesRefused,
    /// The device lacks a queue of its class.
    QueueMissing(u16),
    /// No memory for a queue or its buffers.
    NoMemory,
    /// The mount tag of a 9P device is not a name.
    BadTag,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStructure(Structure::Common) => f.write_str("no capability for the common configuration"),
            Self::NoStructure(Structure::Notify) => f.write_str("no capability for the queue doorbells"),
            Self::NoStructure(Structure::Device) => f.write_str("no capability for the device configuration"),
            Self::BarMissing(bar) => write!(f, "base address register {bar} is not a memory range"),
            Self::BarUnassigned(bar) => write!(f, "the firmware gave base address register {bar} no address"),
            Self::BarTooSmall(bar) => write!(f, "a structure in base address register {bar} is too short"),
            Self::NoMsix => f.write_str("no MSI-X capability"),
            Self::NoVector => f.write_str("all interrupt vectors are taken"),
            Self::VectorRefused => f.write_str("the device refused its interrupt vector"),
            Self::ResetTimeout => f.write_str("the device did not come out of reset"),
            Self::Legacy => f.write_str("not a modern virtio device (in QEMU, add disable-legacy=on)"),
            Self::FeaturesRefused => f.write_str("the device refused the driver's features"),
            Self::QueueMissing(queue) => write!(f, "queue {queue} is missing"),
            Self::NoMemory => f.write_str("out of memory"),
            Self::BadTag => f.write_str("the mount tag is not a name"),
        }
    }
}

impl core::error::Error for DriverError {}

/// The device has failed and was taken out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the device has failed")
    }
}

impl core::error::Error for Closed {}
