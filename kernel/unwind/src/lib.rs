// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who called whom: return addresses from the registers of a program's thread, for fault reports and profiles.
//!
//! There are three ways from a frame to its caller's, and the first that works is taken: the unwind tables of the ELF file
//! (`.eh_frame`, which compilers write for all code by default; gimli reads it), the frame pointer, and a search of the
//! stack for something that looks like a return address. Stack and tables may be garbage, or made to take long: every step
//! reads through [`Program`], and a walk does a bounded amount of work ([`fuel`]).
//!
//! [`walk`] has the walk itself, [`rules`] what a table says about one address and the cache of that, [`object`] tables
//! that are kept in memory, so that an interrupt can use them. After [`Unwinder::new`] a walk allocates nothing.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod call;
mod fuel;
mod object;
mod registers;
mod rules;
mod signal;
mod walk;

pub use object::{Code, Object, Section, Tables};
pub use registers::Registers;
pub use rules::Table;
pub use walk::{End, Frame, Program, Unwinder};

#[cfg(test)]
mod tests;
