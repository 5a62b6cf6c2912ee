// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The life of a thread as run-times see it, in one word that is changed as a whole: state, who joins it, and the generation
//! that tells this use of a record from earlier ones.
//!
//! ```text
//!            take            start            finish          claim       let_go_after
//!   IDLE ----------> RESERVED ------> RUNNING -------> DONE --------> TAKEN ---------> IDLE
//!   (in a pool)                         |   detached: --------------------------------> IDLE
//!   FREE <------------ the thread itself ends: released, and not a slot any more
//! ```
//!
//! Whoever takes the result has the record until it lets go. A thread that is about to end waits for that, so the one who
//! takes must not look at the record afterwards: it may be that of another thread by then.
//!
//! A name is the record's index plus one and the generation above, so it is never 0 and never negative as a signed number.

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering};

use crate::status::Status;

/// Where a thread is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum State {
    /// No thread, or one that has never been named.
    Free = 0,
    /// A slot without work.
    Idle = 1,
    /// A slot that somebody has taken, without a function yet.
    Reserved = 2,
    /// It has a function and may run.
    Running = 3,
    /// Its function has ended and its result waits to be taken.
    Done = 4,
    /// Somebody is taking the result, and its name is gone.
    Taken = 5,
}

const STATE: u64 = 7;
/// Nobody takes the result.
const DETACHED: u64 = 1 << 3;
/// Bits of the joiner's index plus one.
const JOINER_SHIFT: u32 = 4;
const JOINER: u64 = 0xff_ffff << JOINER_SHIFT;
const GENERATION_SHIFT: u32 = 32;
const GENERATION: u64 = u64::MAX << GENERATION_SHIFT;
/// Generations have 31 bits.
const NAMES: u64 = u64::MAX >> 1;

/// One reading of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    pub(crate) fn state(self) -> State {
        match self.0 & STATE {
            1 => State::Idle,
            2 => State::Reserved,
            3 => State::Running,
            4 => State::Done,
            5 => State::Taken,
            _ => State::Free,
        }
    }

    pub(crate) fn is_detached(self) -> bool {
        self.0 & DETACHED != 0
    }

    /// Index of the thread that waits for the end.
    pub(crate) fn joiner(self) -> Option<u32> {
        (((self.0 & JOINER) >> JOINER_SHIFT) as u32).checked_sub(1)
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT) as u32
    }

    /// Whether somebody can mean this use of the record.
    pub(crate) fn is_named(self) -> bool {
        matches!(self.state(), State::Reserved | State::Running | State::Done)
    }

    fn with(self, state: State) -> Self {
        Self(self.0 & !STATE | state as u64)
    }

    fn with_joiner(self, joiner: Option<u32>) -> Self {
        let joiner = joiner.map_or(0, |index| u64::from(index) + 1);
        Self(self.0 & !JOINER | joiner << JOINER_SHIFT)
    }
}

/// A thread's name for programs (`hrt_thread_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Name {
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.generation) << GENERATION_SHIFT | (u64::from(self.index) + 1)
    }

    /// The name that a word means, if it is one at all; else one that no record has.
    #[inline(always)]
    pub(crate) fn of_any(word: u64) -> Self {
        Self { index: (word as u32).wrapping_sub(1), generation: (word >> GENERATION_SHIFT) as u32 }
    }

    pub(crate) fn from_word(word: u64) -> Option<Self> {
        (word as u32 != 0).then(|| Self::of_any(word))
    }
}

/// What [`Life::finish`] leaves to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finished {
    /// The name is gone: the slot can be used again.
    Released,
    /// The result waits for a joiner that will come.
    Kept,
    /// The same, and this thread waits for it already.
    KeptFor(u32),
}

/// What [`Life::claim`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The caller has the result, and the record until [`Life::let_go_after`].
    Taken,
    /// The thread has not ended; the caller is its joiner.
    Waiting,
}

/// The word, and the name of this use of the record.
#[derive(Debug)]
pub(crate) struct Life(AtomicU64, AtomicU64);

