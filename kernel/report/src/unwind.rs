// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who called whom: the walk of [`hadal_unwind`] in a [`View`] of a program.

use alloc::vec::Vec;

use hadal_hal::trap::TrapFrame;

pub(crate) use hadal_unwind::{Frame, Registers};
use hadal_unwind::{Program, Table, Unwinder};

use crate::tables::{self, Bytes};
use crate::view::View;

/// Frames of one stack that are followed.
pub(crate) const MAX_FRAMES: usize = 48;
/// Rules that are kept on the way: one for each frame and some for what is looked at in between.
const RULES: usize = 2 * MAX_FRAMES;

/// Work of one walk ([`Unwinder::new`]): well below a second.
const FUEL_UNITS: usize = 1 << 20;

/// All registers of an interrupted thread.
pub(crate) fn registers(frame: &TrapFrame) -> Registers {
    Registers::all(frame.dwarf_registers())
}

/// The frames of a thread, innermost first, at most [`MAX_FRAMES`].
pub(crate) fn frames(view: &View<'_>, registers: Registers) -> Vec<Frame> {
    let mut frames = Vec::new();
    if let Some(mut unwinder) = Unwinder::new(RULES, FUEL_UNITS) {
        unwinder.walk(view, registers, |frame| {
            frames.push(frame);
            frames.len() < MAX_FRAMES
        });
    }
    frames
}

impl Program for View<'_> {
    type Bytes<'a>
        = Bytes
    where
        Self: 'a;

    fn word(&self, address: u64) -> Option<u64> {
        self.word(address)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.read(address, bytes)
    }

    fn code(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.read(address, bytes)
            || self.module(address).is_some_and(|loaded| self.read_module(&loaded.module, address, bytes))
    }

    fn is_code(&self, address: u64) -> bool {
        self.is_code(address)
    }

    fn table(&self, address: u64) -> Option<Table<Bytes>> {
        tables::find(self, address)
    }
}

#[cfg(test)]
mod tests;
