// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

/// A keyboard, a screen, and what a program reads.
struct Desk {
    settings: Termios,
    input: Input,
    cursor: Cursor,
    screen: Vec<u8>,
    typed: Vec<Typed>,
}

impl Desk {
    fn new() -> Self {
        let (input, cursor) = (Input::default(), Cursor::default());
        Self { settings: Termios::DEFAULT, input, cursor, screen: Vec::new(), typed: Vec::new() }
    }

    fn with(change: impl FnOnce(&mut Termios)) -> Self {
        let mut desk = Self::new();
        change(&mut desk.settings);
        desk
    }

    fn type_in(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            let screen = &mut self.screen;
            let mut put = |shown: &[u8]| screen.extend_from_slice(shown);
            let typed = self.input.take(&self.settings, &mut self.cursor, byte, &mut put);
            self.typed.extend(typed);
        }
        self
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        self.input.readable(&self.settings)?;
        let mut buffer = [0; 100];
        let len = self.input.read(&self.settings, &mut buffer);
        Some(buffer[..len].to_vec())
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.screen).into_owned()
    }
}

fn text(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(bytes.to_vec())
}

#[test]
fn a_line_is_read_when_it_is_finished() {
    let mut desk = Desk::new();
    desk.type_in(b"ab");
    assert_eq!(desk.read(), None);
    desk.type_in(b"c\rsecond\n");
    assert_eq!((desk.read(), desk.read(), desk.read()), (text(b"abc\n"), text(b"second\n"), None));
    assert_eq!(desk.shown(), "abc\r\nsecond\r\n");
}

#[test]
fn a_short_buffer_gets_a_part_of_the_line() {
    let mut desk = Desk::new();
    desk.type_in(b"abcd\nx\n");
    let mut buffer = [0; 3];
    assert_eq!(desk.input.read(&desk.settings, &mut buffer), 3);
    assert_eq!(&buffer, b"abc");
    assert_eq!((desk.read(), desk.read()), (text(b"d\n"), text(b"x\n")));
}

#[test]
fn characters_words_and_lines_are_erased() {
    let mut desk = Desk::new();
    desk.type_in(b"abx\x7fc two  three\x17\x17!\n");
    assert_eq!(desk.read(), text(b"abc !\n"));
    let mut desk = Desk::new();
    desk.type_in(b"gone\x15stays\n");
    assert_eq!(desk.read(), text(b"stays\n"));
    assert!(desk.shown().starts_with("gone\x08 \x08\x08 \x08\x08 \x08\x08 \x08stays"));
    // Nothing is left to erase, also not of the line before.
    let mut desk = Desk::new();
    desk.type_in(b"one\n\x7f\x17\x15two\n");
    assert_eq!((desk.read(), desk.read()), (text(b"one\n"), text(b"two\n")));
}

#[test]
fn what_is_erased_disappears_as_wide_as_it_was() {
    let erased = |bytes: &[u8]| {
        let mut desk = Desk::with(|settings| settings.add_input(InputFlags::IUTF8));
        desk.type_in(bytes);
        let before = desk.screen.len();
        desk.type_in(b"\x7f");
        (desk.screen[before..].iter().filter(|&&byte| byte == b' ').count(), desk.cursor.column())
    };
    assert_eq!(erased(b"ab"), (1, 1));
    // As ^A, as a character of three bytes, and up to where the tab began.
    assert_eq!(erased(b"a\x01"), (2, 1));
    assert_eq!(erased("a\u{20ac}".as_bytes()), (1, 1));
    assert_eq!(erased(b"abc\t"), (5, 3));
}

#[test]
fn an_erased_tab_is_never_wider_than_one() {
    let mut desk = Desk::new();
    desk.type_in(b"\t");
    // The program writes behind it.
    (0..1000).for_each(|_| desk.cursor.write(&desk.settings, b'x', |_| {}));
    let before = desk.screen.len();
    desk.type_in(b"\x7f");
    assert!(desk.screen.len() - before <= 3 * 8);
}

#[test]
fn the_end_of_input_is_read_once() {
    let mut desk = Desk::new();
    desk.type_in(b"\x04rest\x04\x04");
    assert_eq!(
        (desk.read(), desk.read(), desk.read(), desk.read()),
        (text(b""), text(b"rest"), text(b""), None)
    );
}

#[test]
fn signals_discard_what_waits() {
    let mut desk = Desk::new();
    desk.type_in(b"lost\nlost\x03");
    assert_eq!((desk.typed.clone(), desk.read()), (vec![Typed::Interrupt], None));
    assert!(desk.shown().ends_with("lost^C"));
    desk.type_in(b"\x1a\x1c");
    assert_eq!(desk.typed, [Typed::Interrupt, Typed::Suspend, Typed::Quit]);
    let mut desk = Desk::with(|settings| settings.add_local(LocalFlags::NOFLSH));
    desk.type_in(b"kept\n\x03");
    assert_eq!((desk.typed.len(), desk.read()), (1, text(b"kept\n")));
}

