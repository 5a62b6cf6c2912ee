// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table that says where the high precision event timer's registers are.

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::fadt::RawAddress;
use crate::table::HEADER_BYTES;
use crate::{Error, GenericAddress, Table};

/// What the table says about the timer; the counter's period is in the timer's own registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HpetTable {
    /// Physical address of the registers.
    pub pa: u64,
    /// Sequence number of the timer.
    pub number: u8,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHpet {
    block_id: U32,
    address: RawAddress,
    number: u8,
    minimum_tick: U16,
    protection: u8,
}

impl HpetTable {
    pub(crate) fn new(table: Table<'_>) -> Result<Self, Error> {
        let raw: RawHpet = table.read(HEADER_BYTES).ok_or(Error::BadLength)?;
        match raw.address.decode() {
            Some(GenericAddress::Memory { pa }) => Ok(Self { pa, number: raw.number }),
            _ => Err(Error::NotFound),
        }
    }
}
