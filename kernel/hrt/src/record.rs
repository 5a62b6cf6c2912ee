// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records: what the kernel keeps about each thread for run-times.
//!
//! They live in a table of their own with the indices of the scheduler's threads, are made 256 at a time and never freed. So
//! a name that a program kept too long leads to a record, where its generation tells that it is stale.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::sync::SpinLock;
use hadal_hal::threads::companion::Companions;
use hadal_hal::threads::head;
use hadal_hal::threads::link::AtomicRef;
use hadal_hal::threads::table::ThreadTable;
use hadal_hrt_abi::thread::NAME_BYTES;
use hadal_sched::Thread;

use crate::children::Children;
use crate::keys::Values;
use crate::life::{Life, Name, State};
use crate::pool::{Link, Links};
use crate::program::Program;
use crate::slot::Home;
use crate::status::Status;

/// One thread.
#[repr(C, align(512))]
pub(crate) struct Record {
    pub(crate) life: Life,
    thread: &'static Thread,
    index: u32,
    link: Link,
    /// The pool that the slot goes back to; `None` for a thread that is none.
    pub(crate) home: AtomicRef<Home>,
    /// The thread is about to end: whoever takes its result wakes it instead of putting it into a pool.
    pub(crate) leaving: AtomicBool,
    /// What it runs, with which argument, and what came of it.
    pub(crate) function: AtomicUsize,
    pub(crate) argument: AtomicUsize,
    pub(crate) result: AtomicUsize,
    /// Name of the thread that made it, or 0.
    pub(crate) creator: AtomicU64,
    /// That thread, if this one is among its children.
    pub(crate) parent: AtomicRef<Record>,
    /// Attribute flags (`HRT_THREAD_*`).
    pub(crate) flags: AtomicU32,
    /// CPU that it is bound to, or a value of `attr::Place`.
    pub(crate) place: AtomicI32,
    /// Its joinable threads, and its own place among those of its creator.
    pub(crate) children: Children,
    /// Where the slot was needed that its last request did not find, or `ANYWHERE`.
    pub(crate) missed_on: AtomicI32,
    pub(crate) listed: AtomicBool,
    pub(crate) next_sibling: AtomicU32,
    pub(crate) previous_sibling: AtomicU32,
    /// Bounds of the stack.
    pub(crate) stack_bottom: AtomicUsize,
    pub(crate) stack_top: AtomicUsize,
    /// What the thread waits for, for reports: `join::WAITS_FOR_THREAD` or `wait::WAITS_FOR_WORD` and which, or 0.
    pub(crate) waits_for: AtomicU64,
    /// For a bare slot that has not run yet: where it begins.
    pub(crate) entry: AtomicUsize,
    pub(crate) values: Values,
    /// Whether `text` is the name of this use.
    pub(crate) named: AtomicBool,
    text: SpinLock<[u8; NAME_BYTES]>,
    /// Why the last request for a schedule was refused.
    pub(crate) refusal: SpinLock<crate::admission::Text>,
}

impl Record {
    fn new(index: u32) -> Self {
        Self {
            life: Life::new(index),
            thread: hadal_sched::thread(index),
            index,
            link: Link::new(0),
            home: AtomicRef::none(),
            leaving: AtomicBool::new(false),
            function: AtomicUsize::new(0),
            argument: AtomicUsize::new(0),
            result: AtomicUsize::new(0),
            creator: AtomicU64::new(0),
            parent: AtomicRef::none(),
            flags: AtomicU32::new(0),
            place: AtomicI32::new(crate::place::ANYWHERE),
            children: Children::new(),
            missed_on: AtomicI32::new(crate::place::ANYWHERE),
            listed: AtomicBool::new(false),
            next_sibling: AtomicU32::new(0),
            previous_sibling: AtomicU32::new(0),
            stack_bottom: AtomicUsize::new(0),
            stack_top: AtomicUsize::new(0),
            waits_for: AtomicU64::new(0),
            entry: AtomicUsize::new(0),
            values: Values::new(),
            named: AtomicBool::new(false),
            text: SpinLock::new([0; NAME_BYTES]),
            refusal: SpinLock::new(crate::admission::Text::new()),
        }
    }

