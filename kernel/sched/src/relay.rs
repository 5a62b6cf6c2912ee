// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Handing the CPU to one certain thread: to the joiner of a thread that has ended, which would be the next to run anyway.

use hadal_hal::context::Claim;
use hadal_hal::irq;
use hadal_hal::percpu::{self, attention};
use hadal_hal::trace;

use crate::cpus::here;
use crate::levels::NOWHERE;
use crate::switch::{hand_over, insert, park_call, receive};
use crate::thread::Thread;
use crate::wake::{Kick, enqueue};

/// Wakes `next` where it waits and parks the calling thread: [`Thread::unpark_on`] and [`park_call`] without a deadline, for
/// calls of a program whose vector registers need not survive, with interrupts on. Where both threads are of one CPU and one
/// priority, `next` takes the caller's place among the ready ones, and the CPU at once.
pub fn wake_and_park_call(next: &'static Thread) {
    irq::mask();
    let here = here();
    let (own, thread) = (here.cpu(), here.thread());
    let alike = next.cpu() == own.id
        && thread.place.level() == next.priority()
        && own.inbox.bits() | usize::from(trace::enabled()) == 0;
    if !alike {
        irq::unmask();
        next.unpark_on(next.cpu());
        park_call(None);
        return;
    }
    if !next.token.notify() {
        // It has not slept yet, or somebody else has woken it.
        irq::unmask();
        park_call(None);
        return;
    }
    own.counters.wakes.up();
    if !next.context.claim() {
        // Its last CPU is still leaving it.
        enqueue(next, own.id, Kick::Yes);
        irq::unmask();
        park_call(None);
        return;
    }
    if !thread.token.park() {
        // There is something to do for the caller already.
        thread.token.spend();
        insert(own, next, thread);
        irq::unmask();
        return;
    }
    own.levels.replace_running(thread, next);
    let mut claim = Claim::Release;
    if !own.inbox.looks_empty() {
        receive(here);
        // Somebody may have woken the caller before it has gone: then it waits for its next turn.
        if thread.place.level() != NOWHERE {
            claim = Claim::Keep;
        }
    }
    percpu::clear_attention(attention::RESCHEDULE);
    hand_over(here, own, thread, next);
    here.switch().to(next.context(), claim);
}
