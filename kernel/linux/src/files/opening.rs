// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Opening files by path, for `open`, `openat`, `openat2` and `creat`.

use hadal_vfs::OpenFlags;

use super::{at, mapped};
use crate::Result;
use crate::process::Process;

/// Flags that mean something together with `O_PATH`; the others are ignored then.
const PATH_FLAGS: OpenFlags =
    OpenFlags::PATH.union(OpenFlags::DIRECTORY).union(OpenFlags::NO_FOLLOW).union(OpenFlags::CLOSE_ON_EXEC);

/// Opens what a path names and gives it the lowest free descriptor. Unknown flags are ignored, as on Linux.
pub(crate) fn open(process: &Process, dirfd: i32, path: &[u8], flags: u32, mode: u32) -> Result<usize> {
    let flags = effective(flags);
    let start = at::start(process, dirfd, path)?;
    // Before a file is made or cut short.
    let fd = process.files().reserve()?;
    let file = process
        .namespace
        .open(&process.caller(), &start, path, flags, mode)
        .inspect_err(|&error| process.refused.note_write(process, &start, path, error))?;
    if flags.contains(OpenFlags::TRUNCATE) && !flags.contains(OpenFlags::PATH) {
        mapped::ends_at(process, file.inode(), 0);
    }
    Ok(fd.fill(file, flags.contains(OpenFlags::CLOSE_ON_EXEC)) as usize)
}

fn effective(flags: u32) -> OpenFlags {
    let flags = OpenFlags::from_bits_truncate(flags);
    if flags.contains(OpenFlags::PATH) { flags & PATH_FLAGS } else { flags | OpenFlags::LARGE_FILE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_descriptor_has_few_flags() {
        let path = OpenFlags::PATH | OpenFlags::CLOSE_ON_EXEC;
        assert_eq!(effective((path | OpenFlags::READ_WRITE | OpenFlags::TRUNCATE).bits()), path);
        assert_eq!(effective(1 << 30 | 1), OpenFlags::WRITE_ONLY | OpenFlags::LARGE_FILE);
    }
}
