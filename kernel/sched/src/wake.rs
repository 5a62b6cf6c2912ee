// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making threads runnable, and changing those that are.

use alloc::sync::Arc;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::interrupts::irq::Off;
use hadal_hal::interrupts::{apic, irq};
use hadal_hal::sync::atomic::{Ordering, fence};
use hadal_hal::trace::{self, Kind};
use hadal_time::now_ns;

use crate::cpus::{self, Cpu, Here, RUNNING, current, here, watch};
use crate::kick::{Kick, kick};
use crate::levels::NOWHERE;
use crate::switch::{insert, insert_woken, receive, yield_now};
use crate::thread::{PRIORITIES, Thread};
use crate::{balance, edf, timers, turns};

impl Thread {
    /// Makes a parked thread runnable, or its next [`crate::park`] return at once. From any context.
    #[inline]
    pub fn wake(&'static self, kick: Kick) {
        if self.token.notify() {
            self.queue(kick);
        }
    }

    /// The rest of a wake-up that has ended a sleep.
    #[inline(never)]
    fn queue(&'static self, kick: Kick) {
        let irq = irq::disable();
        queue_woken(here(irq.off()), self, balance::choose(self), kick);
    }

    /// [`Thread::wake`] as fast as possible.
    #[inline]
    pub fn unpark(&'static self) {
        self.wake(Kick::Yes);
    }

    /// [`Thread::unpark`] onto a CPU of the caller's choice, unless the thread must not run there.
    #[inline(always)]
    pub fn unpark_on(&'static self, cpu: usize) {
        if self.token.notify() {
            let irq = irq::disable();
            // It may have been bound since the caller chose: while it was parked nobody asked for a review.
            let target = if self.is_free() { cpu } else { self.allowed_or_else(cpu) };
            queue_woken(here(irq.off()), self, target, Kick::Yes);
        }
    }

    #[cold]
    fn allowed_or_else(&self, cpu: usize) -> usize {
        if self.allows(cpu) { cpu } else { balance::choose(self) }
    }

    /// Starts a thread that [`crate::create`] made; nothing else does, whoever wakes it.
    pub fn start(&'static self) {
        if self.token.start() {
            let irq = irq::disable();
            queue_woken(here(irq.off()), self, balance::choose(self), Kick::Yes);
        }
    }

    /// [`Thread::start`] on a CPU of the caller's choice, unless the thread must not run there.
    pub fn start_on(&'static self, cpu: usize) {
        if self.token.start() {
            let irq = irq::disable();
            queue_woken(here(irq.off()), self, self.allowed_or_else(cpu), Kick::Yes);
        }
    }

    /// Makes the thread look at [`Thread::interrupted`] soon: wakes it if it is parked, interrupts its CPU if it runs there
    /// or is about to.
    pub fn poke(&'static self) {
        self.unpark();
        // Either this sees the CPU that the thread was sent to, or that CPU sees `interrupted`: between naming another CPU
        // than the last one and running the thread there is a locked instruction, that of the inbox or of the claim.
        fence(Ordering::SeqCst);
        let on = self.cpu();
        if on != cpu::current_id() {
            apic::send_ipi(on, irq::VECTOR_RESCHEDULE);
        } else if current().is(self) {
            percpu::raise_attention(attention::SIGNAL);
        }
    }

