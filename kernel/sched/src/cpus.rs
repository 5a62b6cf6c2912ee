// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each CPU has for itself: ready threads, inbox, timers, counters.
//!
//! Its rings of ready threads ([`Levels`]) are touched by the CPU itself only, with interrupts off, so they need no lock and
//! no atomic instruction. Others leave threads in its inbox, changed threads in its list of reviews, and ask it for work
//! through one word; they interrupt it if it would not look soon by itself ([`watch`]).

use alloc::vec::Vec;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::cpu::tsc;
use hadal_hal::interrupts::irq::{Masked, Off};
use hadal_hal::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::context;
use hadal_hal::threads::link::AtomicRef;
use hadal_hal::threads::running::{self, Running};
use spin::Once;

use crate::counters::CpuCounters;
use crate::edf::Edf;
use crate::inbox::{Changed, Inbox, Woken};
use crate::kick::Kicks;
use crate::levels::Levels;
use crate::spin::Spin;
use crate::store_watch::StoreWatch;
use crate::table::{self, FREE_BATCH, adopt_idle};
use crate::thread::Thread;
use crate::timers::Timers;
use crate::transition::Event;
use crate::translator::Translator;
use crate::turns::Turns;
use crate::{audit, balance};

/// When a CPU will look at its inbox.
pub(crate) mod watch {
    /// Not before it is interrupted.
    pub(crate) const NEEDS_IPI: u8 = 0;
    /// At the end of a slice.
    pub(crate) const TICKING: u8 = 1;
    /// At once: it idles and polls.
    pub(crate) const POLLING: u8 = 2;
}

/// The scheduler's state of one CPU.
pub(crate) struct Cpu {
    pub(crate) id: usize,
    /// Threads that other CPUs have made runnable.
    pub(crate) inbox: Inbox<Woken>,
    pub(crate) levels: Levels,
    /// Its real-time threads.
    pub(crate) edf: Edf,
    /// One of [`watch`].
    pub(crate) watch: AtomicU8,
    pub(crate) turns: Turns,
    /// Ready threads of this CPU whose priority or binding others have changed.
    pub(crate) reviews: Inbox<Changed>,
    /// An idle CPU (plus one) that wants a thread, or 0.
    pub(crate) asked_by: AtomicU32,
    pub(crate) timers: Timers,
    pub(crate) spin: Spin,
    pub(crate) translator: Translator,
    idle_thread: AtomicRef<Thread>,
    /// When the CPU began to schedule, as a time stamp; 0 before.
    joined: AtomicU64,
    pub(crate) free_threads: SpinLock<Vec<u32>>,
    /// Program yields in a row that found no other thread.
    pub(crate) fruitless_yields: AtomicU32,
    /// Counts the looks at other CPUs' queues.
    pub(crate) turn: AtomicU32,
    pub(crate) kicks: Kicks,
    pub(crate) counters: CpuCounters,
    pub(crate) store_watch: StoreWatch,
}

impl Cpu {
    fn new(id: usize) -> Self {
        Self {
            id,
            inbox: Inbox::new(),
            levels: Levels::new(),
            edf: Edf::new(),
            watch: AtomicU8::new(watch::NEEDS_IPI),
            turns: Turns::new(),
            reviews: Inbox::new(),
            asked_by: AtomicU32::new(0),
            timers: Timers::new(),
            spin: Spin::new(),
            translator: Translator::new(),
            idle_thread: AtomicRef::none(),
            joined: AtomicU64::new(0),
            // More than are ever in it.
            free_threads: SpinLock::ranked(Rank::FreeThreadsOfCpu, Vec::with_capacity(4 * FREE_BATCH)),
            fruitless_yields: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            kicks: Kicks::new(),
            counters: CpuCounters::default(),
            store_watch: StoreWatch::new(cpu::has_monitor()),
        }
    }

    /// Leaves it a runnable thread that is in no queue, to be received.
    pub(crate) fn send(&self, thread: &'static Thread) {
        self.inbox.push(thread);
        audit::saw(thread.id(), Event::Sent(self.id));
    }

