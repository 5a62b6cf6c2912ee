// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often each system call is made (`hadal run --strace=count`). Each CPU counts for itself, so that CPUs share neither
//! locks nor cache lines.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_abi::calls::{CallCount, NUMBERS};
use hadal_hal::cpu;
use hadal_hal::memory::fallible::{self, OutOfMemory};
use spin::Once;

/// Counts of one call on one CPU.
#[derive(Default)]
struct Cell {
    calls: AtomicU64,
    errors: AtomicU64,
    time_ns: AtomicU64,
}

/// The calls with a number below [`NUMBERS`], and behind them all others as one.
const CELLS_OF_CPU: usize = NUMBERS + 1;

/// Cells of CPU 0, then of CPU 1, and so on. There are none before [`start`].
static CELLS: Once<Vec<Cell>> = Once::new();

/// Makes room for the counts.
pub fn start() -> Result<(), OutOfMemory> {
    let len = cpu::count() * CELLS_OF_CPU;
    let mut cells = fallible::room_for(len)?;
    cells.resize_with(len, Cell::default);
    CELLS.call_once(|| cells);
    Ok(())
}

/// What was counted by now, by number, without calls that were not made; `None` before [`start`].
pub fn list() -> Option<Vec<CallCount>> {
    let cells = CELLS.get()?;
    let of_number = |index: usize| {
        let number = u16::try_from(index).ok().filter(|&number| usize::from(number) < NUMBERS);
        let mut sum = CallCount { number, ..CallCount::default() };
        for cell in cells.iter().skip(index).step_by(CELLS_OF_CPU) {
            sum.calls += cell.calls.load(Ordering::Relaxed);
            sum.errors += cell.errors.load(Ordering::Relaxed);
            sum.time_ns += cell.time_ns.load(Ordering::Relaxed);
        }
        sum
    };
    Some((0..CELLS_OF_CPU).map(of_number).filter(|count| count.calls > 0).collect())
}

/// This CPU's cell of a call. The thread may be on another CPU at any time after that.
fn cell(number: u64) -> Option<&'static Cell> {
    let index = usize::try_from(number).unwrap_or(NUMBERS).min(NUMBERS);
    CELLS.get()?.get(cpu::current_id() * CELLS_OF_CPU + index)
}

/// Notes that a call begins: it may never return.
pub(super) fn begins(number: u64) {
    if let Some(cell) = cell(number) {
        cell.calls.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notes that a call has returned, after this time.
pub(super) fn returned(number: u64, time_ns: u64, is_error: bool) {
    if let Some(cell) = cell(number) {
        cell.time_ns.fetch_add(time_ns, Ordering::Relaxed);
        cell.errors.fetch_add(is_error.into(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_number() {
        assert!(list().is_none());
        start().unwrap();
        assert_eq!(list(), Some(Vec::new()));
        begins(0);
        returned(0, 100, false);
        begins(0);
        returned(0, 11, true);
        begins(231);
        begins(512);
        begins(u64::MAX);
        let expected = [
            CallCount { number: Some(0), calls: 2, errors: 1, time_ns: 111 },
            CallCount { number: Some(231), calls: 1, ..CallCount::default() },
            CallCount { number: None, calls: 2, ..CallCount::default() },
        ];
        assert_eq!(list().unwrap(), expected);
    }
}
