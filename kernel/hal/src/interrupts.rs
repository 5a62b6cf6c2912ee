// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupts: controllers, turning them off and on, and functions of the program that run in interrupt context.

pub mod apic;
pub mod handler;
pub mod ioapic;
pub mod irq;
pub mod pic;
