// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Joining and detaching.

use core::sync::atomic::Ordering;

use hadal_hal::memory::user;
use hadal_hrt_abi::base::FOREVER;
use hadal_sched::Wake;

use crate::children;
use crate::life::{Claimed, Name, State};
use crate::record::{self, Record};
use crate::slot;
use crate::status::{Code, Status, code};

/// [`Record::waits_for`], with the thread's id above.
pub(crate) const WAITS_FOR_THREAD: u64 = 1;

/// A deadline of a program's.
pub(crate) fn deadline(deadline_ns: u64) -> Option<u64> {
    (deadline_ns != FOREVER).then_some(deadline_ns)
}

/// Waits for the end of a thread; afterwards the caller has its result, and its record until [`slot::release`].
#[inline(always)]
fn wait_for_end(
    own: &'static Record,
    child: &'static Record,
    name: Name,
    deadline_ns: u64,
) -> Result<(), Status> {
    if core::ptr::eq(child, own) && own.name() == name {
        return Err(Status::Deadlock);
    }
    if child.life.claim(name.generation, own.index())? == Claimed::Taken {
        return Ok(());
    }
    let thread = own.thread();
    own.waits_for.store(WAITS_FOR_THREAD | (u64::from(name.index) + 1) << 2, Ordering::Relaxed);
    // From here on the child wakes the caller when it ends.
    let status = loop {
        if thread.interrupted() {
            break Status::Interrupted;
        }
        let wake = hadal_sched::park_call(deadline(deadline_ns));
        if child.life.now().state() == State::Done {
            own.waits_for.store(0, Ordering::Relaxed);
            return Ok(());
        }
        if wake == Wake::TimedOut {
            break Status::TimedOut;
        }
    };
    own.waits_for.store(0, Ordering::Relaxed);
    match child.life.give_up(name.generation)? {
        Claimed::Waiting => Err(status),
        Claimed::Taken => Ok(()),
    }
}

#[inline(always)]
fn join(thread: u64, out: usize, deadline_ns: u64) -> Result<(), Status> {
    let (child, name) = record::known_by(thread)?;
    wait_for_end(record::own(), child, name, deadline_ns)?;
    let result = slot::release(child);
    if out != 0 {
        user::store_u64(out, result as u64)?;
    }
    Ok(())
}

/// `thread_join`.
pub(crate) extern "C" fn thread_join(thread: u64, result: usize, deadline_ns: u64) -> Code {
    code(join(thread, result, deadline_ns))
}

fn join_all(deadline_ns: u64) -> Result<(), Status> {
    let own = record::current();
    while let Some(name) = children::next(own) {
        match wait_for_end(own, record::of(name.index), name, deadline_ns) {
            Ok(()) => {
                slot::release(record::of(name.index));
            }
            // Joined by somebody else, or detached, or about to be.
            Err(Status::NoSuchThing | Status::Busy | Status::Invalid) => {}
            Err(status) => return Err(status),
        }
    }
    Ok(())
}

/// `thread_join_all`.
pub(crate) extern "C" fn thread_join_all(deadline_ns: u64) -> Code {
    code(join_all(deadline_ns))
}

fn detach(thread: u64) -> Result<(), Status> {
    let (child, name) = record::find(thread)?;
    if child.life.detach(name.generation)? == Claimed::Taken {
        slot::release(child);
    }
    Ok(())
}

/// `thread_detach`.
pub(crate) extern "C" fn thread_detach(thread: u64) -> Code {
    code(detach(thread))
}
