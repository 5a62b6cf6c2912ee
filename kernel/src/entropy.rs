// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random numbers: one ChaCha20 generator, seeded by the host, the virtual entropy device and the time-stamp counter.

use hadal_hal::sync::SpinLock;
use hadal_hal::tsc;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

static GENERATOR: SpinLock<Option<ChaCha20Rng>> = SpinLock::new(None);

/// Seeds the generator.
pub(crate) fn seed(mut from_host: [u8; 32], from_device: &[u8]) {
    for (byte, more) in from_host.iter_mut().zip(from_device) {
        *byte ^= more;
    }
    for (byte, more) in from_host.iter_mut().zip(tsc::read().to_le_bytes()) {
        *byte ^= more;
    }
    *GENERATOR.lock() = Some(ChaCha20Rng::from_seed(from_host));
}

/// Fills a buffer.
///
/// # Panics
/// Before [`seed`].
pub(crate) fn fill(buffer: &mut [u8]) {
    let mut generator = GENERATOR.lock();
    generator.as_mut().expect("the generator is seeded before programs start").fill_bytes(buffer);
}
