// SPDX-License-Identifier: Apache-2.0 OR MIT
//! State of one end of a connection that `setsockopt` and `shutdown` change.

/// Bytes that may wait at the other end, and what the program reads as the size of both buffers.
pub(crate) const DEFAULT_BYTES: usize = 212_992;
/// Least size of a buffer that is sent from (`SOCK_MIN_SNDBUF`).
const LEAST_SEND_BYTES: usize = 4608;
/// Least size of a buffer that is received into (`SOCK_MIN_RCVBUF`).
const LEAST_RECEIVE_BYTES: usize = 2304;

/// The state.
pub(crate) struct Options {
    /// Size of the buffer that is sent from.
    pub(crate) send_bytes: usize,
    /// What the program reads as the size of the other one; the sender's counts.
    pub(crate) receive_bytes: usize,
    /// Longest wait for room.
    pub(crate) send_timeout_ns: Option<u64>,
    /// Longest wait for data.
    pub(crate) receive_timeout_ns: Option<u64>,
    /// The other end went without reading everything or being taken, or sends its datagrams elsewhere.
    pub(super) reset: bool,
    /// What programs set and read back and what has no effect here, by number.
    pub(super) kept: u64,
}

impl Options {
    pub(super) const fn new() -> Self {
        Self {
            send_bytes: DEFAULT_BYTES,
            receive_bytes: DEFAULT_BYTES,
            send_timeout_ns: None,
            receive_timeout_ns: None,
            reset: false,
            kept: 0,
        }
    }

    /// Whether the connection was reset; the next to ask hears no.
    pub(crate) fn take_reset(&mut self) -> bool {
        core::mem::take(&mut self.reset)
    }

    /// Whether an option that has no effect is set.
    pub(crate) fn is_kept(&self, option: i32) -> bool {
        self.kept >> option & 1 != 0
    }

    /// Sets or clears one.
    pub(crate) fn keep(&mut self, option: i32, is_set: bool) {
        self.kept = self.kept & !(1 << option) | u64::from(is_set) << option;
    }

    /// Sets the size of the buffer that is sent from; Linux doubles what programs ask for.
    pub(crate) fn set_send_bytes(&mut self, bytes: usize) {
        self.send_bytes = (bytes.min(DEFAULT_BYTES) * 2).max(LEAST_SEND_BYTES);
    }

    /// The same for the one that is received into.
    pub(crate) fn set_receive_bytes(&mut self, bytes: usize) {
        self.receive_bytes = (bytes.min(DEFAULT_BYTES) * 2).max(LEAST_RECEIVE_BYTES);
    }
}
