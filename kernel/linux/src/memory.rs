// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Typed access to program memory for system calls: every bad pointer is `EFAULT`, whatever its value.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use arrayvec::ArrayVec;
use hadal_hal::memory::fallible;
use hadal_hal::memory::user::{self, Fault};
use hadal_mem::space::FaultAccess;
use smallvec::{Array, SmallVec};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use crate::process::Process;
use crate::{Errno, Result};

/// Longest path that a system call takes, with its NUL.
pub const PATH_MAX: usize = 4096;

/// Turns a hardware-layer fault into the error a program sees.
pub fn efault(_: Fault) -> Errno {
    Errno::EFAULT
}

/// Whether the program may access all of a range in a way: what its mappings say, or memory of the direct map.
pub fn permits(process: &Process, address: usize, len: usize, access: FaultAccess) -> bool {
    len == 0 || process.space().check_range(address, len, access) || user::in_direct_memory(address, len)
}

/// Reads bytes.
#[inline]
pub fn read_bytes(address: usize, buffer: &mut [u8]) -> Result<()> {
    user::copy_from(buffer, address).map_err(efault)
}

/// Writes bytes.
#[inline]
pub fn write_bytes(address: usize, data: &[u8]) -> Result<()> {
    user::copy_to(address, data).map_err(efault)
}

/// Reads a structure.
#[inline]
pub fn read<T: FromBytes>(address: usize) -> Result<T> {
    user::read(address).map_err(efault)
}

/// Writes a structure; one of the size of a word by one instruction.
#[inline]
pub fn write<T: IntoBytes + Immutable>(address: usize, value: &T) -> Result<()> {
    let bytes = value.as_bytes();
    if let Ok(word) = u64::read_from_bytes(bytes) {
        return user::store_u64(address, word).map_err(efault);
    }
    if let Ok(word) = u32::read_from_bytes(bytes) {
        return user::store_u32(address, word).map_err(efault);
    }
    write_bytes(address, bytes)
}

/// Writes a structure unless the address is 0.
#[inline]
pub fn write_unless_null<T: IntoBytes + Immutable>(address: usize, value: &T) -> Result<()> {
    if address == 0 { Ok(()) } else { write(address, value) }
}

/// An array of structures from program memory. As many as there is room for (`FEW`) take no memory.
pub(crate) struct ProgramArray<T, const FEW: usize> {
    few: [T; FEW],
    /// All of them, if they are more.
    many: Vec<T>,
    len: usize,
}

impl<T: FromBytes + IntoBytes, const FEW: usize> ProgramArray<T, FEW> {
    /// An empty one.
    #[inline]
    pub(crate) fn new() -> Self {
        Self { few: FromZeros::new_zeroed(), many: Vec::new(), len: 0 }
    }

    /// Reads `count` structures.
    #[inline]
    pub(crate) fn read(&mut self, address: usize, count: usize) -> Result<()> {
        if count > FEW {
            self.many = room_for(count)?;
            self.many.resize_with(count, T::new_zeroed);
        }
        self.len = count;
        read_bytes(address, self.as_mut_bytes())
    }
}

impl<T, const FEW: usize> Deref for ProgramArray<T, FEW> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        if self.len > FEW { &self.many } else { &self.few[..self.len] }
    }
}

impl<T, const FEW: usize> DerefMut for ProgramArray<T, FEW> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len > FEW { &mut self.many } else { &mut self.few[..self.len] }
    }
}

/// Makes room in a list that lives no longer than a call, or `ENOMEM`.
pub fn make_room<A: Array>(list: &mut SmallVec<A>, len: usize) -> Result<()> {
    let bytes = len.saturating_mul(size_of::<A::Item>());
    if bytes > SURE_BYTES {
        fallible::admit(bytes)?;
    }
    list.try_reserve_exact(len).map_err(|_| Errno::ENOMEM)
}

/// Bytes of a text that take no memory.
const SHORT: usize = 128;
/// Bytes that a text is read by.
const WORD: usize = size_of::<u64>();

/// Room for text of the program's. Short text, as most is, takes no memory.
#[derive(Default)]
pub struct Text {
    /// The words that the text was read by, the last of them with what is behind the text.
    short: ArrayVec<[u8; WORD], { SHORT / WORD }>,
    /// The same, if they are more.
    long: Vec<u8>,
}

