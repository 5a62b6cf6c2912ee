// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Structures in program memory.

use hadal_hal::memory::user::{self, Fault};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::status::Status;

/// Reads a structure.
pub(crate) fn read<T: FromBytes + IntoBytes>(address: usize) -> Result<T, Fault> {
    let mut value = T::new_zeroed();
    user::copy_from(value.as_mut_bytes(), address)?;
    Ok(value)
}

/// Writes a structure.
pub(crate) fn write<T: IntoBytes + Immutable>(address: usize, value: &T) -> Result<(), Fault> {
    user::copy_to(address, value.as_bytes())
}

/// Writes a structure of which the program knows the first `bytes`: an older program gets what it knows.
pub(crate) fn write_prefix<T: IntoBytes + Immutable>(
    address: usize,
    value: &T,
    bytes: u64,
) -> Result<(), Status> {
    let known = usize::try_from(bytes).unwrap_or(usize::MAX).min(size_of::<T>());
    if known == 0 {
        return Err(Status::Invalid);
    }
    Ok(user::copy_to(address, &value.as_bytes()[..known])?)
}
