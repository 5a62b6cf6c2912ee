// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timers that send signals: those of `timer_create`, the interval timers of `setitimer`, and the one that follows a limit of CPU
//! time ([`cpu_limit`]).
//!
//! A timer is armed for one expiry at a time. When that comes it sends its signal, and only the delivery of the signal arms
//! it for the next one; what it missed until then is its overrun. So a timer has at most one signal on its way, and one
//! whose signal is blocked costs nothing.
//!
//! Timers live in a type-stable table. The interrupt finds its timer by index and [`Slot::sequence`], which every change
//! advances: an interrupt that was on its way to an older setting finds another number.

pub(crate) mod cpu_limit;
mod expiry;
mod process;
mod schedule;

use alloc::boxed::Box;
use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_sched::TimerHandle;
use spin::Once;

pub(super) use expiry::{dropped, taken};
pub(crate) use process::{Interval, ProcessTimers};
pub(crate) use schedule::Schedule;
pub use schedule::Setting;

use super::info::Info;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// CPU time is looked at no more often than this.
const CPU_TIME_STEP_NS: u64 = 1_000_000;

/// What makes a timer's time pass.
#[derive(Clone, Copy)]
pub(crate) enum Base {
    /// The monotonic clock.
    Elapsed,
    /// CPU time of the process.
    ProcessTime,
    /// CPU time of a thread.
    ThreadTime(&'static Task),
}

/// Who gets the signal.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// Nobody: the timer is only read.
    Nobody,
    /// The process.
    Process(Info),
    /// One thread of it.
    Thread(Info, &'static Task),
    /// What the limit of its CPU time demands is done to the process.
    Limit,
}

/// Names the timer that a signal on its way came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimerName {
    index: u32,
    generation: u32,
}

struct Timer {
    process: &'static Process,
    base: Base,
    target: Target,
    schedule: Schedule,
    /// The signal was sent and not delivered.
    sent: bool,
    /// Expiries since the signal was sent.
    missed: u64,
    /// What `timer_getoverrun` returns.
    overrun: u32,
    handle: Option<TimerHandle>,
}

/// A place for a timer.
struct Slot {
    /// Advanced whenever the slot gets another timer.
    generation: u32,
    /// Advanced whenever the timer is armed, disarmed or deleted.
    sequence: u32,
    timer: Option<Timer>,
}

const CHUNK: usize = 64;
const CHUNKS: usize = 1024;

static SLOTS: [Once<Box<[SpinLock<Slot>]>>; CHUNKS] = [const { Once::new() }; CHUNKS];
static FREE: SpinLock<FreeSlots> =
    SpinLock::ranked(Rank::FreeSignalTimers, FreeSlots { indices: Vec::new(), made: 0 });

struct FreeSlots {
    indices: Vec<u32>,
    made: u32,
}

fn slot(index: u32) -> &'static SpinLock<Slot> {
    let index = index as usize;
    let chunk = SLOTS[index / CHUNK].get().expect("the slot was made before its index was given out");
    &chunk[index % CHUNK]
}

/// Takes a free slot, or makes more of them; `EAGAIN` when there are too many, or there is no memory.
fn take_slot() -> Result<u32> {
    loop {
        let made = {
            let mut free = FREE.lock();
            if let Some(index) = free.indices.pop() {
                return Ok(index);
            }
            free.made as usize
        };
        if made == CHUNK * CHUNKS {
            return Err(Errno::EAGAIN);
        }
        let empty = || SpinLock::ranked(Rank::SignalTimer, Slot { generation: 0, sequence: 0, timer: None });
        let slots = fallible::collected((0..CHUNK).map(|_| empty())).map_err(|_| Errno::EAGAIN)?;
        // Room for every index to come back, so that deleting a timer needs no memory.
        let mut room = fallible::room_for(made + CHUNK).map_err(|_| Errno::EAGAIN)?;
        let mut free = FREE.lock();
        // Unless another thread was faster.
        if free.made as usize == made {
            SLOTS[made / CHUNK].call_once(|| slots.into_boxed_slice());
            free.made += CHUNK as u32;
            room.extend((made as u32..free.made).rev());
            room.append(&mut free.indices);
            core::mem::swap(&mut free.indices, &mut room);
        }
    }
}

impl Slot {
    /// The timer with a name, unless it has been deleted; the slot may be another's meanwhile.
    fn named(&mut self, name: TimerName) -> Option<&mut Timer> {
        if self.generation == name.generation { self.timer.as_mut() } else { None }
    }
}

/// A timer of a process. Another thread may delete it at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerRef(TimerName);

