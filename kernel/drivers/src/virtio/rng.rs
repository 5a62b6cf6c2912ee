// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The entropy device (section 5.4): random bytes from the host.

use alloc::sync::Arc;

use super::device::{Device, Running};
use super::exchange::Exchange;
use super::memory::Segment;
use crate::pci::Function;
use crate::{Closed, DriverError};

/// Entries of the queue: callers are few.
const QUEUE_SIZE: u16 = 8;
/// Answers without a byte in a row before the device counts as failed.
const EMPTY_ANSWERS: usize = 16;

/// A source of random bytes.
pub struct Rng {
    exchange: Arc<Exchange>,
    running: Running,
}

impl Rng {
    pub(crate) fn start(function: Function) -> Result<Self, DriverError> {
        let device = Device::open(function, 0)?;
        let exchange = Arc::new(Exchange::new(device.queue(0, QUEUE_SIZE)?, &"random bytes, request"));
        let running = device.start(&exchange)?;
        Ok(Self { exchange, running })
    }

    /// Fills the buffer with random bytes; sleeps until they are there.
    pub fn fill(&self, buffer: &mut [u8]) -> Result<(), Closed> {
        let mut rest = buffer;
        let mut empty = 0;
        while !rest.is_empty() {
            let segment = Segment::from_device(rest).ok_or(Closed)?;
            let written = self.exchange.run(&[segment])?.min(rest.len() as u64) as usize;
            empty = if written == 0 { empty + 1 } else { 0 };
            if empty == EMPTY_ANSWERS {
                return Err(Closed);
            }
            rest = &mut rest[written..];
        }
        Ok(())
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    pub(crate) fn requests(&self) -> u64 {
        self.exchange.requests()
    }
}
