// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What becomes of bytes on their way to the screen.

use crate::termios::{OutputFlags, Termios};

pub(crate) const TAB_COLUMNS: u32 = 8;
/// What a byte becomes at most, in bytes.
pub const MOST_AT_ONCE: usize = TAB_COLUMNS as usize;

/// Where the cursor is: a number that wraps, of which the lowest bits and differences count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    column: u32,
}

impl Cursor {
    /// The column, from 0.
    pub fn column(self) -> u32 {
        self.column
    }

    /// Writes a byte as the settings say: what goes to the screen is given to `put`.
    pub fn write(&mut self, settings: &Termios, byte: u8, mut put: impl FnMut(&[u8])) {
        let flags = settings.output();
        if !flags.contains(OutputFlags::OPOST) {
            put(&[byte]);
            return;
        }
        match byte {
            b'\n' if flags.contains(OutputFlags::ONLCR) => {
                self.column = 0;
                put(b"\r\n");
            }
            b'\n' => {
                if flags.contains(OutputFlags::ONLRET) {
                    self.column = 0;
                }
                put(b"\n");
            }
            b'\r' if flags.contains(OutputFlags::ONOCR) && self.column == 0 => {}
            b'\r' if flags.contains(OutputFlags::OCRNL) => {
                if flags.contains(OutputFlags::ONLRET) {
                    self.column = 0;
                }
                put(b"\n");
            }
            b'\r' => {
                self.column = 0;
                put(b"\r");
            }
            b'\t' => {
                let spaces = TAB_COLUMNS - self.column % TAB_COLUMNS;
                self.column = self.column.wrapping_add(spaces);
                if flags.contains(OutputFlags::XTABS) {
                    put(&b"        "[..spaces as usize]);
                } else {
                    put(b"\t");
                }
            }
            8 => {
                self.column = self.column.saturating_sub(1);
                put(&[8]);
            }
            _ => {
                self.column = self.column.wrapping_add(u32::from(is_shown(byte)));
                put(&[byte]);
            }
        }
    }
}

/// Whether a byte takes a column: control characters and the further bytes of a character in UTF-8 do not.
pub(crate) fn is_shown(byte: u8) -> bool {
    !byte.is_ascii_control() && byte & 0xc0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(flags: OutputFlags, bytes: &[u8]) -> (Vec<u8>, u32) {
        let mut settings = Termios::DEFAULT;
        settings.set_output(flags);
        let (mut cursor, mut screen) = (Cursor::default(), Vec::new());
        bytes.iter().for_each(|&byte| cursor.write(&settings, byte, |shown| screen.extend_from_slice(shown)));
        (screen, cursor.column())
    }

    #[test]
    fn newlines_and_returns() {
        let usual = OutputFlags::OPOST | OutputFlags::ONLCR;
        assert_eq!(written(usual, b"a\nb"), (b"a\r\nb".to_vec(), 1));
        assert_eq!(written(OutputFlags::ONLCR, b"a\n"), (b"a\n".to_vec(), 0));
        assert_eq!(written(OutputFlags::OPOST, b"ab\n"), (b"ab\n".to_vec(), 2));
        assert_eq!(written(OutputFlags::OPOST | OutputFlags::OCRNL, b"a\r"), (b"a\n".to_vec(), 1));
        assert_eq!(written(OutputFlags::OPOST | OutputFlags::ONOCR, b"\ra\r\r"), (b"a\r".to_vec(), 0));
    }

    #[test]
    fn columns() {
        let spaces = OutputFlags::OPOST | OutputFlags::XTABS;
        assert_eq!(written(spaces, b"ab\tc"), (b"ab      c".to_vec(), 9));
        assert_eq!(written(OutputFlags::OPOST, b"ab\tc").1, 9);
        assert_eq!(written(OutputFlags::OPOST, "\u{e9}\u{20ac}\x1b\x08".as_bytes()).1, 1);
    }
}
