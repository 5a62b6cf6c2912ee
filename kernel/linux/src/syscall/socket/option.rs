// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers of socket options.

/// `SOL_SOCKET`.
pub(super) const SOCKET: i32 = 1;
/// `SO_REUSEADDR`.
const REUSE_ADDRESS: i32 = 2;
/// `SO_TYPE`.
pub(super) const TYPE: i32 = 3;
/// `SO_ERROR`.
pub(super) const ERROR: i32 = 4;
/// `SO_DONTROUTE`.
const NO_ROUTE: i32 = 5;
/// `SO_BROADCAST`.
const BROADCAST: i32 = 6;
/// `SO_SNDBUF`.
pub(super) const SEND_BUFFER: i32 = 7;
/// `SO_RCVBUF`.
pub(super) const RECEIVE_BUFFER: i32 = 8;
/// `SO_KEEPALIVE`.
const KEEP_ALIVE: i32 = 9;
/// `SO_OOBINLINE`.
const OUT_OF_BAND_INLINE: i32 = 10;
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

/// Whether an option is one of networks that every socket takes and that means nothing here.
pub(super) fn has_no_effect(option: i32) -> bool {
    [REUSE_ADDRESS, NO_ROUTE, BROADCAST, KEEP_ALIVE, OUT_OF_BAND_INLINE].contains(&option)
}
