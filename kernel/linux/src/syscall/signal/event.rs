// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `struct sigevent`: how a program wants to be told of something.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The structure.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(in crate::syscall) struct Event {
    /// What comes with the signal.
    pub(in crate::syscall) value: u64,
    /// Number of the signal; a descriptor where `mq_notify` uses a socket.
    pub(in crate::syscall) signal: i32,
    /// The way (`SIGEV_*`).
    pub(in crate::syscall) notify: u32,
    /// Id of the thread that gets the signal.
    pub(in crate::syscall) thread: i32,
    reserved: [u32; 11],
}

const _: () = assert!(size_of::<Event>() == linux_raw_sys::general::SIGEV_MAX_SIZE as usize);