impl Life {
    /// That of the record with an index.
    pub(crate) fn new(index: u32) -> Self {
        Self(AtomicU64::new(0), AtomicU64::new(Name { index, generation: 0 }.to_word()))
    }

    /// The record's name as of now, for programs.
    #[inline(always)]
    pub(crate) fn word(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    pub(crate) fn now(&self) -> Word {
        Word(self.0.load(Ordering::Acquire))
    }

    fn change(&self, from: Word, to: Word) -> Result<(), Word> {
        let changed = self.0.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire);
        changed.map(drop).map_err(Word)
    }

    /// The name that [`Life::name`] will give the record.
    #[inline(always)]
    pub(crate) fn next_word(&self) -> u64 {
        self.word().wrapping_add(1 << GENERATION_SHIFT) & NAMES
    }

    /// Gives a record a new name. The caller is the only one who may: it has popped the slot, or is the thread.
    #[inline(always)]
    pub(crate) fn name(&self, state: State, detached: bool) -> u64 {
        let word = self.next_word();
        let detached = if detached { DETACHED } else { 0 };
        self.1.store(word, Ordering::Relaxed);
        self.0.store(word & GENERATION | detached | state as u64, Ordering::Release);
        word
    }

    /// Whether the thread is reserved.
    #[inline(always)]
    pub(crate) fn check_reserved(&self, generation: u32) -> Result<(), Status> {
        let now = self.of(generation)?;
        if now.state() == State::Reserved { Ok(()) } else { Err(Status::Invalid) }
    }

    /// A reserved thread gets its function; `false` if it is not reserved (any more).
    #[inline(always)]
    pub(crate) fn start(&self, generation: u32) -> bool {
        let now = self.now();
        now.generation() == generation
            && now.state() == State::Reserved
            && self.change(now, now.with(State::Running)).is_ok()
    }

    /// The thread itself becomes a slot, or stops being one.
    pub(crate) fn settle(&self, state: State) {
        let generation = u64::from(self.now().generation());
        self.0.store(generation << GENERATION_SHIFT | state as u64, Ordering::Release);
    }

    /// The thread's function has ended. For the thread itself; without a function there is no end to announce.
    #[inline(always)]
    pub(crate) fn finish(&self) -> Finished {
        const STEP: u64 = State::Done as u64 - State::Running as u64;
        if self.now().state() != State::Running {
            return Finished::Kept;
        }
        // Nobody else ends this state.
        let before = Word(self.0.fetch_add(STEP, Ordering::AcqRel));
        if before.is_detached() {
            // Nobody else changes what is detached.
            self.0.store(before.with(State::Idle).0 & !DETACHED, Ordering::Release);
            return Finished::Released;
        }
        before.joiner().map_or(Finished::Kept, Finished::KeptFor)
    }

    /// The reading of a word that must be of one generation and named.
    fn of(&self, generation: u32) -> Result<Word, Status> {
        let now = self.now();
        let same = now.generation() == generation && now.is_named();
        if same { Ok(now) } else { Err(Status::NoSuchThing) }
    }

    /// `joiner` wants the result: it gets it, or is the one who waits for it.
    #[inline(always)]
    pub(crate) fn claim(&self, generation: u32, joiner: u32) -> Result<Claimed, Status> {
        // Mostly it runs, and nobody else joins it.
        let running = Word(u64::from(generation) << GENERATION_SHIFT | State::Running as u64);
        if self.change(running, running.with_joiner(Some(joiner))).is_ok() {
            return Ok(Claimed::Waiting);
        }
        self.claim_otherwise(generation, joiner)
    }

    fn claim_otherwise(&self, generation: u32, joiner: u32) -> Result<Claimed, Status> {
        loop {
            let now = self.of(generation)?;
            if now.is_detached() {
                return Err(Status::Invalid);
            }
            if now.joiner().is_some_and(|other| other != joiner) {
                return Err(Status::Busy);
            }
            let (new, claimed) = if now.state() == State::Done {
                (now.with(State::Taken).with_joiner(None), Claimed::Taken)
            } else {
                (now.with_joiner(Some(joiner)), Claimed::Waiting)
            };
            if new == now || self.change(now, new).is_ok() {
                return Ok(claimed);
            }
        }
    }

