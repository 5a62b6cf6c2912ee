// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A text console on a linear framebuffer: what a UEFI machine shows.
//!
//! The boot loader sets the mode and describes it ([`FramebufferInfo`]); [`Framebuffer`] draws the glyphs.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use crate::display::text::{Surface, TextPage};
use crate::memory::mmio::Region;

const WEIGHT: FontWeight = FontWeight::Regular;
const HEIGHT: RasterHeight = RasterHeight::Size16;
const GLYPH_WIDTH: usize = get_raster_width(WEIGHT, HEIGHT);
const GLYPH_HEIGHT: usize = HEIGHT.val();
/// Enough for 1920 by 1200 pixels; a larger screen uses its upper left part.
const MAX_COLUMNS: usize = 274;
const MAX_CELLS: usize = MAX_COLUMNS * 75;
/// Brightness of a fully covered pixel: light grey, as the text screen has it.
const FOREGROUND: u32 = 0xc0;

/// The bits of a pixel that hold one colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Lowest bit.
    pub position: u8,
    /// Number of bits, at most 8.
    pub size: u8,
}

/// Where the pixels are and how they are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramebufferInfo {
    /// Physical address of the upper left pixel.
    pub pa: u64,
    /// Bytes from one line to the next.
    pub pitch: u32,
    /// Pixels in a line.
    pub width: u32,
    /// Lines.
    pub height: u32,
    /// 16, 24 or 32.
    pub bits_per_pixel: u8,
    /// Position of red.
    pub red: Channel,
    /// Position of green.
    pub green: Channel,
    /// Position of blue.
    pub blue: Channel,
}

impl FramebufferInfo {
    fn is_usable(&self) -> bool {
        let pixel_bytes = u32::from(self.bits_per_pixel / 8);
        let channels = [self.red, self.green, self.blue];
        matches!(self.bits_per_pixel, 16 | 24 | 32)
            && self.width.checked_mul(pixel_bytes).is_some_and(|line| line <= self.pitch)
            && self.pitch.is_multiple_of(if self.bits_per_pixel == 24 { 1 } else { pixel_bytes })
            && self.pa.is_multiple_of(8)
            && channels.iter().all(|channel| {
                channel.size <= 8 && u32::from(channel.position) + u32::from(channel.size) <= pixel_bytes * 8
            })
    }

    /// The pixel that shows a grey of this brightness.
    fn grey(&self, brightness: u8) -> u32 {
        let code = |channel: Channel| match channel.size {
            0 => 0,
            size => u32::from(brightness >> (8 - size)) << channel.position,
        };
        code(self.red) | code(self.green) | code(self.blue)
    }
}

/// The console; writes go nowhere until it is attached.
pub struct Framebuffer {
    page: TextPage<MAX_CELLS>,
    pixels: Option<Pixels>,
}

impl Framebuffer {
    /// The console, not yet touched.
    pub const fn new() -> Self {
        Self { page: TextPage::new(), pixels: None }
    }

    /// Takes the screen over and clears it; false when its format is not one that is drawn here.
    pub fn attach(&mut self, info: FramebufferInfo) -> bool {
        if !info.is_usable() {
            return false;
        }
        let bytes = info.pitch as usize * info.height as usize;
        let mut pixels = Pixels { region: Region::map(info.pa, bytes), info };
        let columns = (info.width as usize / GLYPH_WIDTH).min(MAX_COLUMNS);
        self.page.resize(columns, info.height as usize / GLYPH_HEIGHT, &mut pixels);
        self.pixels = Some(pixels);
        true
    }

    /// Adds text at the bottom.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(pixels) = &mut self.pixels {
            self.page.write(bytes, pixels);
        }
    }
}

impl Default for Framebuffer {
    fn default() -> Self {
        Self::new()
    }
}

struct Pixels {
    region: Region,
    info: FramebufferInfo,
}

impl Pixels {
    fn set(&self, offset: usize, value: u32) {
        match self.info.bits_per_pixel {
            16 => self.region.write16(offset, value as u16),
            24 => {
                let [low, middle, high, _] = value.to_le_bytes();
                self.region.write8(offset, low);
                self.region.write8(offset + 1, middle);
                self.region.write8(offset + 2, high);
            }
            _ => self.region.write32(offset, value),
        }
    }
}

impl Surface for Pixels {
    fn clear(&mut self) {
        let bytes = self.info.pitch as usize * self.info.height as usize;
        let whole = bytes - bytes % size_of::<u64>();
        for offset in (0..whole).step_by(size_of::<u64>()) {
            self.region.write64(offset, 0);
        }
        for offset in whole..bytes {
            self.region.write8(offset, 0);
        }
    }

    fn draw(&mut self, column: usize, row: usize, character: u8) {
        let pixel_bytes = usize::from(self.info.bits_per_pixel / 8);
        let pitch = self.info.pitch as usize;
        let Some(glyph) = get_raster(character.into(), WEIGHT, HEIGHT) else { return };
        for (y, line) in glyph.rows().enumerate() {
            let start = (row * GLYPH_HEIGHT + y) * pitch + column * GLYPH_WIDTH * pixel_bytes;
            for (x, &coverage) in line.iter().enumerate() {
                let brightness = (u32::from(coverage) * FOREGROUND / 255) as u8;
                self.set(start + x * pixel_bytes, self.info.grey(brightness));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: FramebufferInfo = FramebufferInfo {
        pa: 0xfd00_0000,
        pitch: 4096,
        width: 1024,
        height: 768,
        bits_per_pixel: 32,
        red: Channel { position: 16, size: 8 },
        green: Channel { position: 8, size: 8 },
        blue: Channel { position: 0, size: 8 },
    };

    #[test]
    fn pixel_codes() {
        assert_eq!(INFO.grey(0xc0), 0xc0_c0c0);
        let (five, six) = (5, 6);
        let red = Channel { position: 11, size: five };
        let green = Channel { position: five, size: six };
        let blue = Channel { position: 0, size: five };
        let narrow = FramebufferInfo { bits_per_pixel: 16, red, green, blue, ..INFO };
        assert_eq!(narrow.grey(0xff), 0xffff);
        assert_eq!(narrow.grey(0x80), 0x8410);
    }

    #[test]
    fn impossible_formats_are_refused() {
        assert!(INFO.is_usable());
        assert!(!FramebufferInfo { bits_per_pixel: 8, ..INFO }.is_usable());
        assert!(!FramebufferInfo { pitch: 4092, ..INFO }.is_usable());
        assert!(!FramebufferInfo { width: u32::MAX, ..INFO }.is_usable());
        assert!(!FramebufferInfo { red: Channel { position: 30, size: 8 }, ..INFO }.is_usable());
    }

    #[test]
    fn every_printable_character_has_a_glyph_of_the_cell_size() {
        for character in b' '..0x7f {
            let glyph = get_raster(character.into(), WEIGHT, HEIGHT).expect("glyph");
            assert_eq!((glyph.width(), glyph.height()), (GLYPH_WIDTH, GLYPH_HEIGHT));
        }
    }
}
