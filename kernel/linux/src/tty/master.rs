// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The side of a terminal that is the person: writing is typing, reading is the screen.

use alloc::sync::Arc;
use core::any::Any;

use hadal_hal::memory::fallible;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{Blocking, File, IoctlArgument, PollEvents};

use super::{Terminal, requests, slave};
use crate::{Errno, Result};

pub(super) struct Master(Arc<Terminal>);

/// Makes a terminal; the slave cannot be opened before it is unlocked.
pub(super) fn open() -> Result<Arc<dyn File>> {
    Ok(fallible::arc(Master(super::make()?))?)
}

impl Master {
    /// What is on the screen; `EIO` if there will be no more: all files of the slave are closed.
    fn take(&self, buffer: &mut [u8]) -> Option<Result<usize>> {
        if buffer.is_empty() {
            return Some(Ok(0));
        }
        let mut state = self.0.state();
        if state.screen.is_empty() {
            return (state.was_open && state.slaves == 0).then_some(Err(Errno::EIO));
        }
        let len = buffer.len().min(state.screen.len());
        for (to, from) in buffer.iter_mut().zip(state.screen.drain(..len)) {
            *to = from;
        }
        drop(state);
        // There is room again.
        self.0.slaves.wake_all();
        Some(Ok(len))
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        self.0.hang_up();
    }
}

impl File for Master {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        match blocking {
            Blocking::Never => self.take(buffer).unwrap_or(Err(Errno::EAGAIN)),
            Blocking::Wait => {
                self.0.masters.wait_until(None, WaitMode::Interruptible, || self.take(buffer))?
            }
        }
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        slave::write_all(data, blocking, &self.0.masters, |data| Ok(self.0.type_in(data)))
    }

    fn poll(&self) -> PollEvents {
        let state = self.0.state();
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, !state.screen.is_empty());
        events.set(PollEvents::WRITABLE, state.input.has_room(&state.settings));
        events.set(PollEvents::HANG_UP, state.was_open && state.slaves == 0);
        events
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.0.masters), None]
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        requests::of_master(&self.0, request, argument)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
