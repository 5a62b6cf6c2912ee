// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The quick switches, on CPUs with the FSGSBASE instructions: of a machine with one page table, where nothing is looked up, and
//! of one with several.

use core::sync::atomic::AtomicUsize;

use super::Context;
use super::switch_code::{
    light_keep_fsgsbase, light_keep_in_line_tables, light_release_in_line, light_release_in_line_tables,
    stacks_keep_fsgsbase, stacks_keep_in_line_tables, stacks_release_in_line, stacks_release_in_line_tables,
};
use crate::cpu::percpu::PerCpu;

/// What a quick switch looks at.
///
/// # Safety
/// A CPU's word holds the scheduler's key only where the switches work.
pub unsafe trait Way {
    /// The CPU's word for the key.
    #[doc(hidden)]
    fn key(block: &PerCpu) -> &AtomicUsize;
    /// The light switch that keeps the claim.
    ///
    /// # Safety
    /// As for all switches, see [`super::Switch::begin`]; the CPU's word holds the scheduler's key.
    #[doc(hidden)]
    unsafe fn light_keep(own: *const Context, next: &Context);
    /// The light switch that ends the claim.
    ///
    /// # Safety
    /// As for [`Way::light_keep`].
    #[doc(hidden)]
    unsafe fn light_release(own: *const Context, next: &Context);
    /// The full switch that keeps the claim.
    ///
    /// # Safety
    /// As for [`Way::light_keep`].
    #[doc(hidden)]
    unsafe fn stacks_keep(own: *const Context, next: &Context);
    /// The full switch that ends the claim.
    ///
    /// # Safety
    /// As for [`Way::light_keep`].
    #[doc(hidden)]
    unsafe fn stacks_release(own: *const Context, next: &Context);
}

/// Not of a machine that has had several page tables.
pub enum OneTable {}

/// Of any machine.
pub enum Tables {}

// SAFETY: `Running::install` gives the word its key where the instructions are, and `begin_table_switches` takes it away.
unsafe impl Way for OneTable {
    #[inline(always)]
    fn key(block: &PerCpu) -> &AtomicUsize {
        &block.quick_key
    }

    #[inline(always)]
    unsafe fn light_keep(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { light_keep_fsgsbase(own, next) }
    }

    #[inline(always)]
    unsafe fn light_release(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { light_release_in_line(own, next) }
    }

    #[inline(always)]
    unsafe fn stacks_keep(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { stacks_keep_fsgsbase(own, next) }
    }

    #[inline(always)]
    unsafe fn stacks_release(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { stacks_release_in_line(own, next) }
    }
}

// SAFETY: `Running::install` gives the word its key where the instructions are.
unsafe impl Way for Tables {
    #[inline(always)]
    fn key(block: &PerCpu) -> &AtomicUsize {
        &block.tables_key
    }

    #[inline(always)]
    unsafe fn light_keep(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { light_keep_in_line_tables(own, next) }
    }

    #[inline(always)]
    unsafe fn light_release(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { light_release_in_line_tables(own, next) }
    }

    #[inline(always)]
    unsafe fn stacks_keep(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { stacks_keep_in_line_tables(own, next) }
    }

    #[inline(always)]
    unsafe fn stacks_release(own: *const Context, next: &Context) {
        // SAFETY: the caller's.
        unsafe { stacks_release_in_line_tables(own, next) }
    }
}
