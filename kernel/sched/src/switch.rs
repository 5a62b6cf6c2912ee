// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Giving the CPU up: park, yield, exit, preemption, and what they have in common.
//!
//! What is here takes care of everything; the short ways through it, for calls of a program, are in `quick.rs`.

use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::cpu::tsc;
use hadal_hal::interrupts::irq::{self, Masked};
use hadal_hal::sync::atomic::Ordering;
use hadal_hal::sync::may_wait;
use hadal_hal::threads::context::Claim;
use hadal_hal::trace::{self, Kind};
use hadal_time::now_ns;

use crate::cpus::{Cpu, Here, Turn, current, turn};
use crate::kick::Kick;
use crate::levels::NOWHERE;
use crate::table::TABLE;
use crate::thread::{Policy, Thread};
use crate::transition::Event;
use crate::wake::enqueue;
use crate::{audit, balance, edf, gang, promise, quick, spin, timers, translator, turns};

/// Why [`park`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// [`Thread::unpark`] was called, perhaps for an earlier wait: callers check what they wait for.
    Unparked,
    /// The deadline has passed.
    TimedOut,
}

/// Which registers of the thread that gives the CPU up survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saves {
    /// What the C ABI says survives a call.
    CalleeSaved,
    /// All of them.
    Everything,
}

/// Lets the next ready thread of equal or higher priority of this CPU run; moves to an allowed CPU if this one is not.
/// Returns whether the thread gave the CPU up.
pub fn yield_now() -> bool {
    may_wait();
    let mut irq = irq::disable();
    give_way(turn(irq.masked()), Saves::Everything)
}

/// Blocks the calling thread until it is unparked or `deadline_ns` (monotonic) has passed. An unpark that came first makes
/// it return at once.
pub fn park(deadline_ns: Option<u64>) -> Wake {
    may_wait();
    if deadline_ns.is_none() && irq::enabled() {
        quick::park_full();
        return Wake::Unparked;
    }
    park_carefully(deadline_ns)
}

/// [`park`] with a deadline, or where the program has turned interrupts off.
#[inline(never)]
fn park_carefully(deadline_ns: Option<u64>) -> Wake {
    let mut irq = irq::disable();
    match deadline_ns {
        None => park_without_deadline(irq.masked(), Saves::Everything),
        Some(deadline) => park_until(irq.masked(), deadline, Saves::Everything),
    }
}

#[inline]
pub(crate) fn park_without_deadline(masked: &mut Masked, saves: Saves) -> Wake {
    let turn = turn(masked);
    let thread = turn.here().thread();
    if thread.token.park() {
        // The waker has made the thread runnable; a second one may have left a wake-up, which the next park spends.
        leave(turn, thread, saves);
    } else {
        thread.token.spend();
    }
    Wake::Unparked
}

pub(crate) fn park_until(masked: &mut Masked, deadline_ns: u64, saves: Saves) -> Wake {
    let thread = current();
    if thread.token.spend() {
        return Wake::Unparked;
    }
    if deadline_ns <= now_ns() {
        return Wake::TimedOut;
    }
    let Some(timer) = timers::unpark_at(deadline_ns, thread) else {
        // Without memory for a timer a wait with a time-out must not become one without: the caller polls.
        give_way(turn(masked), saves);
        return Wake::Unparked;
    };
    park_without_deadline(masked, saves);
    if timer.cancel() { Wake::Unparked } else { Wake::TimedOut }
}

/// Blocks the calling thread until `deadline_ns`, whatever wakes it meanwhile.
pub fn sleep_until(deadline_ns: u64) {
    while now_ns() < deadline_ns {
        park(Some(deadline_ns));
    }
}

/// What program code has to do before it goes on, as far as the scheduler is concerned.
pub fn attend() {
    if percpu::pending_attention() & attention::BUDGET != 0 {
        percpu::clear_attention(attention::BUDGET);
        promise::settle_budget(current());
    }
    if percpu::pending_attention() & attention::RESCHEDULE != 0 {
        percpu::clear_attention(attention::RESCHEDULE);
        let mut irq = irq::disable();
        preempt(turn(irq.masked()));
    }
    if percpu::pending_attention() & attention::REST != 0 {
        percpu::clear_attention(attention::REST);
        spin::rest();
    }
}

/// Ends the calling thread; its control block and stack are reused.
pub fn exit() -> ! {
    // The next user of the control block waits until this CPU has left the stack.
    end(|thread| TABLE.give_back(thread))
}

/// Ends the calling thread, but keeps its control block, and with it its number, until somebody calls [`release`].
pub fn exit_kept() -> ! {
    end(|thread| thread.is_kept.store(true, Ordering::Release))
}

/// Gives back the control block of a thread that ends, or has ended, by [`exit_kept`]: waits until it does. Its number rests
/// before another thread gets it, as long as there are others.
pub fn release(thread: &'static Thread) {
    while !thread.is_kept.swap(false, Ordering::Acquire) {
        yield_now();
    }
    TABLE.give_back_late(thread);
}

