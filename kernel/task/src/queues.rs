// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All queues together, and which task goes where.

use alloc::boxed::Box;

use hadal_hal::percpu::CpuLocal;

use crate::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::deque::Deque;
use crate::idle::Idle;
use crate::inbox::Inbox;

/// Tasks in a CPU's deque, and in its stack of small ones.
const OWN: usize = 1024;
/// Tasks that others have sent to a CPU.
const SENT: usize = 256;
/// A task that is expected to take less time than this is not worth a move: what a steal costs, with the cache misses of
/// its first instructions.
const WORTH_A_MOVE_NS: u32 = 2_000;

/// There is no room for the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Tasks too small to be moved, for their CPU alone: a stack, with the height of the deque at each push, which tells who of
/// the two tops is newer.
struct Small {
    len: AtomicUsize,
    words: Box<[(AtomicUsize, AtomicUsize)]>,
}

impl Small {
    fn new() -> Self {
        let word = |_| (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { len: AtomicUsize::new(0), words: (0..OWN).map(word).collect() }
    }

    fn push(&self, task: usize, height: usize) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        let Some((word, at)) = self.words.get(len) else { return false };
        word.store(task, Ordering::Relaxed);
        at.store(height, Ordering::Relaxed);
        self.len.store(len + 1, Ordering::Relaxed);
        true
    }

    /// Takes the newest, if it is newer than what a deque of that height has.
    fn pop(&self, height: usize) -> Option<usize> {
        let last = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        let (word, at) = &self.words[last];
        if height.wrapping_sub(at.load(Ordering::Relaxed)).cast_signed() > 0 {
            return None;
        }
        self.len.store(last, Ordering::Relaxed);
        Some(word.load(Ordering::Relaxed))
    }
}

struct Cpu {
    deque: Deque,
    small: Small,
    inbox: Inbox,
    turn: AtomicUsize,
    pushed: AtomicU64,
    popped: AtomicU64,
    stolen: AtomicU64,
}

/// Sums over all CPUs since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tasks queued.
    pub pushed: u64,
    /// Tasks taken by the CPU that had them.
    pub popped: u64,
    /// Tasks taken by another CPU.
    pub stolen: u64,
}

