// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Yield and park: the short ways, for calls that a program makes like any function, through the table of `hadal/hrt.h`,
//! and for system calls that wait without a deadline.
//!
//! Each looks whether there is anything that needs more attention, and if so leaves it to `switch.rs`. What need not be
//! looked at is arranged for elsewhere:
//! - a more urgent thread that becomes ready raises attention, which is looked at after the call;
//! - the timer of a slice runs on, and looks how long the running thread has run when it fires (`timers.rs`);
//! - a thread in a ring is claimed by this CPU, may run on it and is no real-time thread: this is seen to when it enters,
//!   and when it is changed.

use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::interrupts::irq::{self, Masked};
use hadal_hal::sync::may_wait;
use hadal_hal::threads::context::{Claim, OneTable, Tables, Way};
use hadal_hal::threads::running::Quick;
use hadal_hal::trace;

use crate::cpus::{Cpu, RUNNING, turn};
use crate::levels::NOWHERE;
use crate::overcommit;
use crate::switch::{Saves, Wake, give_way, hand_over, park_until, park_without_deadline};
use crate::thread::Thread;

/// Whether nothing has happened that the short ways do not look at.
#[inline(always)]
fn is_quiet(own: &Cpu) -> bool {
    own.inbox.bits() | trace::enabled_bits() == 0
}

/// [`is_quiet`], and no real-time thread waits for the CPU that the running thread leaves.
#[inline(always)]
pub(crate) fn is_quiet_to_leave(own: &Cpu) -> bool {
    own.inbox.bits() | trace::enabled_bits() | own.edf.bits() == 0
}

/// Lets the next ready thread of equal or higher priority of this CPU run, if there is one. For calls of a program whose
/// vector registers need not survive, with interrupts on.
#[inline]
pub fn yield_call() {
    yield_by(Saves::CalleeSaved);
}

/// [`yield_call`] where every register survives.
#[inline]
pub fn yield_call_full() {
    yield_by(Saves::Everything);
}

/// [`yield_call_full`] of a system call, whose thread may be one of many processes.
#[inline]
pub(crate) fn yield_full() {
    may_wait();
    let yielded =
        RUNNING.quick(irq::mask()).and_then(|quick| yield_quickly::<Tables>(quick, Saves::Everything));
    if let Err(masked) = yielded {
        yield_slowly(masked, Saves::Everything);
    }
}

#[inline(always)]
fn yield_by(saves: Saves) {
    may_wait();
    let yielded = match RUNNING.quick(irq::mask()) {
        Ok(quick) => yield_quickly::<OneTable>(quick, saves),
        Err(masked) => return yield_between_tables(masked, saves),
    };
    if let Err(masked) = yielded {
        yield_slowly(masked, saves);
    }
}

#[inline(never)]
fn yield_between_tables(masked: Masked, saves: Saves) {
    if let Err(masked) = RUNNING.quick(masked).and_then(|quick| yield_quickly::<Tables>(quick, saves)) {
        yield_slowly(masked, saves);
    }
}

/// Yields if there is somebody to yield to and nothing else to look at.
#[inline(always)]
fn yield_quickly<W: Way>(quick: Quick<Thread, Cpu, W>, saves: Saves) -> Result<(), Masked> {
    let here = quick.here();
    let (own, thread) = (here.cpu(), here.thread());
    let Some(next) = thread.place.next().filter(|_| is_quiet(own)) else { return Err(quick.stay()) };
    hand_over(here, own, thread, next);
    match saves {
        Saves::CalleeSaved => quick.switch(next.context(), Claim::Keep),
        Saves::Everything => quick.switch_full(next.context()).unmask(),
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn yield_slowly(mut masked: Masked, saves: Saves) {
    let gave_way = give_way(turn(&mut masked), saves);
    masked.unmask();
    overcommit::note_yield(gave_way);
}

/// Blocks the calling thread until it is unparked or `deadline_ns` (monotonic) has passed. An unpark that came first makes
/// it return at once. For calls of a program whose vector registers need not survive, with interrupts on.
#[inline(always)]
pub fn park_call(deadline_ns: Option<u64>) -> Wake {
    may_wait();
    let Some(deadline_ns) = deadline_ns else {
        park_for_good();
        return Wake::Unparked;
    };
    park_with_deadline(deadline_ns)
}

#[inline(always)]
fn park_for_good() {
    park_by(Saves::CalleeSaved);
}

/// [`crate::park`] without a deadline, with interrupts on.
#[inline(always)]
pub(crate) fn park_full() {
    park_by(Saves::Everything);
}

#[inline(always)]
fn park_by(saves: Saves) {
    let parked = match RUNNING.quick(irq::mask()) {
        Ok(quick) => park_quickly::<OneTable>(quick, saves),
        Err(masked) => return park_between_tables(masked, saves),
    };
    if let Err(masked) = parked {
        park_slowly(masked, saves);
    }
}

#[inline(never)]
fn park_between_tables(masked: Masked, saves: Saves) {
    if let Err(masked) = RUNNING.quick(masked).and_then(|quick| park_quickly::<Tables>(quick, saves)) {
        park_slowly(masked, saves);
    }
}

/// Parks if there is nothing else to look at.
#[inline(always)]
fn park_quickly<W: Way>(quick: Quick<Thread, Cpu, W>, saves: Saves) -> Result<(), Masked> {
    let here = quick.here();
    let (own, thread) = (here.cpu(), here.thread());
    let level = thread.place.level();
    if !is_quiet_to_leave(own) || level == NOWHERE {
        return Err(quick.stay());
    }
    // Whoever wakes the thread from here on leaves it in an inbox until its claim has ended.
    if !thread.token.park() {
        thread.token.spend();
        quick.stay().unmask();
        return Ok(());
    }
    let equal = own.levels.remove_running(thread, level);
    let best = match saves {
        Saves::CalleeSaved => equal.or_else(|| own.levels.best()),
        // An equal one may be in the middle of a system call, and would keep a more urgent one waiting.
        Saves::Everything => {
            percpu::clear_attention(attention::RESCHEDULE);
            own.levels.best()
        }
    };
    let next = best.unwrap_or_else(|| own.idle_thread());
    hand_over(here, own, thread, next);
    match saves {
        Saves::CalleeSaved => quick.switch(next.context(), Claim::Release),
        Saves::Everything => quick.leave_full(next.context()).unmask(),
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn park_slowly(mut masked: Masked, saves: Saves) {
    park_without_deadline(&mut masked, saves);
    masked.unmask();
}

fn park_with_deadline(deadline_ns: u64) -> Wake {
    let mut masked = irq::mask();
    let wake = park_until(&mut masked, deadline_ns, Saves::CalleeSaved);
    masked.unmask();
    wake
}
