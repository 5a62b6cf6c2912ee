// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the arguments of each system call are.

use linux_raw_sys::general::{
    F_DUPFD, F_DUPFD_CLOEXEC, F_GET_SEALS, F_GETFD, F_GETFL, F_GETOWN, F_GETPIPE_SZ, F_SETFD, F_SETFL,
    FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_REQUEUE, FUTEX_TRYLOCK_PI,
    FUTEX_UNLOCK_PI, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_OP,
};

use super::flags::{self, Choice, FlagSet};

/// A kind of argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    /// A C `int`, and so a descriptor or an identifier.
    Int,
    /// A signed word.
    Word,
    /// An unsigned word: a length or a count.
    Size,
    /// A word of bits without names.
    Hex,
    /// Permission bits.
    Octal,
    /// An address.
    Address,
    /// A directory's descriptor or `AT_FDCWD`.
    Directory,
    /// A string.
    Path,
    /// Data for the kernel; its length is the argument with this index.
    Input(usize),
    /// Data from the kernel; its length is the result.
    Output,
    /// Named bits.
    Flags(&'static FlagSet),
    /// One of several names.
    Choice(Choice),
    /// A signal's number.
    Signal,
    /// A `struct timespec` for the kernel.
    Time,
    /// Two descriptors from the kernel.
    Pair,
    /// `struct clone_args`.
    CloneArgs,
}

impl Arg {
    /// Whether it can be shown only after the call.
    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::Output | Self::Pair)
    }
}

/// A call's arguments and result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signature {
    pub(super) args: &'static [Arg],
    pub(super) result: Arg,
}

impl Signature {
    /// Of a call that nobody knows.
    pub(super) const UNKNOWN: Self = Self { args: &[Arg::Hex; 6], result: Arg::Word };
}

