// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The PCI transport (section 4.1): finds the register blocks, negotiates features, sets queues up and starts the device.
//!
//! Every queue of a device sends message 0 of its MSI-X table; message 1 reports changes of the configuration, of which
//! the only one that matters here is a device that has given up (`NEEDS_RESET`).

use alloc::format;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::cpu::hold;
use hadal_hal::memory::mmio::Region;
use hadal_mem::frames::{self, ZonePolicy};

use super::memory::Segment;
use super::ring::{Completion, MAX_SIZE, Ring};
use super::{Class, class};
use crate::msix::{Interrupt, Msix};
use crate::pci::{Address, Capability, ConfigSpace, Function};
use crate::{DriverError, Structure};

/// Registers of the common configuration (section 4.1.4.3).
mod register {
    pub(super) const DEVICE_FEATURE_SELECT: usize = 0;
    pub(super) const DEVICE_FEATURE: usize = 4;
    pub(super) const DRIVER_FEATURE_SELECT: usize = 8;
    pub(super) const DRIVER_FEATURE: usize = 12;
    pub(super) const CONFIG_VECTOR: usize = 16;
    pub(super) const STATUS: usize = 20;
    pub(super) const QUEUE_SELECT: usize = 22;
    pub(super) const QUEUE_SIZE: usize = 24;
    pub(super) const QUEUE_VECTOR: usize = 26;
    pub(super) const QUEUE_ENABLE: usize = 28;
    pub(super) const QUEUE_NOTIFY_OFFSET: usize = 30;
    pub(super) const QUEUE_DESCRIPTORS: usize = 32;
    pub(super) const QUEUE_AVAILABLE: usize = 40;
    pub(super) const QUEUE_USED: usize = 48;
    pub(super) const BYTES: usize = 56;
}

const STATUS_ACKNOWLEDGE: u8 = 1;
const STATUS_DRIVER: u8 = 2;
const STATUS_DRIVER_OK: u8 = 4;
const STATUS_FEATURES_OK: u8 = 8;
const STATUS_NEEDS_RESET: u8 = 64;

const FEATURE_EVENT_INDEX: u64 = 1 << 29;
const FEATURE_VERSION_1: u64 = 1 << 32;

const QUEUE_MESSAGE: u16 = 0;
const CONFIG_MESSAGE: u16 = 1;

const VENDOR_CAPABILITY: u8 = 0x09;
/// Reads of the status register before a reset is given up.
const RESET_READS: usize = 1_000_000;

/// Where a virtio capability says a structure is (section 4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    bar: u8,
    offset: u32,
    len: u32,
    /// Offset of the capability itself, for the fields that follow.
    capability: u16,
}

fn locate<S: ConfigSpace>(function: &Function<S>, structure: Structure) -> Option<Location> {
    let wanted = match structure {
        Structure::Common => 1,
        Structure::Notify => 2,
        Structure::Device => 4,
    };
    function.capabilities().filter(|found| found.id == VENDOR_CAPABILITY).find_map(
        |Capability { offset: capability, .. }| {
            let kind = function.read32(capability) >> 24;
            (kind == wanted).then(|| Location {
                bar: function.read32(capability + 4) as u8,
                offset: function.read32(capability + 8),
                len: function.read32(capability + 12),
                capability,
            })
        },
    )
}

fn map(function: &Function, structure: Structure, bytes: usize) -> Result<(Region, Location), DriverError> {
    let location = locate(function, structure).ok_or(DriverError::NoStructure(structure))?;
    if (location.len as usize) < bytes {
        return Err(DriverError::BarTooSmall(location.bar));
    }
    let pa = function.bar(location.bar)? + u64::from(location.offset);
    Ok((Region::map(pa, location.len as usize), location))
}

/// A virtio device whose features are agreed on.
pub(crate) struct Device {
    function: Function,
    common: Region,
    notify: Region,
    notify_len: usize,
    notify_multiplier: u32,
    msix: Msix,
    features: u64,
}

impl Device {
    /// Resets the device and agrees on those of the `wanted` class features that it offers.
    pub(crate) fn open(function: Function, wanted: u64) -> Result<Self, DriverError> {
        function.enable();
        let (common, _) = map(&function, Structure::Common, register::BYTES)?;
        let (notify, location) = map(&function, Structure::Notify, 2)?;
        let mut device = Self {
            notify_len: location.len as usize,
            notify_multiplier: function.read32(location.capability + 16),
            msix: Msix::open(&function)?,
            function,
            common,
            notify,
            features: 0,
        };
        device.reset()?;
        device.negotiate(wanted)?;
        Ok(device)
    }

