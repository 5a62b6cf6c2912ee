// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making threads: `thread_create`, and its two halves for fork.

use core::sync::atomic::Ordering;

use hadal_hal::{layout, user};

use crate::attr::{self, Attributes};
use crate::life::State;
use crate::memory_of_program::write;
use crate::place::ANYWHERE;
use crate::record::{self, Record};
use crate::slot::{self, Kind};
use crate::status::{Code, Status, code};
use crate::{children, place, schedule};

/// Takes a slot that fits, or says which one is needed. The next request after one that failed is for the same CPU, where
/// the caller has put a slot meanwhile.
fn take(attributes: &Attributes, need: usize) -> Result<&'static Record, Status> {
    let own = record::own();
    let missed_on = own.missed_on.load(Ordering::Relaxed);
    let cpu = if missed_on == ANYWHERE || attributes.place != ANYWHERE {
        place::target(attributes.place)
    } else {
        own.missed_on.store(ANYWHERE, Ordering::Relaxed);
        missed_on as usize
    };
    let kind = Kind::new(cpu, attributes.flags, attributes.class);
    if let Some(slot) = slot::take(kind) {
        return Ok(slot);
    }
    write(need, &kind)?;
    own.missed_on.store(cpu as i32, Ordering::Relaxed);
    Err(Status::NoSpace)
}

/// Makes the slot a new thread of the caller's with a name, which is stored at `out`.
fn fill(slot: &'static Record, attributes: &Attributes, state: State, out: usize) -> Result<(), Status> {
    let prepared = prepare(slot, attributes);
    if let Err(status) = prepared {
        slot::give(slot);
        return Err(status);
    }
    let detached = attributes.flags & attr::DETACHED != 0;
    slot.life.name(state, detached);
    if out != 0 && user::store_u64(out, slot.name().to_word()).is_err() {
        slot.life.settle(State::Idle);
        slot::give(slot);
        return Err(Status::BadAddress);
    }
    let creator = record::current();
    if detached {
        slot.creator.store(creator.name().to_word(), Ordering::Relaxed);
    } else {
        children::add(creator, slot);
    }
    Ok(())
}

/// Everything that can be refused.
fn prepare(slot: &'static Record, attributes: &Attributes) -> Result<(), Status> {
    if attributes.name != 0 {
        slot.set_text(attr::read_name(attributes.name)?);
    } else {
        slot.clear_text();
    }
    place::bind(slot, attributes.place);
    slot.flags.store(attributes.flags, Ordering::Relaxed);
    slot.thread().set_stealable(attributes.flags & attr::STEALABLE != 0);
    schedule::set(slot, &attributes.schedule)
}

fn create(attr: usize, function: usize, argument: usize, out: usize, need: usize) -> Result<(), Status> {
    if !layout::is_program(function as u64) {
        return Err(Status::BadAddress);
    }
    let attributes = Attributes::read(attr)?;
    let slot = take(&attributes, need)?;
    slot.function.store(function, Ordering::Relaxed);
    slot.argument.store(argument, Ordering::Relaxed);
    fill(slot, &attributes, State::Running, out)?;
    slot.thread().unpark_on(slot::cpu_of(slot));
    Ok(())
}

/// `thread_create`.
pub(crate) extern "C" fn thread_create(
    attr: usize,
    function: usize,
    argument: usize,
    out: usize,
    need: usize,
) -> Code {
    code(create(attr, function, argument, out, need))
}

fn reserve(attr: usize, out: usize, stack: usize, bottom: usize, need: usize) -> Result<(), Status> {
    let attributes = Attributes::read(attr)?;
    let slot = take(&attributes, need)?;
    let pointer = slot.stack_pointer.load(Ordering::Relaxed) as u64;
    let lowest = slot.stack_bottom.load(Ordering::Relaxed) as u64;
    let told = user::store_u64(stack, pointer).and_then(|()| user::store_u64(bottom, lowest));
    if told.is_err() || out == 0 {
        slot::give(slot);
        return Err(Status::BadAddress);
    }
    fill(slot, &attributes, State::Reserved, out)
}

/// `thread_reserve`.
pub(crate) extern "C" fn thread_reserve(
    attr: usize,
    out: usize,
    stack: usize,
    bottom: usize,
    need: usize,
) -> Code {
    code(reserve(attr, out, stack, bottom, need))
}

fn start(thread: u64, function: usize, argument: usize) -> Result<(), Status> {
    if !layout::is_program(function as u64) {
        return Err(Status::BadAddress);
    }
    let (slot, name) = record::find(thread)?;
    if slot.life.now().state() != State::Reserved {
        return Err(Status::Invalid);
    }
    slot.function.store(function, Ordering::Relaxed);
    slot.argument.store(argument, Ordering::Relaxed);
    if !slot.life.start(name.generation) {
        return Err(Status::Invalid);
    }
    slot.thread().unpark_on(slot::cpu_of(slot));
    Ok(())
}

/// `thread_start`.
pub(crate) extern "C" fn thread_start(thread: u64, function: usize, argument: usize) -> Code {
    code(start(thread, function, argument))
}
