// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether the machine stands still while the host works ([`hadal_hal::cpu::hold`]): on machines whose time is the number
//! of instructions executed, so that every run is the same.

use core::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);

/// Has the machine stand still, from now on, while the host works on what a driver has asked it for. The machine has one
/// CPU. To be called before devices are probed.
pub fn stand_still_while_host_works() {
    WANTED.store(true, Ordering::Relaxed);
}

pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}
