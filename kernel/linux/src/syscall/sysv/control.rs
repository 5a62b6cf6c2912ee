// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that the three `*ctl` calls share.

/// `IPC_RMID`.
pub(super) const REMOVE: i32 = 0;
/// `IPC_SET`.
pub(super) const SET: i32 = 1;
/// `IPC_STAT`.
pub(super) const STAT: i32 = 2;
/// `IPC_INFO`.
pub(super) const INFO: i32 = 3;