/// The signature of a call by its name; `words` are its arguments, on which the meaning of the later ones may depend.
pub(super) fn of(name: &str, words: &[usize; 6]) -> Signature {
    use Arg::{
        Address, Choice, CloneArgs, Directory, Flags, Hex, Input, Int, Octal, Output, Pair, Path, Signal,
        Size, Time, Word,
    };
    let args: &'static [Arg] = match name {
        // Data.
        "read" => &[Int, Output, Size],
        "write" => &[Int, Input(2), Size],
        "pread64" => &[Int, Output, Size, Word],
        "pwrite64" => &[Int, Input(2), Size, Word],
        "readv" | "writev" => &[Int, Address, Int],
        "preadv" | "pwritev" => &[Int, Address, Int, Word],
        "preadv2" | "pwritev2" => &[Int, Address, Int, Word, Hex, Flags(&flags::RW)],
        "lseek" => &[Int, Word, Choice(flags::WHENCE)],
        "sendfile" => &[Int, Int, Address, Size],
        "copy_file_range" => &[Int, Address, Int, Address, Size, Hex],
        "fsync" | "fdatasync" | "syncfs" | "close" | "dup" | "fchdir" => &[Int],
        "sync_file_range" => &[Int, Word, Word, Hex],
        "readahead" => &[Int, Word, Size],
        "fadvise64" => &[Int, Word, Word, Int],
        "fallocate" => &[Int, Flags(&flags::ALLOCATE), Word, Word],
        "truncate" => &[Path, Word],
        "ftruncate" => &[Int, Word],
        // Descriptors.
        "open" if makes_file(words[1]) => &[Path, Flags(&flags::OPEN), Octal],
        "open" => &[Path, Flags(&flags::OPEN)],
        "openat" if makes_file(words[2]) => &[Directory, Path, Flags(&flags::OPEN), Octal],
        "openat" => &[Directory, Path, Flags(&flags::OPEN)],
        "openat2" => &[Directory, Path, Address, Size],
        "creat" => &[Path, Octal],
        "dup2" => &[Int, Int],
        "dup3" => &[Int, Int, Flags(&flags::PIPE)],
        "close_range" => &[Int, Int, Flags(&flags::CLOSE_RANGE)],
        "fcntl" => fcntl(words[1]),
        "ioctl" => &[Int, Choice(flags::IOCTL), Address],
        "flock" => &[Int, Hex],
        "pipe" => &[Pair],
        "pipe2" => &[Pair, Flags(&flags::PIPE)],
        "socket" => &[Int, Hex, Int],
        "socketpair" => &[Int, Hex, Int, Pair],
        "sendto" => &[Int, Input(2), Size, Hex, Address, Size],
        "recvfrom" => &[Int, Output, Size, Hex, Address, Address],
        "sendmsg" | "recvmsg" => &[Int, Address, Hex],
        "sendmmsg" => &[Int, Address, Size, Hex],
        "recvmmsg" => &[Int, Address, Size, Hex, Time],
        "shutdown" | "listen" => &[Int, Int],
        "getsockname" | "getpeername" | "accept" => &[Int, Address, Address],
        "accept4" => &[Int, Address, Address, Hex],
        "bind" | "connect" => &[Int, Address, Size],
        "getsockopt" => &[Int, Int, Int, Address, Address],
        "setsockopt" => &[Int, Int, Int, Address, Size],
        "eventfd" => &[Size],
        "eventfd2" => &[Size, Flags(&flags::EVENTFD)],
        "memfd_create" => &[Path, Flags(&flags::MEMFD)],
        "epoll_create" => &[Int],
        "epoll_create1" => &[Flags(&flags::PIPE)],
        "epoll_ctl" => &[Int, Choice(flags::EPOLL_CTL), Int, Address],
        "epoll_wait" => &[Int, Address, Int, Int],
        "epoll_pwait" => &[Int, Address, Int, Int, Address, Size],
        "epoll_pwait2" => &[Int, Address, Int, Time, Address, Size],
        "signalfd" => &[Int, Address, Size],
        "signalfd4" => &[Int, Address, Size, Flags(&flags::PIPE)],
        "timerfd_create" => &[Int, Flags(&flags::PIPE)],
        "timerfd_settime" => &[Int, Hex, Address, Address],
        "timerfd_gettime" => &[Int, Address],
        // Message queues.
        "mq_open" if makes_file(words[1]) => &[Path, Flags(&flags::OPEN), Octal, Address],
        "mq_open" => &[Path, Flags(&flags::OPEN)],
        "mq_unlink" => &[Path],
        "mq_timedsend" => &[Int, Input(2), Size, Size, Time],
        "mq_timedreceive" => &[Int, Output, Size, Address, Time],
        "mq_notify" => &[Int, Address],
        "mq_getsetattr" => &[Int, Address, Address],
        "poll" => &[Address, Size, Int],
        "ppoll" => &[Address, Size, Time, Address, Size],
        "select" => &[Int, Address, Address, Address, Address],
        "pselect6" => &[Int, Address, Address, Address, Time, Address],
        // Names.
        "stat" | "lstat" | "statfs" => &[Path, Address],
        "fstat" | "fstatfs" => &[Int, Address],
        "newfstatat" => &[Directory, Path, Address, Flags(&flags::AT)],
        "statx" => &[Directory, Path, Flags(&flags::AT), Hex, Address],
        "access" => &[Path, Flags(&flags::ACCESS)],
        "faccessat" => &[Directory, Path, Flags(&flags::ACCESS)],
        "faccessat2" => &[Directory, Path, Flags(&flags::ACCESS), Flags(&flags::AT)],
        "readlink" => &[Path, Output, Size],
        "readlinkat" => &[Directory, Path, Output, Size],
        "getcwd" => &[Output, Size],
        "getdents" | "getdents64" => &[Int, Address, Size],
        "chdir" | "rmdir" | "unlink" => &[Path],
        "mkdir" | "chmod" => &[Path, Octal],
        "mkdirat" | "fchmodat" => &[Directory, Path, Octal],
        "fchmodat2" => &[Directory, Path, Octal, Flags(&flags::AT)],
        "fchmod" => &[Int, Octal],
        "umask" => &[Octal],
        "mknod" => &[Path, Octal, Hex],
        "mknodat" => &[Directory, Path, Octal, Hex],
        "rename" | "link" | "symlink" => &[Path, Path],
        "renameat" => &[Directory, Path, Directory, Path],
        "renameat2" => &[Directory, Path, Directory, Path, Flags(&flags::RENAME)],
        "linkat" => &[Directory, Path, Directory, Path, Flags(&flags::AT)],
        "symlinkat" => &[Path, Directory, Path],
        "unlinkat" => &[Directory, Path, Flags(&flags::AT)],
        "chown" | "lchown" => &[Path, Int, Int],
        "fchown" => &[Int, Int, Int],
        "fchownat" => &[Directory, Path, Int, Int, Flags(&flags::AT)],
        "utime" | "utimes" => &[Path, Address],
        "futimesat" => &[Directory, Path, Address],
        "utimensat" => &[Directory, Path, Address, Flags(&flags::AT)],
        "getxattr" | "lgetxattr" => &[Path, Path, Address, Size],
        "fgetxattr" => &[Int, Path, Address, Size],
        "setxattr" | "lsetxattr" => &[Path, Path, Address, Size, Hex],
        "fsetxattr" => &[Int, Path, Address, Size, Hex],
        "listxattr" | "llistxattr" => &[Path, Address, Size],
        "flistxattr" => &[Int, Address, Size],
        "removexattr" | "lremovexattr" => &[Path, Path],
        "fremovexattr" => &[Int, Path],
        // Memory.
        "mmap" => &[Address, Size, Flags(&flags::PROT), Flags(&flags::MAP), Int, Hex],
        "mprotect" => &[Address, Size, Flags(&flags::PROT)],
        "munmap" | "mlock" | "munlock" => &[Address, Size],
        "mlock2" => &[Address, Size, Hex],
        "mlockall" => &[Flags(&flags::MLOCK)],
        "set_mempolicy" => &[Int, Address, Size],
        "get_mempolicy" => &[Address, Address, Size, Address, Hex],
        "mbind" => &[Address, Size, Hex, Address, Size, Hex],
        "migrate_pages" => &[Int, Size, Address, Address],
        "move_pages" => &[Int, Size, Address, Address, Address, Hex],
        "set_mempolicy_home_node" => &[Address, Size, Size, Hex],
        "mremap" => &[Address, Size, Size, Flags(&flags::MREMAP), Address],
        "madvise" => &[Address, Size, Choice(flags::ADVICE)],
        "msync" => &[Address, Size, Flags(&flags::MSYNC)],
        "mincore" => &[Address, Size, Address],
        "brk" => &[Address],
        // Processes and threads.
        "clone" => &[Flags(&flags::CLONE), Address, Address, Address, Address],
        "clone3" => &[CloneArgs, Size],
        "execve" => &[Path, Address, Address],
        "execveat" => &[Directory, Path, Address, Address, Flags(&flags::AT)],
        "exit" | "exit_group" => &[Int],
        "wait4" => &[Int, Address, Flags(&flags::WAIT), Address],
        "waitid" => &[Int, Int, Address, Flags(&flags::WAIT), Address],
        "arch_prctl" => &[Choice(flags::ARCH), Address],
        "futex" => futex(words[1]),
        "set_tid_address" => &[Address],
        "set_robust_list" => &[Address, Size],
        "get_robust_list" => &[Int, Address, Address],
        "rseq" => &[Address, Size, Hex, Hex],
        "getpgid" | "getsid" => &[Int],
        "setpgid" => &[Int, Int],
        // Scheduling.
        "sched_setaffinity" | "sched_getaffinity" => &[Int, Size, Address],
        "sched_setscheduler" => &[Int, Choice(flags::POLICY), Address],
        "sched_setparam" | "sched_getparam" | "sched_rr_get_interval" => &[Int, Address],
        "sched_getscheduler" => &[Int],
        "sched_get_priority_max" | "sched_get_priority_min" => &[Choice(flags::POLICY)],
        "getpriority" => &[Int, Int],
        "setpriority" => &[Int, Int, Int],
        "getcpu" => &[Address, Address, Address],
        "membarrier" => &[Hex, Hex, Int],
        // Signals.
        "rt_sigaction" => &[Signal, Address, Address, Size],
        "rt_sigprocmask" => &[Choice(flags::MASK_HOW), Address, Address, Size],
        "rt_sigpending" | "rt_sigsuspend" => &[Address, Size],
        "rt_sigtimedwait" => &[Address, Address, Time, Size],
        "rt_sigqueueinfo" => &[Int, Signal, Address],
        "rt_tgsigqueueinfo" => &[Int, Int, Signal, Address],
        "kill" | "tkill" => &[Int, Signal],
        "tgkill" => &[Int, Int, Signal],
        "sigaltstack" => &[Address, Address],
        "timer_create" => &[Choice(flags::CLOCK), Address, Address],
        "timer_settime" => &[Int, Flags(&flags::TIMER), Address, Address],
        "timer_gettime" => &[Int, Address],
        "timer_getoverrun" | "timer_delete" => &[Int],
        "alarm" => &[Int],
        "getitimer" => &[Choice(flags::ITIMER), Address],
        "setitimer" => &[Choice(flags::ITIMER), Address, Address],
        // Time.
        "nanosleep" => &[Time, Address],
        "clock_nanosleep" => &[Choice(flags::CLOCK), Flags(&flags::TIMER), Time, Address],
        "clock_gettime" | "clock_getres" => &[Choice(flags::CLOCK), Address],
        "clock_settime" => &[Choice(flags::CLOCK), Time],
        "gettimeofday" | "settimeofday" => &[Address, Address],
        "time" | "times" => &[Address],
        "getrusage" => &[Choice(flags::RUSAGE), Address],
        // Information.
        "uname" | "sysinfo" => &[Address],
        "sethostname" => &[Input(1), Size],
        "getrandom" => &[Address, Size, Flags(&flags::RANDOM)],
        "prlimit64" => &[Int, Choice(flags::LIMIT), Address, Address],
        "getrlimit" | "setrlimit" => &[Choice(flags::LIMIT), Address],
        "prctl" => &[Choice(flags::PRCTL), Hex, Hex, Hex, Hex],
        "setuid" | "setgid" | "setfsuid" | "setfsgid" => &[Int],
        "setreuid" | "setregid" => &[Int, Int],
        "setresuid" | "setresgid" => &[Int, Int, Int],
        "getresuid" | "getresgid" => &[Address, Address, Address],
        "getgroups" | "setgroups" => &[Int, Address],
        "capget" | "capset" => &[Address, Address],
        "personality" => &[Hex],
        "syslog" => &[Int, Address, Int],
        "getpid" | "getppid" | "gettid" | "getuid" | "geteuid" | "getgid" | "getegid" | "getpgrp"
        | "setsid" | "fork" | "vfork" | "sync" | "pause" | "restart_syscall" | "rt_sigreturn"
        | "sched_yield" | "munlockall" => &[],
        _ => Signature::UNKNOWN.args,
    };
    let result = match name {
        "mmap" | "mremap" | "brk" => Address,
        _ => Word,
    };
    Signature { args, result }
}

