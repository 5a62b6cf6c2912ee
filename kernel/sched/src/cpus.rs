// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each CPU has for itself: run queue, inbox, timers, idle state, counters; and its idle loop.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::percpu::{self, CpuLocal, attention};
use hadal_hal::sync::SpinLock;
use hadal_hal::trace::{self, Kind};
use hadal_hal::{apic, context, cpu, irq, tlb};
use spin::Once;

use crate::list::{Fifo, Inbox};
use crate::thread::{TABLE, Thread, adopt_idle};
use crate::timers::Timers;
use crate::{balance, switch, timers};

/// Control blocks that move between a CPU's cache and the shared list at a time.
pub(crate) const FREE_BATCH: usize = 16;

/// The scheduler's state of one CPU.
pub(crate) struct Cpu {
    ready: SpinLock<Fifo>,
    /// Length of `ready`, readable without its lock.
    ready_len: AtomicUsize,
    inbox: Inbox,
    /// Set while the CPU halts, or is about to: whoever pushes to the inbox must interrupt it.
    sleeping: AtomicBool,
    /// Set while the end of a slice is armed: a push will be seen then, without an interrupt.
    pub(crate) ticking: AtomicBool,
    pub(crate) timers: Timers,
    idle_thread: AtomicU32,
    pub(crate) free_threads: SpinLock<Vec<u32>>,
    /// Program yields in a row that found no other thread.
    pub(crate) fruitless_yields: AtomicU32,
    /// Counts the looks at other CPUs' queues.
    pub(crate) turn: AtomicU32,
    pub(crate) switches: AtomicU64,
    pub(crate) wakes: AtomicU64,
    pub(crate) steals: AtomicU64,
}

impl Cpu {
    fn new() -> Self {
        Self {
            ready: SpinLock::new(Fifo::new()),
            ready_len: AtomicUsize::new(0),
            inbox: Inbox::new(),
            sleeping: AtomicBool::new(false),
            ticking: AtomicBool::new(false),
            timers: Timers::new(),
            idle_thread: AtomicU32::new(0),
            free_threads: SpinLock::new(Vec::new()),
            fruitless_yields: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            switches: AtomicU64::new(0),
            wakes: AtomicU64::new(0),
            steals: AtomicU64::new(0),
        }
    }

    /// Threads that are ready and not running, as far as the owner has looked.
    pub(crate) fn ready_len(&self) -> usize {
        self.ready_len.load(Ordering::Relaxed)
    }

    /// Adds a thread at the end; for the owner.
    pub(crate) fn push_local(&self, thread: &'static Thread) {
        let mut ready = self.ready.lock();
        ready.push(&&TABLE, thread.id());
        self.ready_len.store(ready.len(), Ordering::Relaxed);
    }

    /// Takes the next thread; for the owner.
    pub(crate) fn pop(&self) -> Option<&'static Thread> {
        let mut ready = self.ready.lock();
        self.inbox.drain(&&TABLE, &mut ready);
        let next = ready.pop(&&TABLE);
        self.ready_len.store(ready.len(), Ordering::Relaxed);
        next.map(|index| TABLE.get(index))
    }

    /// Takes a ready thread that may run on `thief`; for other CPUs.
    pub(crate) fn steal(&self, thief: usize) -> Option<&'static Thread> {
        let mut ready = self.ready.lock();
        let taken = ready.take_first(&&TABLE, |index| {
            let thread = TABLE.get(index);
            thread.stealable() && thread.allows(thief)
        });
        self.ready_len.store(ready.len(), Ordering::Relaxed);
        taken.map(|index| TABLE.get(index))
    }

    /// Moves the inbox to the run queue; for the owner. Returns whether a thread is ready.
    pub(crate) fn collect(&self) -> bool {
        let mut ready = self.ready.lock();
        self.inbox.drain(&&TABLE, &mut ready);
        self.ready_len.store(ready.len(), Ordering::Relaxed);
        ready.len() > 0
    }

    pub(crate) fn idle_thread(&self) -> &'static Thread {
        TABLE.get(self.idle_thread.load(Ordering::Relaxed))
    }
}

static CPUS: Once<CpuLocal<Cpu>> = Once::new();
/// The part of [`CPUS`] that exists before the number of CPUs is known.
static BOOT: Once<CpuLocal<Cpu>> = Once::new();

fn all() -> &'static CpuLocal<Cpu> {
    match CPUS.get() {
        Some(cpus) => cpus,
        None => BOOT.call_once(|| CpuLocal::new(1, |_| Cpu::new())),
    }
}

