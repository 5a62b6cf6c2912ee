// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Time-outs and slices: the one-shot timer of each CPU.
//!
//! A switch does not touch the timer. Its interrupt at the end of a slice looks how long the running thread has run: one
//! that came in the middle gets the rest of its slice. When nothing waits any more the next end of a slice is the last.

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::interrupts::handler::{self, Handler};
use hadal_hal::interrupts::irq::Off;
use hadal_hal::interrupts::{apic, irq};
use hadal_hal::sync::atomic::{AtomicU64, Ordering};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::trace::{self, Kind};
use hadal_time::now_ns;
use hadal_time::timer_queue::{TimerId, TimerQueue};

use crate::cpus::{self, Cpu, Here, here, watch};
use crate::switch::receive;
use crate::table::TABLE;
use crate::thread::{Policy, Thread};
use crate::turns::SLICE_NS;
use crate::{balance, edf, kick, promise, spin, translator, wake};

/// A slice with less than this left is over: the timer is not exact.
const SLACK_NS: u64 = 10_000;
/// After a wake-up without an interrupt: how soon the other CPU looks at the latest.
const SETTLE_NS: u64 = 1_000_000;
const NEVER: u64 = u64::MAX;

/// What happens when a timer fires, in the timer interrupt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Unpark the thread with this index.
    Unpark(u32),
    /// Call a function with an argument.
    Call(fn(usize), usize),
    /// Call a function of the program.
    Handler(Handler),
    /// Look at a real-time thread of this CPU whose period begins.
    Release(u32),
    /// Look at a sporadic thread whose deadline has come.
    Expire(u32),
}

/// The timers of one CPU.
pub(crate) struct Timers {
    queue: SpinLock<TimerQueue<Action>>,
    /// End of the slice, or [`NEVER`].
    slice_end: AtomicU64,
    /// When owed interrupts are sent, or [`NEVER`].
    settle_at: AtomicU64,
    /// When the running real-time thread has used up its time, or [`NEVER`].
    budget_end: AtomicU64,
    /// What the hardware timer is armed for, or [`NEVER`].
    armed: AtomicU64,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            queue: SpinLock::ranked(Rank::TimerQueue, TimerQueue::new()),
            slice_end: AtomicU64::new(NEVER),
            settle_at: AtomicU64::new(NEVER),
            budget_end: AtomicU64::new(NEVER),
            armed: AtomicU64::new(NEVER),
        }
    }
}

/// A timer that was started on some CPU and may be cancelled from any.
#[derive(Debug)]
pub struct TimerHandle {
    cpu: usize,
    id: TimerId,
}

impl TimerHandle {
    /// Stops the timer; returns `false` if it has fired, or is about to on another CPU.
    pub fn cancel(self) -> bool {
        // The hardware may still interrupt at the old time; it finds nothing then, which is cheaper than arming anew.
        cpus::of(self.cpu).timers.queue.lock().cancel(self.id).is_some()
    }
}

/// Runs `function(arg)` in the timer interrupt of this CPU at `deadline_ns`; `None` when memory is out.
pub fn call_at(deadline_ns: u64, function: fn(usize), arg: usize) -> Option<TimerHandle> {
    start(deadline_ns, Action::Call(function, arg))
}

pub(crate) fn unpark_at(deadline_ns: u64, thread: &Thread) -> Option<TimerHandle> {
    start(deadline_ns, Action::Unpark(thread.id()))
}

/// Runs a handler of the program in the timer interrupt of a CPU at `deadline_ns`, and returns a name for
/// [`cancel_handler`], never 0; `None` when memory is out. From any context.
pub fn handler_at(cpu: usize, deadline_ns: u64, handler: Handler) -> Option<u64> {
    let _irq = irq::disable();
    let TimerHandle { cpu, id } = if cpu == cpu::current_id() {
        start(deadline_ns, Action::Handler(handler))?
    } else {
        start_on(cpu, deadline_ns, Action::Handler(handler))?
    };
    // CPUs are fewer than 2^12 and a queue has fewer than 2^20 slots, or the name would not be unique.
    let (slot, generation) = id.parts();
    if slot >= SLOTS_NAMED {
        TimerHandle { cpu, id }.cancel();
        return None;
    }
    Some(u64::from(generation) << 32 | u64::from(slot) << 12 | (cpu as u64 + 1))
}

/// Slots of a queue that fit into a timer's name.
const SLOTS_NAMED: u32 = 1 << 20;

