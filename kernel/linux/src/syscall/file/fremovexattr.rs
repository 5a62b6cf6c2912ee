// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fremovexattr(2)`: removes an extended attribute of an open file.
//!
//! Honoured: the errors of the path or descriptor come first.
//!
//! Refused: `EOPNOTSUPP` for every file: no file system here keeps extended attributes.

use crate::Result;
use crate::call::Call;
use crate::files::extended_attributes;
use crate::strace::signature;

signature!(Int, Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    extended_attributes::at_descriptor(call)
}
