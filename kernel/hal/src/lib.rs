// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hardware layer: everything that needs `unsafe`, and nothing that is policy.
//!
//! Boot ([`boot`]), descriptor tables and traps ([`trap`]), contexts ([`context`]), page tables ([`paging`], [`tlb`]),
//! program memory ([`user`]), processors ([`cpu`], [`percpu`], [`smp`], [`apic`]) and platform devices. The crates above it
//! decide which thread runs, what is mapped and what a system call means; they contain no `unsafe`.
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

pub mod atomic;
pub mod call;
pub mod companion;
pub mod cpu;
pub mod cpuset;
pub mod handler;
pub mod irq;
pub mod layout;
pub mod link;
pub mod percpu;
pub mod running;
#[cfg(feature = "sim")]
pub mod sim;
pub mod spinning;
pub mod standstill;
pub mod sync;
pub mod table;
pub mod trace;
pub mod trap;

pub mod fallible;
pub mod frames;
pub mod mmio;
pub mod paging;
mod phys;
pub mod port;
pub mod tlb;
pub mod user;

pub mod apic;
#[cfg(target_os = "none")]
pub mod backtrace;
pub mod context;
pub mod fpu;
#[cfg(target_os = "none")]
pub mod sample;
pub mod tsc;

#[cfg(target_os = "none")]
pub mod boot;
#[cfg(target_os = "none")]
pub mod heap;
#[cfg(target_os = "none")]
pub mod smp;

pub mod framebuffer;
pub mod hpet;
pub mod ioapic;
pub mod pic;
pub mod pit;
pub mod rtc;
pub mod serial;
mod text;
pub mod vga;
