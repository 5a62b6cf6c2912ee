// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Translation look-aside buffers: flushing this CPU's, everybody's at once, and everybody's eventually.
//!
//! One global generation counts the flushes asked for. A CPU publishes the newest generation that it has flushed for, so
//! a waiter needs no list of acknowledgements and requests from several CPUs merge. An idle CPU marks itself lazy: it is
//! not interrupted, and flushes when it leaves idle. Generation and flag are accessed with sequential consistency: either
//! the idle CPU sees the new generation or the requester sees that it is no longer lazy.
//!
//! A flush is of one page table, and of the CPUs that run it: who loads a page table forgets what he knew. A CPU that goes from
//! one to another says so first ([`CHANGING`]), then reads the generation, loads the table, and says which
//! (`threads/context/switch_code.rs`). Either it finds the change there, or the requester sees that it may not have.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::cpu::percpu::{self, PerCpu};
use crate::interrupts::{apic, irq};
use crate::memory::layout::PAGE_SIZE;
use crate::memory::paging::{PageTable, TableNumber};
use crate::memory::phys;
use crate::{cpu, sync};

/// The switch between page tables reads it.
pub(crate) static GENERATION: AtomicU64 = AtomicU64::new(0);
static SHOOTDOWNS: AtomicU64 = AtomicU64::new(0);

/// What a CPU's block has for the number of its page table while it goes from one to another, and as long as there is one.
pub(crate) const CHANGING: TableNumber = 0;

/// Stands for all page tables.
pub(crate) const ALL: TableNumber = TableNumber::MAX;

/// Above this many pages a whole flush is cheaper than one instruction a page.
const RANGE_LIMIT_PAGES: usize = 32;

/// Number of synchronous shootdowns so far.
pub fn shootdown_count() -> u64 {
    SHOOTDOWNS.load(Ordering::Relaxed)
}

/// How often this CPU has flushed its TLB, or a part of it.
pub fn local_flushes() -> u64 {
    percpu::this().tlb_flushes.load(Ordering::Relaxed)
}

