// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `signalfd4(2)`: makes a file from which signals are read, or changes which.
//!
//! Honoured: `SFD_CLOEXEC`, `SFD_NONBLOCK`; polling; `SIGKILL` and `SIGSTOP` in the set are ignored.
//!
//! Refused: nothing; other flags and set sizes other than 8 are `EINVAL`.

use hadal_vfs::OpenFlags;

use crate::call::Call;
use crate::files::anonymous::{self, Label};
use crate::files::at;
use crate::signal::mask;
use crate::signalfd::SignalFile;
use crate::strace::signature;
use crate::{Errno, Result};

/// `SFD_NONBLOCK` and `SFD_CLOEXEC`, which are the flags of `open`.
const FLAGS: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::CLOSE_ON_EXEC);

signature!(Int, Address, Size, Flags(&flags::PIPE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    make(call, call.uint(3))
}

/// Makes the file, or changes that of argument 0 if it is not -1.
pub(super) fn make(call: &Call<'_>, flags: u32) -> Result<usize> {
    if call.arg(2) != mask::SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let wanted = mask::read(call.arg(1), call.arg(2))?.ok_or(Errno::EFAULT)?.blockable();
    at::check_flags(flags, FLAGS.bits())?;
    let fd = call.int(0);
    if fd != -1 {
        let file = call.process.files().get(fd)?;
        SignalFile::of(&file)?.set(call.process, wanted);
        return Ok(fd as usize);
    }
    let flags = OpenFlags::from_bits_truncate(flags);
    let status = OpenFlags::READ_WRITE | flags & OpenFlags::NONBLOCK;
    let label = Label::Fixed("anon_inode:[signalfd]");
    let signals = SignalFile::new(wanted);
    let file = anonymous::open(&call.process.caller(), signals, 0o600, label, status)?;
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    call.process.files().insert(file, on_exec).map(|fd| fd as usize)
}
