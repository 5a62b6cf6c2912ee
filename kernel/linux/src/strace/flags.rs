// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of flag bits and of alternatives.

use linux_raw_sys::general::*;

/// Whether `open` may make a file with these flags, so that its argument about permissions counts.
pub(crate) fn makes_file(open_flags: usize) -> bool {
    open_flags as u32 & (O_CREAT | (O_TMPFILE & !O_DIRECTORY)) != 0
}

/// `AT_FDCWD`.
pub(crate) const AT_FDCWD: i32 = linux_raw_sys::general::AT_FDCWD;

/// A word of flags, of which some bits may be one of several alternatives.
#[derive(Debug)]
pub(crate) struct FlagSet {
    /// Bits that hold an alternative.
    pub(crate) base_mask: u64,
    /// The alternatives.
    pub(crate) base: &'static [(u64, &'static str)],
    /// Single flags; those of several bits first.
    pub(crate) flags: &'static [(u64, &'static str)],
    /// The word is a C `int`: its upper half means nothing.
    pub(crate) is_int: bool,
}

impl FlagSet {
    const fn plain(flags: &'static [(u64, &'static str)]) -> Self {
        Self { base_mask: 0, base: &[], flags, is_int: true }
    }
}

macro_rules! names {
    ($($name:ident)*) => { &[$(($name as u64, stringify!($name))),*] };
}

pub(crate) const OPEN: FlagSet = FlagSet {
    base_mask: O_ACCMODE as u64,
    base: names! { O_RDONLY O_WRONLY O_RDWR },
    flags: names! {
        O_TMPFILE O_SYNC O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_DSYNC O_DIRECT O_LARGEFILE O_DIRECTORY
        O_NOFOLLOW O_NOATIME O_CLOEXEC O_PATH
    },
    is_int: true,
};
pub(crate) const PROT: FlagSet = FlagSet {
    base_mask: 0x7,
    base: &[
        (0, "PROT_NONE"),
        (1, "PROT_READ"),
        (2, "PROT_WRITE"),
        (3, "PROT_READ|PROT_WRITE"),
        (4, "PROT_EXEC"),
        (5, "PROT_READ|PROT_EXEC"),
        (6, "PROT_WRITE|PROT_EXEC"),
        (7, "PROT_READ|PROT_WRITE|PROT_EXEC"),
    ],
    flags: names! { PROT_GROWSDOWN PROT_GROWSUP },
    is_int: true,
};
pub(crate) const MAP: FlagSet = FlagSet {
    base_mask: MAP_TYPE as u64,
    base: names! { MAP_SHARED MAP_PRIVATE MAP_SHARED_VALIDATE },
    flags: names! {
        MAP_FIXED MAP_ANONYMOUS MAP_GROWSDOWN MAP_DENYWRITE MAP_EXECUTABLE MAP_LOCKED MAP_NORESERVE MAP_POPULATE
        MAP_NONBLOCK MAP_STACK MAP_HUGETLB MAP_SYNC MAP_FIXED_NOREPLACE
    },
    is_int: true,
};
pub(crate) const MREMAP: FlagSet = FlagSet::plain(names! { MREMAP_MAYMOVE MREMAP_FIXED MREMAP_DONTUNMAP });
pub(crate) const MSYNC: FlagSet = FlagSet::plain(names! { MS_ASYNC MS_INVALIDATE MS_SYNC });
pub(crate) const AT: FlagSet = FlagSet::plain(names! {
    AT_SYMLINK_NOFOLLOW AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_NO_AUTOMOUNT AT_EMPTY_PATH AT_STATX_FORCE_SYNC
    AT_STATX_DONT_SYNC
});
pub(crate) const ACCESS: FlagSet =
    FlagSet { base_mask: 0x7, base: &[(0, "F_OK")], flags: names! { R_OK W_OK X_OK }, is_int: true };
pub(crate) const CLONE: FlagSet = FlagSet {
    base_mask: CSIGNAL as u64,
    base: names! { SIGCHLD },
    flags: names! {
        CLONE_VM CLONE_FS CLONE_FILES CLONE_SIGHAND CLONE_PIDFD CLONE_PTRACE CLONE_VFORK CLONE_PARENT CLONE_THREAD
        CLONE_NEWNS CLONE_SYSVSEM CLONE_SETTLS CLONE_PARENT_SETTID CLONE_CHILD_CLEARTID CLONE_DETACHED CLONE_UNTRACED
        CLONE_CHILD_SETTID CLONE_NEWCGROUP CLONE_NEWUTS CLONE_NEWIPC CLONE_NEWUSER CLONE_NEWPID CLONE_NEWNET CLONE_IO
    },
    is_int: false,
};
/// The bits of a futex operation that say which it is.
pub(crate) const FUTEX_OPERATION: u32 = 0x7f;
pub(crate) const FUTEX: FlagSet = FlagSet {
    base_mask: FUTEX_OPERATION as u64,
    base: names! {
        FUTEX_WAIT FUTEX_WAKE FUTEX_FD FUTEX_REQUEUE FUTEX_CMP_REQUEUE FUTEX_WAKE_OP FUTEX_LOCK_PI FUTEX_UNLOCK_PI
        FUTEX_TRYLOCK_PI FUTEX_WAIT_BITSET FUTEX_WAKE_BITSET FUTEX_WAIT_REQUEUE_PI FUTEX_CMP_REQUEUE_PI FUTEX_LOCK_PI2
    },
    flags: names! { FUTEX_PRIVATE_FLAG FUTEX_CLOCK_REALTIME },
    is_int: true,
};
pub(crate) const PIPE: FlagSet = FlagSet::plain(names! { O_CLOEXEC O_NONBLOCK O_DIRECT });
pub(crate) const EVENTFD: FlagSet =
    FlagSet::plain(&[(1, "EFD_SEMAPHORE"), (0o4000, "EFD_NONBLOCK"), (0o2000000, "EFD_CLOEXEC")]);
