// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ring in which programs run: 0, where a program and the kernel are one, or 3, where neither the kernel nor other
//! processes are in reach.
//!
//! The first process has one, and its children inherit it: so it is one for the machine. It is chosen on the boot CPU before
//! the other processors start and before there is a program, and decides, here and in [`super::tables`], segments, entry code,
//! what the processor forbids the kernel itself (SMEP, SMAP), and whose code a trap has interrupted. Nothing of it is asked on
//! the hot paths of ring 0.

use core::sync::atomic::{AtomicBool, Ordering};

use super::selector;

static ISOLATES: AtomicBool = AtomicBool::new(false);

/// Whether programs run in ring 3.
#[inline(always)]
pub fn isolates() -> bool {
    ISOLATES.load(Ordering::Relaxed)
}

/// Makes ring 3 that of all programs. On the boot CPU, before the other processors start.
#[cfg(target_os = "none")]
pub fn isolate() {
    use crate::cpu::percpu;

    ISOLATES.store(true, Ordering::Relaxed);
    // A quick switch does not know of the program's %gs.
    let block = percpu::this();
    [&block.quick_key, &block.tables_key].iter().for_each(|key| key.store(0, Ordering::Relaxed));
    super::tables::isolate_this_cpu();
    crate::memory::user::guard();
}

/// Host builds have no programs.
#[cfg(not(target_os = "none"))]
pub fn isolate() {
    ISOLATES.store(true, Ordering::Relaxed);
}

/// Selectors of the program's code and stack.
#[inline]
pub(super) fn program_selectors() -> (u64, u64) {
    let (code, data) = if isolates() {
        (selector::PROGRAM_CODE, selector::PROGRAM_DATA)
    } else {
        (selector::KERNEL_CODE, selector::KERNEL_DATA)
    };
    (code.into(), data.into())
}
