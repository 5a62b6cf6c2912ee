// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine's memory as a source of frames for files.

use hadal_hal::frames::FrameSource;
use hadal_mem::frames::{self, Class, ZonePolicy};

/// Frames for what programs store: near the CPU that writes first, and never from the kernel's reserve, so a full
/// `/tmp` cannot starve the kernel.
pub struct ProgramFrames;

impl FrameSource for ProgramFrames {
    fn alloc(&self, order: u8) -> Option<u64> {
        frames::global().alloc_raw(order, ZonePolicy::Local, Class::Program)
    }

    fn free(&self, pa: u64, order: u8) {
        frames::global().free_raw(pa, order);
    }
}
