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

macro_rules! way {
    (
        $(#[$docs:meta])* $way:ident, $key:ident,
        $light_keep:ident, $light_release:ident, $stacks_keep:ident, $stacks_release:ident
    ) => {
        $(#[$docs])*
        pub enum $way {}

        // SAFETY: `Running::install` gives the word its key where the instructions are; `begin_table_switches` takes the key of
        // those away that know one page table.
        unsafe impl Way for $way {
            #[inline(always)]
            fn key(block: &PerCpu) -> &AtomicUsize {
                &block.$key
            }

            #[inline(always)]
            unsafe fn light_keep(own: *const Context, next: &Context) {
                // SAFETY: the caller's.
                unsafe { $light_keep(own, next) }
            }

            #[inline(always)]
            unsafe fn light_release(own: *const Context, next: &Context) {
                // SAFETY: the caller's.
                unsafe { $light_release(own, next) }
            }

            #[inline(always)]
            unsafe fn stacks_keep(own: *const Context, next: &Context) {
                // SAFETY: the caller's.
                unsafe { $stacks_keep(own, next) }
            }

            #[inline(always)]
            unsafe fn stacks_release(own: *const Context, next: &Context) {
                // SAFETY: the caller's.
                unsafe { $stacks_release(own, next) }
            }
        }
    };
}
way! {
    /// Not of a machine that has had several page tables.
    OneTable, quick_key,
    light_keep_fsgsbase, light_release_in_line, stacks_keep_fsgsbase, stacks_release_in_line
}
way! {
    /// Of any machine.
    Tables, tables_key,
    light_keep_in_line_tables, light_release_in_line_tables, stacks_keep_in_line_tables, stacks_release_in_line_tables
}
