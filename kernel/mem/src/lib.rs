// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory: physical frames and the program's window.
//!
//! [`frames`] hands out blocks of physical memory: one buddy allocator for each NUMA zone, with small caches per CPU in
//! front. It feeds the page tables and the kernel heap (through [`hadal_hal::memory::frames::FrameSource`]) and everything here.
//! [`blocks`] is memory that programs use through the direct map, and [`space`] is the low half of the address space as the program sees it: mappings, first touch, protection, unmapping.
//!
//! Lock order: address space, then per-CPU frame cache, then zone. No file is read, no program memory touched and no other
//! CPU waited for while any of them is held.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod blocks;
mod buddy;
pub mod frames;
pub mod space;
mod zone;
