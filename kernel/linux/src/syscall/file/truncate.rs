// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `truncate(2)`: sets the length of a file.
//!
//! Honoured: all of it; growth reads as zeros; `RLIMIT_FSIZE` (SIGXFSZ and `EFBIG`).
//!
//! Refused: nothing.

use hadal_vfs::{Access, FileKind, Follow, SetAttr};

use crate::call::Call;
use crate::files::{at, mapped, size_limit, transfer};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Path, Word);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let len = transfer::position(call.arg(1))?;
    let (process, mut room) = (call.process, at::Text::new());
    let path = at::path(call, 0, &mut room)?;
    let place = at::place(process, at::AT_FDCWD, path, Follow::Yes)?;
    size_limit::admit(call, len, || {
        process.namespace.access_at(&process.caller(), &place, Access::WRITE)?;
        let metadata = place.inode().metadata()?;
        if metadata.kind() == FileKind::Regular { Ok(metadata.size) } else { Err(Errno::EINVAL) }
    })?;
    process
        .namespace
        .set_attr(&process.caller(), &place, &SetAttr::size(len))
        .inspect_err(|&error| process.refused.note_change(&place, error))?;
    mapped::ends_at(process, place.inode(), len);
    Ok(0)
}
