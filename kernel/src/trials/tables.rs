// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two threads with page tables of their own, in which the same address has different pages: on each CPU in turn they take
//! turns, and each finds what it has written.

use alloc::format;
use alloc::string::{String, ToString};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::cpu;
use hadal_hal::memory::paging::Stale;
use hadal_hal::memory::user;
use hadal_mem::frames::{self, ZonePolicy};
use hadal_mem::space::{KernelMmu, Mmu, PAGE_SIZE, Page, PageFlags, Reach};
use hadal_time::now_ns;

/// Turns of each thread on each CPU.
const TURNS: u32 = 20;
const THREADS: usize = 2;
/// Where the pages are.
const AT: usize = 0x1234_5678_9000;
const WAIT_NS: u64 = 100_000;

static WRONG: AtomicU64 = AtomicU64::new(0);
static TURNS_TAKEN: AtomicU32 = AtomicU32::new(0);
static RUNNING: AtomicUsize = AtomicUsize::new(THREADS);

/// Runs the threads until a time; how many turns they have taken, or what went wrong.
pub(super) fn run(until_ns: u64) -> Result<u32, String> {
    let tables = [table()?, table()?];
    for (number, table) in tables.iter().enumerate() {
        let thread =
            hadal_sched::create(take_turns, number, None).map_err(|error| format!("no thread: {error:?}"))?;
        if !thread.context().set_program(table.switchable(), 0, false) {
            hadal_sched::discard(thread);
            return Err("no memory for a thread".to_string());
        }
        thread.start();
    }
    while RUNNING.load(Ordering::Acquire) > 0 {
        if now_ns() > until_ns {
            // The threads may still run: their tables stay.
            core::mem::forget(tables);
            return Err(format!("it stopped after {} turns", TURNS_TAKEN.load(Ordering::Relaxed)));
        }
        hadal_sched::sleep_until(now_ns() + WAIT_NS);
    }
    tables.iter().for_each(empty);
    match WRONG.load(Ordering::Relaxed) {
        0 => Ok(TURNS_TAKEN.load(Ordering::Relaxed)),
        wrong => Err(format!("a thread found another's page {wrong} times")),
    }
}

/// A page table with one page.
fn table() -> Result<KernelMmu, String> {
    let no_memory = || "no memory for a page table".to_string();
    let table = KernelMmu::new().map_err(|_| no_memory())?;
    let frame = frames::global().alloc_zeroed(0, ZonePolicy::Local).ok_or_else(no_memory)?;
    let flags = PageFlags::READ | PageFlags::WRITE;
    table.map(AT, Page::from(frame.into_block()), flags).map_err(|_| no_memory())?;
    Ok(table)
}

/// Takes the page out again.
fn empty(table: &KernelMmu) {
    let mut removed = Stale::new();
    let unmapped = table.unmap(AT, PAGE_SIZE, &mut |va, page, _| removed.push(va, page));
    assert_eq!(unmapped, Ok(()), "a small page is removed whole");
    let flush = table.shootdown(AT, PAGE_SIZE, Reach::Table);
    frames::global().free_chain(removed.flushed(&flush));
}

fn take_turns(number: usize) -> ! {
    let own = hadal_sched::current();
    let (mark, mut turn) = ((number as u32 + 1) << 16, 0);
    for cpu in 0..cpu::count() {
        own.bind(Some(cpu));
        for _ in 0..TURNS {
            let expected = if turn == 0 { 0 } else { mark | turn };
            turn += 1;
            let found = user::load_u32(AT);
            let stored = user::store_u32(AT, mark | turn);
            if found != Ok(expected) || stored.is_err() {
                WRONG.fetch_add(1, Ordering::Relaxed);
            }
            TURNS_TAKEN.fetch_add(1, Ordering::Relaxed);
            hadal_sched::yield_now();
        }
    }
    own.bind(None);
    RUNNING.fetch_sub(1, Ordering::Release);
    hadal_sched::exit()
}
