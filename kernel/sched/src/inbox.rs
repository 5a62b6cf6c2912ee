// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists of threads that any CPU may push to without a lock, and one CPU empties: its inbox of threads that have become
//! runnable, and its list of queued threads whose parameters have changed.
//!
//! A thread is in at most one inbox, and in at most one review list: whoever makes it runnable, or is first to change it,
//! puts it there. The owner takes everything at once, so there is no ABA problem.

use core::marker::PhantomData;
use core::sync::atomic::Ordering;

use hadal_hal::threads::link::AtomicRef;

use crate::thread::Thread;
#[cfg(not(loom))]
use hadal_hal::sync::atomic::AtomicBool;
#[cfg(loom)]
use loom::sync::atomic::AtomicBool;

/// Which of a thread's links a list uses.
pub(crate) trait Link {
    fn of(thread: &Thread) -> &AtomicRef<Thread>;
}

/// The link of [`crate::cpus::Cpu::inbox`].
pub(crate) enum Woken {}
impl Link for Woken {
    fn of(thread: &Thread) -> &AtomicRef<Thread> {
        &thread.inbox_next
    }
}

/// The link of [`crate::cpus::Cpu::reviews`].
pub(crate) enum Changed {}
impl Link for Changed {
    fn of(thread: &Thread) -> &AtomicRef<Thread> {
        &thread.review_next
    }
}

/// The list.
pub(crate) struct Inbox<L> {
    newest: AtomicRef<Thread>,
    link: PhantomData<fn() -> L>,
}

impl<L: Link> Inbox<L> {
    pub(crate) fn new() -> Self {
        Self { newest: AtomicRef::none(), link: PhantomData }
    }

    pub(crate) fn push(&self, thread: &'static Thread) {
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            L::of(thread).store(newest, Ordering::Relaxed);
            // Sequentially consistent: the owner's "I sleep" and this push must be seen in one order.
            match self.newest.compare_exchange_weak(newest, Some(thread), Ordering::SeqCst, Ordering::Relaxed)
            {
                Ok(()) => return,
                Err(found) => newest = found,
            }
        }
    }

    /// Whether nothing has been pushed, as far as this CPU has seen.
    #[inline(always)]
    pub(crate) fn looks_empty(&self) -> bool {
        self.newest.load(Ordering::Relaxed).is_none()
    }

    /// 0 if nothing has been pushed, as far as this CPU has seen; to be looked at together with other words.
    #[inline(always)]
    pub(crate) fn bits(&self) -> usize {
        self.newest.bits(Ordering::Relaxed)
    }

    /// Whether nothing has been pushed, in the one order of such looks and pushes.
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(Ordering::SeqCst).is_none()
    }

    /// Takes everything, oldest first; for the owner. A thread may be pushed again as soon as the iterator has given it.
    pub(crate) fn take_all(&self) -> impl Iterator<Item = &'static Thread> + use<L> {
        let mut newest = if self.looks_empty() { None } else { self.newest.swap(None, Ordering::SeqCst) };
        let mut oldest = None;
        while let Some(thread) = newest {
            newest = L::of(thread).load(Ordering::Relaxed);
            L::of(thread).store(oldest, Ordering::Relaxed);
            oldest = Some(thread);
        }
        core::iter::from_fn(move || {
            let thread = oldest?;
            oldest = L::of(thread).load(Ordering::Relaxed);
            Some(thread)
        })
    }

    /// The word that changes with a push, for MONITOR.
    pub(crate) fn word(&self) -> *const () {
        core::ptr::from_ref(&self.newest).cast()
    }
}

/// Says that a thread is in a list of reviews. Who raises it first puts the thread there; the reviewer clears it before it
/// looks at the thread, so a change that comes too late for this look asks for another one.
pub(crate) struct Asked(AtomicBool);

