// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads and their table.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::context::Context;
use hadal_hal::cpuset::CpuSet;
use hadal_hal::percpu;
use hadal_hal::sync::SpinLock;
use hadal_hal::trace::{self, Kind};
use spin::Once;

use crate::list::{Link, Links};
use crate::token::Token;

/// Number of priorities; 0 is the least urgent.
pub const PRIORITIES: u8 = 32;
/// The priority of a thread that was given none.
pub const PRIORITY_DEFAULT: u8 = 16;

/// Who runs next among threads of equal priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// They take turns, [`crate::SLICE_NS`] each.
    #[default]
    RoundRobin = 0,
    /// Each runs until it blocks, yields or ends.
    RunToCompletion = 1,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has a CPU.
    Running,
    /// It waits for a CPU.
    Ready,
    /// It waits for something else.
    Waiting,
}

/// What there is to say about a thread, as of the moment of asking.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// What it is doing.
    pub state: State,
    /// How it shares its CPU.
    pub policy: Policy,
    /// 0 to 31.
    pub priority: u8,
    /// Where it runs, or ran last.
    pub cpu: usize,
    /// The only CPU it may run on, if there is just one.
    pub bound: Option<usize>,
    /// Whether other CPUs may take it.
    pub stealable: bool,
    /// Nanoseconds it has run.
    pub run_ns: u64,
    /// Times it got a CPU.
    pub switches: u64,
}

/// A thread of execution. Control blocks are never freed, only reused: a stale reference wakes a stranger at worst, and
/// every sleeper tolerates that.
pub struct Thread {
    index: u32,
    pub(crate) context: Context,
    pub(crate) token: Token,
    /// Next thread in whatever list this one is in.
    link: Link,
    /// CPU that the thread runs on, is queued on, or ran on last.
    pub(crate) cpu: AtomicUsize,
    /// CPUs that it may run on; `None` means all.
    affinity: SpinLock<Option<Arc<CpuSet>>>,
    pinned: AtomicBool,
    interrupted: AtomicBool,
    priority: AtomicU8,
    policy: AtomicU8,
    stealable: AtomicBool,
    pub(crate) switches: AtomicU64,
    pub(crate) run_ns: AtomicU64,
    pub(crate) since_ns: AtomicU64,
    waits_for: SpinLock<Option<(&'static str, u64)>>,
}

impl Thread {
    fn new(index: u32) -> Self {
        Self {
            index,
            context: Context::new(),
            token: Token::free(),
            link: Link::new(0),
            cpu: AtomicUsize::new(0),
            affinity: SpinLock::new(None),
            pinned: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            priority: AtomicU8::new(PRIORITY_DEFAULT),
            policy: AtomicU8::new(Policy::RoundRobin as u8),
            stealable: AtomicBool::new(true),
            switches: AtomicU64::new(0),
            run_ns: AtomicU64::new(0),
            since_ns: AtomicU64::new(0),
            waits_for: SpinLock::new(None),
        }
    }

    /// Index in the table: small, dense, reused.
    pub fn id(&self) -> u32 {
        self.index
    }

    /// Stack, saved registers and program state.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// CPU that the thread runs on or will run on.
    pub fn cpu(&self) -> usize {
        self.cpu.load(Ordering::Relaxed)
    }

    /// Whether a blocking call that allows it should give up: a signal is pending or the process ends.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }

    /// Sets or clears [`Thread::interrupted`]. The caller unparks the thread, or [`Thread::poke`]s it if it may be running.
    pub fn set_interrupted(&self, interrupted: bool) {
        self.interrupted.store(interrupted, Ordering::Release);
    }

    /// Nanoseconds that the thread has run, up to now if it is the calling one.
    pub fn run_time_ns(&self) -> u64 {
        let done = self.run_ns.load(Ordering::Relaxed);
        if self.context.is_on_cpu() {
            done + hadal_time::now_ns().saturating_sub(self.since_ns.load(Ordering::Relaxed))
        } else {
            done
        }
    }

    /// Monotonic time at which the thread got a CPU last.
    pub fn last_run_ns(&self) -> u64 {
        self.since_ns.load(Ordering::Relaxed)
    }

