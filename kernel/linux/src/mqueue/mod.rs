// SPDX-License-Identifier: Apache-2.0 OR MIT
//! POSIX message queues (mq_overview(7)).
//!
//! - [`queue`]: a queue and its messages, sending and receiving;
//! - [`waiters`]: threads that wait for a message or for room, in the order in which they get it;
//! - [`notice`]: who is told that an empty queue has got a message;
//! - [`directory`]: names of queues, as a file system (`/dev/mqueue`);
//! - [`inode`]: a queue as a file;
//! - [`charge`]: how many queues there may be, and what they may hold.
//!
//! A queue lives until its name is removed and the last descriptor of it is closed; one that keeps its name outlives the
//! program. The system calls are in [`crate::syscall`], folder `ipc`.

mod charge;
mod directory;
mod inode;
mod notice;
mod queue;
mod waiters;

pub(crate) use charge::Bounds;
pub use charge::{MESSAGE_BYTES_DEFAULT, MESSAGE_BYTES_MAX, MESSAGES_DEFAULT, MESSAGES_MAX, QUEUES_MAX};
pub(crate) use directory::directory;
pub use directory::root;
pub(crate) use inode::{end, of};
pub(crate) use notice::{COOKIE_BYTES, How, Notice};
pub(crate) use queue::Message;
