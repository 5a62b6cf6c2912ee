// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A terminal's settings as System V had them (`struct termio`): flags of 16 bits and the first eight characters. What has no
//! place there stays as it is.

use hadal_tty::termios::Termios;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Characters of the structure.
const CHARACTERS: usize = 8;

/// `struct termio`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct Termio {
    flags: [u16; 4],
    line: u8,
    characters: [u8; CHARACTERS],
    padding: u8,
}

const _: () = assert!(size_of::<Termio>() == 18);

impl Termio {
    /// What fits of some settings.
    pub(super) fn of(settings: &Termios) -> Self {
        let (flags, characters) = settings.parts();
        let mut first = [0; CHARACTERS];
        first.copy_from_slice(&characters[..CHARACTERS]);
        Self { flags: flags.map(|word| word as u16), line: 0, characters: first, padding: 0 }
    }

    /// Settings with this in them.
    pub(super) fn applied_to(&self, settings: &Termios) -> Termios {
        let (mut flags, mut characters) = settings.parts();
        for (word, low) in flags.iter_mut().zip(self.flags) {
            *word = *word & !u32::from(u16::MAX) | u32::from(low);
        }
        characters[..CHARACTERS].copy_from_slice(&self.characters);
        Termios::new(flags, characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_place_stays() {
        let mut characters = [0; 19];
        characters.iter_mut().zip(1..).for_each(|(character, value)| *character = value);
        let settings = Termios::new([0x1_0001, 0x2_0002, 0x3_0003, 0x4_0004], characters);
        let old = Termio::of(&settings);
        assert_eq!((old.flags, old.characters), ([1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(old.applied_to(&settings), settings);
        let changed = Termio { flags: [9; 4], characters: [0xff; CHARACTERS], ..old };
        let (flags, characters) = changed.applied_to(&settings).parts();
        assert_eq!(flags, [0x1_0009, 0x2_0009, 0x3_0009, 0x4_0009]);
        assert_eq!((characters[7], characters[8], characters[18]), (0xff, 9, 19));
    }
}
