// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handing the CPU to one certain thread: to the joiner of a thread that has ended, which would be the next to run anyway.

use hadal_hal::interrupts::irq::{self, Masked};
use hadal_hal::sync::may_wait;
use hadal_hal::threads::context::{Claim, OneTable};

use crate::balance;
use crate::cpus::{RUNNING, here};
use crate::kick::Kick;
use crate::quick::{is_quiet_to_leave, park_call};
use crate::switch::{hand_over, insert};
use crate::thread::Thread;
use crate::wake::made_runnable;

/// Wakes `next` and parks the calling thread: [`Thread::unpark`] and [`park_call`] without a deadline, for calls of a program
/// whose vector registers need not survive, with interrupts on. Where both threads are of one CPU and one priority, and no
/// real-time thread is ready, `next` takes the caller's place among the ready ones, and the CPU at once. (A thread of higher
/// priority that is ready has raised attention, which `next` looks at when its own call ends.)
#[inline(always)]
pub fn wake_and_park_call(next: &'static Thread) {
    may_wait();
    let quick = match RUNNING.quick::<OneTable>(irq::mask()) {
        Ok(quick) => quick,
        Err(masked) => return wake_then_park(masked, next),
    };
    let here = quick.here();
    let (own, thread) = (here.cpu(), here.thread());
    // The claim first: without it nothing has happened yet. It fails while the last CPU of `next` is still leaving it.
    if !is_quiet_to_leave(own) || !here.claim(next.context()) {
        return wake_then_park(quick.stay(), next);
    }
    if !next.token.unpark() {
        return release_and_wake(quick.stay(), next);
    }
    // Whoever changes one of these from here on finds a thread that is not parked, and asks for a review.
    let params = next.params();
    if next.cpu() != own.id || !params.is_of(thread.place.level()) || !next.allows(own.id) {
        return send_and_park(quick.stay(), next);
    }
    own.counters.wakes.up();
    if !thread.token.park() {
        return insert_and_stay(quick.stay(), next);
    }
    own.levels.replace_running(thread, next, params);
    hand_over(here, own, thread, next);
    quick.switch(next.context(), Claim::Release);
}

/// `next` has not slept yet, or somebody else has woken it and will look for the claim.
#[inline(never)]
fn release_and_wake(masked: Masked, next: &'static Thread) {
    next.context.release(masked.off());
    wake_then_park(masked, next);
}

/// `next`, which has been woken, does not take the caller's place.
#[inline(never)]
fn send_and_park(masked: Masked, next: &'static Thread) {
    next.context.release(masked.off());
    made_runnable(masked.off(), next, balance::choose(next), Kick::Yes);
    masked.unmask();
    park_call(None);
}

/// There is something to do for the caller already.
#[inline(never)]
fn insert_and_stay(masked: Masked, next: &'static Thread) {
    let here = here(masked.off());
    here.thread().token.spend();
    insert(here.cpu(), next, here.thread());
    masked.unmask();
}

/// The same in two steps.
#[inline(never)]
fn wake_then_park(masked: Masked, next: &'static Thread) {
    masked.unmask();
    next.unpark();
    park_call(None);
}
