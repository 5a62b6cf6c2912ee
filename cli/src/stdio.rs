// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this process's standard streams are, so that the program in the guest sees streams of the same kind.

use std::os::fd::BorrowedFd;

use hadal_abi::config::StdioKind;
use rustix::fs::{FileType, OFlags};

use crate::early;

/// Device number of `/dev/null`.
const NULL_DEVICE: (u32, u32) = (1, 3);

/// Kinds of standard input, output and error.
pub(crate) fn kinds() -> [StdioKind; 3] {
    let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    let mut kinds = streams.map(kind);
    for (descriptor, kind) in kinds.iter_mut().enumerate() {
        if early::was_closed(descriptor) {
            *kind = StdioKind::Closed;
        }
    }
    kinds
}

fn kind(fd: BorrowedFd<'_>) -> StdioKind {
    let Ok(stat) = rustix::fs::fstat(fd) else { return StdioKind::Closed };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::BlockDevice => file(fd),
        FileType::CharacterDevice => {
            let device = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
            match rustix::termios::tcgetwinsize(fd) {
                Ok(size) => StdioKind::Tty { rows: size.ws_row, cols: size.ws_col },
                Err(_) if device == NULL_DEVICE => StdioKind::Null,
                // Other devices (/dev/zero, /dev/full) are streams without a position, like a pipe.
                Err(_) => StdioKind::Pipe,
            }
        }
        _ => StdioKind::Pipe,
    }
}

/// A file, and how it was opened.
fn file(fd: BorrowedFd<'_>) -> StdioKind {
    let kept = OFlags::ACCMODE | OFlags::APPEND;
    match rustix::fs::fcntl_getfl(fd) {
        Ok(flags) => StdioKind::File { flags: (flags & kept).bits() },
        Err(_) => StdioKind::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn files_pipes_and_the_null_device_are_told_apart() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(kind(reader.as_fd()), StdioKind::Pipe);
        assert_eq!(kind(File::open("/dev/null").unwrap().as_fd()), StdioKind::Null);
        assert_eq!(kind(File::open("/etc/passwd").unwrap().as_fd()), StdioKind::File { flags: 0 });
    }
}
