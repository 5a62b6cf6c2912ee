// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `eventfd2(2)`: makes a counter that can be waited for like a file.
//!
//! Honoured: `EFD_CLOEXEC`, `EFD_NONBLOCK`, `EFD_SEMAPHORE`; polling.
//!
//! Refused: nothing; other flags are `EINVAL`.

use alloc::string::String;
use core::fmt::Write;

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{Blocking, File, OpenFlags, PollEvents, Positions};
use linux_raw_sys::general::{EFD_CLOEXEC, EFD_NONBLOCK, EFD_SEMAPHORE};

use crate::call::Call;
use crate::files::anonymous::{self, Label};
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Size, Flags(&flags::EVENTFD));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    make(call, call.uint(1))
}

/// Makes a counter that starts at argument 0.
pub(super) fn make(call: &Call<'_>, flags: u32) -> Result<usize> {
    at::check_flags(flags, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)?;
    let counter = EventCounter::new(u64::from(call.uint(0)), flags & EFD_SEMAPHORE != 0);
    // The flag for non-blocking is that of `open`.
    let status = OpenFlags::READ_WRITE | OpenFlags::from_bits_truncate(flags & EFD_NONBLOCK);
    let label = Label::Fixed("anon_inode:[eventfd]");
    let file = anonymous::open(&call.process.caller(), fallible::arc(counter)?, 0o600, label, status)?;
    call.process.files().insert(file, flags & EFD_CLOEXEC != 0).map(|fd| fd as usize)
}

/// Highest value of the counter.
const MAX: u64 = u64::MAX - 1;

/// The counter: writing adds, reading takes all of it, or 1 in semaphore mode.
struct EventCounter {
    count: SpinLock<u64>,
    semaphore: bool,
    changed: WaitQueue,
}

impl EventCounter {
    fn new(count: u64, semaphore: bool) -> Self {
        Self { count: SpinLock::new(count), semaphore, changed: WaitQueue::new() }
    }

    fn try_take(&self) -> Option<u64> {
        let mut count = self.count.lock();
        let taken = if self.semaphore { (*count).min(1) } else { *count };
        *count -= taken;
        (taken > 0).then_some(taken)
    }

    fn try_add(&self, more: u64) -> Option<()> {
        let mut count = self.count.lock();
        if more > MAX - *count {
            return None;
        }
        *count += more;
        Some(())
    }

    fn wait<T>(&self, blocking: Blocking, mut attempt: impl FnMut() -> Option<T>) -> Result<T> {
        match blocking {
            Blocking::Never => attempt().ok_or(Errno::EAGAIN),
            Blocking::Wait => Ok(self.changed.wait_until(None, WaitMode::Interruptible, attempt)?),
        }
    }
}

impl File for EventCounter {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        let word = buffer.first_chunk_mut().ok_or(Errno::EINVAL)?;
        *word = self.wait(blocking, || self.try_take())?.to_ne_bytes();
        self.changed.wake_all_for(PollEvents::WRITABLE.changes());
        Ok(size_of::<u64>())
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        let more = u64::from_ne_bytes(*data.first_chunk().ok_or(Errno::EINVAL)?);
        if more > MAX {
            return Err(Errno::EINVAL);
        }
        self.wait(blocking, || self.try_add(more))?;
        self.changed.wake_all_for(PollEvents::READABLE.changes());
        Ok(size_of::<u64>())
    }

    fn poll(&self) -> PollEvents {
        let count = *self.count.lock();
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, count > 0);
        events.set(PollEvents::WRITABLE, count < MAX);
        events
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.changed), None]
    }

    fn positions(&self) -> Positions {
        Positions::NoneAndSeekIgnored
    }

    fn describe(&self, lines: &mut String) -> Result<()> {
        let (count, semaphore) = (*self.count.lock(), u32::from(self.semaphore));
        // Writing to a string cannot fail.
        let _ = write!(lines, "eventfd-count: {count:16x}\neventfd-semaphore: {semaphore}\n");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(counter: &EventCounter) -> Result<u64> {
        let mut word = [0; 8];
        counter.read(&mut word, Blocking::Never).map(|_| u64::from_ne_bytes(word))
    }

    fn write(counter: &EventCounter, more: u64) -> Result<usize> {
        counter.write(&more.to_ne_bytes(), Blocking::Never)
    }

    #[test]
    fn reading_takes_all() {
        let counter = EventCounter::new(3, false);
        assert_eq!(write(&counter, 4), Ok(8));
        assert_eq!(read(&counter), Ok(7));
        assert_eq!(read(&counter), Err(Errno::EAGAIN));
        assert_eq!(counter.poll(), PollEvents::WRITABLE);
    }

    #[test]
    fn a_semaphore_is_taken_one_by_one() {
        let counter = EventCounter::new(2, true);
        assert_eq!((read(&counter), read(&counter)), (Ok(1), Ok(1)));
        assert_eq!(read(&counter), Err(Errno::EAGAIN));
    }

    #[test]
    fn the_counter_does_not_overflow() {
        let counter = EventCounter::new(1, false);
        assert_eq!(write(&counter, u64::MAX), Err(Errno::EINVAL));
        assert_eq!(write(&counter, MAX), Err(Errno::EAGAIN));
        assert_eq!(write(&counter, MAX - 1), Ok(8));
        assert_eq!(counter.poll(), PollEvents::READABLE);
        assert_eq!(write(&counter, 0), Ok(8));
    }

    #[test]
    fn short_buffers_are_refused() {
        let counter = EventCounter::new(1, false);
        assert_eq!(counter.read(&mut [0; 7], Blocking::Never), Err(Errno::EINVAL));
        assert_eq!(counter.write(&[0; 7], Blocking::Never), Err(Errno::EINVAL));
    }
}