impl Text {
    /// Room without text in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first `len` bytes that were read.
    fn first(&self, len: usize) -> &[u8] {
        let words = if self.long.is_empty() { self.short.as_flattened() } else { &self.long };
        &words[..len]
    }

    #[inline]
    fn push(&mut self, word: [u8; WORD]) -> Result<()> {
        if self.short.try_push(word).is_ok() { Ok(()) } else { self.push_long(word) }
    }

    #[cold]
    fn push_long(&mut self, word: [u8; WORD]) -> Result<()> {
        if self.long.is_empty() {
            self.long.try_reserve(2 * SHORT).map_err(|_| Errno::ENOMEM)?;
            self.long.extend_from_slice(self.short.as_flattened());
        }
        self.long.try_reserve(WORD).map_err(|_| Errno::ENOMEM)?;
        self.long.extend_from_slice(&word);
        Ok(())
    }
}

/// The first zero byte of a word in memory, or [`WORD`].
fn first_zero(word: u64) -> usize {
    const LOW: u64 = u64::from_ne_bytes([0x01; WORD]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; WORD]);
    // A borrow marks only bytes behind a zero.
    let zeros = word.wrapping_sub(LOW) & !word & HIGH;
    zeros.trailing_zeros() as usize / 8
}

/// Reads a word of a string, of which what is behind a zero byte may be missing.
#[inline]
fn read_word(address: usize) -> Result<u64> {
    const PAGE: usize = 4096;
    if address % PAGE <= PAGE - WORD {
        return user::load_u64(address).map_err(efault);
    }
    // Never across a page boundary at once, so that a string at the end of a mapping is read whole.
    let mut word = 0;
    for index in 0..WORD {
        let byte = read::<u8>(address.wrapping_add(index))?;
        word |= u64::from(byte) << (8 * index);
        if byte == 0 {
            break;
        }
    }
    Ok(word)
}

/// Reads a NUL-terminated string of fewer than `limit` bytes; a longer one is `too_long`.
pub fn read_string(room: &mut Text, address: usize, limit: usize, too_long: Errno) -> Result<&[u8]> {
    let mut len = 0;
    while len < limit {
        let word = read_word(address.wrapping_add(len))?;
        room.push(word.to_le_bytes())?;
        let part = first_zero(word);
        len += part;
        if part < WORD {
            return if len < limit { Ok(room.first(len)) } else { Err(too_long) };
        }
    }
    Err(too_long)
}

/// Reads a path.
pub fn read_path(room: &mut Text, address: usize) -> Result<&[u8]> {
    read_string(room, address, PATH_MAX, Errno::ENAMETOOLONG)
}

/// A list that lives no longer than a call has so many bytes even when memory is short.
pub const SURE_BYTES: usize = 4096;

/// Room for what lives no longer than a call, or `ENOMEM`.
fn room_for<T>(len: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    if len.saturating_mul(size_of::<T>()) > SURE_BYTES {
        return Ok(fallible::room_for(len)?);
    }
    room.try_reserve_exact(len).map_err(|_| Errno::ENOMEM)?;
    Ok(room)
}

/// A kernel buffer for data on its way to or from the program, or `ENOMEM`.
pub fn buffer(len: usize) -> Result<Vec<u8>> {
    let mut bytes = room_for(len)?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// The same where a smaller buffer than asked for will do.
pub fn buffer_up_to(len: usize) -> Result<Vec<u8>> {
    buffer(len).or_else(|_| buffer(len.min(SURE_BYTES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_zero_is_found() {
        for first in 0..=WORD {
            for behind in [0x00, 0x01, 0x80, 0xff] {
                let mut bytes = [behind; WORD];
                bytes[..first].fill(0x01);
                bytes[..first / 2].fill(0xff);
                if first < WORD {
                    bytes[first] = 0;
                }
                assert_eq!(first_zero(u64::from_le_bytes(bytes)), first, "{bytes:x?}");
            }
        }
    }

    #[test]
    fn text_of_any_length_is_kept() {
        for len in [0, 1, 7, 8, 119, 120, 121, 128, 129, 500] {
            let text: Vec<u8> = (0..len).map(|index| index as u8 | 1).collect();
            let mut room = Text::new();
            for part in text.chunks(WORD) {
                let mut word = [0; WORD];
                word[..part.len()].copy_from_slice(part);
                room.push(word).unwrap();
            }
            assert_eq!(room.first(len), text);
        }
    }
}
