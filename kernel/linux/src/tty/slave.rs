// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The side of a terminal that programs read what is typed from, and write to.

use alloc::sync::Arc;
use core::any::Any;

use hadal_hal::memory::fallible;
use hadal_sync::{WaitError, WaitMode, WaitQueue};
use hadal_tty::termios::{Control, LocalFlags, Termios};
use hadal_vfs::{Blocking, File, IoctlArgument, OpenFlags, PollEvents};

use super::{Terminal, job, requests};
use crate::signal::number::{SIGTTIN, SIGTTOU};
use crate::{Errno, Result};

/// An open file of it.
pub(super) struct Slave(pub(super) Arc<Terminal>);

/// Opens it; it becomes the caller's terminal if the caller leads a session without one and does not say `O_NOCTTY`.
pub(super) fn open(terminal: Arc<Terminal>, flags: OpenFlags) -> Result<Arc<dyn File>> {
    {
        let mut state = terminal.state();
        if state.is_locked || state.is_hung_up {
            return Err(Errno::EIO);
        }
        state.slaves += 1;
        state.was_open = true;
    }
    // From here on it is closed when it is dropped.
    let slave = Slave(terminal);
    if !flags.contains(OpenFlags::NO_CTTY) {
        job::adopt(&slave.0);
    }
    Ok(fallible::arc(slave)?)
}

/// Writes all, or what can be written without waiting, by steps that say how much they have written. A signal ends it early.
pub(super) fn write_all(
    data: &[u8],
    blocking: Blocking,
    queue: &WaitQueue,
    mut write: impl FnMut(&[u8]) -> Result<usize>,
) -> Result<usize> {
    let mut done = write(data)?;
    if blocking == Blocking::Never {
        return if done == 0 && !data.is_empty() { Err(Errno::EAGAIN) } else { Ok(done) };
    }
    let outcome = queue.wait_until(None, WaitMode::Interruptible, || {
        match write(&data[done..]) {
            Ok(more) => done += more,
            Err(error) => return Some(Err(error)),
        }
        (done == data.len()).then_some(Ok(()))
    });
    match outcome.map_err(Errno::from).and_then(|outcome| outcome) {
        Err(error) if done == 0 => Err(error),
        _ => Ok(done),
    }
}

/// How many bytes a read waits for without lines, and how long for each.
struct Patience {
    least: usize,
    pause_ns: Option<u64>,
    /// The time counts from the beginning, not from the first byte.
    at_once: bool,
}

impl Patience {
    fn of(settings: &Termios, len: usize) -> Self {
        const TENTH_NS: u64 = 100_000_000;
        let (minimum, time) = (settings.value(Control::Minimum), settings.value(Control::Time));
        Self {
            least: usize::from(minimum.max(1)).min(len.max(1)),
            pause_ns: (time != 0 || minimum == 0).then(|| u64::from(time) * TENTH_NS),
            at_once: minimum == 0,
        }
    }
}

impl Slave {
    /// What can be read now: bytes, or 0 at the end. `None`: nothing, or not enough.
    fn take(&self, buffer: &mut [u8], is_enough: impl Fn(&Termios, usize) -> bool) -> Option<usize> {
        let mut state = self.0.state();
        let settings = state.settings;
        if buffer.is_empty() || !state.input.readable(&settings).is_some_and(|len| is_enough(&settings, len))
        {
            let is_over = buffer.is_empty() || state.is_hung_up;
            drop(state);
            if !is_over {
                self.0.ask();
            }
            return is_over.then_some(0);
        }
        let read = state.input.read(&settings, buffer);
        drop(state);
        // There is room again.
        self.0.masters.wake_all();
        Some(read)
    }

    fn waiting(&self) -> usize {
        let state = self.0.state();
        state.input.readable(&state.settings).unwrap_or(0)
    }

    /// Waits as the settings say.
    fn read_patiently(&self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let (patience, seen) = {
                let state = self.0.state();
                let patience =
                    (!is_canonical(&state.settings)).then(|| Patience::of(&state.settings, buffer.len()));
                (patience, state.input.readable(&state.settings).unwrap_or(0))
            };
            let pause_ns = patience.as_ref().and_then(|patience| patience.pause_ns);
            let is_begun = patience.as_ref().is_some_and(|patience| patience.at_once || seen > 0);
            let deadline_ns = pause_ns.filter(|_| is_begun).map(|pause_ns| hadal_time::now_ns() + pause_ns);
            let is_enough = |settings: &Termios, len: usize| {
                is_canonical(settings) || patience.as_ref().is_none_or(|patience| len >= patience.least)
            };
            let step = || match self.take(buffer, is_enough) {
                Some(read) => Some(Some(read)),
                // The time begins anew with each byte.
                None => (pause_ns.is_some() && self.waiting() > seen).then_some(None),
            };
            match self.0.slaves.wait_until(deadline_ns, WaitMode::Interruptible, step) {
                Ok(Some(read)) => return Ok(read),
                Ok(None) => {}
                Err(WaitError::TimedOut) => return Ok(self.take(buffer, |_, _| true).unwrap_or(0)),
                Err(WaitError::Interrupted) => return Err(Errno::EINTR),
            }
        }
    }
}

/// Whether a read never waits: without lines, with neither a least number nor a time.
fn asks_only(settings: &Termios) -> bool {
    let is_none = |which| settings.value(which) == 0;
    !is_canonical(settings) && is_none(Control::Minimum) && is_none(Control::Time)
}

fn is_canonical(settings: &Termios) -> bool {
    settings.local().contains(LocalFlags::ICANON)
}

impl Drop for Slave {
    fn drop(&mut self) {
        self.0.state().slaves -= 1;
        self.0.masters.wake_all();
    }
}

impl File for Slave {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        job::check(&self.0, SIGTTIN)?;
        match blocking {
            Blocking::Wait => self.read_patiently(buffer),
            Blocking::Never => match self.take(buffer, |_, _| true) {
                Some(read) => Ok(read),
                None if asks_only(&self.0.state().settings) => Ok(0),
                None => Err(Errno::EAGAIN),
            },
        }
    }

    fn write(&self, data: &[u8], blocking: Blocking) -> Result<usize> {
        let stops = self.0.state().settings.local().contains(LocalFlags::TOSTOP);
        if stops {
            job::check(&self.0, SIGTTOU)?;
        }
        if let Some(attached) = &self.0.attached {
            return if self.0.state().is_hung_up { Err(Errno::EIO) } else { Ok(attached.host.write(data)) };
        }
        write_all(data, blocking, &self.0.slaves, |data| {
            let shown = self.0.show(data);
            if self.0.state().is_hung_up { Err(Errno::EIO) } else { Ok(shown) }
        })
    }

    fn poll(&self) -> PollEvents {
        let state = self.0.state();
        if state.is_hung_up {
            return PollEvents::HANG_UP | PollEvents::ERROR | PollEvents::READABLE | PollEvents::WRITABLE;
        }
        let settings = state.settings;
        // Without a time limit what does not suffice for a read is not worth waking for.
        let least = match Patience::of(&settings, usize::MAX) {
            patience if patience.pause_ns.is_none() => patience.least,
            _ => 1,
        };
        let readable = state.input.readable(&settings);
        let is_readable = readable.is_some_and(|len| is_canonical(&settings) || len >= least);
        let mut events = PollEvents::empty();
        events.set(PollEvents::READABLE, is_readable);
        events.set(PollEvents::WRITABLE, state.can_show());
        drop(state);
        if !is_readable {
            self.0.ask();
        }
        events
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.0.slaves), None]
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        requests::of_slave(&self.0, request, argument)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
