// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `uname(2)`: the names of system, machine and release.
//!
//! Honoured: all six fields. The system calls itself Linux, since programs and C libraries ask for it by name; the release
//! has the suffix `-hadal`.
//!
//! Refused: nothing.

use zerocopy::{Immutable, IntoBytes};

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, machine, memory, release};

/// Bytes of a field with its NUL.
const FIELD_LEN: usize = 65;

/// `struct new_utsname`.
#[repr(C)]
#[derive(IntoBytes, Immutable)]
struct Names {
    system: [u8; FIELD_LEN],
    node: [u8; FIELD_LEN],
    release: [u8; FIELD_LEN],
    version: [u8; FIELD_LEN],
    machine: [u8; FIELD_LEN],
    domain: [u8; FIELD_LEN],
}

signature!(Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let names = Names {
        system: field(release::SYSTEM),
        node: field(&machine::get().hostname()),
        release: field(release::RELEASE),
        version: field(release::VERSION),
        machine: field(release::MACHINE),
        domain: field(release::DOMAIN),
    };
    memory::write(call.arg(0), &names)?;
    Ok(0)
}

/// A text, cut to fit, with NULs behind it.
fn field(text: &str) -> [u8; FIELD_LEN] {
    let mut field = [0; FIELD_LEN];
    let len = text.len().min(FIELD_LEN - 1);
    field[..len].copy_from_slice(&text.as_bytes()[..len]);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_with_a_nul() {
        assert_eq!(&field("Linux")[..6], b"Linux\0");
        assert_eq!(field(&"x".repeat(100))[64], 0);
        assert_eq!(size_of::<Names>(), 390);
    }
}