    /// The CPUs that the thread may run on; `None` means all.
    pub fn affinity(&self) -> Option<Arc<CpuSet>> {
        if self.pinned.load(Ordering::Acquire) { self.affinity.lock().clone() } else { None }
    }

    /// Changes the priority (above 31 counts as 31); a thread that waits for a CPU keeps its place until it has run.
    pub fn set_priority(&'static self, priority: u8) {
        self.priority.store(priority.min(PRIORITIES - 1), Ordering::Relaxed);
    }

    pub(crate) fn store_affinity(&self, set: Option<Arc<CpuSet>>) {
        let mut affinity = self.affinity.lock();
        self.pinned.store(set.is_some(), Ordering::Release);
        *affinity = set;
    }

    /// Whether the thread may run on a CPU.
    pub(crate) fn allows(&self, cpu: usize) -> bool {
        !self.pinned.load(Ordering::Acquire)
            || self.affinity.lock().as_ref().is_none_or(|set| set.contains(cpu))
    }

    /// 0 to 31, the most urgent.
    pub fn priority(&self) -> u8 {
        self.priority.load(Ordering::Relaxed)
    }

    /// How the thread shares its CPU.
    pub fn policy(&self) -> Policy {
        if self.policy.load(Ordering::Relaxed) == Policy::RunToCompletion as u8 {
            Policy::RunToCompletion
        } else {
            Policy::RoundRobin
        }
    }

    /// Changes how the thread shares its CPU, from its next slice on.
    pub fn set_policy(&'static self, policy: Policy) {
        self.policy.store(policy as u8, Ordering::Relaxed);
    }

    /// Whether other CPUs may take the thread, and a wake-up may place it elsewhere.
    pub fn stealable(&self) -> bool {
        self.stealable.load(Ordering::Relaxed)
    }

    /// Threads are stealable at first, as those of Linux programs expect; run-times that place theirs turn it off.
    pub fn set_stealable(&self, stealable: bool) {
        self.stealable.store(stealable, Ordering::Relaxed);
    }

    /// Times the thread got a CPU.
    pub fn switches(&self) -> u64 {
        self.switches.load(Ordering::Relaxed)
    }

    /// Everything at once.
    pub fn info(&self) -> Info {
        let set = self.affinity();
        let bound = set.filter(|set| set.len() == 1).and_then(|set| set.iter().next());
        let state = match () {
            () if self.context.is_on_cpu() => State::Running,
            () if self.is_parked() => State::Waiting,
            () => State::Ready,
        };
        Info {
            state,
            policy: self.policy(),
            priority: self.priority(),
            cpu: self.cpu(),
            bound,
            stealable: self.stealable(),
            run_ns: self.run_time_ns(),
            switches: self.switches(),
        }
    }

