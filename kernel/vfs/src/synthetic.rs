// SPDX-License-Identifier: Apache-2.0 OR MIT
//! File systems made of functions: `/proc`, `/sys` and `/dev`.
//!
//! A [`Directory`] holds nodes that the kernel registers by path: files whose content is made when they are
//! opened, files that can be written, links (also magic ones that jump), devices, and directories whose entries
//! are found by a function ([`Children`], for `/proc/self/task`). The tree is built once and read without
//! waiting. Inode numbers are computed from the path, so they are the same every time an entry is looked up.
//!
//! Nothing here can be created, renamed or removed by a program.

mod directory;
mod names;
mod node;

pub use directory::{Child, Children, Directory};
pub use node::{Generated, Generator, LinkTarget, Opener, WriteHook, device, generated_file, link};

#[cfg(test)]
mod tests;