    /// For whoever has taken the result: [`Claimed::Taken`], or it has seen [`State::Done`] as the joiner, and nobody else
    /// changes the word then. Looks at the record and lets it go.
    #[inline(always)]
    pub(crate) fn let_go_after<R>(&self, look: impl FnOnce() -> R) -> R {
        let seen = look();
        self.0.store(self.word() & GENERATION | State::Idle as u64, Ordering::Release);
        seen
    }

    /// Whether the calling thread, which has ended, still has to stay: its result waits for somebody, or is being taken. If
    /// nobody waits for it and `gives_up`, nobody gets it any more.
    pub(crate) fn must_stay(&self, gives_up: impl FnOnce() -> bool) -> bool {
        let now = self.now();
        match now.state() {
            State::Taken => true,
            State::Done if now.joiner().is_some() => true,
            State::Done => !gives_up() || self.change(now, now.with(State::Idle)).is_err(),
            _ => false,
        }
    }

    /// The joiner waits no longer; [`Claimed::Taken`] if the thread has ended after all.
    pub(crate) fn give_up(&self, generation: u32) -> Result<Claimed, Status> {
        loop {
            let now = self.of(generation)?;
            let (new, claimed) = if now.state() == State::Done {
                (now.with(State::Taken).with_joiner(None), Claimed::Taken)
            } else {
                (now.with_joiner(None), Claimed::Waiting)
            };
            if self.change(now, new).is_ok() {
                return Ok(claimed);
            }
        }
    }

    /// Nobody will join the thread; [`Claimed::Taken`] if it has ended, and the caller has the slot.
    pub(crate) fn detach(&self, generation: u32) -> Result<Claimed, Status> {
        loop {
            let now = self.of(generation)?;
            if now.is_detached() {
                return Err(Status::Invalid);
            }
            if now.joiner().is_some() {
                return Err(Status::Busy);
            }
            let (new, claimed) = if now.state() == State::Done {
                (now.with(State::Taken), Claimed::Taken)
            } else {
                (Word(now.0 | DETACHED), Claimed::Waiting)
            };
            if self.change(now, new).is_ok() {
                return Ok(claimed);
            }
        }
    }
}

