// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The VGA text screen, 80 by 25: what a BIOS machine shows when no serial line is connected.

use crate::cpu::port::out8;
use crate::display::text::{Surface, TextPage};
use crate::memory::mmio::Region;

const TEXT_PA: u64 = 0xb_8000;
const COLUMNS: usize = 80;
const ROWS: usize = 25;
/// Light grey on black, in the high byte of a cell.
const ATTRIBUTE: u16 = 0x0700;

const CRT_INDEX: u16 = 0x3d4;
const CRT_DATA: u16 = 0x3d5;
const CRT_CURSOR_HIGH: u8 = 0x0e;
const CRT_CURSOR_LOW: u8 = 0x0f;

/// The text screen; writes go nowhere until it is attached.
pub struct VgaText {
    page: TextPage<{ COLUMNS * ROWS }>,
    memory: Option<Region>,
}

impl VgaText {
    /// The screen, not yet touched.
    pub const fn new() -> Self {
        Self { page: TextPage::new(), memory: None }
    }

    /// Takes the screen over and clears it; the adapter must be in 80 by 25 colour text mode.
    pub fn attach(&mut self) {
        let memory = Region::map(TEXT_PA, COLUMNS * ROWS * 2);
        self.page.resize(COLUMNS, ROWS, &mut Cells(memory));
        self.memory = Some(memory);
        self.show_cursor();
    }

    /// Adds text at the bottom.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(memory) = self.memory {
            self.page.write(bytes, &mut Cells(memory));
            self.show_cursor();
        }
    }

    fn show_cursor(&self) {
        let (column, row) = self.page.cursor();
        let [low, high] = ((row * COLUMNS + column) as u16).to_le_bytes();
        out8(CRT_INDEX, CRT_CURSOR_HIGH);
        out8(CRT_DATA, high);
        out8(CRT_INDEX, CRT_CURSOR_LOW);
        out8(CRT_DATA, low);
    }
}

impl Default for VgaText {
    fn default() -> Self {
        Self::new()
    }
}

struct Cells(Region);

impl Surface for Cells {
    fn clear(&mut self) {
        let blank = u64::from(ATTRIBUTE | u16::from(b' '));
        let four_cells = blank | blank << 16 | blank << 32 | blank << 48;
        for offset in (0..COLUMNS * ROWS * 2).step_by(size_of::<u64>()) {
            self.0.write64(offset, four_cells);
        }
    }

    fn draw(&mut self, column: usize, row: usize, character: u8) {
        self.0.write16((row * COLUMNS + column) * 2, ATTRIBUTE | u16::from(character));
    }
}