pub(crate) const MEMFD: FlagSet = FlagSet::plain(names! { MFD_CLOEXEC MFD_ALLOW_SEALING MFD_HUGETLB });
pub(crate) const RANDOM: FlagSet = FlagSet::plain(names! { GRND_NONBLOCK GRND_RANDOM GRND_INSECURE });
pub(crate) const RENAME: FlagSet =
    FlagSet::plain(names! { RENAME_NOREPLACE RENAME_EXCHANGE RENAME_WHITEOUT });
pub(crate) const CLOSE_RANGE: FlagSet =
    FlagSet::plain(&[(2, "CLOSE_RANGE_UNSHARE"), (4, "CLOSE_RANGE_CLOEXEC")]);
pub(crate) const TIMER: FlagSet = FlagSet::plain(names! { TIMER_ABSTIME });
pub(crate) const ALLOCATE: FlagSet = FlagSet::plain(names! {
    FALLOC_FL_KEEP_SIZE FALLOC_FL_PUNCH_HOLE FALLOC_FL_COLLAPSE_RANGE FALLOC_FL_ZERO_RANGE FALLOC_FL_INSERT_RANGE
});
pub(crate) const WAIT: FlagSet = FlagSet::plain(names! { WNOHANG WUNTRACED WEXITED WCONTINUED WNOWAIT });
pub(crate) const RW: FlagSet = FlagSet::plain(names! { RWF_HIPRI RWF_DSYNC RWF_SYNC RWF_NOWAIT RWF_APPEND });
pub(crate) const SHMGET: FlagSet = FlagSet::plain(&[
    (0o1000, "IPC_CREAT"),
    (0o2000, "IPC_EXCL"),
    (0o4000, "SHM_HUGETLB"),
    (0o10000, "SHM_NORESERVE"),
]);
pub(crate) const IPCGET: FlagSet = FlagSet::plain(&[(0o1000, "IPC_CREAT"), (0o2000, "IPC_EXCL")]);
pub(crate) const MSGSND: FlagSet = FlagSet::plain(&[(0o4000, "IPC_NOWAIT")]);
pub(crate) const MSGRCV: FlagSet = FlagSet::plain(&[
    (0o4000, "IPC_NOWAIT"),
    (0o10000, "MSG_NOERROR"),
    (0o20000, "MSG_EXCEPT"),
    (0o40000, "MSG_COPY"),
]);
pub(crate) const SHMAT: FlagSet = FlagSet::plain(&[
    (0o10000, "SHM_RDONLY"),
    (0o20000, "SHM_RND"),
    (0o40000, "SHM_REMAP"),
    (0o100000, "SHM_EXEC"),
]);
pub(crate) const MLOCK: FlagSet = FlagSet::plain(names! { MCL_CURRENT MCL_FUTURE MCL_ONFAULT });

/// A list of alternatives.
pub(crate) type Choice = &'static [(u64, &'static str)];

