// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records: what the kernel keeps about each thread for run-times.
//!
//! They live in a table of their own with the indices of the scheduler's threads, are made 256 at a time and never freed. So
//! a name that a program kept too long leads to a record, where its generation tells that it is stale.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hadal_hal::sync::SpinLock;
use hadal_sched::Thread;
use spin::Once;

use crate::children::Children;
use crate::keys::Values;
use crate::life::{Life, Name, State};
use crate::pool::{Link, Links};
use crate::status::Status;

/// Longest name with its NUL (`HRT_NAME_BYTES`).
pub(crate) const NAME_BYTES: usize = 32;

/// One thread.
pub(crate) struct Record {
    index: u32,
    pub(crate) life: Life,
    link: Link,
    /// The pool that the slot goes back to; `slot::NO_POOL` for a thread that is none.
    pub(crate) home: AtomicU32,
    /// The thread is about to end: whoever takes its result wakes it instead of putting it into a pool.
    pub(crate) leaving: AtomicBool,
    /// What it runs, with which argument, and what came of it.
    pub(crate) function: AtomicUsize,
    pub(crate) argument: AtomicUsize,
    pub(crate) result: AtomicUsize,
    /// Name of the thread that made it, or 0.
    pub(crate) creator: AtomicU64,
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
    /// Stack pointer of the waiting slot, and its stack's bounds.
    pub(crate) stack_pointer: AtomicUsize,
    pub(crate) stack_bottom: AtomicUsize,
    pub(crate) stack_top: AtomicUsize,
    /// For a bare slot that has not run yet: where it begins.
    pub(crate) entry: AtomicUsize,
    pub(crate) values: Values,
    /// Whether `text` is the name of this use.
    named: AtomicBool,
    text: SpinLock<[u8; NAME_BYTES]>,
    /// Why the last request for a schedule was refused.
    pub(crate) refusal: SpinLock<crate::admission::Text>,
}

impl Record {
    fn new(index: u32) -> Self {
        Self {
            index,
            life: Life::new(),
            link: Link::new(0),
            home: AtomicU32::new(crate::slot::NO_POOL),
            leaving: AtomicBool::new(false),
            function: AtomicUsize::new(0),
            argument: AtomicUsize::new(0),
            result: AtomicUsize::new(0),
            creator: AtomicU64::new(0),
            flags: AtomicU32::new(0),
            place: AtomicI32::new(crate::place::ANYWHERE),
            children: Children::new(),
            missed_on: AtomicI32::new(crate::place::ANYWHERE),
            listed: AtomicBool::new(false),
            next_sibling: AtomicU32::new(0),
            previous_sibling: AtomicU32::new(0),
            stack_pointer: AtomicUsize::new(0),
            stack_bottom: AtomicUsize::new(0),
            stack_top: AtomicUsize::new(0),
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
    pub(crate) fn thread(&self) -> &'static Thread {
        hadal_sched::thread(self.index)
    }

    /// The name as of now.
    pub(crate) fn name(&self) -> Name {
        Name { index: self.index, generation: self.life.now().generation() }
    }

    /// Sets the text that people see.
    pub(crate) fn set_text(&self, mut text: [u8; NAME_BYTES]) {
        text[NAME_BYTES - 1] = 0;
        *self.text.lock() = text;
        self.named.store(true, Ordering::Relaxed);
        let mut short = [0; hadal_linux::task::NAME_LEN];
        let len = short.len() - 1;
        short[..len].copy_from_slice(&text[..len]);
        hadal_linux::task::Task::of(self.thread()).set_name(short);
    }

    /// Forgets the text of an earlier use.
    pub(crate) fn clear_text(&self) {
        if self.named.load(Ordering::Relaxed) {
            self.set_text([0; NAME_BYTES]);
            self.named.store(false, Ordering::Relaxed);
        }
    }

    /// The text, NUL-padded.
    pub(crate) fn text(&self) -> [u8; NAME_BYTES] {
        *self.text.lock()
    }
}

const CHUNK: usize = 256;
const CHUNKS: usize = 1024;
static TABLE: [Once<Box<[Record]>>; CHUNKS] = [const { Once::new() }; CHUNKS];

/// All records, for their links.
pub(crate) struct Table;

impl Links for Table {
    fn link(&self, index: u32) -> &Link {
        match known(index) {
            Some(record) => &record.link,
            None => unreachable!("a slot in a pool has a record"),
        }
    }
}

/// The record of a thread that exists or has existed.
pub(crate) fn of(index: u32) -> &'static Record {
    let index = index as usize;
    let chunk = match TABLE[index / CHUNK].get() {
        Some(chunk) => chunk,
        None => make(index / CHUNK),
    };
    &chunk[index % CHUNK]
}

#[cold]
fn make(chunk: usize) -> &'static [Record] {
    let first = (chunk * CHUNK) as u32;
    TABLE[chunk].call_once(|| (first..first + CHUNK as u32).map(Record::new).collect())
}

/// The record with an index, if there is one.
pub(crate) fn known(index: u32) -> Option<&'static Record> {
    let chunk = TABLE.get(index as usize / CHUNK)?.get()?;
    Some(&chunk[index as usize % CHUNK])
}

/// The calling thread's record, as it is.
pub(crate) fn own() -> &'static Record {
    of(hadal_sched::current().id())
}

/// The calling thread's record. A thread that this interface did not make gets a name, and cannot be joined.
pub(crate) fn current() -> &'static Record {
    let own = own();
    if own.life.now().state() == State::Free {
        own.home.store(crate::slot::NO_POOL, Ordering::Relaxed);
        own.creator.store(0, Ordering::Relaxed);
        own.life.name(State::Running, true);
    }
    own
}

/// The record that a program means by a name, and the name.
pub(crate) fn find(word: u64) -> Result<(&'static Record, Name), Status> {
    let name = Name::from_word(word).ok_or(Status::NoSuchThing)?;
    let record = known(name.index).ok_or(Status::NoSuchThing)?;
    let now = record.life.now();
    let same = now.generation() == name.generation && now.is_named();
    if same { Ok((record, name)) } else { Err(Status::NoSuchThing) }
}

/// All records of threads that have a name now.
pub(crate) fn all() -> impl Iterator<Item = &'static Record> {
    let chunks = TABLE.iter().map_while(Once::get);
    chunks.flat_map(|chunk| chunk.iter()).filter(|record| record.life.now().is_named())
}
