// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random numbers: one ChaCha20 generator, seeded by the host, or by the virtual entropy device and the time-stamp
//! counter if the host gives none.

use hadal_hal::cpu::tsc;
use hadal_hal::sync::SpinLock;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

static GENERATOR: SpinLock<Option<ChaCha20Rng>> = SpinLock::new(None);

/// Seeds the generator.
pub(crate) fn seed(mut seed: [u8; 32], from_device: &[u8]) {
    if seed == [0; 32] {
        let sources = from_device.iter().copied().chain(tsc::read().to_le_bytes());
        for (at, byte) in sources.enumerate() {
            seed[at % seed.len()] ^= byte;
        }
    }
    *GENERATOR.lock() = Some(ChaCha20Rng::from_seed(seed));
}

/// Fills a buffer.
///
/// # Panics
/// Before [`seed`].
pub(crate) fn fill(buffer: &mut [u8]) {
    let mut generator = GENERATOR.lock();
    generator.as_mut().expect("the generator is seeded before programs start").fill_bytes(buffer);
}