    /// Index of the record and of its thread.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The scheduler's thread.
    #[inline(always)]
    pub(crate) fn thread(&self) -> &'static Thread {
        self.thread
    }

    /// The name as of now, as programs have it.
    #[inline(always)]
    pub(crate) fn word(&self) -> u64 {
        self.life.word()
    }

    /// The name as of now.
    pub(crate) fn name(&self) -> Name {
        Name { index: self.index, generation: (self.word() >> 32) as u32 }
    }

    /// Sets the text that people see.
    pub(crate) fn set_text<P: Program>(&self, mut text: [u8; NAME_BYTES]) {
        text[NAME_BYTES - 1] = 0;
        *self.text.lock() = text;
        self.named.store(true, Ordering::Relaxed);
        P::rename(self.thread, &text);
    }

    /// Forgets the text of an earlier use.
    pub(crate) fn clear_text<P: Program>(&self) {
        if self.named.load(Ordering::Relaxed) {
            self.set_text::<P>([0; NAME_BYTES]);
            self.named.store(false, Ordering::Relaxed);
        }
    }

    /// The text, NUL-padded.
    pub(crate) fn text(&self) -> [u8; NAME_BYTES] {
        *self.text.lock()
    }
}

static TABLE: ThreadTable<Record> = ThreadTable::new();

/// Makes the records of the threads around an index; false when memory is out.
pub(crate) fn prepare(index: u32) -> bool {
    TABLE.prepare(index, Record::new)
}

/// All records, for their links.
pub(crate) struct Table;

impl Links for Table {
    type Item = &'static Record;

    #[inline(always)]
    fn item(&self, index: u32) -> &'static Record {
        of(index)
    }

    #[inline(always)]
    fn link(&self, record: &'static Record) -> &Link {
        &record.link
    }
}

/// The record of a thread that exists or has existed.
#[inline]
pub(crate) fn of(index: u32) -> &'static Record {
    TABLE.get(index, Record::new)
}

/// The record with an index, if there is one.
#[inline]
pub(crate) fn known(index: u32) -> Option<&'static Record> {
    TABLE.known(index)
}

/// Leads from the scheduler's threads to the records of those that are not [`State::Free`].
static RECORDS: Companions<Record> = Companions::new();

/// The calling thread's record, as it is.
#[inline(always)]
pub(crate) fn own() -> &'static Record {
    match adopted() {
        Some(record) => record,
        None => without_companion(),
    }
}

/// The calling thread's record, if it is one of this interface.
#[inline(always)]
pub(crate) fn adopted() -> Option<&'static Record> {
    RECORDS.get(head::running().companion())
}

#[cold]
#[inline(never)]
fn without_companion() -> &'static Record {
    of(head::running().id())
}

/// The calling thread's record. A thread that this interface did not make gets a name, and cannot be joined.
#[inline(always)]
pub(crate) fn current() -> &'static Record {
    match adopted() {
        Some(record) => record,
        None => adopt(hadal_sched::current()),
    }
}

#[cold]
#[inline(never)]
fn adopt(thread: &'static Thread) -> &'static Record {
    let own = of(thread.id());
    own.home.store(None, Ordering::Relaxed);
    own.creator.store(0, Ordering::Relaxed);
    own.parent.store(None, Ordering::Relaxed);
    own.life.name(State::Running, true);
    RECORDS.set(thread.companion(), Some(own));
    own
}

/// The calling thread's record is that of a slot from now on.
pub(crate) fn settle(own: &'static Record) {
    own.life.settle(State::Idle);
    RECORDS.set(own.thread.companion(), Some(own));
}

/// The calling thread has ended: its record waits for the next thread with its index.
pub(crate) fn free(own: &'static Record) {
    own.life.settle(State::Free);
    RECORDS.set(own.thread.companion(), None);
}

/// The record that a program's name for a thread leads to, whether or not it has that name still.
#[inline(always)]
pub(crate) fn known_by(word: u64) -> Result<(&'static Record, Name), Status> {
    let name = Name::of_any(word);
    Ok((known(name.index).ok_or(Status::NoSuchThing)?, name))
}

/// The record that a program means by a name, and the name.
pub(crate) fn find(word: u64) -> Result<(&'static Record, Name), Status> {
    let (record, name) = known_by(word)?;
    let now = record.life.now();
    let same = now.generation() == name.generation && now.is_named();
    if same { Ok((record, name)) } else { Err(Status::NoSuchThing) }
}

/// All records of threads that have a name now.
pub(crate) fn all() -> impl Iterator<Item = &'static Record> {
    TABLE.iter().filter(|record| record.life.now().is_named())
}
