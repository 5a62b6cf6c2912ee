// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making threads: `thread_create`, and its two halves for fork.

use core::sync::atomic::Ordering;

use hadal_hal::{layout, user};

use crate::attr::{self, Attributes};
use crate::life::{Name, State};
use crate::memory_of_program::write;
use crate::place::ANYWHERE;
use crate::record::{self, Record};
use crate::slot::{self, Kind};
use crate::status::{Code, Status, code};
use crate::{children, place, schedule};

/// Takes a slot that fits, or says which one is needed. The next request after one that failed is for the same CPU, where
/// the caller has put a slot meanwhile.
#[inline(always)]
fn take(own: &Record, attributes: &Attributes, need: usize) -> Result<&'static Record, Status> {
    let missed_on = own.missed_on.load(Ordering::Relaxed);
    let cpu = if missed_on == ANYWHERE || attributes.place != ANYWHERE {
        place::target(attributes.place)
    } else {
        own.missed_on.store(ANYWHERE, Ordering::Relaxed);
        missed_on as usize
    };
    match slot::take(cpu, attributes.flags, attributes.class) {
        Some(slot) => Ok(slot),
        None => Err(miss(own, cpu, attributes, need)),
    }
}

#[cold]
fn miss(own: &Record, cpu: usize, attributes: &Attributes, need: usize) -> Status {
    if write(need, &Kind::new(cpu, attributes.flags, attributes.class)).is_err() {
        return Status::BadAddress;
    }
    own.missed_on.store(cpu as i32, Ordering::Relaxed);
    Status::NoSpace
}

/// Makes the slot a new thread of `own` with a name, which is stored at `out`.
#[inline(always)]
fn fill(
    own: &Record,
    slot: &'static Record,
    attributes: &Attributes,
    state: State,
    out: usize,
) -> Result<(), Status> {
    if let Err(status) = prepare(slot, attributes) {
        slot::give(slot);
        return Err(status);
    }
    let detached = attributes.flags & attr::DETACHED != 0;
    let generation = slot.life.name(state, detached);
    let name = Name { index: slot.index(), generation };
    if out != 0 && user::store_u64(out, name.to_word()).is_err() {
        slot.life.settle(State::Idle);
        slot::give(slot);
        return Err(Status::BadAddress);
    }
    slot.creator.store(own.name().to_word(), Ordering::Relaxed);
    if !detached {
        children::add(own, slot, name);
    }
    Ok(())
}

/// Everything that can be refused.
#[inline(always)]
fn prepare(slot: &'static Record, attributes: &Attributes) -> Result<(), Status> {
    if attributes.name != 0 || slot.named.load(Ordering::Relaxed) {
        name(slot, attributes.name)?;
    }
    place::bind(slot, attributes.place);
    slot.flags.store(attributes.flags, Ordering::Relaxed);
    slot.thread().set_stealable(attributes.flags & attr::STEALABLE != 0);
    schedule::set(slot, &attributes.schedule)
}

#[cold]
fn name(slot: &Record, address: usize) -> Result<(), Status> {
    slot.clear_text();
    if address != 0 {
        slot.set_text(attr::read_name(address)?);
    }
    Ok(())
}

fn create(attr: usize, function: usize, argument: usize, out: usize, need: usize) -> Result<(), Status> {
    if !layout::is_program(function as u64) {
        return Err(Status::BadAddress);
    }
    let attributes = Attributes::read(attr)?;
    let own = record::current();
    let slot = take(own, &attributes, need)?;
    slot.function.store(function, Ordering::Relaxed);
    slot.argument.store(argument, Ordering::Relaxed);
    fill(own, slot, &attributes, State::Running, out)?;
    let thread = slot.thread();
    thread.unpark_on(thread.bound().unwrap_or_else(|| slot::cpu_of(slot)));
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
    let own = record::current();
    let slot = take(own, &attributes, need)?;
    let pointer = slot.stack_pointer.load(Ordering::Relaxed) as u64;
    let lowest = slot.stack_bottom.load(Ordering::Relaxed) as u64;
    let told = user::store_u64(stack, pointer).and_then(|()| user::store_u64(bottom, lowest));
    if told.is_err() || out == 0 {
        slot::give(slot);
        return Err(Status::BadAddress);
    }
    fill(own, slot, &attributes, State::Reserved, out)
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
    let thread = slot.thread();
    thread.unpark_on(thread.bound().unwrap_or_else(|| slot::cpu_of(slot)));
    Ok(())
}

/// `thread_start`.
pub(crate) extern "C" fn thread_start(thread: u64, function: usize, argument: usize) -> Code {
    code(start(thread, function, argument))
}