#[test]
fn a_literal_character_has_no_meaning() {
    let mut desk = Desk::new();
    desk.type_in(b"a\x16\x03b\x16\x04\n");
    assert_eq!((desk.typed.len(), desk.read()), (0, text(b"a\x03b\x04\n")));
    assert_eq!(desk.shown(), "a^\x08^Cb^\x08^D\r\n");
}

#[test]
fn output_is_held_and_goes_on() {
    let mut desk = Desk::new();
    assert!(desk.type_in(b"\x13").input.holds_output());
    assert!(!desk.type_in(b"\x11").input.holds_output());
    desk.type_in(b"\x13");
    desk.type_in(b"\x03");
    assert!(!desk.input.holds_output());
    assert_eq!(desk.read(), None);
}

#[test]
fn without_lines_every_byte_is_read() {
    let mut desk = Desk::with(|settings| settings.remove_local(LocalFlags::ICANON | LocalFlags::ECHO));
    desk.type_in(b"a\x7f\x04");
    assert_eq!((desk.read(), desk.shown().as_str()), (text(b"a\x7f\x04"), ""));
    desk.type_in(b"\x03");
    assert_eq!(desk.typed, [Typed::Interrupt]);
}

#[test]
fn what_waits_survives_a_change_of_the_mode() {
    let mut desk = Desk::new();
    desk.type_in(b"line\nhalf");
    let before = desk.settings;
    desk.settings.remove_local(LocalFlags::ICANON);
    desk.input.change(&before, &desk.settings);
    assert_eq!(desk.read(), text(b"line\nhalf"));
    desk.type_in(b"raw");
    desk.input.change(&desk.settings, &before);
    desk.settings = before;
    assert_eq!(desk.read(), text(b"raw"));
}

#[test]
fn a_full_line_can_be_ended() {
    let mut desk = Desk::with(|settings| settings.add_input(InputFlags::IMAXBEL));
    desk.type_in(&[b'x'; CAPACITY + 10]);
    assert!(
        desk.input.has_room(&desk.settings)
            && desk.shown().ends_with("x\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07")
    );
    desk.type_in(b"\n");
    assert!(!desk.input.has_room(&desk.settings));
    assert_eq!(desk.input.readable(&desk.settings), Some(CAPACITY));
    let mut buffer = [0; CAPACITY];
    assert_eq!(desk.input.read(&desk.settings, &mut buffer), CAPACITY);
    assert_eq!((buffer[CAPACITY - 2], buffer[CAPACITY - 1]), (b'x', b'\n'));
    desk.type_in(&[4; 600]);
    assert!(!desk.input.has_room(&desk.settings));
    assert_eq!((0..600).filter(|_| desk.read().is_some()).count(), MOST_LINES);
}

#[test]
fn anything_may_be_typed() {
    // A generator of Lehmer: the same bytes in every run.
    let mut state = 1_u64;
    let mut next = || {
        state = state * 48271 % 0x7fff_ffff;
        state as u8
    };
    for round in 0..200 {
        let mut desk = Desk::with(|settings| {
            if round % 3 == 0 {
                settings.remove_local(LocalFlags::ICANON);
            }
            if round % 2 == 0 {
                settings.add_input(InputFlags::IUTF8);
            }
        });
        for _ in 0..500 {
            let byte = next();
            desk.type_in(&[if byte < 128 { byte % 32 } else { byte }]);
            if next() == 0 {
                desk.read();
            }
            assert!(desk.input.bytes.len() <= CAPACITY && desk.input.finished <= desk.input.bytes.len());
            assert_eq!(
                desk.input.lines.iter().map(|&len| usize::from(len)).sum::<usize>(),
                desk.input.finished
            );
        }
    }
}

#[test]
fn what_somebody_else_has_edited_comes_by_lines_or_as_it_is() {
    let mut desk = Desk::new();
    desk.input.accept(&desk.settings, b"one\ntwo\n");
    assert_eq!((desk.read(), desk.read(), desk.read()), (text(b"one\n"), text(b"two\n"), None));
    desk.input.accept(&desk.settings, b"no newline");
    desk.input.accept(&desk.settings, b"");
    assert_eq!((desk.read(), desk.read(), desk.read()), (text(b"no newline"), text(b""), None));
    assert_eq!(desk.shown(), "");
    let mut desk = Desk::with(|settings| settings.remove_local(LocalFlags::ICANON));
    desk.input.accept(&desk.settings, b"");
    assert_eq!(desk.read(), None);
    desk.input.accept(&desk.settings, &[3, 4, b'\r']);
    assert_eq!(desk.read(), text(&[3, 4, b'\r']));
    desk.input.accept(&desk.settings, &[0; 2 * CAPACITY]);
    assert_eq!(desk.input.waiting(&desk.settings), CAPACITY - 1);
}
