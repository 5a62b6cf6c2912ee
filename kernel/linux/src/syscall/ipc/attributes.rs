// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `struct mq_attr`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Flags and size of a queue, and what is in it.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct Attributes {
    /// `O_NONBLOCK`, or nothing.
    pub(super) flags: i64,
    /// Messages that it may hold.
    pub(super) messages: i64,
    /// Bytes of the longest message.
    pub(super) message_bytes: i64,
    /// Messages that it holds.
    pub(super) present: i64,
    pub(super) reserved: [i64; 4],
}
