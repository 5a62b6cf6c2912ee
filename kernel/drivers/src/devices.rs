// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds and starts the devices of the machine.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_acpi::EcamWindow;
use hadal_hal::interrupts::irq::Source;

use crate::pci::{Address, Bus, Function, Hole};
use crate::virtio::device::Running;
use crate::virtio::{Class, class};
use crate::{Console, DriverError, NinepTransport, Rng};

/// The devices that were found and started.
#[derive(Default)]
pub struct Devices {
    /// The first console.
    pub console: Option<Arc<Console>>,
    /// All 9P servers, in bus order.
    pub ninep: Vec<Arc<NinepTransport>>,
    /// The first entropy source.
    pub rng: Option<Arc<Rng>>,
    /// Devices of a known class that could not be started.
    pub failures: Vec<(Address, DriverError)>,
}

/// What a device has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Class of the device.
    pub name: &'static str,
    /// Where it sits.
    pub address: Address,
    /// Interrupts taken.
    pub interrupts: u64,
    /// Requests given to it; for the console, messages written.
    pub requests: u64,
}

/// Walks the PCI bus and starts every device of a known class. `windows` are those of the ACPI table MCFG; without
/// them the bus is reached through ports. `low_memory_end` is where memory below 4 GiB ends: devices on the root bus that the
/// firmware left without addresses get some behind it. Waits for no device.
pub fn probe(windows: &[EcamWindow], low_memory_end: u64) -> Devices {
    let mut devices = Devices::default();
    let (bus, mut hole) = (Bus::new(windows), Hole::new(low_memory_end, windows));
    bus.scan(&mut |function| {
        let address = function.address();
        // What is behind a bridge has to be in the bridge's window.
        if class(&function).is_some() && address.bus == bus.root() {
            function.assign(&mut hole);
        }
        if let Err(error) = devices.start(function) {
            log::warn!("virtio device {address}: {error}");
            devices.failures.push((address, error));
        }
    });
    devices
}

impl Devices {
    fn start(&mut self, function: Function) -> Result<(), DriverError> {
        match class(&function) {
            Some(Class::Console) if self.console.is_none() => {
                self.console = Some(Arc::new(Console::start(function)?));
            }
            Some(Class::Entropy) if self.rng.is_none() => self.rng = Some(Arc::new(Rng::start(function)?)),
            Some(Class::NineP) => self.ninep.push(Arc::new(NinepTransport::start(function)?)),
            _ => {}
        }
        Ok(())
    }

    /// The 9P server with a mount tag.
    pub fn ninep_by_tag(&self, tag: &str) -> Option<Arc<NinepTransport>> {
        self.ninep.iter().find(|server| server.tag() == tag).cloned()
    }

    /// Counters of all devices.
    pub fn counters(&self) -> Vec<DeviceCounters> {
        let entry = |name, running: &Running, requests| DeviceCounters {
            name,
            address: running.address,
            interrupts: running.interrupt.count(),
            requests,
        };
        let console =
            self.console.iter().map(|console| entry("console", console.running(), console.messages()));
        let ninep = self.ninep.iter().map(|server| entry("9p", server.running(), server.requests()));
        let rng = self.rng.iter().map(|rng| entry("rng", rng.running(), rng.requests()));
        console.chain(ninep).chain(rng).collect()
    }
}