impl Asked {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Raises it after a change; returns whether the caller has to put the thread into a list.
    pub(crate) fn raise(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Clears it before the look. A swap, not a store: it reads from the last one that raised it, and so sees its change.
    pub(crate) fn clear(&self) {
        self.0.swap(false, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Inbox, Woken};
    use crate::thread::Thread;
    use std::sync::Arc;
    use std::vec::Vec;

    #[test]
    fn gives_the_oldest_first() {
        let inbox = Inbox::<Woken>::new();
        let threads: Vec<_> = (0..3).map(Thread::leak).collect();
        threads.iter().for_each(|thread| inbox.push(thread));
        assert!(!inbox.is_empty());
        assert!(inbox.take_all().map(Thread::id).eq(0..3));
        assert!(inbox.is_empty() && inbox.take_all().next().is_none());
    }

    #[test]
    fn loses_nothing_under_contention() {
        const PER_THREAD: u32 = 500;
        let inbox = Arc::new(Inbox::<Woken>::new());
        let pushers: Vec<_> = (0..4)
            .map(|pusher| {
                let inbox = inbox.clone();
                std::thread::spawn(move || {
                    for index in pusher * PER_THREAD..(pusher + 1) * PER_THREAD {
                        inbox.push(Thread::leak(index));
                    }
                })
            })
            .collect();
        let mut seen = Vec::new();
        while seen.len() < 4 * PER_THREAD as usize {
            seen.extend(inbox.take_all().map(Thread::id));
        }
        for pusher in pushers {
            pusher.join().unwrap();
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..4 * PER_THREAD));
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-sched --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::{Asked, Changed, Inbox, Woken};
    use crate::thread::Thread;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};
    use std::vec::Vec;

    /// Two pushers and an owner that takes twice: nothing is lost, nothing comes twice.
    #[test]
    fn model_inbox_keeps_everything() {
        loom::model(|| {
            let inbox = Arc::new(Inbox::<Woken>::new());
            let pushers: Vec<_> = [vec![0], vec![1, 2]]
                .into_iter()
                .map(|indices| {
                    let inbox = inbox.clone();
                    let threads: Vec<_> = indices.into_iter().map(Thread::leak).collect();
                    loom::thread::spawn(move || threads.into_iter().for_each(|thread| inbox.push(thread)))
                })
                .collect();
            let mut seen: Vec<u32> = inbox.take_all().map(Thread::id).collect();
            for pusher in pushers {
                pusher.join().unwrap();
            }
            seen.extend(inbox.take_all().map(Thread::id));
            seen.sort_unstable();
            assert_eq!(seen, [0, 1, 2]);
        });
    }

    /// Two threads change two words and ask for a review; the reviewer has seen both when all is quiet.
    #[test]
    fn model_a_change_is_reviewed() {
        loom::model(|| {
            let shared = Arc::new((
                Asked::new(),
                Inbox::<Changed>::new(),
                [AtomicBool::new(false), AtomicBool::new(false)],
            ));
            let thread = Thread::leak(0);
            let changers: Vec<_> = (0..2)
                .map(|which| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.2[which].store(true, Ordering::Relaxed);
                        if shared.0.raise() {
                            shared.1.push(thread);
                        }
                    })
                })
                .collect();
            let mut seen = [false; 2];
            let mut review = || {
                for _ in shared.1.take_all() {
                    shared.0.clear();
                    seen = [0, 1].map(|which| shared.2[which].load(Ordering::Relaxed));
                }
            };
            review();
            for changer in changers {
                changer.join().unwrap();
            }
            review();
            assert_eq!(seen, [true; 2]);
        });
    }

    /// The owner says that it must be interrupted and looks once more; the pusher pushes and looks whether the owner must be: one of
    /// them sees the other. Loom weakens sequentially consistent accesses, so the model puts a fence where the code has them.
    #[test]
    fn model_a_sleeper_is_interrupted() {
        loom::model(|| {
            let shared = Arc::new((Inbox::<Woken>::new(), AtomicBool::new(false)));
            let thread = Thread::leak(0);
            let pusher = {
                let shared = shared.clone();
                loom::thread::spawn(move || {
                    shared.0.push(thread);
                    loom::sync::atomic::fence(Ordering::SeqCst);
                    shared.1.load(Ordering::SeqCst)
                })
            };
            shared.1.store(true, Ordering::SeqCst);
            loom::sync::atomic::fence(Ordering::SeqCst);
            let seen = !shared.0.is_empty();
            let interrupted = pusher.join().unwrap();
            assert!(seen || interrupted);
        });
    }
}
