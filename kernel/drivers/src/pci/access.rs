// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Access to configuration space, by memory (ECAM) or by ports, and the walk over the buses.

use hadal_acpi::EcamWindow;
use hadal_hal::cpu::port;
use hadal_hal::memory::mmio::Region;
use hadal_hal::sync::{Rank, SpinLock};

use super::{Address, ConfigSpace, Function};

const ADDRESS_PORT: u16 = 0xcf8;
const DATA_PORT: u16 = 0xcfc;
/// The two ports are one register pair for the whole machine.
static PORTS: SpinLock<()> = SpinLock::ranked(Rank::Last, ());

/// Configuration space of one bus.
const BUS_BYTES: u64 = 1 << 20;
pub(super) const FUNCTION_BYTES: usize = 4096;
const ABSENT: u32 = 0xffff_ffff;
const HEADER_TYPE: u16 = 0x0c;
const MULTI_FUNCTION: u32 = 1 << (16 + 7);
const BUS_NUMBERS: u16 = 0x18;

/// The configuration space of a function on this machine.
#[derive(Clone, Copy, Debug)]
pub enum Space {
    /// In memory: the mapped bus and the function's byte offset in it.
    Memory(Region, usize),
    /// Behind the ports.
    Ports(Address),
}

impl ConfigSpace for Space {
    fn read32(&self, offset: u16) -> u32 {
        match self {
            Self::Memory(bus, base) => bus.read32(base + usize::from(offset)),
            Self::Ports(address) => {
                let _pair = PORTS.lock();
                port::out32(ADDRESS_PORT, port_address(*address, offset));
                port::in32(DATA_PORT)
            }
        }
    }

    fn write32(&self, offset: u16, value: u32) {
        match self {
            Self::Memory(bus, base) => bus.write32(base + usize::from(offset), value),
            Self::Ports(address) => {
                let _pair = PORTS.lock();
                port::out32(ADDRESS_PORT, port_address(*address, offset));
                port::out32(DATA_PORT, value);
            }
        }
    }
}

fn port_address(address: Address, offset: u16) -> u32 {
    1 << 31
        | u32::from(address.bus) << 16
        | u32::from(address.device) << 11
        | u32::from(address.function) << 8
        | u32::from(offset & 0xfc)
}

/// The PCI bus hierarchy of segment 0.
pub struct Bus {
    window: Option<EcamWindow>,
}

impl Bus {
    /// The hierarchy as the ACPI windows describe it; the ports when there is none.
    pub fn new(windows: &[EcamWindow]) -> Self {
        Self { window: windows.iter().copied().find(|window| window.segment == 0) }
    }

    /// The bus that no bridge leads to.
    pub(crate) fn root(&self) -> u8 {
        self.window.map_or(0, |window| window.first_bus)
    }

    /// Calls `visit` for every function that is present. Reads one word for each absent device.
    pub fn scan(&self, visit: &mut dyn FnMut(Function)) {
        self.scan_bus(self.root(), visit);
    }

    fn scan_bus(&self, bus: u8, visit: &mut dyn FnMut(Function)) {
        let mapped = self.window.map(|window| map_bus(&window, bus));
        if matches!(mapped, Some(None)) {
            // The window does not reach that far.
            return;
        }
        for device in 0..32 {
            for function in 0..8 {
                let address = Address { bus, device, function };
                let space = match mapped.flatten() {
                    Some((region, base)) => {
                        let index = usize::from(device) << 3 | usize::from(function);
                        Space::Memory(region, base + index * FUNCTION_BYTES)
                    }
                    None => Space::Ports(address),
                };
                let id = space.read32(0);
                if id != ABSENT {
                    let found = Function::new(address, id, space);
                    if let Some(secondary) = secondary_bus(&found) {
                        self.scan_bus(secondary, visit);
                    } else {
                        visit(found);
                    }
                }
                if function == 0 && (id == ABSENT || is_single(&space)) {
                    break;
                }
            }
        }
    }
}

fn is_single(space: &Space) -> bool {
    space.read32(HEADER_TYPE) & MULTI_FUNCTION == 0
}

/// The bus behind a bridge; `None` for anything else. A number that does not grow would make the walk endless.
fn secondary_bus<S: ConfigSpace>(function: &Function<S>) -> Option<u8> {
    let header = function.read32(HEADER_TYPE) >> 16 & 0x7f;
    if header != 1 {
        return None;
    }
    let secondary = (function.read32(BUS_NUMBERS) >> 8) as u8;
    (secondary > function.address().bus).then_some(secondary)
}

/// Maps the configuration space of a bus, together with its neighbour where that makes it one large page. Returns the
/// region and the byte offset of the bus in it.
fn map_bus(window: &EcamWindow, bus: u8) -> Option<(Region, usize)> {
    let pa = window.function_pa(bus, 0, 0)?;
    let pair = pa & !(2 * BUS_BYTES - 1);
    let first = window.function_pa(bus & !1, 0, 0);
    let last = window.function_pa(bus | 1, 0, 0);
    if first == Some(pair) && last == Some(pair + BUS_BYTES) {
        Some((Region::map(pair, 2 * BUS_BYTES as usize), (pa - pair) as usize))
    } else {
        Some((Region::map(pa, BUS_BYTES as usize), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::FakeSpace;
    use super::*;

    #[test]
    fn port_addresses_follow_the_specification() {
        let address = Address { bus: 2, device: 31, function: 7 };
        assert_eq!(port_address(address, 0x3c), 0x8002_ff3c);
    }

    #[test]
    fn only_a_bridge_to_a_higher_bus_is_followed() {
        let bridge = |header: u32, buses: u32| {
            let space = FakeSpace::new();
            space.set(HEADER_TYPE, header << 16);
            space.set(BUS_NUMBERS, buses);
            secondary_bus(&Function::new(Address { bus: 1, device: 0, function: 0 }, 0x1234_5678, space))
        };
        assert_eq!(bridge(0x81, 0x0004_0301), Some(3));
        assert_eq!(bridge(0x01, 0x0001_0101), None);
        assert_eq!(bridge(0x00, 0x0004_0301), None);
    }
}
