// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes and threads: making them, ending them, waiting on memory.

calls! {
    39 getpid;
    56 clone;
    57 fork;
    58 vfork;
    59 execve;
    60 exit;
    61 wait4 restart;
    101 ptrace;
    110 getppid;
    158 arch_prctl;
    186 gettid;
    202 futex restart;
    218 set_tid_address;
    219 restart_syscall;
    231 exit_group;
    247 waitid restart;
    272 unshare;
    273 set_robust_list;
    274 get_robust_list;
    322 execveat;
    334 rseq;
    434 pidfd_open;
    435 clone3;
    438 pidfd_getfd;
}

mod new_thread;
mod no_copy;
mod process_file;
mod waiting;
