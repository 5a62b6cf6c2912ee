// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System V IPC. What it does is in [`crate::sysv`]; here are arguments, structures and errors.

mod control;
mod operations;

calls! {
    29 shmget;
    30 shmat;
    31 shmctl;
    64 semget;
    65 semop;
    66 semctl;
    67 shmdt;
    68 msgget;
    69 msgsnd;
    70 msgrcv;
    71 msgctl;
    220 semtimedop;
}