/// Stops a timer of [`handler_at`]; returns `false` if it has fired, or is firing on another CPU, or there is none of that
/// name. From any context.
pub fn cancel_handler(name: u64) -> bool {
    let cpu = (name & 0xfff).checked_sub(1).map(|cpu| cpu as usize);
    let id = TimerId::from_parts((name >> 12) as u32 & (SLOTS_NAMED - 1), (name >> 32) as u32);
    match cpu.filter(|&cpu| cpu < cpu::count()) {
        // Names of the kernel's own timers cannot be guessed at: only the program's are cancelled.
        Some(cpu) => {
            let queue = &cpus::of(cpu).timers.queue;
            queue.lock().cancel_if(id, |action| matches!(action, Action::Handler(_))).is_some()
        }
        None => false,
    }
}

/// Starts a timer on another CPU.
fn start_on(target: usize, deadline_ns: u64, action: Action) -> Option<TimerHandle> {
    let timers = &cpus::of(target).timers;
    let id = timers.queue.lock().insert(deadline_ns, action).ok()?;
    // The target takes "armed" back before it looks at the queue: it has seen this timer, or this sees that nothing is
    // armed. An early timer interrupt does no more than look.
    if deadline_ns < timers.armed.load(Ordering::SeqCst) {
        apic::send_ipi(target, irq::VECTOR_TIMER);
    }
    Some(TimerHandle { cpu: target, id })
}

fn start(deadline_ns: u64, action: Action) -> Option<TimerHandle> {
    let _irq = irq::disable();
    let own = &cpus::this().timers;
    let id = own.queue.lock().insert(deadline_ns, action).ok()?;
    arm_for(own, deadline_ns);
    Some(TimerHandle { cpu: cpu::current_id(), id })
}

/// Has [`edf::on_release`] look at a thread of this CPU; false when memory is out. Interrupts are off.
pub(crate) fn release_at(own: &Cpu, at_ns: u64, thread: &Thread) -> bool {
    let started = own.timers.queue.lock().insert(at_ns, Action::Release(thread.id())).is_ok();
    if started {
        arm_for(&own.timers, at_ns);
    }
    started
}

/// Has [`promise::on_expiry`] look at a thread of this CPU; `None` when memory is out.
pub(crate) fn expire_at(cpu: usize, at_ns: u64, thread: &Thread) -> Option<TimerHandle> {
    let _irq = irq::disable();
    let action = Action::Expire(thread.id());
    if cpu == cpu::current_id() { start(at_ns, action) } else { start_on(cpu, at_ns, action) }
}

/// The running real-time thread has to be stopped by then. Interrupts are off.
pub(crate) fn end_budget_at(own: &Cpu, at_ns: u64) {
    own.timers.budget_end.store(at_ns, Ordering::Relaxed);
    arm_for(&own.timers, at_ns);
}

/// No real-time thread runs any more. Interrupts are off.
pub(crate) fn no_budget(own: &Cpu) {
    own.timers.budget_end.store(NEVER, Ordering::Relaxed);
    percpu::clear_attention(attention::BUDGET);
}

/// Makes the timer of this CPU interrupt it before `delay_ns` have passed. Interrupts are off.
pub fn interrupt_within(delay_ns: u64) {
    arm_for(&cpus::this().timers, now_ns() + delay_ns);
}

/// Makes the timer of this CPU, `own`, interrupt it before `at_ns`, or soon after. Interrupts are off.
pub(crate) fn interrupt_at(own: &Cpu, at_ns: u64) {
    arm_for(&own.timers, at_ns);
}

/// Arms the hardware if `deadline_ns` comes before what it is armed for.
fn arm_for(own: &Timers, deadline_ns: u64) {
    irq::must_be_off();
    if deadline_ns < own.armed.load(Ordering::Relaxed) {
        own.armed.store(deadline_ns, Ordering::Relaxed);
        apic::arm_timer(deadline_ns.saturating_sub(now_ns()));
    }
}

/// Begins to look after this CPU's queue, if nobody does: another thread waits for the running one. Interrupts are off.
#[inline]
pub(crate) fn start_slice(own: &Cpu) {
    if own.watch.load(Ordering::Relaxed) == watch::NEEDS_IPI {
        first_slice(own);
    }
}

/// [`start_slice`] if more than one ordinary thread is ready. It looks at the slice first: that of a CPU with work runs.
#[inline]
pub(crate) fn start_slice_if_shared(own: &Cpu) {
    if own.watch.load(Ordering::Relaxed) == watch::NEEDS_IPI && own.levels.len() > 1 {
        first_slice(own);
    }
}

