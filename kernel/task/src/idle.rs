// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which CPUs have a worker that sleeps for want of tasks.
//!
//! A worker sets its bit, then looks at the queues once more, then sleeps; who queues a task looks at the bits afterwards.
//! With a full fence between on both sides, one of the two sees the other.

use alloc::boxed::Box;

use crate::atomic::{AtomicU64, Ordering, fence};

const WORD: usize = u64::BITS as usize;

/// A bit for each CPU.
pub struct Idle {
    words: Box<[AtomicU64]>,
}

impl Idle {
    /// Nobody sleeps on any of `cpus` CPUs.
    pub fn new(cpus: usize) -> Self {
        Self { words: (0..cpus.div_ceil(WORD)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The worker of a CPU is about to sleep; it looks for tasks afterwards.
    pub fn announce(&self, cpu: usize) {
        self.words[cpu / WORD].fetch_or(1 << (cpu % WORD), Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes the bit of a CPU; `true` for the one who got it.
    pub fn claim(&self, cpu: usize) -> bool {
        let (word, bit) = (&self.words[cpu / WORD], 1 << (cpu % WORD));
        word.load(Ordering::Relaxed) & bit != 0 && word.fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// Whether nobody has claimed a CPU since it was announced.
    pub fn is_announced(&self, cpu: usize) -> bool {
        self.words[cpu / WORD].load(Ordering::Relaxed) & 1 << (cpu % WORD) != 0
    }

    /// A task was queued: everybody who announced before this is seen by [`Idle::claim`] and [`Idle::claim_any`].
    #[inline]
    pub fn queued(&self) {
        fence(Ordering::SeqCst);
    }

    /// Takes the bit of a CPU other than `own` in one word: that of `own`, or another one as `turn` counts; in constant time.
    #[inline]
    pub fn claim_any(&self, own: usize, turn: usize) -> Option<usize> {
        let near = own / WORD;
        let found = self.claim_in(near, own);
        if found.is_some() || self.words.len() == 1 {
            return found;
        }
        let far = (near + 1 + turn % (self.words.len() - 1)) % self.words.len();
        self.claim_in(far, own)
    }

    #[inline]
    fn claim_in(&self, word: usize, own: usize) -> Option<usize> {
        let mut bits = self.words[word].load(Ordering::Relaxed);
        if word == own / WORD {
            bits &= !(1 << (own % WORD));
        }
        if bits == 0 {
            return None;
        }
        // The next one behind `own`, so that two that queue choose different ones.
        let turned = bits.rotate_right(own as u32 % u64::BITS).trailing_zeros() as usize;
        let cpu = word * WORD + (own + turned) % WORD;
        self.claim(cpu).then_some(cpu)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Idle;

    #[test]
    fn others_are_claimed_once_each() {
        let idle = Idle::new(130);
        [1, 5, 70].iter().for_each(|&cpu| idle.announce(cpu));
        assert_eq!(idle.claim_any(1, 0), Some(5));
        assert_eq!(idle.claim_any(1, 0), Some(70));
        assert_eq!(idle.claim_any(1, 0), None);
        assert!(idle.claim(1) && !idle.claim(1));
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-task --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::Idle;
    use crate::inbox::Inbox;
    use loom::sync::Arc;

    /// A worker about to sleep and one who queues a task: the worker sees the task, or is claimed.
    #[test]
    fn model_no_task_waits_for_a_sleeper() {
        loom::model(|| {
            let (idle, inbox) = (Arc::new(Idle::new(2)), Arc::new(Inbox::new(2)));
            let worker = {
                let (idle, inbox) = (idle.clone(), inbox.clone());
                loom::thread::spawn(move || {
                    idle.announce(1);
                    !inbox.is_empty()
                })
            };
            assert!(inbox.push(7));
            idle.queued();
            let claimed = idle.claim_any(0, 0) == Some(1);
            assert!(worker.join().unwrap() || claimed);
        });
    }
}
