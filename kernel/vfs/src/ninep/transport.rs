// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What carries 9P messages to a server.

/// Why an exchange failed below the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// The device or the server is gone.
    Closed,
    /// The reply does not fit into the buffer.
    TooLarge,
    /// No memory or queue space for the exchange.
    NoResources,
}

/// A connection to a 9P server.
///
/// Several callers may have exchanges under way at once; each message carries a tag of its own, which the client
/// picked.
pub trait Transport: Send + Sync {
    /// Largest message in bytes that can be carried, in either direction.
    fn msize_limit(&self) -> usize;

    /// Sends `request` and waits for its reply, which is written to the start of `reply`. Returns its length.
    fn request(&self, request: &[u8], reply: &mut [u8]) -> Result<usize, TransportError>;
}