/// The queues of all CPUs.
pub struct Queues {
    cpus: CpuLocal<Cpu>,
    count: usize,
    /// Whose worker sleeps.
    pub idle: Idle,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Queues {
    /// Empty queues for `count` CPUs.
    pub fn new(count: usize) -> Self {
        let cpu = |_| Cpu {
            deque: Deque::new(OWN),
            small: Small::new(),
            inbox: Inbox::new(SENT),
            turn: AtomicUsize::new(0),
            pushed: AtomicU64::new(0),
            popped: AtomicU64::new(0),
            stolen: AtomicU64::new(0),
        };
        Self { cpus: CpuLocal::new(count, cpu), count, idle: Idle::new(count) }
    }

    /// Queues a task on CPU `to` and returns the CPU whose worker must be woken for it. `own` is the calling CPU; `size_ns`
    /// the expected time, or 0. The caller is kernel code in thread context, on one CPU throughout.
    #[inline]
    pub fn push(&self, own: usize, to: usize, task: usize, size_ns: u32) -> Result<Option<usize>, Full> {
        let cpu = self.cpus.of(own);
        let stays = size_ns != 0 && size_ns < WORTH_A_MOVE_NS;
        let queued = match () {
            () if to != own => self.cpus.of(to).inbox.push(task),
            () if stays => cpu.small.push(task, cpu.deque.height()),
            () => cpu.deque.push(task),
        };
        if !queued {
            return Err(Full);
        }
        add(&cpu.pushed);
        self.idle.queued();
        // The worker of the addressed CPU is the best one for a task of another; a task of one's own is for a CPU that
        // would do nothing else, and for the own worker only if there is none.
        if to != own && self.idle.claim(to) {
            return Ok(Some(to));
        }
        if !stays && let Some(other) = self.idle.claim_any(own, cpu.turn.load(Ordering::Relaxed)) {
            cpu.turn.fetch_add(1, Ordering::Relaxed);
            return Ok(Some(other));
        }
        Ok(self.idle.claim(own).then_some(own))
    }

    /// Takes the newest task of the calling CPU, else one that was sent to it, else the oldest of another.
    #[inline]
    pub fn pop(&self, own: usize) -> Option<usize> {
        let cpu = self.cpus.of(own);
        let mine = cpu.small.pop(cpu.deque.height());
        // The deque may be higher than the newest small task without holding anything: thieves have emptied it.
        let mine = mine.or_else(|| cpu.deque.pop()).or_else(|| cpu.small.pop(0)).or_else(|| cpu.inbox.take());
        if mine.is_some() {
            add(&cpu.popped);
            return mine;
        }
        let stolen = self.steal(own, cpu);
        if stolen.is_some() {
            add(&cpu.stolen);
        }
        stolen
    }

    fn steal(&self, own: usize, cpu: &Cpu) -> Option<usize> {
        if self.count == 1 {
            return None;
        }
        let first = cpu.turn.fetch_add(1, Ordering::Relaxed);
        (0..self.count - 1).find_map(|step| {
            let victim = self.cpus.of((own + 1 + (first + step) % (self.count - 1)) % self.count);
            victim.deque.steal().or_else(|| victim.inbox.take())
        })
    }

    /// Whether [`Queues::pop`] on this CPU would find something, as of now.
    pub fn has_work(&self, own: usize) -> bool {
        self.cpus.of(own).small.len.load(Ordering::Relaxed) != 0
            || self.cpus.iter().any(|cpu| !cpu.deque.is_empty() || !cpu.inbox.is_empty())
    }

    /// The counters as of now.
    pub fn counters(&self) -> Counters {
        let sum =
            |of: fn(&Cpu) -> &AtomicU64| self.cpus.iter().map(|cpu| of(cpu).load(Ordering::Relaxed)).sum();
        Counters {
            pushed: sum(|cpu| &cpu.pushed),
            popped: sum(|cpu| &cpu.popped),
            stolen: sum(|cpu| &cpu.stolen),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SMALL: u32 = WORTH_A_MOVE_NS - 1;

    #[test]
    fn a_cpu_runs_its_newest_whatever_the_size() {
        let queues = Queues::new(1);
        for (task, size) in [(1, 0), (2, SMALL), (3, SMALL), (4, 0), (5, SMALL)] {
            assert_eq!(queues.push(0, 0, task, size), Ok(None));
        }
        assert_eq!([(); 6].map(|()| queues.pop(0)), [Some(5), Some(4), Some(3), Some(2), Some(1), None]);
    }

    #[test]
    fn small_tasks_stay_and_others_are_stolen_oldest_first() {
        let queues = Queues::new(2);
        for (task, size) in [(1, SMALL), (2, 0), (3, WORTH_A_MOVE_NS)] {
            assert_eq!(queues.push(0, 0, task, size), Ok(None));
        }
        assert_eq!([(); 3].map(|()| queues.pop(1)), [Some(2), Some(3), None]);
        assert!(queues.has_work(0) && !queues.has_work(1));
        assert_eq!([(); 2].map(|()| queues.pop(0)), [Some(1), None]);
        assert_eq!(queues.counters(), Counters { pushed: 3, popped: 1, stolen: 2 });
    }

    #[test]
    fn a_small_task_above_a_plundered_deque_is_found() {
        let queues = Queues::new(2);
        for (task, size) in [(1, SMALL), (2, 0)] {
            assert_eq!(queues.push(0, 0, task, size), Ok(None));
        }
        assert_eq!(queues.pop(1), Some(2));
        assert_eq!(queues.pop(0), Some(1));
    }

    #[test]
    fn the_right_worker_is_woken() {
        let queues = Queues::new(4);
        queues.idle.announce(0);
        assert_eq!(queues.push(0, 0, 1, 0), Ok(Some(0)));
        assert_eq!(queues.push(0, 0, 2, 0), Ok(None));
        [0, 1, 3].iter().for_each(|&cpu| queues.idle.announce(cpu));
        assert_eq!(queues.push(0, 0, 3, SMALL), Ok(Some(0)));
        assert_eq!(queues.push(0, 3, 4, SMALL), Ok(Some(3)));
        assert_eq!(queues.push(0, 2, 5, 0), Ok(Some(1)));
    }

    #[test]
    fn a_full_queue_refuses() {
        let queues = Queues::new(2);
        assert!((0..OWN).all(|task| queues.push(0, 0, task + 1, 0).is_ok()));
        assert_eq!(queues.push(0, 0, 1, 0), Err(Full));
        assert!(queues.push(0, 0, 1, SMALL).is_ok());
        assert!((0..SENT).all(|task| queues.push(0, 1, task + 1, 0).is_ok()));
        assert_eq!(queues.push(0, 1, 1, 0), Err(Full));
    }
}
