// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The classes of system calls, by the names that `strace(1)` gives them.

/// Name, and the calls, separated by spaces.
type Class = (&'static str, &'static str);

const CLASSES: [Class; 9] = [
    // Calls that take a file name.
    (
        "%file",
        "access acct chdir chmod chown chroot creat execve execveat faccessat faccessat2 fanotify_mark fchmodat fchmodat2 \
         fchownat futimesat getcwd getxattr inotify_add_watch lchown lgetxattr link linkat listxattr llistxattr \
         lremovexattr lsetxattr lstat mkdir mkdirat mknod mknodat mount move_mount name_to_handle_at newfstatat open \
         open_tree openat openat2 pivot_root readlink readlinkat removexattr rename renameat renameat2 rmdir setxattr stat \
         statfs statx swapoff swapon symlink symlinkat truncate umount2 unlink unlinkat utime utimensat utimes",
    ),
    // The beginning and the end of processes and threads.
    (
        "%process",
        "clone clone3 execve execveat exit exit_group fork kill pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo tgkill \
         tkill vfork wait4 waitid",
    ),
    (
        "%signal",
        "kill pause pidfd_send_signal rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend \
         rt_sigtimedwait rt_tgsigqueueinfo sigaltstack signalfd signalfd4 tgkill tkill",
    ),
    // Calls about file descriptors.
    (
        "%desc",
        "accept accept4 bind bpf close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 \
         epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execveat faccessat faccessat2 fadvise64 fallocate \
         fanotify_init fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr \
         flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getdents getdents64 getpeername getsockname \
         getsockopt inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl linkat listen lseek memfd_create \
         mkdirat mknodat mmap mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend name_to_handle_at newfstatat open \
         open_by_handle_at openat openat2 pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 poll ppoll pread64 preadv \
         preadv2 pselect6 pwrite64 pwritev pwritev2 read readahead readlinkat readv recvfrom recvmmsg recvmsg renameat \
         renameat2 select sendfile sendmmsg sendmsg sendto setns setsockopt shutdown signalfd signalfd4 socket socketpair \
         splice statx symlinkat sync_file_range syncfs tee timerfd_create timerfd_gettime timerfd_settime unlinkat \
         userfaultfd utimensat vmsplice write writev",
    ),
    (
        "%network",
        "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendfile sendmmsg \
         sendmsg sendto setsockopt shutdown socket socketpair",
    ),
    (
        "%memory",
        "brk get_mempolicy madvise mbind migrate_pages mincore mlock mlock2 mlockall mmap move_pages mprotect mremap msync \
         munlock munlockall munmap pkey_mprotect remap_file_pages set_mempolicy set_mempolicy_home_node shmat shmdt",
    ),
    // Message queues of POSIX, too, which strace(1) has among the descriptors only.
    (
        "%ipc",
        "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget \
         semop semtimedop shmat shmctl shmdt shmget",
    ),
    // User and group ids, and capabilities.
    (
        "%creds",
        "capget capset getegid geteuid getgid getgroups getresgid getresuid getuid prctl setfsgid setfsuid setgid setgroups \
         setregid setresgid setresuid setreuid setuid",
    ),
    (
        "%clock",
        "adjtimex clock_adjtime clock_getres clock_gettime clock_settime gettimeofday settimeofday time",
    ),
];

/// All classes.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|(name, _)| *name)
}

/// The calls of a class; `None` if there is no such class.
pub(super) fn members(class: &str) -> Option<impl Iterator<Item = &'static str>> {
    let (_, members) =
        CLASSES.iter().find(|(name, _)| *name == class || (class == "%net" && *name == "%network"))?;
    Some(members.split_whitespace())
}

#[cfg(test)]
mod tests {
    use syscalls::Sysno;

    use super::*;

    #[test]
    fn members_are_calls_of_linux_in_order() {
        for (class, members) in CLASSES {
            let names: Vec<&str> = members.split_whitespace().collect();
            assert!(names.is_sorted(), "{class}");
            for name in names {
                assert!(name.parse::<Sysno>().is_ok(), "{class}: {name}");
            }
        }
    }

    #[test]
    fn classes_are_found_by_name() {
        assert_eq!(members("%network").unwrap().count(), members("%net").unwrap().count());
        assert!(members("%files").is_none());
    }
}