    fn reset(&self) -> Result<(), DriverError> {
        self.common.write8(register::STATUS, 0);
        let done = (0..RESET_READS).any(|_| self.common.read8(register::STATUS) == 0);
        if done { Ok(()) } else { Err(DriverError::ResetTimeout) }
    }

    fn add_status(&self, bit: u8) {
        let status = self.common.read8(register::STATUS);
        self.common.write8(register::STATUS, status | bit);
    }

    fn negotiate(&mut self, wanted: u64) -> Result<(), DriverError> {
        self.common.write8(register::STATUS, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
        let mut offered = 0;
        for half in 0..2 {
            self.common.write32(register::DEVICE_FEATURE_SELECT, half);
            offered |= u64::from(self.common.read32(register::DEVICE_FEATURE)) << (32 * half);
        }
        if offered & FEATURE_VERSION_1 == 0 {
            return Err(DriverError::Legacy);
        }
        self.features = offered & (wanted | FEATURE_EVENT_INDEX | FEATURE_VERSION_1);
        for half in 0..2 {
            self.common.write32(register::DRIVER_FEATURE_SELECT, half);
            self.common.write32(register::DRIVER_FEATURE, (self.features >> (32 * half)) as u32);
        }
        self.add_status(STATUS_FEATURES_OK);
        if self.common.read8(register::STATUS) & STATUS_FEATURES_OK == 0 {
            return Err(DriverError::FeaturesRefused);
        }
        Ok(())
    }

    /// Where the device sits.
    pub(crate) fn address(&self) -> Address {
        self.function.address()
    }

    /// What a person sees in a list of interrupts and in a trace.
    fn name(&self) -> &'static str {
        class(&self.function).map_or("virtio", Class::name)
    }

    /// Whether a class feature was agreed on.
    pub(crate) fn has_feature(&self, feature: u64) -> bool {
        self.features & feature != 0
    }

    /// Maps the configuration of the device class, of at least `bytes` bytes.
    pub(crate) fn config(&self, bytes: usize) -> Result<Region, DriverError> {
        map(&self.function, Structure::Device, bytes).map(|(region, _)| region)
    }

    /// Sets queue `index` up with up to `size` entries, a power of two.
    pub(crate) fn queue(&self, index: u16, size: u16) -> Result<Queue, DriverError> {
        let missing = DriverError::QueueMissing(index);
        self.common.write16(register::QUEUE_SELECT, index);
        let offered = self.common.read16(register::QUEUE_SIZE);
        if offered == 0 {
            return Err(missing);
        }
        let size = size.min(MAX_SIZE).min(1 << offered.ilog2());
        let frame = frames::global().alloc_zeroed(0, ZonePolicy::Local).ok_or(DriverError::NoMemory)?;
        // The device knows the frame from now on: it is never freed.
        let frame = frame.into_block().leak();
        let pa = frame.phys();
        self.common.write16(register::QUEUE_SIZE, size);
        self.write64(register::QUEUE_DESCRIPTORS, pa);
        self.write64(register::QUEUE_AVAILABLE, pa + Ring::available_offset(size) as u64);
        self.write64(register::QUEUE_USED, pa + Ring::used_offset(size) as u64);
        self.set_vector(register::QUEUE_VECTOR, QUEUE_MESSAGE)?;
        let doorbell =
            usize::from(self.common.read16(register::QUEUE_NOTIFY_OFFSET)) * self.notify_multiplier as usize;
        if doorbell + 2 > self.notify_len {
            return Err(missing);
        }
        self.common.write16(register::QUEUE_ENABLE, 1);
        let ring = Ring::new(frame.words(), size, self.has_feature(FEATURE_EVENT_INDEX));
        Ok(Queue { ring, index, notify: self.notify, doorbell })
    }

    fn set_vector(&self, register: usize, message: u16) -> Result<(), DriverError> {
        self.common.write16(register, message);
        if self.common.read16(register) == message { Ok(()) } else { Err(DriverError::VectorRefused) }
    }

    fn write64(&self, register: usize, value: u64) {
        self.common.write32(register, value as u32);
        self.common.write32(register + 4, (value >> 32) as u32);
    }