#[cold]
fn first_slice(own: &Cpu) {
    own.watch.store(watch::TICKING, Ordering::SeqCst);
    next_slice(own, now_ns() + SLICE_NS);
    spin::begin_shared(own);
}

fn next_slice(own: &Cpu, end_ns: u64) {
    own.timers.slice_end.store(end_ns, Ordering::Relaxed);
    arm_for(&own.timers, end_ns);
}

/// Calls [`kick::settle`] in 1 ms, unless it is due already. Interrupts are off.
pub(crate) fn settle_soon(own: &Cpu) {
    if own.timers.settle_at.load(Ordering::Relaxed) == NEVER {
        let at = now_ns() + SETTLE_NS;
        own.timers.settle_at.store(at, Ordering::Relaxed);
        arm_for(&own.timers, at);
    }
}

/// The timer interrupt: runs what is due and arms the timer for what comes next.
pub fn on_timer_interrupt(off: Off<'_>) {
    let here = here(off);
    let own = here.cpu();
    let timers = &own.timers;
    timers.armed.store(NEVER, Ordering::SeqCst);
    let now = now_ns();
    // What is due beyond these has the next interrupt, behind whatever else has waited meanwhile.
    for _ in 0..ACTIONS_AT_ONCE {
        // The lock is not held while the action runs: it may start or cancel timers.
        let due = timers.queue.lock().pop_expired(now);
        match due {
            Some((_, Action::Unpark(index))) => {
                trace::point(Kind::TimerFire, u64::from(index), trace::TIMER_WAKES);
                TABLE.get(index).unpark();
            }
            Some((_, Action::Call(function, arg))) => {
                trace::point(Kind::TimerFire, function as usize as u64, trace::TIMER_CALLS);
                function(arg);
            }
            Some((_, Action::Release(index))) => edf::on_release(here, TABLE.get(index)),
            Some((_, Action::Expire(index))) => promise::on_expiry(TABLE.get(index)),
            Some((_, Action::Handler(handler))) => {
                trace::point(Kind::TimerFire, handler.function as u64, trace::TIMER_CALLS);
                handler::run(handler);
            }
            None => break,
        }
    }
    if timers.settle_at.load(Ordering::Relaxed) <= now {
        timers.settle_at.store(NEVER, Ordering::Relaxed);
        kick::settle(own);
    }
    if timers.budget_end.load(Ordering::Relaxed) <= now {
        timers.budget_end.store(NEVER, Ordering::Relaxed);
        here.raise_attention(attention::BUDGET);
    }
    if timers.slice_end.load(Ordering::Relaxed) <= now {
        timers.slice_end.store(NEVER, Ordering::Relaxed);
        // An idle CPU looks by itself.
        if own.watch.load(Ordering::Relaxed) == watch::TICKING {
            end_of_slice(here, now);
        }
    }
    translator::serve_if_due(own, here.thread().is(own.idle_thread()), now);
    let next = timers.queue.lock().next_deadline_ns().unwrap_or(NEVER);
    let others = [&timers.slice_end, &timers.settle_at, &timers.budget_end];
    let next = others.into_iter().fold(next, |next, other| next.min(other.load(Ordering::Relaxed)));
    let next = next.min(own.spin.look_at_ns()).min(own.translator.at_ns());
    if next != NEVER {
        arm_for(timers, next);
    }
}

/// Timers that are seen to in one interrupt.
const ACTIONS_AT_ONCE: usize = 8;

fn end_of_slice(here: Here<'_>, now: u64) {
    let (own, running) = (here.cpu(), here.thread());
    own.turns.end_slice();
    receive(here);
    wake::look_again(here);
    balance::serve(here);
    if own.levels.len() <= 1 && own.inbox.looks_empty() {
        own.watch.store(watch::NEEDS_IPI, Ordering::SeqCst);
        // A push between the last look and this store saw the tick and sent no interrupt.
        if !own.inbox.is_empty() {
            receive(here);
            wake::look_again(here);
            start_slice(own);
        }
        return;
    }
    let left_ns = running.turn_left_ns();
    if left_ns > SLACK_NS {
        next_slice(own, now + left_ns);
        return;
    }
    let next = running.place.next().filter(|_| running.policy() == Policy::RoundRobin);
    // Kernel code is not preempted: if the thread stays in the kernel, look again in a while.
    next_slice(own, now + next.map_or(SLICE_NS, Thread::turn_ns));
    if next.is_some() {
        here.raise_attention(attention::RESCHEDULE);
    }
    balance::even_out(here);
}
