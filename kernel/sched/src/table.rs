// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of all threads: chunks that are never freed, and lists of unused control blocks.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use arrayvec::ArrayVec;
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::cpu::tsc;
use hadal_hal::memory::fallible;
use hadal_hal::sync::atomic::{AtomicUsize, Ordering};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::trace::{self, Kind};
use spin::Once;

use crate::cpus::{self, Cpu};
use crate::thread::Thread;

/// Threads in a chunk of the table; chunks are made as needed, with interrupts off, so they are small.
const CHUNK: usize = 64;
/// Most threads at a time.
const MAX_THREADS: usize = CHUNK * 4096;
/// Control blocks that move between a CPU's cache and the shared list at a time.
pub(crate) const FREE_BATCH: usize = 16;
/// Control blocks that rest: as many children as a POSIX shell remembers at least (`CHILD_MAX` of Linux's shells).
const MAX_RESTING: usize = 4096;

type Chunk = [Thread; CHUNK];

pub(crate) struct Table {
    chunks: [Once<Box<Chunk>>; MAX_THREADS / CHUNK],
    made: SpinLock<usize>,
    free: SpinLock<Free>,
    live: AtomicUsize,
}

/// Control blocks that no thread has. The first two lists have room for all there are.
struct Free {
    /// Whose threads have exited: their stacks are kept for the next ones.
    used: Vec<u32>,
    /// What has no stack, as far as is known.
    bare: Vec<u32>,
    /// What was released, without a stack, the oldest first: at most [`MAX_RESTING`]. Somebody may still use the number for a thread that is over.
    resting: VecDeque<u32>,
}

impl Free {
    /// The one that has rested longest can be a thread again; returns whether there was one.
    fn end_rest(&mut self) -> bool {
        let oldest = self.resting.pop_front();
        self.bare.extend(oldest);
        oldest.is_some()
    }
}

pub(crate) static TABLE: Table = Table {
    chunks: [const { Once::new() }; MAX_THREADS / CHUNK],
    made: SpinLock::ranked(Rank::ThreadTable, 0),
    free: SpinLock::ranked(
        Rank::FreeThreads,
        Free { used: Vec::new(), bare: Vec::new(), resting: VecDeque::new() },
    ),
    live: AtomicUsize::new(0),
};

impl Table {
    /// The thread with an index, if there was one.
    fn find(&'static self, index: u32) -> Option<&'static Thread> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get().map(|chunk| &chunk[index % CHUNK])
    }