    /// Binds the thread to one CPU, or frees it. The calling thread has moved when this returns; another one moves at once
    /// if it runs or waits for a CPU.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn bind(&'static self, cpu: Option<usize>) {
        assert!(cpu.is_none_or(|cpu| cpu < cpu::count()), "no such CPU: {cpu:?}");
        self.end_realtime();
        self.store_binding(cpu);
        self.moved();
    }

    /// Changes the priority; above the highest counts as that. A thread that waits for a CPU goes to the end of its new level.
    pub fn set_priority(&'static self, priority: u8) {
        let priority = priority.min(PRIORITIES - 1);
        if self.priority() != priority {
            self.store_priority(priority);
            self.changed();
        }
    }

    /// Makes a change of binding, priority or schedule take effect; the calling thread gives way, if it has to, when it
    /// returns to its program. From any context.
    pub(crate) fn changed(&'static self) {
        if self.is(current()) {
            let irq = irq::disable();
            return review(here(irq.off()), self);
        }
        // What is parked reads its parameters when it is woken.
        fence(Ordering::SeqCst);
        if !self.is_parked() {
            ask_for_review(self);
        }
    }

    /// [`Thread::changed`]; the calling thread has moved when this returns.
    fn moved(&'static self) {
        self.changed();
        if self.is(current()) && !self.allows(cpu::current_id()) {
            yield_now();
        }
    }
}

/// Changes where a thread may run: as [`Thread::bind`], for a set of CPUs.
pub fn set_affinity(thread: &'static Thread, set: Option<Arc<CpuSet>>) {
    note_affinity(thread, set);
    thread.moved();
}

/// The first part of [`set_affinity`], for who holds a lock so that another thread does not end: the thread goes on where it is
/// until [`apply_affinity`].
pub fn note_affinity(thread: &'static Thread, set: Option<Arc<CpuSet>>) {
    thread.end_realtime();
    thread.store_affinity(set);
}

/// The second part of [`set_affinity`]. A thread that has ended meanwhile has left its place to one that loses nothing by it.
pub fn apply_affinity(thread: &'static Thread) {
    thread.moved();
}

/// A wake-up has made the thread runnable.
pub(crate) fn made_runnable(off: Off<'_>, thread: &'static Thread, target: usize, kick: Kick) {
    queue_woken(here(off), thread, target, kick);
}

/// [`made_runnable`]: counts the wake-up and queues the thread.
///
/// The short way is that of an ordinary thread that stays on this CPU, which it was on before: who changes its binding or
/// priority from now on asks this CPU for a review, and that comes when interrupts are on again. A thread that comes from
/// another CPU might be asked for there, before this one is named: [`enqueue`] names this one and looks again.
#[inline(always)]
fn queue_woken(here: Here<'_>, thread: &'static Thread, target: usize, kick: Kick) {
    let own = here.cpu();
    own.counters.wakes.up();
    let params = thread.params();
    let stays = target == own.id && thread.cpu() == own.id;
    if !stays || params.is_realtime() || trace::enabled() || !here.claim(thread.context()) {
        return made_runnable_slowly(here, thread, target, kick);
    }
    let running = here.thread();
    own.levels.insert(thread, params, running);
    if own.turns.may_precede(params, running) {
        turns::precede(here, thread);
    }
    timers::start_slice_if_shared(own);
}

#[inline(never)]
fn made_runnable_slowly(here: Here<'_>, thread: &'static Thread, target: usize, kick: Kick) {
    trace::point(Kind::Wake, trace::pair(thread.id(), target as u32), 0);
    enqueue(here, thread, target, kick);
}

/// Puts a runnable thread that is in no queue into that of a CPU, and makes sure that the CPU notices.
pub(crate) fn enqueue(here: Here<'_>, thread: &'static Thread, target: usize, kick: Kick) {
    let own = here.cpu();
    thread.cpu.store(target, Ordering::Relaxed);
    if target != own.id {
        send_away_to(own, thread, target, kick);
    } else if here.claim(thread.context()) {
        // The claim is a fence: who has changed the thread and not seen this CPU's name has done so before this look.
        if !thread.allows(own.id) {
            let other = balance::choose(thread);
            if other != own.id {
                thread.context.release(here.off());
                return enqueue(here, thread, other, kick);
            }
        }
        insert_woken(here, thread);
        look_again(here);
    } else {
        // The thread's last CPU is still leaving it.
        own.send(thread);
        timers::start_slice(own);
    }
}

fn send_away_to(own: &'static Cpu, thread: &'static Thread, target: usize, how: Kick) {
    let queue = cpus::of(target);
    queue.send(thread);
    if must_kick(queue, thread) {
        kick(own, target, how);
    }
}