    /// Starts the device, whose queues are set up: from now on `driver` is called for its interrupts.
    pub(crate) fn start<D: Driver>(self, driver: &Arc<D>) -> Result<Running, DriverError> {
        let queues = driver.clone();
        let interrupt =
            self.msix.bind(QUEUE_MESSAGE, format!("{} {}", self.name(), self.address()), move || {
                queues.on_queue_interrupt()
            })?;
        // QEMU's devices tell of their configuration once they are started, at an instruction that depends on the host.
        if self.msix.entries() > CONFIG_MESSAGE && !hold::is_wanted() {
            let (driver, common, address) = (driver.clone(), self.common, self.address());
            self.msix.bind(CONFIG_MESSAGE, format!("{} config", self.name()), move || {
                if common.read8(register::STATUS) & STATUS_NEEDS_RESET != 0 {
                    log::error!("virtio device {address} has failed");
                    // After the reset it touches none of the buffers it still had.
                    common.write8(register::STATUS, 0);
                    driver.on_failure();
                }
            })?;
            self.set_vector(register::CONFIG_VECTOR, CONFIG_MESSAGE)?;
        }
        self.add_status(STATUS_DRIVER_OK);
        Ok(Running { address: self.address(), interrupt })
    }
}

/// What a driver does in interrupts; both run with interrupts off and do not block.
pub(crate) trait Driver: Send + Sync + 'static {
    /// A queue has completions.
    fn on_queue_interrupt(&self);
    /// The device has stopped for good.
    fn on_failure(&self);
}

/// A started device, for reports.
pub(crate) struct Running {
    /// Where the device sits.
    pub(crate) address: Address,
    /// Its queue interrupt.
    pub(crate) interrupt: &'static Interrupt,
}

/// Set once the device has failed.
#[derive(Default)]
pub(crate) struct Failure(AtomicBool);

impl Failure {
    /// Notes the failure.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the device has failed.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Where a device is told that a queue has something new.
#[derive(Clone, Copy)]
pub(crate) struct Doorbell {
    notify: Region,
    offset: usize,
    queue: u16,
}

impl Doorbell {
    pub(crate) fn ring(self) {
        self.notify.write16(self.offset, self.queue);
    }
}

/// A virtqueue with its doorbell.
pub(crate) struct Queue {
    ring: Ring,
    index: u16,
    notify: Region,
    doorbell: usize,
}

impl Queue {
    /// Adds a chain without ringing.
    pub(crate) fn add(&mut self, segments: &[Segment], token: u16) -> bool {
        self.ring.add(segments, token)
    }

    /// The doorbell, if the device wants it rung for what was added since the last call. Ringing takes the host a while: do
    /// it with no lock held.
    pub(crate) fn due_doorbell(&mut self) -> Option<Doorbell> {
        self.ring.must_notify().then_some(Doorbell {
            notify: self.notify,
            offset: self.doorbell,
            queue: self.index,
        })
    }

    /// Rings the doorbell if it is due.
    pub(crate) fn ring_doorbell(&mut self) {
        self.due_doorbell().into_iter().for_each(Doorbell::ring);
    }

    /// Takes the next finished request.
    pub(crate) fn take_completion(&mut self) -> Option<Completion> {
        self.ring.take_completion()
    }

    /// Whether a finished request waits to be taken.
    pub(crate) fn has_completion(&self) -> bool {
        self.ring.has_completion()
    }

    /// See [`Ring::enable_interrupt`].
    pub(crate) fn enable_interrupt(&mut self) -> bool {
        self.ring.enable_interrupt()
    }

    /// See [`Ring::disable_interrupt`].
    pub(crate) fn disable_interrupt(&mut self) {
        self.ring.disable_interrupt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::fake::FakeSpace;

    #[test]
    fn structures_are_found_by_their_kind() {
        let space = FakeSpace::new();
        space.set(0x04, 0x0010_0000);
        space.set(0x34, 0x84);
        // The alternative access capability, with no fixed place, comes before the one that is looked for.
        space.set(0x84, 0x0514_7009);
        space.set(0x70, 0x0214_5009);
        space.set(0x74, 0x0000_0004);
        space.set(0x78, 0x0000_3000);
        space.set(0x7c, 0x0000_1000);
        space.set(0x80, 0x0000_0004);
        space.set(0x50, 0x0110_0009);
        space.set(0x54, 0x0000_0004);
        space.set(0x5c, 0x0000_0038);
        let function = Function::new(Address { bus: 0, device: 1, function: 0 }, 0x1043_1af4, space);
        let notify = Location { bar: 4, offset: 0x3000, len: 0x1000, capability: 0x70 };
        assert_eq!(locate(&function, Structure::Notify), Some(notify));
        let common = locate(&function, Structure::Common).map(|found| (found.offset, found.len));
        assert_eq!(common, Some((0, 0x38)));
        assert_eq!(locate(&function, Structure::Device), None);
    }
}
