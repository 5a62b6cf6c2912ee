// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Live runs of this user: each `hadal run` and `hadal shell` listens on a socket in a private directory
//! ([`place`](mod@place)), and `hadal ps`, `hadal stop` and `hadal stacks` ask there.
//!
//! [`listener`](mod@listener) is the run's side, [`requests`](mod@requests) what it does about them; [`peers`](mod@peers)
//! finds the other runs, [`commands`](mod@commands) are the three commands, [`table`](mod@table) is what `hadal ps` prints.
//! [`protocol`](mod@protocol) is what both sides send.

mod commands;
mod listener;
mod peers;
mod place;
mod protocol;
mod requests;
mod table;
mod words;

pub(crate) use commands::{ps, stacks, stop};
pub(crate) use listener::{Asked, Description, Listener};
pub(crate) use requests::Requests;
