// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flag words with the values Linux gives them on x86-64.

use bitflags::bitflags;

bitflags! {
    /// Flags of `open`; the two lowest bits are the access mode, see [`OpenFlags::readable`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OpenFlags: u32 {
        /// `O_WRONLY`.
        const WRITE_ONLY = 0o1;
        /// `O_RDWR`.
        const READ_WRITE = 0o2;
        /// `O_CREAT`: create the file when it is not there.
        const CREATE = 0o100;
        /// `O_EXCL`: fail when it is there.
        const EXCLUSIVE = 0o200;
        /// `O_NOCTTY`.
        const NO_CTTY = 0o400;
        /// `O_TRUNC`: set the length to zero.
        const TRUNCATE = 0o1000;
        /// `O_APPEND`: every write goes to the end.
        const APPEND = 0o2000;
        /// `O_NONBLOCK`: fail with `EAGAIN` where a call would wait.
        const NONBLOCK = 0o4000;
        /// `O_DSYNC`: a write returns when its data is on stable storage.
        const DATA_SYNC = 0o10000;
        /// `O_DIRECT`.
        const DIRECT = 0o40000;
        /// `O_LARGEFILE`, always on in effect.
        const LARGE_FILE = 0o100000;
        /// `O_DIRECTORY`: fail unless it is a directory.
        const DIRECTORY = 0o200000;
        /// `O_NOFOLLOW`: fail on a symbolic link as the last component.
        const NO_FOLLOW = 0o400000;
        /// `O_NOATIME`.
        const NO_ATIME = 0o1000000;
        /// `O_CLOEXEC`: close the descriptor on `execve`.
        const CLOSE_ON_EXEC = 0o2000000;
        /// `O_SYNC` without the `O_DSYNC` bit it includes.
        const SYNC = 0o4000000;
        /// `O_PATH`: a descriptor that names a place only.
        const PATH = 0o10000000;
        /// `O_TMPFILE` without the `O_DIRECTORY` bit it includes.
        const TEMPORARY = 0o20000000;
    }
}

impl OpenFlags {
    /// The bits `fcntl(F_SETFL)` may change.
    pub const SETTABLE: Self = Self::APPEND.union(Self::NONBLOCK).union(Self::DIRECT).union(Self::NO_ATIME);
    /// `O_ACCMODE`.
    pub const ACCESS_MODE: Self = Self::WRITE_ONLY.union(Self::READ_WRITE);

    /// `O_RDONLY`: no bit at all.
    pub const fn read_only() -> Self {
        Self::empty()
    }

    /// True when the access mode allows reading; access mode 3 allows neither.
    pub const fn readable(self) -> bool {
        matches!(self.bits() & 3, 0 | 2) && !self.contains(Self::PATH)
    }

    /// True when the access mode allows writing.
    pub const fn writable(self) -> bool {
        matches!(self.bits() & 3, 1 | 2) && !self.contains(Self::PATH)
    }
}

bitflags! {
    /// Flags of `renameat2`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RenameFlags: u32 {
        /// `RENAME_NOREPLACE`: fail when the new name exists.
        const NO_REPLACE = 1;
        /// `RENAME_EXCHANGE`: swap the two names.
        const EXCHANGE = 2;
    }
}

bitflags! {
    /// Kinds of access, with the values of `R_OK`, `W_OK` and `X_OK`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Access: u32 {
        /// Read a file, list a directory.
        const READ = 4;
        /// Write a file, change a directory's entries.
        const WRITE = 2;
        /// Run a file, pass through a directory.
        const EXECUTE = 1;
    }
}

bitflags! {
    /// Readiness of a file, with the values of `POLLIN` and so on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PollEvents: u16 {
        /// `POLLIN`: a read would not wait.
        const READ = 0x001;
        /// `POLLPRI`.
        const PRIORITY = 0x002;
        /// `POLLOUT`: a write would not wait.
        const WRITE = 0x004;
        /// `POLLERR`: the other side of a pipe is gone, or the device failed. Reported always.
        const ERROR = 0x008;
        /// `POLLHUP`: no writer is left. Reported always.
        const HANG_UP = 0x010;
        /// `POLLNVAL`: no such descriptor. Reported always.
        const INVALID = 0x020;
        /// `POLLRDNORM`.
        const READ_NORMAL = 0x040;
        /// `POLLWRNORM`.
        const WRITE_NORMAL = 0x100;
        /// `POLLRDHUP`: the other side of a socket has stopped to send.
        const READ_HANG_UP = 0x2000;
    }
}

impl PollEvents {
    /// These events as a change that listeners of a wait queue hear of.
    pub const fn changes(self) -> u32 {
        self.bits() as u32
    }

    /// What regular files and directories always are.
    pub const ALWAYS_READY: Self =
        Self::READ.union(Self::WRITE).union(Self::READ_NORMAL).union(Self::WRITE_NORMAL);
    /// Both names of "a read would not wait".
    pub const READABLE: Self = Self::READ.union(Self::READ_NORMAL);
    /// Both names of "a write would not wait".
    pub const WRITABLE: Self = Self::WRITE.union(Self::WRITE_NORMAL);
}

bitflags! {
    /// Options of a mount.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MountFlags: u32 {
        /// Nothing below the mount can be changed.
        const READ_ONLY = 1;
        /// Set-user-id bits have no effect.
        const NO_SUID = 2;
        /// Device nodes cannot be opened.
        const NO_DEV = 4;
        /// Programs cannot be run.
        const NO_EXEC = 8;
        /// Reading does not change the time of the last read.
        const NO_ATIME = 1024;
    }
}