    #[inline]
    pub(crate) fn get(&'static self, index: u32) -> &'static Thread {
        let index = index as usize;
        let chunk = self.chunks[index / CHUNK].get().expect("somebody had the index");
        &chunk[index % CHUNK]
    }

    /// Makes another chunk and adds its indices to the shared list, the lowest last; `None` when it cannot. Memory is asked for
    /// and filled without a lock.
    fn grow(&'static self) -> Option<()> {
        let made = *self.made.lock();
        if made == MAX_THREADS / CHUNK {
            return None;
        }
        let first = (made * CHUNK) as u32;
        let indices = first..first + CHUNK as u32;
        if !self.chunks[made].is_completed() {
            let threads = fallible::collected(indices.clone().map(Thread::new)).ok()?;
            let chunk = Box::<Chunk>::try_from(threads.into_boxed_slice()).ok()?;
            // Unless another CPU was faster.
            self.chunks[made].call_once(|| chunk);
        }
        // What others keep for a thread may refer to it.
        if !COMPANIONS.iter().filter_map(Once::get).all(|prepare| indices.clone().all(prepare)) {
            return None;
        }
        // Room for all indices there are, so that giving one back needs no memory.
        let room = || fallible::room_for((made + 1) * CHUNK).ok();
        let (mut used, mut bare) = (room()?, room()?);
        let mut free = self.free.lock();
        let mut now = self.made.lock();
        if *now == made {
            *now += 1;
            used.append(&mut free.used);
            bare.extend(indices.rev());
            bare.append(&mut free.bare);
            core::mem::swap(&mut free.used, &mut used);
            core::mem::swap(&mut free.bare, &mut bare);
        }
        // What was there before is freed when the locks are open.
        drop(now);
        drop(free);
        Some(())
    }

    fn take_free(&'static self, cache: &Cpu) -> Option<&'static Thread> {
        loop {
            {
                let mut cached = cache.free_threads.lock();
                if cached.is_empty() {
                    let mut shared = self.free.lock();
                    let list = if shared.used.is_empty() { &mut shared.bare } else { &mut shared.used };
                    let keep = list.len().saturating_sub(FREE_BATCH);
                    cached.extend(list.drain(keep..));
                }
                if let Some(index) = cached.pop() {
                    return Some(self.get(index));
                }
            }
            if self.grow().is_none() && !self.free.lock().end_rest() {
                return None;
            }
        }
    }

    pub(crate) fn give_back(&'static self, thread: &'static Thread) {
        thread.token.set_free();
        self.live.fetch_sub(1, Ordering::Relaxed);
        let cache = cpus::this();
        let mut cached = cache.free_threads.lock();
        cached.push(thread.id());
        if cached.len() > 2 * FREE_BATCH {
            let keep = cached.len() - FREE_BATCH;
            self.free.lock().used.extend(cached.drain(keep..));
        }
    }

    /// The same for one whose number other programs may have: it is not another thread's soon.
    pub(crate) fn give_back_late(&'static self, thread: &'static Thread) {
        // Waits until the CPU that it ended on has left the stack.
        thread.context.give_memory_back();
        thread.token.set_free();
        self.live.fetch_sub(1, Ordering::Relaxed);
        let mut free = self.free.lock();
        free.resting.push_back(thread.id());
        if free.resting.len() > MAX_RESTING {
            free.end_rest();
        }
    }

    /// Frees the stacks of all control blocks that no thread has.
    fn give_stacks_back(&'static self) {
        for cpu in cpus::iter() {
            let mut cached = cpu.free_threads.lock();
            self.free.lock().used.extend(cached.drain(..));
        }
        let most = self.free.lock().used.len();
        for _ in 0..most.div_ceil(FREE_BATCH) {
            let batch: ArrayVec<u32, FREE_BATCH> = {
                let mut free = self.free.lock();
                let keep = free.used.len().saturating_sub(FREE_BATCH);
                free.used.drain(keep..).collect()
            };
            batch.iter().for_each(|&index| self.get(index).context.give_memory_back());
            self.free.lock().bare.extend(batch);
        }
    }
}

/// At start-up: makes room for those that rest, and has stacks that no thread uses given back when memory is short.
pub(crate) fn init() {
    let room = VecDeque::with_capacity(MAX_RESTING + 1);
    TABLE.free.lock().resting = room;
    fallible::on_shortage(|| TABLE.give_stacks_back());
}

/// Makes what belongs to the threads around an index; false means that memory is out.
type Prepare = fn(u32) -> bool;

/// Crates that keep something for each thread, beside this one.
const MAX_COMPANIONS: usize = 8;
static COMPANIONS: [Once<Prepare>; MAX_COMPANIONS] = [const { Once::new() }; MAX_COMPANIONS];

/// Has `prepare` make what belongs to the threads around an index before they are made; false means that memory is out. At
/// start-up.
///
/// # Panics
/// If there are more than eight of them.
pub fn on_new_threads(prepare: fn(u32) -> bool) {
    let place = COMPANIONS.iter().find(|place| !place.is_completed()).expect("few crates have such tables");
    place.call_once(|| prepare);
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
    let thread = TABLE.take_free(cpus::this()).ok_or(SpawnError::TooManyThreads)?;
    TABLE.live.fetch_add(1, Ordering::Relaxed);
    if !thread.context.prepare(entry, arg) {
        TABLE.give_back(thread);
        return Err(SpawnError::NoMemory);
    }
    thread.context.clear_program();
    thread.reset(affinity);
    thread.entry.store(entry as usize, Ordering::Relaxed);
    trace::point(Kind::ThreadCreate, u64::from(thread.id()), entry as usize as u64);
    thread.token.set_new();
    Ok(thread)
}

/// The thread with an index, alive or not, if there was one.
pub fn find_thread(index: u32) -> Option<&'static Thread> {
    TABLE.find(index)
}

/// Lets go of a thread that was made and is not started.
pub fn discard(thread: &'static Thread) {
    TABLE.give_back(thread);
}

/// The control block of the idle thread of the calling CPU: what it runs already.
pub(crate) fn adopt_idle(cpu: &Cpu) -> &'static Thread {
    let thread = TABLE.take_free(cpu).expect("a control block for the idle thread");
    thread.reset(None);
    thread.token.set_running();
    thread.note_begin(tsc::read());
    thread
}

/// The thread with an index, alive or not.
///
/// # Panics
/// If no thread ever had the index.
#[inline]
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
