// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `readlink` and `readlinkat` have in common.

use hadal_vfs::FileKind;

use super::at;
use crate::call::Call;
use crate::{Errno, Result, memory};

/// Copies the text of the link that `path` names, or the descriptor when the path is empty, to a buffer of `size` bytes;
/// what does not fit is cut off.
pub(crate) fn read(call: &Call<'_>, dirfd: i32, path: &[u8], buffer: usize, size: i32) -> Result<usize> {
    let size = usize::try_from(size).map_err(|_| Errno::EINVAL)?;
    if size == 0 {
        return Err(Errno::EINVAL);
    }
    let process = call.process;
    let text = if path.is_empty() && dirfd != at::AT_FDCWD {
        let file = process.files().get(dirfd)?;
        match file.inode().kind() {
            FileKind::Symlink => file.inode().readlink()?,
            _ => return Err(Errno::ENOENT),
        }
    } else {
        process.namespace.readlink(&process.caller(), &*at::start(process, dirfd, path)?, path)?
    };
    let count = text.len().min(size);
    memory::write_bytes(buffer, &text[..count])?;
    Ok(count)
}
