// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `bind(2)`: gives a socket an address.
//!
//! Honoured: nothing.
//!
//! Refused: sockets have no addresses (`EOPNOTSUPP`).

use super::address;
use crate::call::Call;
use crate::strace::signature;
use crate::socket::Socket;
use crate::{Errno, Result};

signature!(Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    Socket::of(&file)?;
    Err(Errno::EOPNOTSUPP)
}
