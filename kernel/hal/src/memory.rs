// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory: the address map, frames and their owners, page tables and TLBs, the heap, and access to program memory, physical
//! memory and device registers.

pub mod fallible;
pub mod frames;
#[cfg(target_os = "none")]
pub mod heap;
pub mod layout;
pub mod mmio;
pub mod paging;
pub(crate) mod phys;
pub mod tlb;
pub mod user;
