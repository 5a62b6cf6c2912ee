// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `memfd_create(2)`: makes a file in memory without a name.
//!
//! Honoured: `MFD_CLOEXEC`, `MFD_ALLOW_SEALING`, `MFD_EXEC`.
//!
//! Refused: `MFD_NOEXEC_SEAL`, `MFD_HUGETLB` (`EINVAL`): modes are not sealed, and there are no huge pages to ask for.

use alloc::format;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_mem::frames;
use hadal_vfs::{AccessTimes, Inode, Location, OpenFile, OpenFlags, Owner, Seals, TmpFs};
use linux_raw_sys::general::{MFD_ALLOW_SEALING, MFD_CLOEXEC, MFD_EXEC};
use spin::Once;

use crate::call::Call;
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// Longest name with its NUL: what is left of 255 bytes behind `memfd:`.
const NAME_LIMIT: usize = 250;

/// The file system that holds the files, mounted nowhere.
fn root() -> Result<&'static Arc<dyn Inode>> {
    ROOT.try_call_once(|| {
        TmpFs::create_with(
            frames::global(),
            u64::MAX,
            0o700,
            Owner::default(),
            AccessTimes::Strict,
            Seals::empty(),
        )
    })
}

static ROOT: Once<Arc<dyn Inode>> = Once::new();

signature!(Path, Flags(&flags::MEMFD));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let flags = call.uint(1);
    at::check_flags(flags, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC)?;
    let mut room = memory::Text::new();
    let name = memory::read_string(&mut room, call.arg(0), NAME_LIMIT, Errno::EINVAL)?;
    let credentials = &call.process.credentials;
    let owner = Owner { uid: credentials.user().effective, gid: credentials.group().effective };
    let status = OpenFlags::READ_WRITE | OpenFlags::LARGE_FILE;
    // The entry has a name of its own for a moment: the program's name need not be unique.
    let entry = format!("{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let created = root()?.create(entry.as_bytes(), 0o777, owner, status)?;
    root()?.unlink(entry.as_bytes())?;
    if flags & MFD_ALLOW_SEALING == 0 {
        created.file.add_seals(Seals::SEAL)?;
    }
    let label = [&b"/memfd:"[..], name, b" (deleted)"].concat();
    let file = OpenFile::new(created.file, Location::anonymous(created.inode, &label)?, status)?;
    call.process.files().insert(file, flags & MFD_CLOEXEC != 0).map(|fd| fd as usize)
}
