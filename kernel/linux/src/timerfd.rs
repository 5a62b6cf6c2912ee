// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timers as files: reading takes the number of expiries.
//!
//! A timer is armed for one expiry at a time; reading, or setting it, arms it for the next, as on Linux. So a timer that
//! nobody reads costs one interrupt. Timers live in a type-stable table, where the interrupt finds them by index and by
//! [`State::sequence`], which every setting advances.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Write;

use hadal_hal::sync::{Rank, SpinLock};
use hadal_sched::TimerHandle;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_time::NS_PER_SECOND;
use hadal_vfs::{Blocking, File, OpenFile, PollEvents, Positions};
use spin::Once;

use crate::signal::timer::{Schedule, Setting};
use crate::{Errno, Result};

struct State {
    sequence: u32,
    schedule: Schedule,
    /// Expiries that nobody has read.
    ticks: u64,
    /// The schedule stands at an expiry that has passed.
    expired: bool,
    handle: Option<TimerHandle>,
}

/// A place for a timer.
struct Slot {
    state: SpinLock<State>,
    queue: WaitQueue,
}

const CHUNK: usize = 64;
const CHUNKS: usize = 1024;

static SLOTS: [Once<Box<[Slot]>>; CHUNKS] = [const { Once::new() }; CHUNKS];
static FREE: SpinLock<FreeSlots> = SpinLock::new(FreeSlots { indices: Vec::new(), made: 0 });

struct FreeSlots {
    indices: Vec<u32>,
    made: u32,
}

fn new_slot() -> Slot {
    let state = State { sequence: 0, schedule: Schedule::OFF, ticks: 0, expired: false, handle: None };
    Slot { state: SpinLock::ranked(Rank::SignalTimer, state), queue: WaitQueue::new() }
}

fn slot(index: u32) -> &'static Slot {
    let index = index as usize;
    let chunk = SLOTS[index / CHUNK].call_once(|| (0..CHUNK).map(|_| new_slot()).collect());
    &chunk[index % CHUNK]
}

/// A timer.
pub(crate) struct TimerFile {
    index: u32,
    /// The clock's number, as the program gave it.
    clock: i32,
    /// Absolute times are those of the wall clock.
    pub(crate) is_realtime: bool,
}

impl TimerFile {
    /// Makes a timer that is not armed; `ENFILE` when there are too many.
    pub(crate) fn new(clock: i32, is_realtime: bool) -> Result<Arc<Self>> {
        let mut free = FREE.lock();
        let index = match free.indices.pop() {
            Some(index) => index,
            None if (free.made as usize) < CHUNK * CHUNKS => {
                // Room for the index to come back, so that closing needs no memory.
                let room = free.made as usize + 1;
                free.indices.try_reserve(room).map_err(|_| Errno::ENOMEM)?;
                free.made += 1;
                free.made - 1
            }
            None => return Err(Errno::ENFILE),
        };
        drop(free);
        Ok(Arc::new(Self { index, clock, is_realtime }))
    }

    /// The timer that a file is; `EINVAL` if it is none.
    pub(crate) fn of(file: &OpenFile) -> Result<&Self> {
        file.file()?.as_any().and_then(|any| any.downcast_ref()).ok_or(Errno::EINVAL)
    }

    fn slot(&self) -> &'static Slot {
        slot(self.index)
    }

    /// Sets it: the next expiry in monotonic time, or never, and the interval; returns the previous setting.
    pub(crate) fn set(&self, expires_ns: Option<u64>, interval_ns: u64) -> Result<Setting> {
        let slot = self.slot();
        let mut state = slot.state.lock();
        let previous = state.read();
        state.stop();
        (state.ticks, state.expired) = (0, false);
        state.schedule = Schedule::new(expires_ns, interval_ns);
        state.arm(self.index)?;
        Ok(previous)
    }

    /// What it is set to. One that has expired starts to run again, as when it is read.
    pub(crate) fn get(&self) -> Result<Setting> {
        let mut state = self.slot().state.lock();
        state.go_on(self.index)?;
        Ok(state.read())
    }

    fn try_take(&self) -> Option<Result<u64>> {
        let mut state = self.slot().state.lock();
        if state.ticks == 0 {
            return None;
        }
        if let Err(error) = state.go_on(self.index) {
            return Some(Err(error));
        }
        Some(Ok(core::mem::take(&mut state.ticks)))
    }
}

impl State {
    fn read(&self) -> Setting {
        self.schedule.read(hadal_time::now_ns())
    }

    fn stop(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        if let Some(handle) = self.handle.take() {
            handle.cancel();
        }
    }

    /// Starts the clock for the next expiry; `ENOMEM` when there is no memory for it.
    fn arm(&mut self, index: u32) -> Result<()> {
        let Some(expires) = self.schedule.expires_ns() else { return Ok(()) };
        let argument = index as usize | (self.sequence as usize) << 32;
        self.handle = hadal_sched::call_at(expires, expired, argument);
        match self.handle {
            Some(_) => Ok(()),
            None => {
                self.schedule = Schedule::OFF;
                Err(Errno::ENOMEM)
            }
        }
    }

    /// An expiry has been noticed: counts those that were missed since, and arms for the next.
    fn go_on(&mut self, index: u32) -> Result<()> {
        if !core::mem::take(&mut self.expired) {
            return Ok(());
        }
        if let Some(missed) = self.schedule.advance(hadal_time::now_ns()) {
            self.ticks = self.ticks.saturating_add(missed);
            self.arm(index)?;
        }
        Ok(())
    }
}

/// The timer interrupt: interrupts are off, only spin locks are taken.
fn expired(argument: usize) {
    let (index, sequence) = (argument as u32, (argument >> 32) as u32);
    let slot = slot(index);
    {
        let mut state = slot.state.lock();
        if state.sequence != sequence {
            return;
        }
        state.handle = None;
        state.expired = true;
        state.ticks = state.ticks.saturating_add(1);
    }
    slot.queue.wake_all_for(PollEvents::READ.changes());
}

impl File for TimerFile {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        let word = buffer.first_chunk_mut().ok_or(Errno::EINVAL)?;
        let ticks = match blocking {
            Blocking::Never => self.try_take().ok_or(Errno::EAGAIN)?,
            Blocking::Wait => {
                self.slot().queue.wait_until(None, WaitMode::Interruptible, || self.try_take())?
            }
        };
        *word = ticks?.to_ne_bytes();
        Ok(size_of::<u64>())
    }

    fn poll(&self) -> PollEvents {
        if self.slot().state.lock().ticks > 0 { PollEvents::READ } else { PollEvents::empty() }
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [Some(&self.slot().queue), None]
    }

    fn positions(&self) -> Positions {
        Positions::NoneAndSeekIgnored
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn describe(&self, lines: &mut String) -> Result<()> {
        let (ticks, setting) = {
            let state = self.slot().state.lock();
            (state.ticks, state.read())
        };
        let time = |ns: u64| (ns / NS_PER_SECOND, ns % NS_PER_SECOND);
        let (value, interval) = (time(setting.remaining_ns), time(setting.interval_ns));
        // Writing to a string cannot fail.
        let _ = writeln!(
            lines,
            "clockid: {}\nticks: {ticks}\nit_value: ({}, {})\nit_interval: ({}, {})",
            self.clock, value.0, value.1, interval.0, interval.1
        );
        Ok(())
    }
}

impl Drop for TimerFile {
    fn drop(&mut self) {
        let mut state = self.slot().state.lock();
        state.stop();
        (state.schedule, state.ticks, state.expired) = (Schedule::OFF, 0, false);
        drop(state);
        FREE.lock().indices.push(self.index);
    }
}
