// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 9P2000.L client: files of the host.
//!
//! [`codec`] and [`message`] turn messages into bytes and back, [`transport`] is what carries them (virtio, or a
//! server in a test), [`client`] is one exchange per function, [`fs`] makes inodes and files of it. QEMU's `-virtfs` is the
//! server this is made for; nothing in it is special to QEMU but the limits noted where they matter.
//!
//! A reply is never trusted: whatever bytes arrive, decoding fails with an error and nothing panics.

mod buffers;
mod cache;
pub mod client;
pub mod codec;
mod file;
pub mod fs;
pub mod message;
mod pages;
pub mod transport;

pub use client::Client;
pub use fs::{MountOptions, mount};
pub use transport::{Transport, TransportError};

#[cfg(test)]
mod tests;