#[cfg(test)]
fn generation_of(word: u64) -> u32 {
    (word >> GENERATION_SHIFT) as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn running() -> (Life, u32) {
        let life = Life::new(0);
        let generation = generation_of(life.name(State::Running, false));
        (life, generation)
    }

    #[test]
    fn names_are_positive_and_not_zero() {
        for name in [Name { index: 0, generation: 0 }, Name { index: 0xff_fffe, generation: 0x7fff_ffff }] {
            assert!(name.to_word() as i64 > 0);
            assert_eq!(Name::from_word(name.to_word()), Some(name));
        }
        assert_eq!(Name::from_word(0), None);
        assert_eq!(Name::from_word(5 << 32), None);
    }

    #[test]
    fn one_joiner_takes_the_result_once() {
        let (life, generation) = running();
        assert_eq!(life.claim(generation, 7), Ok(Claimed::Waiting));
        assert_eq!(life.claim(generation, 8), Err(Status::Busy));
        assert_eq!(life.detach(generation), Err(Status::Busy));
        assert_eq!(life.finish(), Finished::KeptFor(7));
        assert_eq!(life.claim(generation, 7), Ok(Claimed::Taken));
        assert_eq!(life.claim(generation, 7), Err(Status::NoSuchThing));
        assert!(life.must_stay(|| true), "somebody looks at the record");
        life.let_go_after(|| ());
        assert!(!life.must_stay(|| true));
        assert_eq!(life.now().state(), State::Idle);
        assert_eq!(life.claim(generation, 7), Err(Status::NoSuchThing));
        let next = generation_of(life.name(State::Reserved, false));
        assert_eq!(life.claim(generation, 7), Err(Status::NoSuchThing));
        assert!(!life.start(generation) && life.start(next) && !life.start(next));
    }

    #[test]
    fn a_joiner_that_gives_up_leaves_the_thread_to_others() {
        let (life, generation) = running();
        assert_eq!(life.claim(generation, 7), Ok(Claimed::Waiting));
        assert_eq!(life.give_up(generation), Ok(Claimed::Waiting));
        assert_eq!(life.finish(), Finished::Kept);
        assert_eq!(life.claim(generation, 8), Ok(Claimed::Taken));
    }

    #[test]
    fn a_thread_that_ends_waits_for_its_joiner_but_not_for_nobody() {
        let (life, generation) = running();
        assert_eq!(life.finish(), Finished::Kept);
        assert!(life.must_stay(|| false));
        assert_eq!(life.claim(generation, 7), Ok(Claimed::Taken));
        assert!(life.must_stay(|| true));
        let (life, _) = running();
        assert_eq!(life.finish(), Finished::Kept);
        assert!(!life.must_stay(|| true));
        let (life, generation) = running();
        assert_eq!(life.claim(generation, 7), Ok(Claimed::Waiting));
        assert_eq!(life.finish(), Finished::KeptFor(7));
        assert!(life.must_stay(|| true), "the joiner will come");
    }

    #[test]
    fn a_detached_thread_releases_itself() {
        let (life, generation) = running();
        assert_eq!(life.detach(generation), Ok(Claimed::Waiting));
        assert_eq!(life.detach(generation), Err(Status::Invalid));
        assert_eq!(life.claim(generation, 7), Err(Status::Invalid));
        assert_eq!(life.finish(), Finished::Released);
        assert_eq!(life.detach(generation), Err(Status::NoSuchThing));
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p hadal-hrt --release --lib model`.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;

    /// A thread ends while one joins it, gives up, and another detaches it: exactly one of the three gets the slot.
    #[test]
    fn model_an_end_is_released_once() {
        loom::model(|| {
            let life = Arc::new(Life::new(0));
            let generation = generation_of(life.name(State::Running, false));
            let released = Arc::new(AtomicU32::new(0));
            let count = |released: &AtomicU32, claimed| {
                if claimed == Ok(Claimed::Taken) {
                    released.fetch_add(1, Ordering::Relaxed);
                }
            };
            let joiner = {
                let (life, released) = (life.clone(), released.clone());
                loom::thread::spawn(move || match life.claim(generation, 1) {
                    Ok(Claimed::Waiting) => count(&released, life.give_up(generation)),
                    other => count(&released, other),
                })
            };
            let detacher = {
                let (life, released) = (life.clone(), released.clone());
                loom::thread::spawn(move || count(&released, life.detach(generation)))
            };
            if life.finish() == Finished::Released {
                released.fetch_add(1, Ordering::Relaxed);
            }
            joiner.join().unwrap();
            detacher.join().unwrap();
            let left = life.now().state() == State::Done;
            assert_eq!(released.load(Ordering::Relaxed) + u32::from(left), 1);
        });
    }

    /// A thread ends for good while another joins it, and perhaps gives up: whoever takes the result has the record to
    /// itself until it lets go, and afterwards the thread goes. (The record is the cell: loom tells of two who use it at a
    /// time.)
    #[test]
    fn model_a_record_is_left_by_one_at_a_time() {
        loom::model(|| {
            let life = Arc::new(Life::new(0));
            let generation = generation_of(life.name(State::Running, false));
            let record = Arc::new(loom::cell::UnsafeCell::new(()));
            let joiner = {
                let (life, record) = (life.clone(), record.clone());
                loom::thread::spawn(move || {
                    let claimed = match life.claim(generation, 1) {
                        Ok(Claimed::Waiting) => life.give_up(generation),
                        other => other,
                    };
                    if claimed == Ok(Claimed::Taken) {
                        life.let_go_after(|| record.with_mut(drop));
                    }
                })
            };
            let _ = life.finish();
            let mut looks = 0;
            while life.must_stay(|| looks > 0) {
                looks += 1;
                loom::thread::yield_now();
            }
            record.with_mut(drop);
            joiner.join().unwrap();
        });
    }
}
