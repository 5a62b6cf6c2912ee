// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getcwd(2)`: the path of the working directory.
//!
//! Honoured: all of it.
//!
//! Refused: nothing; a working directory that was renamed or removed keeps the path it was reached by.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Output, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let cwd = call.process.cwd();
    let mut path = cwd.path().to_vec();
    path.push(0);
    if path.len() > call.arg(1) {
        return Err(Errno::ERANGE);
    }
    memory::write_bytes(call.arg(0), &path)?;
    Ok(path.len())
}
