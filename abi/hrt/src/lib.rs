// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every side of `hadal/hrt.h` must agree on, written once: structures, constants, and the order of the call table.
//!
//! The kernel (`kernel/hrt`) and the Rust crate for run-times (`runtimes/hrt-rs`) use these types. The C declarations are
//! generated from the same sources by `tests/headers.rs`: one file of `kernel/hrt/include/hadal/hrt/layout` for each file
//! here. So comments on items speak C, for those who read the header.
//!
//! C names follow from the Rust ones: `ThreadAttr` is `struct hrt_thread_attr`, `STACK_MIN` is `HRT_STACK_MIN`, and
//! `Policy::RoundRobin` is `HRT_POLICY_ROUND_ROBIN`. Types that C has and Rust has not are in [`words`].
#![no_std]
#![forbid(unsafe_code)]

pub mod base;
pub mod calls;
pub mod event;
pub mod irq;
pub mod memory;
pub mod module;
pub mod sync;
pub mod task;
pub mod thread;
pub mod topology;
pub mod trace;
pub mod words;
