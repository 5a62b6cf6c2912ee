// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of socket options.

/// `SOL_SOCKET`.
pub(super) const SOCKET: i32 = 1;
/// `SO_TYPE`.
pub(super) const TYPE: i32 = 3;
/// `SO_ERROR`.
pub(super) const ERROR: i32 = 4;
/// `SO_SNDBUF`.
pub(super) const SEND_BUFFER: i32 = 7;
/// `SO_RCVBUF`.
pub(super) const RECEIVE_BUFFER: i32 = 8;
/// `SO_PASSCRED`.
pub(super) const PASS_CREDENTIALS: i32 = 16;
/// `SO_PEERCRED`.
pub(super) const PEER_CREDENTIALS: i32 = 17;
/// `SO_RCVTIMEO`.
pub(super) const RECEIVE_TIMEOUT: i32 = 20;
/// `SO_SNDTIMEO`.
pub(super) const SEND_TIMEOUT: i32 = 21;
/// `SO_ACCEPTCONN`.
pub(super) const LISTENS: i32 = 30;
/// `SO_PROTOCOL`.
pub(super) const PROTOCOL: i32 = 38;
/// `SO_DOMAIN`.
pub(super) const DOMAIN: i32 = 39;
