// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `listen(2)`: makes a socket wait for connections.
//!
//! Honoured: streams and packets that have an address; at most 4,096 connections wait.
//!
//! Refused: sockets without an address, and connected ones (`EINVAL`); datagrams (`EOPNOTSUPP`).

use super::address;
use crate::Result;
use crate::call::Call;
use crate::socket::{Ids, Socket};
use crate::strace::signature;

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    Socket::of(&file)?.listen(call.int(1), Ids::acting(call.process))?;
    Ok(0)
}
