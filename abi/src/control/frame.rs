// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames: how messages are told apart in a stream of bytes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

/// Bytes of a frame header.
pub const HEADER_LEN: usize = 8;

/// Longest payload; a longer one means that the stream is damaged.
pub const MAX_PAYLOAD_LEN: usize = 1 << 20;

/// Kind and payload length of a frame whose payload the sender writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    kind: u8,
    len: u32,
}

impl Header {
    /// Header of a frame (`None` when the payload exceeds [`MAX_PAYLOAD_LEN`]).
    pub(super) fn new(kind: u8, len: usize) -> Option<Self> {
        (len <= MAX_PAYLOAD_LEN).then_some(Self { kind, len: len as u32 })
    }

    /// The header as it stands on the wire.
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        out[0] = self.kind;
        out[4..].copy_from_slice(&self.len.to_le_bytes());
        out
    }

    fn from_bytes(bytes: [u8; HEADER_LEN]) -> Result<Self, ChannelError> {
        let [kind, r0, r1, r2, l0, l1, l2, l3] = bytes;
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        if [r0, r1, r2] != [0; 3] || len as usize > MAX_PAYLOAD_LEN {
            return Err(ChannelError::Header(bytes));
        }
        Ok(Self { kind, len })
    }
}

/// Why a byte stream is not a control channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelError {
    /// These eight bytes are not a frame header.
    Header([u8; HEADER_LEN]),
    /// This direction has no such frame kind.
    Kind(u8),
    /// The payload of this kind is malformed.
    Payload(u8),
    /// The message is longer than a frame may be.
    TooLong,
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(bytes) => write!(f, "not a frame header: {bytes:02x?}"),
            Self::Kind(kind) => write!(f, "unknown frame kind {kind:#04x}"),
            Self::Payload(kind) => write!(f, "malformed payload in a frame of kind {kind:#04x}"),
            Self::TooLong => write!(f, "message longer than {MAX_PAYLOAD_LEN} bytes"),
        }
    }
}

impl core::error::Error for ChannelError {}

/// A frame whose payload has not been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What the payload is.
    pub(super) kind: u8,
    /// The payload.
    pub(super) payload: Vec<u8>,
}

/// Appends a frame to `out`.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, payload: &[u8]) -> Result<(), ChannelError> {
    let header = Header::new(kind, payload.len()).ok_or(ChannelError::TooLong)?;
    out.extend_from_slice(&header.to_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

/// Payload of `kind` as UTF-8; invalid bytes are replaced, since such text is for people.
pub(super) fn text(payload: Vec<u8>) -> String {
    String::from_utf8(payload).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Payload of `kind` as an array.
pub(super) fn fixed<const N: usize>(kind: u8, payload: &[u8]) -> Result<[u8; N], ChannelError> {
    payload.try_into().map_err(|_| ChannelError::Payload(kind))
}

/// Payload of `kind` as postcard.
pub(super) fn packed<T: serde::de::DeserializeOwned>(kind: u8, payload: &[u8]) -> Result<T, ChannelError> {
    postcard::from_bytes(payload).map_err(|_| ChannelError::Payload(kind))
}

/// Appends a frame of `kind` whose payload is `value` in postcard.
pub(super) fn put_packed<T: Serialize>(out: &mut Vec<u8>, kind: u8, value: &T) -> Result<(), ChannelError> {
    let payload = postcard::to_allocvec(value).map_err(|_| ChannelError::TooLong)?;
    put(out, kind, &payload)
}

/// Finds frames in a byte stream.
///
/// An error is final: the stream has lost its frame boundaries, and every later call returns the same error.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Start of the first frame not yet returned.
    start: usize,
    failed: Option<ChannelError>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub const fn new() -> Self {
        Self { buffer: Vec::new(), start: 0, failed: None }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next whole frame, `None` when more bytes are needed.
    pub fn pop(&mut self) -> Result<Option<Frame>, ChannelError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Some((head, rest)) = self.buffer[self.start..].split_first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Header::from_bytes(*head).inspect_err(|e| self.failed = Some(*e))?;
        let len = header.len as usize;
        let Some(payload) = rest.get(..len) else {
            return Ok(None);
        };
        let payload = payload.to_vec();
        self.start += HEADER_LEN + len;
        Ok(Some(Frame { kind: header.kind, payload }))
    }

    /// Number of bytes that belong to a frame not yet complete.
    pub fn pending_len(&self) -> usize {
        self.buffer.len() - self.start
    }
}
