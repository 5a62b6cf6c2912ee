// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the Hadal kernel and the `hadal` command on the host must agree on, and nothing else.
//!
//! - [`config`]: what to run and how; the host writes it, the kernel reads it from its first boot module.
//! - [`control`]: the frames on the control channel, one virtio console port between a running guest and its host.
//! - [`image`]: the program, its configuration and modules inside a bootable program image.
//! - [`status`]: exit statuses of Hadal's own failures.
//! - [`symbols`]: names of the kernel's functions, behind the configuration in the same boot module.
//! - [`paths`]: what the kernel uses of a machine, and whether that works.
//! - [`calls`]: the trace of system calls.
//! - [`script`]: the first line of a script.
//! - [`profile`]: samples of where the CPUs were.
//! - [`trace`]: records of what happened when, and their end of the channel.
//! - [`machine`]: the few device constants that both sides name.
//!
//! The crate is `no_std`, has no unsafe code, and both decoders accept any bytes: a wrong input is an error value.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod calls;
pub mod config;
pub mod control;
pub mod image;
pub mod machine;
pub mod paths;
pub mod profile;
pub mod script;
pub mod status;
pub mod stream_file;
pub mod symbols;
pub mod terminal;
pub mod trace;