    /// Says what the thread is about to wait for, for reports: a noun and an address or number.
    pub fn note_wait(&self, what: Option<(&'static str, u64)>) {
        *self.waits_for.lock() = what;
    }

    /// What [`Thread::note_wait`] said last.
    pub fn waits_for(&self) -> Option<(&'static str, u64)> {
        *self.waits_for.lock()
    }

    /// Whether the thread is parked.
    pub fn is_parked(&self) -> bool {
        self.token.is_parked()
    }
}

/// Threads in a chunk of the table; chunks are made as needed.
const CHUNK: usize = 256;
/// Most threads at a time.
const MAX_THREADS: usize = CHUNK * 1024;

pub(crate) struct Table {
    chunks: [Once<Box<[Thread]>>; MAX_THREADS / CHUNK],
    made: SpinLock<usize>,
    /// Control blocks whose threads have exited.
    free: SpinLock<Vec<u32>>,
    live: AtomicUsize,
}

pub(crate) static TABLE: Table = Table {
    chunks: [const { Once::new() }; MAX_THREADS / CHUNK],
    made: SpinLock::new(0),
    free: SpinLock::new(Vec::new()),
    live: AtomicUsize::new(0),
};

impl Table {
    pub(crate) fn get(&'static self, index: u32) -> &'static Thread {
        let index = index as usize;
        match self.chunks[index / CHUNK].get() {
            Some(chunk) => &chunk[index % CHUNK],
            None => panic!("no thread {index}"),
        }
    }

    /// Makes another chunk and adds its indices to `free`, the lowest last.
    fn grow(&'static self, free: &mut Vec<u32>) {
        let mut made = self.made.lock();
        if *made == MAX_THREADS / CHUNK {
            return;
        }
        let first = (*made * CHUNK) as u32;
        let indices = first..first + CHUNK as u32;
        self.chunks[*made].call_once(|| indices.clone().map(Thread::new).collect());
        free.extend(indices.rev());
        *made += 1;
    }

    fn take_free(&'static self) -> Option<&'static Thread> {
        let cache = crate::cpus::this();
        let mut cached = cache.free_threads.lock();
        if cached.is_empty() {
            let mut shared = self.free.lock();
            if shared.is_empty() {
                self.grow(&mut shared);
            }
            let keep = shared.len().saturating_sub(crate::cpus::FREE_BATCH);
            cached.extend(shared.drain(keep..));
        }
        cached.pop().map(|index| self.get(index))
    }

    pub(crate) fn give_back(&'static self, thread: &'static Thread) {
        thread.token.set_free();
        self.live.fetch_sub(1, Ordering::Relaxed);
        let cache = crate::cpus::this();
        let mut cached = cache.free_threads.lock();
        cached.push(thread.index);
        if cached.len() > 2 * crate::cpus::FREE_BATCH {
            let keep = cached.len() - crate::cpus::FREE_BATCH;
            self.free.lock().extend(cached.drain(keep..));
        }
    }
}

impl Links for &'static Table {
    fn link(&self, index: u32) -> &Link {
        &self.get(index).link
    }
}

/// Why a thread could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// The table is full.
    TooManyThreads,
    /// No memory for a kernel stack.
    NoMemory,
}

/// Makes a thread that will run `entry(arg)` on a kernel stack of its own once [`Thread::start`] is called.
pub fn create(
    entry: fn(usize) -> !,
    arg: usize,
    affinity: Option<Arc<CpuSet>>,
) -> Result<&'static Thread, SpawnError> {
    let thread = TABLE.take_free().ok_or(SpawnError::TooManyThreads)?;
    TABLE.live.fetch_add(1, Ordering::Relaxed);
    if !thread.context.prepare(entry, arg) {
        TABLE.give_back(thread);
        return Err(SpawnError::NoMemory);
    }
    thread.context.clear_program();
    thread.interrupted.store(false, Ordering::Relaxed);
    thread.run_ns.store(0, Ordering::Relaxed);
    thread.switches.store(0, Ordering::Relaxed);
    thread.priority.store(PRIORITY_DEFAULT, Ordering::Relaxed);
    thread.policy.store(Policy::RoundRobin as u8, Ordering::Relaxed);
    thread.stealable.store(true, Ordering::Relaxed);
    thread.cpu.store(hadal_hal::cpu::current_id(), Ordering::Relaxed);
    thread.note_wait(None);
    thread.store_affinity(affinity);
    trace::point(Kind::ThreadCreate, u64::from(thread.id()), entry as usize as u64);
    thread.token.set_new();
    Ok(thread)
}

/// The control block of the idle thread of the calling CPU: what it runs already.
pub(crate) fn adopt_idle() -> &'static Thread {
    let thread = TABLE.take_free().expect("a control block for the idle thread");
    thread.token.set_running();
    thread.cpu.store(hadal_hal::cpu::current_id(), Ordering::Relaxed);
    thread
}

/// The thread that is running on this CPU.
#[inline(always)]
pub fn current() -> &'static Thread {
    TABLE.get(percpu::thread_index())
}

/// The thread with an index, alive or not.
///
/// # Panics
/// If no thread ever had the index.
pub fn thread(index: u32) -> &'static Thread {
    TABLE.get(index)
}

/// All control blocks that were ever made, alive or not.
pub fn threads() -> impl Iterator<Item = &'static Thread> {
    let made = *TABLE.made.lock();
    (0..(made * CHUNK) as u32).map(|index| TABLE.get(index))
}

/// Number of threads that were created and have not exited; idle threads are not counted.
pub fn live_threads() -> usize {
    TABLE.live.load(Ordering::Relaxed)
}
