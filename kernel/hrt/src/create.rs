// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making threads: `thread_create`, its two halves for pthreads, and the same for fork, whose child waits for its frame.
//!
//! Almost every thread asks for nothing special and finds a slot that the last thread has left as it should be: that way
//! is kept short. All others go through [`take_any`].

use core::sync::atomic::Ordering;

use hadal_hal::memory::{layout, user};
use hadal_hal::trap::call;
use hadal_hrt_abi::calls::{Reserved, THREAD_PTHREAD};
use hadal_hrt_abi::thread::{THREAD_DETACHED, THREAD_STEALABLE};
use hadal_sched::{PRIORITY_DEFAULT, Params, Policy};

use crate::attr::{self, Attributes, Plain};
use crate::life::State;
use crate::memory_of_program::write;
use crate::place::ANYWHERE;
use crate::program::Program;
use crate::record::{self, Record};
use crate::slot::{self, Kind};
use crate::status::{Code, Status, code};
use crate::{children, place, schedule};

/// A slot for a new thread, which starts on a CPU.
struct Taken {
    slot: &'static Record,
    /// Attribute flags.
    flags: u32,
    cpu: usize,
}

/// Takes a slot for plain attributes that needs nothing but a function. `None` where there is more to do, or a mistake.
#[inline(always)]
fn take_plain(own: &Record, Plain { flags, class }: Plain) -> Option<Taken> {
    if own.missed_on.load(Ordering::Relaxed) != ANYWHERE {
        return None;
    }
    let cpu = place::target(ANYWHERE);
    let params = Params::new(PRIORITY_DEFAULT, Policy::RoundRobin, flags & THREAD_STEALABLE != 0);
    let slot = slot::take(cpu, flags, class);
    if let Some(slot) = slot
        && slot.place.load(Ordering::Relaxed) == ANYWHERE
        && !slot.named.load(Ordering::Relaxed)
        && slot.thread().is_free_in(params)
    {
        slot.flags.store(flags, Ordering::Relaxed);
        return Some(Taken { slot, flags, cpu });
    }
    put_back(own, cpu, slot);
    None
}

/// Leaves a request to [`take_any`], for the CPU that has been chosen.
#[cold]
#[inline(never)]
fn put_back(own: &Record, cpu: usize, slot: Option<&'static Record>) {
    own.missed_on.store(cpu as i32, Ordering::Relaxed);
    if let Some(slot) = slot {
        slot::give(slot);
    }
}

/// Takes a slot and gives it what its attributes ask for.
#[inline(never)]
fn take_any<P: Program>(own: &Record, attr: usize, need: usize) -> Result<Taken, Status> {
    let attributes = Attributes::read(attr)?;
    let slot = take(own, &attributes, need)?;
    match prepare::<P>(slot, &attributes) {
        Ok(()) => Ok(Taken { slot, flags: attributes.flags, cpu: cpu_for(slot) }),
        Err(status) => {
            slot::give(slot);
            Err(status)
        }
    }
}

/// Takes a slot that fits, or says which one is needed. The next request after one that failed is for the same CPU, where
/// the caller has put a slot meanwhile.
fn take(own: &Record, attributes: &Attributes, need: usize) -> Result<&'static Record, Status> {
    let missed_on = own.missed_on.load(Ordering::Relaxed);
    let cpu = if missed_on == ANYWHERE || attributes.place != ANYWHERE {
        place::target(attributes.place)
    } else {
        own.missed_on.store(ANYWHERE, Ordering::Relaxed);
        missed_on as usize
    };
    if let Some(slot) = slot::take_or_move(cpu, attributes.flags, attributes.class) {
        return Ok(slot);
    }
    write(need, &Kind::new(cpu, attributes.flags, attributes.class).0)?;
    own.missed_on.store(cpu as i32, Ordering::Relaxed);
    Err(Status::NoSpace)
}

/// Everything that can be refused.
fn prepare<P: Program>(slot: &'static Record, attributes: &Attributes) -> Result<(), Status> {
    if attributes.name != 0 || slot.named.load(Ordering::Relaxed) {
        name::<P>(slot, attributes.name)?;
    }
    place::bind(slot, attributes.place);
    slot.flags.store(attributes.flags, Ordering::Relaxed);
    slot.thread().set_stealable(attributes.flags & THREAD_STEALABLE != 0);
    schedule::set(slot, &attributes.schedule)
}

fn name<P: Program>(slot: &Record, address: usize) -> Result<(), Status> {
    slot.clear_text::<P>();
    if address != 0 {
        slot.set_text::<P>(attr::read_name(address)?);
    }
    Ok(())
}

/// The CPU where a slot starts that has everything it needs to run.
#[inline(always)]
fn cpu_for(slot: &'static Record) -> usize {
    slot.thread().bound().unwrap_or_else(|| slot::cpu_of(slot))
}

/// A slot with everything that `attr` asks for. The entries are compiled twice, for the usual attributes (null) and others.
#[inline(always)]
fn slot_for<P: Program, const USUAL: bool>(own: &Record, attr: usize, need: usize) -> Result<Taken, Status> {
    let plain = if USUAL { Some(Plain::USUAL) } else { Plain::read(attr) };
    let taken = match plain.and_then(|plain| take_plain(own, plain)) {
        Some(taken) => taken,
        None => take_any::<P>(own, attr, need)?,
    };
    Ok(Taken { flags: if USUAL { Plain::USUAL.flags } else { taken.flags }, ..taken })
}

