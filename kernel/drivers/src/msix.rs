// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Message-signalled interrupts: the MSI-X capability of a function and the handlers behind its messages.
//!
//! PCI Local Bus Specification 3.0, section 6.8.2. A handler is a closure that lives for ever; the vector's argument is
//! its index in [`INTERRUPTS`].

use alloc::boxed::Box;
use alloc::string::String;
use core::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::interrupts::irq::{self, Source};
use hadal_hal::memory::mmio::Region;
use hadal_hal::sync::{Rank, SpinLock};
use spin::Once;

use crate::DriverError;
use crate::pci::{Capability, ConfigSpace, Function};

const CAPABILITY_ID: u8 = 0x11;
const ENABLE: u32 = 1 << 31;
const FUNCTION_MASK: u32 = 1 << 30;
const ENTRY_BYTES: usize = 16;
const ENTRY_ADDRESS_LOW: usize = 0;
const ENTRY_ADDRESS_HIGH: usize = 4;
const ENTRY_DATA: usize = 8;
const ENTRY_CONTROL: usize = 12;
const ENTRY_MASKED: u32 = 1;

/// The CPU that takes device interrupts: the boot CPU.
const TARGET_CPU: usize = 0;

/// More handlers than a machine of ours has devices.
const MAX_INTERRUPTS: usize = 64;
static INTERRUPTS: [Once<Interrupt>; MAX_INTERRUPTS] = [const { Once::new() }; MAX_INTERRUPTS];
static USED: AtomicUsize = AtomicUsize::new(0);

/// A function and how often it ran.
struct Handler {
    count: AtomicU64,
    call: Box<dyn Fn() + Send + Sync>,
}

impl Handler {
    fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self { count: AtomicU64::new(0), call: Box::new(call) }
    }

    fn run(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        (self.call)();
    }
}

/// A message of a function: what it runs and where it goes.
pub(crate) struct Interrupt {
    handler: Handler,
    name: String,
    entry: Entry,
    vector: AtomicU8,
    cpu: AtomicUsize,
    /// Held to change the entry.
    steering: SpinLock<()>,
}

impl Source for Interrupt {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn vector(&self) -> u8 {
        self.vector.load(Ordering::Relaxed)
    }

    fn cpu(&self) -> usize {
        self.cpu.load(Ordering::Relaxed)
    }

    fn count(&self) -> u64 {
        self.handler.count.load(Ordering::Relaxed)
    }

    fn steer(&self, cpu: usize) {
        let _steering = self.steering.lock();
        self.cpu.store(cpu, Ordering::Relaxed);
        self.entry.send_to(cpu, self.vector());
    }
}

/// An entry of a function's table.
#[derive(Clone, Copy)]
struct Entry {
    table: Region,
    base: usize,
}

impl Entry {
    /// Unmasks the entry with a new destination. The function notes what it cannot send meanwhile, and sends it then.
    fn send_to(&self, cpu: usize, vector: u8) {
        let address = irq::msi_address(cpu);
        self.table.write32(self.base + ENTRY_CONTROL, ENTRY_MASKED);
        self.table.write32(self.base + ENTRY_ADDRESS_LOW, address as u32);
        self.table.write32(self.base + ENTRY_ADDRESS_HIGH, (address >> 32) as u32);
        self.table.write32(self.base + ENTRY_DATA, irq::msi_data(vector));
        self.table.write32(self.base + ENTRY_CONTROL, 0);
    }
}

fn dispatch(index: usize) {
    if let Some(interrupt) = INTERRUPTS.get(index).and_then(Once::get) {
        interrupt.handler.run();
    }
}

/// What the capability says: how many entries the table has and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TableLocation {
    entries: u16,
    bar: u8,
    offset: u32,
}

fn locate<S: ConfigSpace>(function: &Function<S>, capability: Capability) -> TableLocation {
    let control = function.read32(capability.offset) >> 16;
    let table = function.read32(capability.offset + 4);
    TableLocation {
        entries: (control & 0x7ff) as u16 + 1,
        bar: (table & 0b111) as u8,
        offset: table & !0b111,
    }
}

/// The MSI-X table of a function, enabled.
pub(crate) struct Msix {
    table: Region,
    entries: u16,
}

impl Msix {
    /// Maps the table, masks every entry and turns MSI-X on. The function answers in memory space already.
    pub(crate) fn open(function: &Function) -> Result<Self, DriverError> {
        let capability =
            function.capabilities().find(|found| found.id == CAPABILITY_ID).ok_or(DriverError::NoMsix)?;
        let location = locate(function, capability);
        let pa = function.bar(location.bar)? + u64::from(location.offset);
        let table = Region::map(pa, usize::from(location.entries) * ENTRY_BYTES);
        let control = function.read32(capability.offset);
        function.write32(capability.offset, control | ENABLE | FUNCTION_MASK);
        for entry in 0..usize::from(location.entries) {
            table.write32(entry * ENTRY_BYTES + ENTRY_CONTROL, ENTRY_MASKED);
        }
        function.write32(capability.offset, (control | ENABLE) & !FUNCTION_MASK);
        Ok(Self { table, entries: location.entries })
    }

    /// Number of messages that the function can tell apart.
    pub(crate) fn entries(&self) -> u16 {
        self.entries
    }

    /// Runs `handler` with interrupts off whenever the function sends message `entry`, on the boot CPU until the interrupt is
    /// steered elsewhere. `name` is for people.
    pub(crate) fn bind(
        &self,
        entry: u16,
        name: String,
        handler: impl Fn() + Send + Sync + 'static,
    ) -> Result<&'static Interrupt, DriverError> {
        let index = USED.fetch_add(1, Ordering::Relaxed);
        let slot = INTERRUPTS.get(index).ok_or(DriverError::NoVector)?;
        let entry = Entry { table: self.table, base: usize::from(entry) * ENTRY_BYTES };
        let interrupt = slot.call_once(|| Interrupt {
            handler: Handler::new(handler),
            name,
            entry,
            vector: AtomicU8::new(0),
            cpu: AtomicUsize::new(TARGET_CPU),
            steering: SpinLock::ranked(Rank::Last, ()),
        });
        let vector = irq::register_device(dispatch, index).ok_or(DriverError::NoVector)?;
        interrupt.vector.store(vector, Ordering::Relaxed);
        interrupt.steer(TARGET_CPU);
        irq::add_source(interrupt);
        Ok(interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::Address;
    use crate::pci::fake::FakeSpace;

    #[test]
    fn the_table_is_where_the_capability_says() {
        let space = FakeSpace::new();
        space.set(0x98, 0x8001_8411);
        space.set(0x9c, 0x0000_2001);
        let function = Function::new(Address { bus: 0, device: 1, function: 0 }, 0x1043_1af4, space);
        let location = locate(&function, Capability { id: CAPABILITY_ID, offset: 0x98 });
        assert_eq!(location, TableLocation { entries: 2, bar: 1, offset: 0x2000 });
    }

    #[test]
    fn a_handler_is_called_and_counted() {
        let calls = std::sync::Arc::new(AtomicU64::new(0));
        let seen = calls.clone();
        let handler = Handler::new(move || {
            seen.fetch_add(1, Ordering::Relaxed);
        });
        handler.run();
        dispatch(MAX_INTERRUPTS);
        assert_eq!((calls.load(Ordering::Relaxed), handler.count.load(Ordering::Relaxed)), (1, 1));
    }
}
