// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Kernel buffers for data on its way between files and the program.
//!
//! Each CPU keeps one of a page: to get memory for it and to fill that with zeros takes longer than the call that needs it.
//! What is in a buffer is arbitrary, and its user takes out only what it has put in.

use alloc::vec::Vec;
use core::mem;
use core::ops::{Deref, DerefMut};

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::sync::SpinLock;
use spin::Once;

use crate::Result;
use crate::memory::{self, SURE_BYTES};

/// Bytes of a buffer that is kept.
const KEPT_BYTES: usize = SURE_BYTES;

/// The buffers that CPUs keep; an empty one is in use, or not made yet.
static KEPT: Once<CpuLocal<SpinLock<Vec<u8>>>> = Once::new();

/// Makes room for one of each CPU; called once, when CPUs are known.
pub fn init() {
    KEPT.call_once(|| CpuLocal::new(cpu::count(), |_| SpinLock::new(Vec::new())));
}

/// A buffer, which goes back where it came from.
pub struct Buffer {
    bytes: Vec<u8>,
    len: usize,
}

impl Buffer {
    /// A buffer of `len` bytes, or a smaller one where memory is short; `ENOMEM`.
    pub fn up_to(len: usize) -> Result<Self> {
        if len > KEPT_BYTES {
            let bytes = memory::buffer_up_to(len)?;
            return Ok(Self { len: bytes.len(), bytes });
        }
        let kept = KEPT.get().map(|kept| mem::take(&mut *kept.this().lock())).unwrap_or_default();
        let bytes = if kept.is_empty() { memory::buffer(KEPT_BYTES)? } else { kept };
        Ok(Self { bytes, len })
    }

    /// A buffer of `len` bytes; `ENOMEM`.
    pub fn of(len: usize) -> Result<Self> {
        if len > KEPT_BYTES { Ok(Self { bytes: memory::buffer(len)?, len }) } else { Self::up_to(len) }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.bytes.len() != KEPT_BYTES {
            return;
        }
        let Some(kept) = KEPT.get() else { return };
        let mut kept = kept.this().lock();
        if kept.is_empty() {
            // The vector that was there has no memory to free.
            mem::swap(&mut *kept, &mut self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_long_as_asked_for() {
        for len in [0, 1, 64, KEPT_BYTES, KEPT_BYTES + 1, 100_000] {
            assert_eq!((Buffer::of(len).unwrap().len(), Buffer::up_to(len).unwrap().len()), (len, len));
        }
    }
}
