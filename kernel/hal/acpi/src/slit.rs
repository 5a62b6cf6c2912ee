// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The system locality distance table: how far memory of one proximity domain is from CPUs of another.

use zerocopy::little_endian::U64;

use crate::table::HEADER_BYTES;
use crate::{Error, Table};

/// Distance of a domain to itself; the unit of all others.
pub const LOCAL_DISTANCE: u8 = 10;
/// Distance between two domains where the firmware says nothing.
pub const REMOTE_DISTANCE: u8 = 20;
const MATRIX_OFFSET: u32 = HEADER_BYTES + 8;

/// The table itself.
#[derive(Clone, Copy)]
pub struct Slit<'m> {
    table: Table<'m>,
    domains: u32,
}

impl<'m> Slit<'m> {
    pub(crate) fn new(table: Table<'m>) -> Result<Self, Error> {
        let domains = table.read::<U64>(HEADER_BYTES).ok_or(Error::BadLength)?.get();
        let matrix_bytes = domains.checked_mul(domains).ok_or(Error::BadLength)?;
        if matrix_bytes > u64::from(table.length_bytes() - MATRIX_OFFSET) {
            return Err(Error::BadLength);
        }
        // The square fits the table, so the side fits 32 bits.
        let domains = u32::try_from(domains).map_err(|_| Error::BadLength)?;
        Ok(Self { table, domains })
    }

    /// Number of domains that the matrix covers.
    pub fn domain_count(&self) -> u32 {
        self.domains
    }

    /// Relative distance from one domain to another; `None` outside the matrix.
    pub fn distance(&self, from_domain: u32, to_domain: u32) -> Option<u8> {
        if from_domain >= self.domains || to_domain >= self.domains {
            return None;
        }
        self.table.read::<u8>(MATRIX_OFFSET + from_domain * self.domains + to_domain)
    }
}