    /// The thread that runs when no other does.
    pub(crate) fn idle_thread(&self) -> &'static Thread {
        self.idle_thread.load(Ordering::Relaxed).expect("a CPU that schedules has an idle thread")
    }

    /// Cycles up to `now` in which the CPU has run something.
    pub(crate) fn program_cycles(&self, now: u64) -> u64 {
        let joined = self.joined.load(Ordering::Acquire);
        if joined == 0 {
            return 0;
        }
        now.saturating_sub(joined).saturating_sub(self.idle_thread().cycles_until(now))
    }

    /// Whether other threads than the running one are or may be ready here. For the CPU itself.
    pub(crate) fn is_wanted(&self) -> bool {
        self.levels.len() > 1 || !self.inbox.looks_empty()
    }

    /// Threads that wait for this CPU and may go to another one; at most one more than there are.
    pub(crate) fn spare(&self) -> usize {
        self.levels.movable().min(self.waiting())
    }

    /// Threads that wait for this CPU, as far as it has looked: the running thread is in a ring, too, unless it idles.
    pub(crate) fn waiting(&self) -> usize {
        let idle = RUNNING.thread_of(self.id).is_none_or(|thread| thread.is(self.idle_thread()));
        self.levels.len().saturating_sub(usize::from(!idle))
    }
}

/// What the calling CPU runs, and its [`Cpu`].
pub(crate) static RUNNING: Running<Thread, Cpu> = Running::new();
static CPUS: Once<CpuLocal<Cpu>> = Once::new();

fn all() -> &'static CpuLocal<Cpu> {
    CPUS.get().expect("the scheduler is initialised")
}

/// The calling CPU and what it runs, while interrupts are off.
pub(crate) type Here<'a> = running::Here<'a, Thread, Cpu>;
/// The same, to be given up.
pub(crate) type Turn<'a> = running::Turn<'a, Thread, Cpu>;

/// The calling CPU and what it runs.
#[inline(always)]
pub(crate) fn here(off: Off<'_>) -> Here<'_> {
    RUNNING.here(off)
}

/// The calling CPU, to be given up.
#[inline(always)]
pub(crate) fn turn(masked: &mut Masked) -> Turn<'_> {
    RUNNING.turn(masked)
}

/// The calling CPU, as of the call where interrupts are on.
#[inline(always)]
pub(crate) fn this() -> &'static Cpu {
    RUNNING.cpu()
}

/// A CPU by id.
pub(crate) fn of(cpu: usize) -> &'static Cpu {
    all().of(cpu)
}

/// All CPUs.
pub(crate) fn iter() -> impl Iterator<Item = &'static Cpu> {
    all().iter()
}

/// The thread that is running on this CPU.
#[inline(always)]
pub fn current() -> &'static Thread {
    RUNNING.thread()
}

/// The thread that a CPU runs, as of now; `None` before that CPU has begun to schedule.
pub fn running_on(cpu: usize) -> Option<&'static Thread> {
    RUNNING.thread_of(cpu)
}

/// Prepares the scheduler for all CPUs; once, on the boot CPU, when all are online. The calling code becomes the boot
/// CPU's idle thread.
pub fn init() {
    CPUS.call_once(|| CpuLocal::new(cpu::count(), Cpu::new));
    balance::init(cpu::count());
    table::init();
    adopt();
}

fn adopt() {
    let own = of(cpu::current_id());
    let idle = adopt_idle(own);
    context::adopt(idle.context());
    own.idle_thread.store(Some(idle), Ordering::Relaxed);
    own.joined.store(tsc::read(), Ordering::Release);
    RUNNING.install(idle, own);
}

/// Begins to schedule on an application processor, which starts after [`init`].
pub(crate) fn join() {
    adopt();
}

/// Nanoseconds since boot in which a CPU had nothing to run.
pub fn idle_time_ns(cpu: usize) -> u64 {
    of(cpu).idle_thread.load(Ordering::Relaxed).map_or(0, Thread::run_time_ns)
}

/// Index of the thread that a CPU runs when there is no other.
pub fn idle_thread(cpu: usize) -> u32 {
    of(cpu).idle_thread().id()
}

/// Number of threads that wait for a CPU.
pub fn run_queue_length(cpu: usize) -> usize {
    of(cpu).waiting()
}
