// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scrolling page of text, independent of what shows it.
//!
//! [`TextPage`] interprets the bytes of a log (new lines, tabs, backspace; escape sequences are dropped) and
//! keeps what is on the screen, so that a [`Surface`] is only written to, where a character changed, and
//! never read: video memory is slow, under emulation above all. [`crate::display::vga`] and [`crate::display::framebuffer`] are
//! the surfaces.

const TAB_COLUMNS: usize = 8;
const BLANK: u8 = b' ';

/// What characters are drawn on.
pub(crate) trait Surface {
    /// Blanks the whole surface, whatever was there.
    fn clear(&mut self);

    /// Shows a printable ASCII character.
    fn draw(&mut self, column: usize, row: usize, character: u8);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// After the escape character.
    Start,
    /// Inside a control sequence, until its final letter.
    Sequence,
}

/// The page: at most `CELLS` characters.
pub(crate) struct TextPage<const CELLS: usize> {
    wanted: [u8; CELLS],
    shown: [u8; CELLS],
    columns: usize,
    rows: usize,
    column: usize,
    row: usize,
    escape: Escape,
    /// Rows that may differ between `wanted` and `shown`: from the first to before the last.
    dirty: (usize, usize),
}

impl<const CELLS: usize> TextPage<CELLS> {
    /// A page without a size: it shows nothing until [`Self::resize`].
    pub(crate) const fn new() -> Self {
        Self {
            wanted: [BLANK; CELLS],
            shown: [BLANK; CELLS],
            columns: 0,
            rows: 0,
            column: 0,
            row: 0,
            escape: Escape::None,
            dirty: (0, 0),
        }
    }

    /// Sets the size, fewer rows where the page cannot hold as many, and clears the surface.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize, surface: &mut impl Surface) {
        self.columns = columns.min(CELLS);
        self.rows = if columns == 0 { 0 } else { rows.min(CELLS / self.columns) };
        (self.column, self.row) = (0, 0);
        self.wanted.fill(BLANK);
        self.shown.fill(BLANK);
        self.dirty = (0, 0);
        surface.clear();
    }

    /// Column and row of the next character.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.column.min(self.columns.saturating_sub(1)), self.row)
    }

    /// Adds text and shows it.
    pub(crate) fn write(&mut self, bytes: &[u8], surface: &mut impl Surface) {
        if self.rows == 0 || self.columns == 0 {
            return;
        }
        for &byte in bytes {
            self.add(byte);
        }
        self.flush(surface);
    }

    fn add(&mut self, byte: u8) {
        match self.escape {
            Escape::None => {}
            Escape::Start => {
                self.escape = if byte == b'[' { Escape::Sequence } else { Escape::None };
                return;
            }
            Escape::Sequence => {
                if (0x40..0x7f).contains(&byte) {
                    self.escape = Escape::None;
                }
                return;
            }
        }
        match byte {
            b'\n' => self.new_line(),
            b'\r' => self.column = 0,
            b'\t' => {
                let stop = (self.column / TAB_COLUMNS + 1) * TAB_COLUMNS;
                self.column = stop.min(self.columns);
            }
            0x08 => self.column = self.column.saturating_sub(1),
            0x1b => self.escape = Escape::Start,
            0x20..0x7f => self.put(byte),
            // The first byte of a character that the fonts lack; the bytes that continue it are dropped.
            0xc0.. => self.put(b'?'),
            _ => {}
        }
    }

    fn put(&mut self, character: u8) {
        if self.column >= self.columns {
            self.new_line();
        }
        self.wanted[self.row * self.columns + self.column] = character;
        self.column += 1;
        self.mark(self.row, self.row + 1);
    }

    fn new_line(&mut self) {
        self.column = 0;
        if self.row + 1 < self.rows {
            self.row += 1;
            return;
        }
        let cells = self.rows * self.columns;
        self.wanted.copy_within(self.columns..cells, 0);
        self.wanted[cells - self.columns..cells].fill(BLANK);
        self.mark(0, self.rows);
    }

    fn mark(&mut self, start: usize, end: usize) {
        let (first, last) = self.dirty;
        self.dirty = if first == last { (start, end) } else { (first.min(start), last.max(end)) };
    }

    fn flush(&mut self, surface: &mut impl Surface) {
        let (first, last) = self.dirty;
        for row in first..last {
            for column in 0..self.columns {
                let cell = row * self.columns + column;
                if self.shown[cell] != self.wanted[cell] {
                    self.shown[cell] = self.wanted[cell];
                    surface.draw(column, row, self.wanted[cell]);
                }
            }
        }
        self.dirty = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::{String, ToString};
    use std::vec;
    use std::vec::Vec;

    use super::*;

    struct Screen {
        columns: usize,
        cells: Vec<u8>,
        drawn: usize,
    }

    impl Surface for Screen {
        fn clear(&mut self) {
            self.cells.fill(BLANK);
        }

        fn draw(&mut self, column: usize, row: usize, character: u8) {
            self.cells[row * self.columns + column] = character;
            self.drawn += 1;
        }
    }

    fn page(columns: usize, rows: usize) -> (TextPage<64>, Screen) {
        let mut screen = Screen { columns, cells: vec![0; columns * rows], drawn: 0 };
        let mut page = TextPage::new();
        page.resize(columns, rows, &mut screen);
        (page, screen)
    }

    fn lines(screen: &Screen) -> Vec<String> {
        let line = |row: &[u8]| String::from_utf8_lossy(row).trim_end().to_string();
        screen.cells.chunks(screen.columns).map(line).collect()
    }

    #[test]
    fn wraps_and_scrolls() {
        let (mut page, mut screen) = page(4, 3);
        page.write(b"abcdef\ngh\r\nij", &mut screen);
        assert_eq!(lines(&screen), ["ef", "gh", "ij"]);
        page.write(b"\n", &mut screen);
        assert_eq!(lines(&screen), ["gh", "ij", ""]);
        assert_eq!(page.cursor(), (0, 2));
    }

    #[test]
    fn a_full_line_does_not_scroll_by_itself() {
        let (mut page, mut screen) = page(4, 2);
        page.write(b"abcd\nefgh", &mut screen);
        assert_eq!(lines(&screen), ["abcd", "efgh"]);
        assert_eq!(page.cursor(), (3, 1));
    }

    #[test]
    fn draws_only_what_changed() {
        let (mut page, mut screen) = page(8, 4);
        page.write(b"same\nsame\nsame\nsame", &mut screen);
        screen.drawn = 0;
        page.write(b"\nsane", &mut screen);
        assert_eq!(screen.drawn, 1);
    }

    #[test]
    fn control_characters() {
        let (mut page, mut screen) = page(16, 2);
        page.write(b"\x1b[1;31mred\x1b[0m\tx\x08y\x07 caf\xc3\xa9", &mut screen);
        assert_eq!(lines(&screen)[0], "red     y caf?");
    }

    #[test]
    fn a_page_too_small_for_the_screen_has_fewer_rows() {
        let mut screen = Screen { columns: 20, cells: vec![0; 200], drawn: 0 };
        let mut page = TextPage::<64>::new();
        page.write(b"nothing yet", &mut screen);
        page.resize(20, 10, &mut screen);
        page.write(b"1\n2\n3\n4\n", &mut screen);
        assert_eq!(lines(&screen)[..4], ["3", "4", "", ""]);
        page.resize(0, 10, &mut screen);
        page.write(b"x", &mut screen);
    }
}