fn makes_file(open_flags: usize) -> bool {
    open_flags as u32 & flags::OPEN_CREATES != 0
}

/// The arguments of `futex` for an operation.
fn futex(operation: usize) -> &'static [Arg] {
    use Arg::{Address, Flags, Hex, Int, Size, Time};
    match operation as u32 & flags::FUTEX_OPERATION {
        FUTEX_WAIT | FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => &[Address, Flags(&flags::FUTEX), Int, Time],
        FUTEX_WAKE | FUTEX_UNLOCK_PI | FUTEX_TRYLOCK_PI => &[Address, Flags(&flags::FUTEX), Int],
        FUTEX_WAIT_BITSET => &[Address, Flags(&flags::FUTEX), Int, Time, Address, Hex],
        FUTEX_REQUEUE | FUTEX_CMP_REQUEUE | FUTEX_WAKE_OP | FUTEX_CMP_REQUEUE_PI => {
            &[Address, Flags(&flags::FUTEX), Int, Size, Address, Hex]
        }
        _ => &[Address, Flags(&flags::FUTEX), Int, Address, Address, Hex],
    }
}

/// The arguments of `fcntl` for a command.
fn fcntl(command: usize) -> &'static [Arg] {
    use Arg::{Choice, Flags, Hex, Int};
    match command as u32 {
        F_GETFD | F_GETFL | F_GETOWN | F_GETPIPE_SZ | F_GET_SEALS => &[Int, Choice(flags::FCNTL)],
        F_SETFL => &[Int, Choice(flags::FCNTL), Flags(&flags::OPEN)],
        F_DUPFD | F_DUPFD_CLOEXEC | F_SETFD => &[Int, Choice(flags::FCNTL), Int],
        _ => &[Int, Choice(flags::FCNTL), Hex],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_a_signature() {
        let missing: Vec<_> = crate::syscall::entries()
            .filter(|entry| {
                matches!(of(entry.name, &[0; 6]).args, [Arg::Hex, ..])
                    && entry.name != "personality"
                    && entry.name != "membarrier"
            })
            .map(|entry| entry.name)
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn names_are_linux_names() {
        for entry in crate::syscall::entries() {
            assert_eq!(syscalls::Sysno::new(entry.number).map(|call| call.name()), Some(entry.name));
        }
    }
}
