// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System V IPC (sysvipc(7)): objects that processes find by key or id, and that stay until somebody removes them.
//!
//! - [`ids`]: the tables of objects, by id and by key;
//! - [`permissions`]: who may use an object;
//! - [`listing`]: what `/proc/sysvipc` shows;
//! - [`messages`]: queues, and [`content`]: what is in them;
//! - [`segment`]: shared memory, and [`segments`]: all of it;
//! - [`serving`]: how those who wait go on;
//! - [`semaphores`]: sets of them, [`operation`]: what is done to them, and [`undo`]: what the end of a process takes back.
//!
//! An operation looks its object up, which locks the table for that long, and then locks the object alone. An object that was
//! removed meanwhile says so itself. The system calls are in [`crate::syscall`], folder `sysv`.

pub(crate) mod content;
pub(crate) mod ids;
pub mod listing;
pub mod messages;
pub mod operation;
pub(crate) mod permissions;
pub(crate) mod segment;
pub mod segments;
pub mod semaphores;
mod serving;
pub(crate) mod undo;

/// `IPC_PRIVATE`: no key.
pub(crate) const PRIVATE: i32 = 0;
/// Flags of the calls that look for an object: make it if it is not there.
pub(crate) const CREATE: i32 = 0o1000;
/// It must not be there.
pub(crate) const EXCLUSIVE: i32 = 0o2000;

/// The wall-clock time in seconds, as objects note it.
fn now() -> i64 {
    hadal_vfs::Timespec::now().sec
}