fn count_local_flush() {
    let flushes = &percpu::this().tlb_flushes;
    // Only this CPU counts here, but for an interrupt that comes in between: then one is not counted.
    flushes.store(flushes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Flushes the translations of program memory on this CPU (kernel translations are global and never change).
pub fn flush_local() {
    count_local_flush();
    #[cfg(target_os = "none")]
    // SAFETY: reloads the same root.
    unsafe {
        core::arch::asm!("mov {0}, cr3", "mov cr3, {0}", out(reg) _, options(nostack));
    }
}

/// Flushes the translations of one range on this CPU.
pub fn flush_local_range(va: usize, len: usize) {
    if len > RANGE_LIMIT_PAGES * PAGE_SIZE {
        flush_local();
        return;
    }
    count_local_flush();
    #[cfg(target_os = "none")]
    for page in (va..va + len).step_by(PAGE_SIZE) {
        // SAFETY: dropping a translation changes no memory.
        unsafe { core::arch::asm!("invlpg [{}]", in(reg) page, options(nostack)) };
    }
    #[cfg(not(target_os = "none"))]
    let _ = va;
}

/// Memory that [`fill`] reads: the physical address, and the number of pages.
static FILL_START: AtomicU64 = AtomicU64::new(0);
static FILL_PAGES: AtomicUsize = AtomicUsize::new(0);

/// Names the memory that [`fill`] may read, if it is more than what was named before.
///
/// # Safety
/// It is RAM, and in the direct map before [`fill`] is called.
pub(crate) unsafe fn note_fill_memory(start: u64, bytes: u64) {
    let pages = (bytes / PAGE_SIZE as u64) as usize;
    if pages > FILL_PAGES.load(Ordering::Relaxed) {
        FILL_START.store(start, Ordering::Relaxed);
        FILL_PAGES.store(pages, Ordering::Relaxed);
    }
}

/// How many pages [`fill`] can read.
pub fn fill_pages() -> usize {
    FILL_PAGES.load(Ordering::Relaxed)
}

/// Reads a byte of each of some pages, by their number, so that their translations are in this CPU's TLB; those that there are
/// not are left out.
pub fn fill(first: usize, pages: usize) {
    let end = first.saturating_add(pages).min(fill_pages());
    for page in first..end {
        let pa = FILL_START.load(Ordering::Relaxed) + (page * PAGE_SIZE) as u64;
        // SAFETY: as `note_fill_memory` was told; what the byte is does not matter.
        unsafe { phys::touch(pa) };
    }
}

/// The proof that every CPU has forgotten what it knew of a range of one page table before a certain flush.
#[derive(Clone, Copy, Debug)]
pub struct Flushed {
    table: TableNumber,
    start: usize,
    end: usize,
    through: u64,
}

impl Flushed {
    /// The flush that is over, by [`begin_lazy`]'s number.
    pub fn through(&self) -> u64 {
        self.through
    }

    /// Whether pages of a range are forgotten that were removed when the newest flush was `before`.
    pub(crate) fn covers(&self, table: TableNumber, start: usize, end: usize, before: u64) -> bool {
        (self.table == table || self.table == ALL)
            && self.start <= start
            && end <= self.end
            && before < self.through
    }

    /// The proof of a flush of simulated TLBs, for pages that no table has had or several.
    #[cfg(not(target_os = "none"))]
    pub fn simulated(va: usize, len: usize, through: u64) -> Self {
        Self { table: ALL, start: va, end: va.saturating_add(len), through }
    }
}

/// The number of the newest flush.
pub(crate) fn newest() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Makes every CPU forget a range of a page table before it returns. For process context with interrupts on.
pub fn shootdown(table: &PageTable, va: usize, len: usize) -> Flushed {
    shootdown_of(table.number(), va, len)
}

pub(crate) fn shootdown_of(table: TableNumber, va: usize, len: usize) -> Flushed {
    // Not only `irq::enabled`: a program may have interrupts off, and then the loop below answers for it.
    sync::may_wait_for_cpus();
    flush_local_range(va, len);
    let flushed = |through| Flushed { table, start: va, end: va.saturating_add(len), through };
    if cpu::count() == 1 {
        return flushed(newest() + 1);
    }
    SHOOTDOWNS.fetch_add(1, Ordering::Relaxed);
    let generation = begin_lazy();
    wait_for(generation, |block| runs(block, table));
    flushed(generation)
}

/// Makes every CPU forget a range, whichever page table it runs, before it returns. As [`shootdown`].
pub fn shootdown_everywhere(va: usize, len: usize) -> Flushed {
    shootdown_of(ALL, va, len)
}

/// Interrupts every CPU that is not idle, and returns when all have been: what the caller has stored before, all see.
pub fn interrupt_all() {
    sync::may_wait_for_cpus();
    wait_for(begin_lazy(), |_| true);
}

/// Waits until the other CPUs that are concerned have flushed for a generation, and interrupts them for it.
fn wait_for(generation: u64, concerns: impl Fn(&PerCpu) -> bool) {
    kick_until(generation, &concerns);
    for other in 0..cpu::count() {
        // A CPU never waits for itself: its own range is flushed, and it takes requests of others meanwhile.
        while other != cpu::current_id() && behind(other, generation, &concerns) {
            if !irq::enabled() {
                service();
            }
            cpu::relax();
        }
    }
}

/// Starts a flush that nobody waits for: when [`completed`] has reached the returned generation, no CPU uses a
/// translation that was removed before this call.
pub fn begin_lazy() -> u64 {
    GENERATION.fetch_add(1, Ordering::SeqCst) + 1
}

/// The newest generation for which every CPU has flushed everything of a page table.
pub fn completed(table: &PageTable) -> Flushed {
    completed_of(table.number())
}

/// The newest generation for which every CPU has flushed everything of all page tables.
pub fn completed_everywhere() -> Flushed {
    completed_of(ALL)
}

/// Whether no CPU knows what another page table than the caller's has lost before a flush.
pub(crate) fn is_over_elsewhere(flush: u64) -> bool {
    // A single CPU has loaded the caller's table since.
    cpu::count() == 1 || completed_of(ALL).through >= flush
}

pub(crate) fn completed_of(table: TableNumber) -> Flushed {
    let newest = GENERATION.load(Ordering::SeqCst);
    let of = |id| if behind(id, newest, |block| runs(block, table)) { seen(id) } else { newest };
    let through = (0..cpu::count()).map(of).min().unwrap_or(newest);
    Flushed { table, start: 0, end: usize::MAX, through }
}

/// Asks the CPUs that have not flushed a page table for the newest generation to do it now.
pub fn kick(table: &PageTable) {
    service();
    kick_until(GENERATION.load(Ordering::SeqCst), |block| runs(block, table.number()));
}

fn kick_until(generation: u64, concerns: impl Fn(&PerCpu) -> bool) {
    for other in 0..cpu::count() {
        if other != cpu::current_id() && behind(other, generation, &concerns) {
            apic::send_ipi(other, irq::VECTOR_TLB);
        }
    }
}

fn seen(id: usize) -> u64 {
    percpu::of(id).tlb_seen.load(Ordering::SeqCst)
}

fn behind(id: usize, generation: u64, concerns: impl Fn(&PerCpu) -> bool) -> bool {
    let block = percpu::of(id);
    seen(id) < generation && !block.tlb_lazy.load(Ordering::SeqCst) && concerns(block)
}

/// Whether a CPU may know something of a page table.
fn runs(block: &PerCpu, table: TableNumber) -> bool {
    let running = block.page_table.load(Ordering::SeqCst);
    table == ALL || running == CHANGING || running == table
}

/// Flushes this CPU if a generation is open; called by the interrupt, on leaving idle, and on thread switches but the short
/// ones.
pub fn service() {
    let newest = GENERATION.load(Ordering::SeqCst);
    let block = percpu::this();
    if block.tlb_seen.load(Ordering::Relaxed) < newest {
        flush_local();
        block.tlb_seen.store(newest, Ordering::SeqCst);
    }
}

/// Loads a page table on the calling CPU, whose interrupts are off, unless it has it: what
/// `threads/context/switch_code.rs` does on the way to another thread.
pub(crate) fn load(table: &PageTable) {
    let block = percpu::this();
    if block.page_table.load(Ordering::Relaxed) == table.number() {
        return;
    }
    block.page_table.swap(CHANGING, Ordering::SeqCst);
    let newest = GENERATION.load(Ordering::SeqCst);
    #[cfg(target_os = "none")]
    // SAFETY: its kernel's half is the same as that of the table that is loaded, and the stack is there.
    unsafe {
        core::arch::asm!("mov cr3, {}", in(reg) table.root_pa(), options(nostack));
    }
    block.tlb_seen.store(newest, Ordering::SeqCst);
    block.page_table.store(table.number(), Ordering::Release);
}

/// Marks this CPU idle: it touches no program memory until [`leave_idle`].
pub fn enter_idle() {
    percpu::this().tlb_lazy.store(true, Ordering::SeqCst);
}

/// Ends [`enter_idle`].
pub fn leave_idle() {
    percpu::this().tlb_lazy.store(false, Ordering::SeqCst);
    service();
}