impl TimerRef {
    /// Makes a timer that is not armed; `EAGAIN` when there are too many.
    pub(crate) fn create(process: &'static Process, base: Base, target: Target) -> Result<Self> {
        let index = take_slot()?;
        let mut slot = slot(index).lock();
        slot.generation = slot.generation.wrapping_add(1);
        let name = TimerName { index, generation: slot.generation };
        let named = |info: Info| Info { timer: Some(name), ..info };
        let target = match target {
            Target::Process(info) => Target::Process(named(info)),
            Target::Thread(info, task) => Target::Thread(named(info), task),
            Target::Nobody | Target::Limit => target,
        };
        slot.timer = Some(Timer {
            process,
            base,
            target,
            schedule: Schedule::OFF,
            sent: false,
            missed: 0,
            overrun: 0,
            handle: None,
        });
        Ok(Self(name))
    }

    /// Arms the timer for `expires_ns` on its base's clock and from then on every `interval_ns`, or disarms it; returns
    /// what it was set to. `ENOMEM` leaves it disarmed.
    pub(crate) fn set(self, expires_ns: Option<u64>, interval_ns: u64) -> Result<Setting> {
        let mut slot = slot(self.0.index).lock();
        let Some(timer) = slot.named(self.0) else { return Err(Errno::EINVAL) };
        let previous = timer.schedule.read(timer.now_ns());
        timer.schedule = Schedule::new(expires_ns, interval_ns);
        timer.missed = 0;
        timer.overrun = 0;
        if arm(self.0.index, &mut slot) { Ok(previous) } else { Err(Errno::ENOMEM) }
    }

    /// What the timer is set to.
    pub(crate) fn get(self) -> Setting {
        slot(self.0.index)
            .lock()
            .named(self.0)
            .map_or(Setting::OFF, |timer| timer.schedule.read(timer.now_ns()))
    }

    /// How often the timer expired between the last signal and its delivery.
    pub(crate) fn overrun(self) -> u32 {
        slot(self.0.index).lock().named(self.0).map_or(0, |timer| timer.overrun)
    }

    /// The present time on the clock that the timer follows.
    pub(crate) fn now_ns(self) -> u64 {
        slot(self.0.index).lock().named(self.0).map_or(0, |timer| timer.now_ns())
    }

    /// Ends the timer. A signal that it has sent is still delivered.
    pub(crate) fn delete(self) {
        let mut slot = slot(self.0.index).lock();
        if slot.named(self.0).is_none() {
            return;
        }
        slot.sequence = slot.sequence.wrapping_add(1);
        let timer = slot.timer.take();
        drop(slot);
        if let Some(timer) = timer {
            if let Some(handle) = timer.handle {
                handle.cancel();
            }
            FREE.lock().indices.push(self.0.index);
        }
    }
}

impl Timer {
    fn now_ns(&self) -> u64 {
        match self.base {
            Base::Elapsed => hadal_time::now_ns(),
            Base::ProcessTime => self.process.run_time_ns(),
            Base::ThreadTime(task) => task.thread().run_time_ns(),
        }
    }

    /// Monotonic time at which to look at the timer if it is to expire at `expires_ns` on its own clock.
    fn wake_at_ns(&self, expires_ns: u64) -> u64 {
        let cpus = match self.base {
            Base::Elapsed => return expires_ns,
            // No more threads run at a time than there are CPUs.
            Base::ProcessTime => hadal_hal::cpu::count() as u64,
            Base::ThreadTime(_) => 1,
        };
        let remaining = expires_ns.saturating_sub(self.now_ns());
        hadal_time::now_ns().saturating_add((remaining / cpus).max(CPU_TIME_STEP_NS))
    }

    /// Moves to the next expiry after `ahead_ns` from now and counts what is skipped; `false` for a one-shot timer.
    fn advance(&mut self, ahead_ns: u64) -> bool {
        let now = self.now_ns();
        let skipped = self.schedule.advance(now.saturating_add(ahead_ns));
        self.missed = self.missed.saturating_add(skipped.unwrap_or(0));
        skipped.is_some()
    }
}

fn argument(index: u32, sequence: u32) -> usize {
    index as usize | (sequence as usize) << 32
}

/// Starts the clock for a timer's next expiry, or stops it; `false` when memory is out.
fn arm(index: u32, slot: &mut Slot) -> bool {
    slot.sequence = slot.sequence.wrapping_add(1);
    let Some(timer) = &mut slot.timer else { return true };
    if let Some(handle) = timer.handle.take() {
        handle.cancel();
    }
    let due = timer.schedule.expires_ns().filter(|_| !matches!(timer.target, Target::Nobody));
    let Some(expires) = due else { return true };
    timer.handle =
        hadal_sched::call_at(timer.wake_at_ns(expires), expiry::expired, argument(index, slot.sequence));
    if timer.handle.is_none() {
        timer.schedule = Schedule::OFF;
    }
    timer.handle.is_some()
}
