// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ioctl(2)`: requests to a file that no other call covers.
//!
//! Honoured: `FIONBIO`, `FIOCLEX`, `FIONCLEX` for every file, `FIONREAD` for regular files, pipes and sockets, `FIOQSIZE`; a
//! terminal's own requests (`TCGETS`, `TIOCGWINSZ` and so on) by the terminal.
//!
//! Refused: what the file does not know (`ENOTTY`).

use hadal_vfs::{FileKind, IoctlArgument, OpenFile, OpenFlags, SeekFrom};
use linux_raw_sys::ioctl::{FIOCLEX, FIONBIO, FIONCLEX, FIONREAD, FIOQSIZE};

use crate::call::Call;
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Choice(flags::IOCTL), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = at::open_file(call, 0)?;
    let (fd, request) = (call.int(0), call.uint(1));
    let mut argument = Argument(call.arg(2));
    match request {
        FIOCLEX => call.process.files().set_close_on_exec(fd, true).map(|()| 0),
        FIONCLEX => call.process.files().set_close_on_exec(fd, false).map(|()| 0),
        FIONBIO => {
            let on: u32 = memory::read(argument.0)?;
            let mut status = file.status();
            status.set(OpenFlags::NONBLOCK, on != 0);
            file.set_status(status);
            Ok(0)
        }
        FIONREAD if file.inode().kind() == FileKind::Regular && file.is_seekable() => {
            let left = bytes_left(&file)?.clamp(0, i64::from(i32::MAX)) as i32;
            memory::write(argument.0, &left)?;
            Ok(0)
        }
        FIOQSIZE if matches!(file.inode().kind(), FileKind::Regular | FileKind::Directory) => {
            memory::write(argument.0, &file.metadata()?.size)?;
            Ok(0)
        }
        _ => file.file()?.ioctl(request, &mut argument),
    }
}

/// Bytes between the offset and the end; negative when the offset is behind the end.
fn bytes_left(file: &OpenFile) -> Result<i64> {
    let at = file.seek(SeekFrom::Current(0))?;
    let size = i64::try_from(file.file()?.size()?).map_err(|_| Errno::EOVERFLOW)?;
    Ok(size - at as i64)
}

/// The third argument: a number or an address.
struct Argument(usize);

impl IoctlArgument for Argument {
    fn value(&self) -> usize {
        self.0
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<()> {
        memory::read_bytes(self.0, buffer)
    }

    fn write(&mut self, data: &[u8]) -> Result<()> {
        memory::write_bytes(self.0, data)
    }
}
