// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The I/O APIC: routes the interrupt lines of devices that cannot send messages.
//!
//! Devices here use MSI-X, so after [`IoApic::mask_all`] at boot it is idle; [`IoApic::route`] serves the few
//! lines of a PC that have no other way.

use crate::memory::mmio::Region;

/// Bytes of registers that this driver needs mapped.
pub const REGION_BYTES: usize = 0x20;

const SELECT: usize = 0x00;
const WINDOW: usize = 0x10;
const REGISTER_VERSION: u32 = 0x01;
/// Two registers for each pin.
const REGISTER_ROUTES: u32 = 0x10;

const ROUTE_ACTIVE_LOW: u32 = 1 << 13;
const ROUTE_LEVEL: u32 = 1 << 15;
const ROUTE_MASKED: u32 = 1 << 16;

/// Where a pin's interrupt goes, and how its line signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Interrupt vector at the destination.
    pub vector: u8,
    /// Identifier of the destination's local APIC.
    pub apic_id: u8,
    /// The line means "asserted" when low.
    pub active_low: bool,
    /// The line signals by its level, not its edge.
    pub level: bool,
}

impl Route {
    fn low_word(&self) -> u32 {
        let mut word = u32::from(self.vector);
        if self.active_low {
            word |= ROUTE_ACTIVE_LOW;
        }
        if self.level {
            word |= ROUTE_LEVEL;
        }
        word
    }

    fn high_word(&self) -> u32 {
        u32::from(self.apic_id) << 24
    }
}

/// One I/O APIC. Its registers are reached through an index, so it must not be used by two CPUs at once.
#[derive(Debug)]
pub struct IoApic {
    region: Region,
    first_gsi: u32,
    pins: u32,
}

impl IoApic {
    /// The I/O APIC behind these registers, serving global interrupts from `first_gsi` on.
    pub fn new(region: Region, first_gsi: u32) -> Self {
        let mut apic = Self { region, first_gsi, pins: 0 };
        apic.pins = (apic.read(REGISTER_VERSION) >> 16 & 0xff) + 1;
        apic
    }

    /// Number of interrupt lines.
    pub fn pin_count(&self) -> u32 {
        self.pins
    }

    /// The pin that a global interrupt arrives at; `None` when another I/O APIC serves it.
    pub fn pin_of(&self, gsi: u32) -> Option<u32> {
        gsi.checked_sub(self.first_gsi).filter(|&pin| pin < self.pins)
    }

    /// Masks every pin.
    pub fn mask_all(&mut self) {
        for pin in 0..self.pins {
            self.mask(pin);
        }
    }

    /// Masks one pin.
    ///
    /// # Panics
    /// If there is no such pin.
    pub fn mask(&mut self, pin: u32) {
        self.write(self.register(pin), ROUTE_MASKED);
    }

    /// Sends a pin's interrupts where `route` says, and unmasks it.
    ///
    /// # Panics
    /// If there is no such pin.
    pub fn route(&mut self, pin: u32, route: Route) {
        // Masked first, so that the two halves are never used half-changed.
        self.mask(pin);
        self.write(self.register(pin) + 1, route.high_word());
        self.write(self.register(pin), route.low_word());
    }

    fn register(&self, pin: u32) -> u32 {
        assert!(pin < self.pins, "I/O APIC has no pin {pin}");
        REGISTER_ROUTES + pin * 2
    }

    fn read(&self, register: u32) -> u32 {
        self.region.write32(SELECT, register);
        self.region.read32(WINDOW)
    }

    fn write(&mut self, register: u32, value: u32) {
        self.region.write32(SELECT, register);
        self.region.write32(WINDOW, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_words() {
        let edge = Route { vector: 0x41, apic_id: 3, active_low: false, level: false };
        assert_eq!((edge.low_word(), edge.high_word()), (0x41, 0x0300_0000));
        let level = Route { active_low: true, level: true, ..edge };
        assert_eq!(level.low_word(), 0xa041);
    }
}
