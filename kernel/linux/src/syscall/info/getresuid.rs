// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getresuid(2)`: real, effective and saved user id.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Address, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let ids = call.process.credentials.user();
    for (index, id) in [ids.real, ids.effective, ids.saved].into_iter().enumerate() {
        memory::write(call.arg(index), &id)?;
    }
    Ok(0)
}
