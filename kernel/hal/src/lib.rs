// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hardware layer: everything that needs `unsafe`, and nothing that is policy.
//!
//! [`boot`] starts the machine; [`trap`] holds descriptor tables, traps and system calls. [`cpu`], [`memory`], [`threads`],
//! [`interrupts`], [`devices`] and [`display`] are what their names say, and [`sync`] is the locks. The crates above decide
//! which thread runs, what is mapped and what a system call means; they contain no `unsafe`.
//!
//! # Safety
//! Facts that hold for the whole crate on the kernel target: the CPU runs in ring 0 in long mode; the high half of the
//! address space belongs to the kernel and is the same on every CPU; `%gs` holds the per-CPU block from the first Rust
//! instruction of a CPU on. On the host (unit tests of the crates above) privileged operations compile to nothing.
#![no_std]
#![cfg_attr(
    not(target_os = "none"),
    allow(dead_code, reason = "the trap and boot code that uses it is not built")
)]

extern crate alloc;

#[cfg(all(feature = "sim", target_os = "none"))]
compile_error!("CPUs are simulated on a host");

#[cfg(target_os = "none")]
pub mod boot;
pub mod cpu;
pub mod devices;
pub mod display;
pub mod interrupts;
pub mod memory;
#[cfg(feature = "sim")]
pub mod sim;
pub mod sync;
pub mod threads;
pub mod trace;
pub mod trap;
