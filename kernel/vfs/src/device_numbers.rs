// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device numbers for file systems without a device, as Linux gives them: major 0 and a running minor.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::metadata::make_dev;

static NEXT_MINOR: AtomicU32 = AtomicU32::new(1);

/// A device number no other file system has.
pub(crate) fn next() -> u64 {
    make_dev(0, NEXT_MINOR.fetch_add(1, Ordering::Relaxed))
}