pub(crate) const EPOLL_CTL: Choice = names! { EPOLL_CTL_ADD EPOLL_CTL_DEL EPOLL_CTL_MOD };
pub(crate) const SHMCTL: Choice = &[
    (0, "IPC_RMID"),
    (1, "IPC_SET"),
    (2, "IPC_STAT"),
    (3, "IPC_INFO"),
    (11, "SHM_LOCK"),
    (12, "SHM_UNLOCK"),
    (13, "SHM_STAT"),
    (14, "SHM_INFO"),
    (15, "SHM_STAT_ANY"),
];
pub(crate) const MSGCTL: Choice = &[
    (0, "IPC_RMID"),
    (1, "IPC_SET"),
    (2, "IPC_STAT"),
    (3, "IPC_INFO"),
    (11, "MSG_STAT"),
    (12, "MSG_INFO"),
    (13, "MSG_STAT_ANY"),
];
pub(crate) const SEMCTL: Choice = &[
    (0, "IPC_RMID"),
    (1, "IPC_SET"),
    (2, "IPC_STAT"),
    (3, "IPC_INFO"),
    (11, "GETPID"),
    (12, "GETVAL"),
    (13, "GETALL"),
    (14, "GETNCNT"),
    (15, "GETZCNT"),
    (16, "SETVAL"),
    (17, "SETALL"),
    (18, "SEM_STAT"),
    (19, "SEM_INFO"),
    (20, "SEM_STAT_ANY"),
];
pub(crate) const WHENCE: Choice = names! { SEEK_SET SEEK_CUR SEEK_END SEEK_DATA SEEK_HOLE };
pub(crate) const ADVICE: Choice = names! {
    MADV_NORMAL MADV_RANDOM MADV_SEQUENTIAL MADV_WILLNEED MADV_DONTNEED MADV_FREE MADV_REMOVE MADV_DONTFORK MADV_DOFORK
    MADV_MERGEABLE MADV_UNMERGEABLE MADV_HUGEPAGE MADV_NOHUGEPAGE MADV_DONTDUMP MADV_DODUMP MADV_WIPEONFORK
    MADV_KEEPONFORK MADV_COLD MADV_PAGEOUT MADV_POPULATE_READ MADV_POPULATE_WRITE
};
pub(crate) const FCNTL: Choice = names! {
    F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_GETLK F_SETLK F_SETLKW F_SETOWN F_GETOWN F_DUPFD_CLOEXEC F_SETPIPE_SZ
    F_GETPIPE_SZ F_ADD_SEALS F_GET_SEALS F_OFD_GETLK F_OFD_SETLK F_OFD_SETLKW
};
pub(crate) const IOCTL: Choice = &[
    (0x5401, "TCGETS"),
    (0x5402, "TCSETS"),
    (0x5403, "TCSETSW"),
    (0x5404, "TCSETSF"),
    (0x5405, "TCGETA"),
    (0x5406, "TCSETA"),
    (0x5407, "TCSETAW"),
    (0x5408, "TCSETAF"),
    (0x540f, "TIOCGPGRP"),
    (0x5410, "TIOCSPGRP"),
    (0x5413, "TIOCGWINSZ"),
    (0x541b, "FIONREAD"),
    (0x5421, "FIONBIO"),
    (0x5450, "FIONCLEX"),
    (0x5451, "FIOCLEX"),
];
pub(crate) const CLOCK: Choice = names! {
    CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID CLOCK_MONOTONIC_RAW
    CLOCK_REALTIME_COARSE CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME CLOCK_REALTIME_ALARM CLOCK_BOOTTIME_ALARM CLOCK_TAI
};
pub(crate) const ITIMER: Choice = &[(0, "ITIMER_REAL"), (1, "ITIMER_VIRTUAL"), (2, "ITIMER_PROF")];
pub(crate) const ARCH: Choice = &[
    (0x1001, "ARCH_SET_GS"),
    (0x1002, "ARCH_SET_FS"),
    (0x1003, "ARCH_GET_FS"),
    (0x1004, "ARCH_GET_GS"),
    (0x3001, "ARCH_CET_STATUS"),
];
pub(crate) const MASK_HOW: Choice = names! { SIG_BLOCK SIG_UNBLOCK SIG_SETMASK };
pub(crate) const LIMIT: Choice = names! {
    RLIMIT_CPU RLIMIT_FSIZE RLIMIT_DATA RLIMIT_STACK RLIMIT_CORE RLIMIT_RSS RLIMIT_NPROC RLIMIT_NOFILE RLIMIT_MEMLOCK
    RLIMIT_AS RLIMIT_LOCKS RLIMIT_SIGPENDING RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO RLIMIT_RTTIME
};
pub(crate) const POLICY: Choice =
    names! { SCHED_NORMAL SCHED_FIFO SCHED_RR SCHED_BATCH SCHED_IDLE SCHED_DEADLINE };
pub(crate) const RUSAGE: Choice =
    &[(0, "RUSAGE_SELF"), (0xffff_ffff, "RUSAGE_CHILDREN"), (1, "RUSAGE_THREAD")];
pub(crate) const PRCTL: Choice = &[
    (1, "PR_SET_PDEATHSIG"),
    (2, "PR_GET_PDEATHSIG"),
    (3, "PR_GET_DUMPABLE"),
    (4, "PR_SET_DUMPABLE"),
    (15, "PR_SET_NAME"),
    (16, "PR_GET_NAME"),
    (21, "PR_GET_SECCOMP"),
    (22, "PR_SET_SECCOMP"),
    (23, "PR_CAPBSET_READ"),
    (24, "PR_CAPBSET_DROP"),
    (29, "PR_SET_TIMERSLACK"),
    (30, "PR_GET_TIMERSLACK"),
    (38, "PR_SET_NO_NEW_PRIVS"),
    (39, "PR_GET_NO_NEW_PRIVS"),
    (41, "PR_SET_THP_DISABLE"),
    (42, "PR_GET_THP_DISABLE"),
    (0x5356_4d41, "PR_SET_VMA"),
];
