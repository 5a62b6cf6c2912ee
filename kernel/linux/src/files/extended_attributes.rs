// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Extended attributes, which no file system here keeps: every call about them finds its file and then says so.

use hadal_vfs::Follow;

use super::at;
use crate::call::Call;
use crate::{Errno, Result};

/// The answer for the file at the path in argument 0.
pub(crate) fn at_path(call: &Call<'_>, follow: Follow) -> Result<usize> {
    at::place(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, follow)?;
    Err(Errno::EOPNOTSUPP)
}

/// The answer for the open file in argument 0.
pub(crate) fn at_descriptor(call: &Call<'_>) -> Result<usize> {
    at::open_file(call, 0)?;
    Err(Errno::EOPNOTSUPP)
}