/// Makes the slot a new thread of `own` with a name.
#[inline(always)]
fn begin<P: Program>(own: &'static Record, slot: &'static Record, flags: u32, state: State) -> u64 {
    let detached = flags & THREAD_DETACHED != 0;
    let name = slot.life.name(state, detached);
    slot.creator.store(own.word(), Ordering::Relaxed);
    if flags & THREAD_PTHREAD != 0 {
        P::inherit(slot.thread(), own.thread());
    }
    if flags & (THREAD_DETACHED | THREAD_PTHREAD) != 0 {
        slot.parent.store(None, Ordering::Relaxed);
    } else {
        children::add(own, slot, name);
    }
    name
}

#[inline(always)]
fn create<P: Program, const USUAL: bool>(
    attr: usize,
    function: usize,
    argument: usize,
    out: usize,
    need: usize,
) -> Result<(), Status> {
    if !layout::is_program(function as u64) {
        return Err(Status::BadAddress);
    }
    let own = record::current();
    let Taken { slot, flags, cpu } = slot_for::<P, USUAL>(own, attr, need)?;
    slot.function.store(function, Ordering::Relaxed);
    slot.argument.store(argument, Ordering::Relaxed);
    if out != 0 && user::store_u64(out, slot.life.next_word()).is_err() {
        slot::give(slot);
        return Err(Status::BadAddress);
    }
    begin::<P>(own, slot, flags, State::Running);
    slot.thread().unpark_on(cpu);
    Ok(())
}

#[inline(never)]
extern "C" fn create_as<P: Program, const USUAL: bool>(
    attr: usize,
    function: usize,
    argument: usize,
    out: usize,
    need: usize,
) -> Code {
    code(create::<P, USUAL>(attr, function, argument, out, need))
}

/// `thread_create`.
pub(crate) extern "C" fn thread_create<P: Program>(
    attr: usize,
    function: usize,
    argument: usize,
    out: usize,
    need: usize,
) -> Code {
    if attr == 0 {
        create_as::<P, true>(0, function, argument, out, need)
    } else {
        create_as::<P, false>(attr, function, argument, out, need)
    }
}

fn not_reserved(status: Status) -> Reserved {
    Reserved { thread: 0, stack: status as usize }
}

#[inline(always)]
fn fork<P: Program, const USUAL: bool>(
    attr: usize,
    function: usize,
    need: usize,
) -> Result<Reserved, Status> {
    if !layout::is_program(function as u64) {
        return Err(Status::BadAddress);
    }
    let own = record::current();
    let Taken { slot, flags, cpu } = slot_for::<P, USUAL>(own, attr, need)?;
    // It waits in a call, or is about to.
    let stack = call::stack_pointer_of(slot.thread().context());
    slot.function.store(function, Ordering::Relaxed);
    slot.argument.store(stack, Ordering::Relaxed);
    let thread = begin::<P>(own, slot, flags, State::Running);
    slot.thread().unpark_on(cpu);
    Ok(Reserved { thread, stack })
}

// The usual fork is part of its entry, which makes the others longer: hardly any fork has attributes.
#[inline(never)]
extern "C" fn fork_unusual<P: Program>(attr: usize, function: usize, need: usize) -> Reserved {
    fork::<P, false>(attr, function, need).unwrap_or_else(not_reserved)
}

/// `thread_fork`.
pub(crate) extern "C" fn thread_fork<P: Program>(attr: usize, function: usize, need: usize) -> Reserved {
    if attr == 0 {
        fork::<P, true>(0, function, need).unwrap_or_else(not_reserved)
    } else {
        fork_unusual::<P>(attr, function, need)
    }
}

fn reserve<P: Program>(attr: usize, need: usize) -> Result<Reserved, Status> {
    let own = record::current();
    let Taken { slot, flags, .. } = slot_for::<P, false>(own, attr, need)?;
    let thread = begin::<P>(own, slot, flags, State::Reserved);
    Ok(Reserved { thread, stack: call::stack_pointer_of(slot.thread().context()) })
}

/// `thread_reserve`.
pub(crate) extern "C" fn thread_reserve<P: Program>(attr: usize, need: usize) -> Reserved {
    reserve::<P>(attr, need).unwrap_or_else(not_reserved)
}

#[inline(always)]
fn start(thread: u64, function: usize, argument: usize) -> Result<(), Status> {
    if !layout::is_program(function as u64) {
        return Err(Status::BadAddress);
    }
    let (slot, name) = record::known_by(thread)?;
    slot.life.check_reserved(name.generation)?;
    slot.function.store(function, Ordering::Relaxed);
    slot.argument.store(argument, Ordering::Relaxed);
    if !slot.life.start(name.generation) {
        return Err(Status::Invalid);
    }
    slot.thread().unpark_on(cpu_for(slot));
    Ok(())
}

/// `thread_start`.
pub(crate) extern "C" fn thread_start(thread: u64, function: usize, argument: usize) -> Code {
    code(start(thread, function, argument))
}
