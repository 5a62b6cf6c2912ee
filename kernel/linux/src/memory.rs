// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Typed access to program memory for system calls: every bad pointer is `EFAULT`, whatever its value.

use alloc::vec::Vec;

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
    len == 0 || process.space.check_range(address, len, access) || user::in_direct_memory(address, len)
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
pub fn read<T: FromBytes>(address: usize) -> Result<T> {
    user::read(address).map_err(efault)
}

/// Writes a structure.
pub fn write<T: IntoBytes + Immutable>(address: usize, value: &T) -> Result<()> {
    write_bytes(address, value.as_bytes())
}

/// Writes a structure unless the address is 0.
pub fn write_unless_null<T: IntoBytes + Immutable>(address: usize, value: &T) -> Result<()> {
    if address == 0 { Ok(()) } else { write(address, value) }
}

/// Reads an array of `count` structures. As many as the type of the list has room for take no memory.
pub fn read_array<A: Array>(address: usize, count: usize) -> Result<SmallVec<A>>
where
    A::Item: FromBytes + IntoBytes + Clone,
{
    let mut values = SmallVec::new();
    make_room(&mut values, count)?;
    values.resize(count, A::Item::new_zeroed());
    read_bytes(address, values.as_mut_bytes())?;
    Ok(values)
}

/// Makes room in a list that lives no longer than a call, or `ENOMEM`.
pub fn make_room<A: Array>(list: &mut SmallVec<A>, len: usize) -> Result<()> {
    let bytes = len.saturating_mul(size_of::<A::Item>());
    if bytes > SURE_BYTES {
        fallible::admit(bytes)?;
    }
    list.try_reserve_exact(len).map_err(|_| Errno::ENOMEM)
}

/// Text of the program's. Short text, as most is, takes no memory.
pub type Text = SmallVec<[u8; 128]>;

/// Reads a NUL-terminated string of fewer than `limit` bytes; a longer one is `too_long`.
pub fn read_string(address: usize, limit: usize, too_long: Errno) -> Result<Text> {
    const PAGE: usize = 4096;
    let mut text = Text::new();
    while text.len() < limit {
        let at = address.wrapping_add(text.len());
        let mut buffer = [0; 64];
        // Never across a page boundary, so that a string at the end of a mapping is read whole.
        let part = (PAGE - at % PAGE).min(limit - text.len()).min(buffer.len());
        read_bytes(at, &mut buffer[..part])?;
        let end = buffer[..part].iter().position(|&byte| byte == 0);
        if text.len() + part > text.capacity() {
            text.try_reserve(part).map_err(|_| Errno::ENOMEM)?;
        }
        text.extend_from_slice(&buffer[..end.unwrap_or(part)]);
        if end.is_some() {
            return Ok(text);
        }
    }
    Err(too_long)
}

/// Reads a path.
pub fn read_path(address: usize) -> Result<Text> {
    read_string(address, PATH_MAX, Errno::ENAMETOOLONG)
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
