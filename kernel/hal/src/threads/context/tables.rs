// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which page table a context runs on, where there are several.

use core::sync::atomic::{AtomicBool, Ordering};

use super::switch_code::PIECES;
use super::{Context, FSGSBASE};
use crate::cpu;
use crate::cpu::percpu;
use crate::interrupts::irq;
use crate::memory::paging::{PageTable, Switchable};
use crate::memory::tlb;

impl Context {
    /// Runs `act` on another page table: the memory that it finds in the low half is that of a program which the running context
    /// is none of.
    ///
    /// # Panics
    /// If the context is not the one that the calling CPU runs.
    pub fn visit<R>(&self, table: Switchable, act: impl FnOnce() -> R) -> R {
        let own = self.enter(Some(table.0));
        let result = act();
        self.enter(own);
        result
    }

    /// Makes the running context one of a page table, or of none; returns what it was of.
    fn enter(&self, table: Option<&'static PageTable>) -> Option<&'static PageTable> {
        let _irq = irq::disable();
        assert!(self.is_running_here(), "a thread changes its own page table");
        let before = self.table.load(Ordering::Relaxed);
        self.table.store(table, Ordering::Relaxed);
        if let Some(table) = table {
            tlb::load(table);
        }
        before
    }

    /// Gives the running context another page table, at once.
    ///
    /// # Panics
    /// If the context is not the one that the calling CPU runs, with program state.
    pub fn change_table(&self, table: Switchable) {
        assert!(self.has_program(), "a thread of a program changes its page table");
        self.enter(Some(table.0));
    }
}

/// Whether the machine has had several page tables.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Whether switches look for the page table of the next context.
pub(crate) fn are_several() -> bool {
    SEVERAL.load(Ordering::Relaxed)
}

#[cfg(feature = "sim")]
pub(super) fn set_several(are_several: bool) {
    SEVERAL.store(are_several, Ordering::Relaxed);
}

/// From now on a switch looks whether the next context has another page table than the CPU, which loads it then. When this
/// returns, every CPU's does: until then none may have a context to run that has another one.
pub(crate) fn begin_table_switches() {
    static BEGUN: spin::Once<()> = spin::Once::new();
    BEGUN.call_once(|| {
        SEVERAL.store(true, Ordering::SeqCst);
        PIECES.use_tables(FSGSBASE.load(Ordering::Relaxed));
        for cpu in 0..cpu::count() {
            percpu::of(cpu).quick_key.store(0, Ordering::SeqCst);
        }
        // A switch that has begun has interrupts off; an idle CPU says that it is before this looks, or reads what is stored.
        tlb::interrupt_all();
    });
}