/// Whether a CPU that was given a thread would not look, or too late.
fn must_kick(queue: &Cpu, thread: &Thread) -> bool {
    match queue.watch.load(Ordering::SeqCst) {
        watch::NEEDS_IPI => true,
        watch::TICKING => {
            let params = thread.params();
            params.is_realtime()
                || RUNNING
                    .thread_of(queue.id)
                    .is_some_and(|running| queue.turns.want_interrupt(params, running))
        }
        _ => false,
    }
}

/// Has the CPU that a thread is on look at it again.
fn ask_for_review(thread: &'static Thread) {
    if !thread.in_review.raise() {
        return;
    }
    let target = thread.cpu();
    cpus::of(target).reviews.push(thread);
    if target == cpu::current_id() {
        let irq = irq::disable();
        review_all(here(irq.off()));
    } else {
        apic::send_ipi(target, irq::VECTOR_RESCHEDULE);
    }
}

fn review_all(here: Here<'_>) {
    for thread in here.cpu().reviews.take_all() {
        // Changes from now on ask again.
        thread.in_review.clear();
        if thread.cpu() == here.cpu().id {
            review(here, thread);
        } else {
            ask_for_review(thread);
        }
    }
}

/// Makes the place of a thread of this CPU fit its parameters. One that waits for something will get there by them.
fn review(here: Here<'_>, thread: &'static Thread) {
    let (own, running) = (here.cpu(), here.thread());
    let is_running = thread.is(running);
    // A thread that was woken for this CPU while it is still leaving its last one is in that one's ring, and claimed there.
    let waits_here = thread.context.is_claimed_here() && thread.is_queued();
    if !is_running && !waits_here {
        return;
    }
    if !is_running && !thread.allows(own.id) {
        send_away(here, thread, balance::choose(thread));
        return;
    }
    if is_running {
        let level = thread.place.level();
        if level != NOWHERE {
            own.levels.remove_running(thread, level);
        }
        if !thread.allows(own.id) {
            // It goes when it gives the CPU up or attends. It stays out of the ring until then: the short ways do not look
            // where it may run, and the attention would be over with the look of whoever runs next.
            here.raise_attention(attention::RESCHEDULE);
            return;
        }
        if thread.is_realtime() {
            edf::begin_turn(own, thread, now_ns());
        } else {
            timers::no_budget(own);
            insert(own, thread, running);
        }
    } else {
        take_out(own, thread);
        insert(own, thread, running);
    }
    look_again(here);
}

/// Raises attention if another thread should run.
pub(crate) fn look_again(here: Here<'_>) {
    let (own, running) = (here.cpu(), here.thread());
    if own.levels.top().is_some_and(|top| top > running.place.level()) || own.edf.precedes(running) {
        here.raise_attention(attention::RESCHEDULE);
    }
}

fn take_out(own: &Cpu, thread: &'static Thread) {
    if thread.place.level() != NOWHERE {
        own.levels.remove(thread);
    }
    own.edf.remove(thread);
}

/// Gives a thread that waits here to another CPU.
pub(crate) fn send_away(here: Here<'_>, thread: &'static Thread, target: usize) {
    take_out(here.cpu(), thread);
    thread.context.release(here.off());
    enqueue(here, thread, target, Kick::Yes);
}

/// The reschedule interrupt: look at what others have sent, changed and asked for, and at what the interrupted thread has to
/// do.
pub fn on_reschedule_interrupt(off: Off<'_>) {
    let Some(here) = RUNNING.try_here(off) else { return };
    receive(here);
    review_all(here);
    balance::serve(here);
    look_again(here);
    let (own, running) = (here.cpu(), here.thread());
    if !running.allows(own.id) {
        here.raise_attention(attention::RESCHEDULE);
    }
    if running.interrupted() {
        here.raise_attention(attention::SIGNAL);
    }
}
