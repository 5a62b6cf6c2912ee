// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fchdir(2)`: makes an open directory the working directory.
//!
//! Honoured: all of it, `O_PATH` descriptors included.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::working_directory;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let place = call.process.files().get(call.int(0))?.location().clone();
    working_directory::change(call.process, place)
}
