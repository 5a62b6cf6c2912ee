// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words of program memory that threads wait on.

use hadal_hal::memory::user::{self, Fault};

/// Why nobody can wait on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadWord {
    /// Its address is no multiple of its size, 4 bytes.
    Unaligned,
    /// It is not in the program's part of the address space.
    Outside,
}

/// Whether threads may wait on the word at `address`. Nothing needs to be mapped there.
#[inline]
pub fn check_word(address: usize) -> Result<(), BadWord> {
    if !address.is_multiple_of(4) {
        return Err(BadWord::Unaligned);
    }
    if user::in_window(address, 4) { Ok(()) } else { Err(BadWord::Outside) }
}

/// Calls `act`, which reads the word at `address` under a lock, where its page cannot be brought in; brings it in when it is
/// not there, and starts over, however often it goes.
pub fn with_word<R>(address: usize, mut act: impl FnMut() -> Result<R, Fault>) -> Result<R, Fault> {
    loop {
        if let Ok(outcome) = act() {
            return Ok(outcome);
        }
        user::load_u32(address)?;
    }
}
