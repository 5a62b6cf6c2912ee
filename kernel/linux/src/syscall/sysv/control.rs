// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that the three `*ctl` calls share, and what else several calls know.

/// `IPC_RMID`.
pub(super) const REMOVE: i32 = 0;
/// `IPC_SET`.
pub(super) const SET: i32 = 1;
/// `IPC_STAT`.
pub(super) const STAT: i32 = 2;
/// `IPC_INFO`.
pub(super) const INFO: i32 = 3;

/// `IPC_NOWAIT`.
pub(super) const NO_WAIT: i32 = 0o4000;
/// Bytes of a message's type, before its text.
pub(super) const KIND_BYTES: usize = size_of::<i64>();
