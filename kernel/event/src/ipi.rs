// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Raw interprocessor interrupts: a vector of the program's own, the least that the hardware allows.

use hadal_hal::cpu;
use hadal_hal::interrupts::handler::{self, Kind};
use hadal_hal::interrupts::{apic, irq};
use spin::Once;

use crate::slots::{Action, Slots};
use crate::{Error, may_wait};

/// Number of vectors for programs.
const VECTORS: usize = 16;
const FIRST: u8 = *irq::PROGRAM_IPIS.start();
const _: () = assert!(*irq::PROGRAM_IPIS.end() - FIRST + 1 == VECTORS as u8);

static ALL: Once<Slots<VECTORS>> = Once::new();

fn all() -> &'static Slots<VECTORS> {
    ALL.get().expect("interrupts of programs are set up before the program starts")
}

pub(crate) fn init() {
    ALL.call_once(Slots::new);
    for index in 0..VECTORS {
        irq::set_handler(FIRST + index as u8, on_interrupt, index);
    }
}

/// Reserves a vector for an action and returns the number that names it, or `None` when all are taken. For the calling
/// program thread.
pub fn register(action: Action) -> Option<u32> {
    handler::prepare(&action.handler(Kind::Ipi));
    all().register(action)
}

/// Gives a vector back; returns when no CPU runs its action any more. An interrupt that is still on its way then finds
/// nothing to run.
pub fn unregister(vector: u32) -> Result<(), Error> {
    if !may_wait() {
        return Err(Error::NotHere);
    }
    if !all().begin_unregister(vector) {
        return Err(Error::Unknown);
    }
    irq::synchronize();
    all().give_back(vector);
    Ok(())
}

/// Interrupts a CPU. From any context.
#[inline]
pub fn send(vector: u32, target: usize) -> Result<(), Error> {
    if target >= cpu::count() {
        return Err(Error::NoCpu);
    }
    if !all().is_registered(vector) {
        return Err(Error::Unknown);
    }
    apic::send_ipi(target, FIRST + Slots::<VECTORS>::index(vector) as u8);
    Ok(())
}

fn on_interrupt(index: usize) {
    if let Some((_, action)) = all().action(index) {
        handler::run(action.handler(Kind::Ipi));
    }
}