#[inline(always)]
fn end(let_go: impl FnOnce(&'static Thread)) -> ! {
    let thread = current();
    gang::forget(thread);
    thread.end_realtime();
    let mut masked = irq::mask();
    thread.context.clear_program();
    trace::point(Kind::ThreadExit, 0, 0);
    let_go(thread);
    leave(turn(&mut masked), thread, Saves::CalleeSaved);
    unreachable!("a thread that has exited was run again");
}

/// Runs ready threads from the idle thread until there is none.
pub(crate) fn run_ready(turn: Turn<'_>) -> bool {
    let here = turn.here();
    receive(here);
    let own = here.cpu();
    let Some(next) = own.edf.take().or_else(|| own.levels.best()) else { return false };
    spin::begin(own);
    translator::begin(own);
    // What came while the CPU was polling has not started one.
    timers::start_slice_if_shared(own);
    switch(turn, next, Claim::Keep, Saves::Everything);
    true
}

/// The running thread stops running here, at least for now: it is parked, has ended, or goes to another CPU.
#[inline]
fn leave(turn: Turn<'_>, thread: &'static Thread, saves: Saves) {
    let here = turn.here();
    let own = here.cpu();
    let level = thread.place.level();
    if level != NOWHERE {
        own.levels.remove_running(thread, level);
    }
    let mut claim = Claim::Release;
    if !own.inbox.looks_empty() {
        receive(here);
        // Somebody may have woken it before it has gone: then it waits for its next turn, which may be now.
        if thread.is_queued() {
            claim = Claim::Keep;
        }
    }
    let next = own.edf.take().or_else(|| own.levels.best()).unwrap_or_else(|| own.idle_thread());
    if next.is(thread) {
        // It was sent away and has come back. Who meanwhile had something for it may have told the CPU it was sent to.
        here.raise_attention(thread.attention());
    } else {
        switch(turn, next, claim, saves);
    }
}

/// Lets another ready thread run and the running one wait for its turn; returns whether there was one.
pub(crate) fn give_way(turn: Turn<'_>, saves: Saves) -> bool {
    let here = turn.here();
    let (own, thread) = (here.cpu(), here.thread());
    receive(here);
    if !thread.allows(own.id) {
        move_away(turn, thread, saves);
        return true;
    }
    // One that was real-time until another CPU changed it is in no ring before the review that this CPU was asked for: until
    // then it stays, or nobody would find it again.
    let level = thread.place.level();
    if own.edf.is_busy() || thread.is_realtime() || level == NOWHERE {
        return give_way_to_realtime(turn, saves);
    }
    let next = match own.levels.top() {
        Some(top) if top != level => {
            if let Some(second) = thread.place.next() {
                own.levels.set_first(second);
            }
            own.levels.first(top)
        }
        _ => thread.place.next(),
    };
    percpu::clear_attention(attention::RESCHEDULE);
    let Some(next) = next else { return false };
    switch(turn, next, Claim::Keep, saves);
    true
}

/// Lets a waiting real-time thread run if it comes before the running thread.
#[cold]
fn give_way_to_realtime(turn: Turn<'_>, saves: Saves) -> bool {
    let here = turn.here();
    let (own, thread) = (here.cpu(), here.thread());
    percpu::clear_attention(attention::RESCHEDULE);
    if !own.edf.precedes(thread) {
        return false;
    }
    // First the next one: the running thread is not to be found when it is put back.
    let Some(next) = own.edf.take() else { return false };
    if thread.place.level() != NOWHERE {
        interrupt_turn(own, thread);
    } else {
        insert(own, thread, thread);
    }
    switch(turn, next, Claim::Keep, saves);
    true
}

/// Takes the CPU from the running thread if a more urgent one is ready, or an equal one and they take turns.
fn preempt(turn: Turn<'_>) {
    let here = turn.here();
    let (own, thread) = (here.cpu(), here.thread());
    receive(here);
    if !thread.allows(own.id) {
        move_away(turn, thread, Saves::Everything);
        return;
    }
    if own.edf.is_busy() || thread.is_realtime() {
        if give_way_to_realtime(turn, Saves::Everything) {
            own.counters.preemptions.up();
        }
        return;
    }
    let level = thread.place.level();
    let next = match own.levels.top() {
        Some(top) if top > level => {
            interrupt_turn(own, thread);
            own.levels.first(top)
        }
        _ if thread.policy() == Policy::RoundRobin => {
            thread.end_turn();
            thread.place.next()
        }
        _ => None,
    };
    if let Some(next) = next {
        own.counters.preemptions.up();
        switch(turn, next, Claim::Keep, Saves::Everything);
    }
}

/// A more urgent thread gets the CPU. Afterwards the running thread goes on with its turn: without that, urgent threads that
/// run often would give it a new one each time, and its equals none.
fn interrupt_turn(own: &Cpu, thread: &'static Thread) {
    let over = thread.policy() == Policy::RoundRobin && thread.turn_left_ns() == 0;
    if over {
        thread.end_turn();
    }
    own.levels.set_first(if over { thread.place.next().unwrap_or(thread) } else { thread });
}

/// The calling thread waits for others, which may be on CPUs that the host does not run: it goes to a CPU that is busy, where
/// it can give way to them. Returns whether it did; not if it must stay, or something else is to be done here.
pub(crate) fn join_busy_cpu() -> bool {
    let thread = current();
    if thread.bound().is_some() || !thread.stealable() || thread.is_realtime() {
        return false;
    }
    let mut irq = irq::disable();
    let turn = turn(irq.masked());
    let own = turn.here().cpu();
    if own.is_wanted() || percpu::pending_attention() != 0 {
        return false;
    }
    let Some(target) = balance::busy_cpu_for(thread, own) else { return false };
    own.counters.joins.up();
    trace::point(Kind::Migrate, trace::pair(thread.id(), target as u32), own.id as u64);
    move_to(turn, thread, target, Saves::Everything);
    true
}

/// Sends the running thread to a CPU that it may run on; that one waits until this one has left it.
fn move_away(turn: Turn<'_>, thread: &'static Thread, saves: Saves) {
    move_to(turn, thread, balance::choose(thread), saves);
}

fn move_to(turn: Turn<'_>, thread: &'static Thread, target: usize, saves: Saves) {
    let here = turn.here();
    let level = thread.place.level();
    if level != NOWHERE {
        here.cpu().levels.remove_running(thread, level);
    }
    enqueue(here, thread, target, Kick::Yes);
    leave(turn, thread, saves);
}

/// Takes what other CPUs have sent.
///
/// A thread may come while its last CPU has not finished switching away from it. Waiting for that CPU would be a deadlock
/// when it waits for the thread that is running here (two threads that change places), so the thread goes back into the
/// inbox, to be looked at again.
pub(crate) fn receive(here: Here<'_>) {
    let (own, running) = (here.cpu(), here.thread());
    for thread in own.inbox.take_all() {
        audit::saw(thread.id(), Event::Received);
        if !thread.allows(own.id) {
            enqueue(here, thread, balance::choose(thread), Kick::Yes);
        } else if thread.is(running) || here.claim(thread.context()) {
            insert_woken(here, thread);
        } else {
            own.send(thread);
            timers::start_slice(own);
        }
    }
}

/// Puts a thread that this CPU has claimed among those that wait for it. Interrupts are off.
#[inline]
pub(crate) fn insert(own: &'static Cpu, thread: &'static Thread, running: &'static Thread) {
    irq::must_be_off();
    let params = thread.params();
    if params.is_realtime() && edf::enqueue(own, thread) {
        return;
    }
    own.levels.insert(thread, params, running);
    timers::start_slice_if_shared(own);
}

/// [`insert`] for a thread that has become ready, which may run before its equals.
pub(crate) fn insert_woken(here: Here<'_>, thread: &'static Thread) {
    let running = here.thread();
    insert(here.cpu(), thread, running);
    let level = thread.place.level();
    if level == running.place.level() && level != NOWHERE {
        turns::take_over(here, thread);
    }
}

/// Switches for a thread that does not give way to an equal in the shortest way.
#[inline]
fn switch(turn: Turn<'_>, next: &'static Thread, claim: Claim, saves: Saves) {
    let here = turn.here();
    let previous = here.thread();
    trace::point(Kind::Switch, trace::pair(next.id(), previous.token.left() as u32), 0);
    percpu::clear_attention(attention::RESCHEDULE);
    if previous.realtime.class() | next.realtime.class() != 0 {
        edf::on_switch(here.cpu(), previous, next);
    }
    hand_over(here, here.cpu(), previous, next);
    match saves {
        Saves::CalleeSaved => turn.switch_light(next.context(), claim),
        Saves::Everything => turn.switch(next.context(), claim),
    }
}

/// Accounts for a switch and names the next thread as the CPU's.
///
/// There is no fence between naming it and looking whether it has a signal: who sets `interrupted` interrupts the CPU that
/// the thread is on, whether or not it runs yet ([`Thread::poke`]), and that interrupt comes before the switch, and then the
/// flag is seen here, or after it.
#[inline(always)]
pub(crate) fn hand_over(here: Here<'_>, own: &'static Cpu, previous: &'static Thread, next: &'static Thread) {
    let now = tsc::read_unordered();
    previous.note_end(now);
    next.note_begin(now);
    own.counters.switches.up();
    here.set_thread(next);
    audit::saw(previous.id(), Event::Stops);
    audit::saw(next.id(), Event::Begins);
    here.raise_attention(next.attention());
}