/// The calling CPU.
pub(crate) fn this() -> &'static Cpu {
    all().this()
}

/// A CPU by id.
pub(crate) fn of(cpu: usize) -> &'static Cpu {
    all().of(cpu)
}

/// Prepares the scheduler for all CPUs; once, on the boot CPU, when all are online. The calling code becomes the boot
/// CPU's idle thread, on the stack whose bounds are given.
pub fn init(stack_bottom: u64, stack_top: u64) {
    CPUS.call_once(|| CpuLocal::new(cpu::count(), |_| Cpu::new()));
    balance::init(cpu::count());
    adopt(stack_bottom, stack_top);
}

fn adopt(stack_bottom: u64, stack_top: u64) {
    let idle = adopt_idle();
    context::adopt(idle.context(), stack_bottom, stack_top);
    percpu::set_thread_index(idle.id());
    this().idle_thread.store(idle.id(), Ordering::Relaxed);
}

/// Turns the calling code into the CPU's idle loop. Application processors come here from their start-up code and give
/// the bounds of their stack; the boot CPU has called [`init`] and gives `None`.
pub fn enter_idle_loop(stack: Option<(u64, u64)>) -> ! {
    if let Some((bottom, top)) = stack {
        while CPUS.get().is_none() {
            cpu::relax();
        }
        adopt(bottom, top);
    }
    let own = this();
    loop {
        irq::mask();
        if own.collect() {
            switch::reschedule();
            irq::unmask();
            continue;
        }
        if let Some(thread) = balance::steal() {
            own.push_local(thread);
            continue;
        }
        own.sleeping.store(true, Ordering::SeqCst);
        balance::set_idle(cpu::current_id());
        // A push before the flag was visible sends no interrupt, so look once more.
        if own.inbox.is_empty() {
            tlb::enter_idle();
            trace::point(Kind::IdleEnter, 0, 0);
            cpu::wait_for_interrupt();
            irq::mask();
            trace::point(Kind::IdleLeave, 0, 0);
            tlb::leave_idle();
        }
        own.sleeping.store(false, Ordering::SeqCst);
        balance::clear_idle(cpu::current_id());
    }
}

/// Puts a runnable thread into the queue of a CPU, and makes sure that the CPU notices.
pub(crate) fn enqueue(thread: &'static Thread, target: usize) {
    thread.cpu.store(target, Ordering::Relaxed);
    let _irq = irq::disable();
    let queue = of(target);
    this().wakes.fetch_add(1, Ordering::Relaxed);
    if target == cpu::current_id() {
        queue.push_local(thread);
        timers::arm_slice();
        return;
    }
    queue.inbox.push(&&TABLE, thread.id());
    if queue.sleeping.load(Ordering::SeqCst) || !queue.ticking.load(Ordering::SeqCst) {
        apic::send_ipi(target, irq::VECTOR_RESCHEDULE);
    }
}

/// The reschedule interrupt: look at the inbox, and at what the interrupted thread has to do.
pub fn on_reschedule_interrupt() {
    if CPUS.get().is_none() {
        return;
    }
    let own = this();
    if own.collect() {
        timers::arm_slice();
    }
    let thread = crate::current();
    if thread.interrupted() {
        percpu::raise_attention(attention::SIGNAL);
    }
    if !thread.allows(cpu::current_id()) {
        percpu::raise_attention(attention::RESCHEDULE);
    }
}

/// Nanoseconds since boot in which a CPU had nothing to run.
pub fn idle_time_ns(cpu: usize) -> u64 {
    of(cpu).idle_thread().run_time_ns()
}

/// Index of the thread that a CPU runs when there is no other.
pub fn idle_thread(cpu: usize) -> u32 {
    of(cpu).idle_thread.load(Ordering::Relaxed)
}

/// Number of threads that wait for a CPU.
pub fn run_queue_length(cpu: usize) -> usize {
    of(cpu).ready_len()
}

/// Sums over all CPUs since boot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Switches from one thread to another.
    pub switches: u64,
    /// Threads made runnable.
    pub wakes: u64,
    /// Threads that an idle CPU took from another.
    pub steals: u64,
}

/// The counters as of now.
pub fn counters() -> Counters {
    all().iter().fold(Counters::default(), |sum, cpu| Counters {
        switches: sum.switches + cpu.switches.load(Ordering::Relaxed),
        wakes: sum.wakes + cpu.wakes.load(Ordering::Relaxed),
        steals: sum.steals + cpu.steals.load(Ordering::Relaxed),
    })
}
