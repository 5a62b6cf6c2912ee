// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slots: threads that wait for work with their stack (and what libc keeps for them) ready.
//!
//! A slot calls `slot_wait` in a loop. Between two pieces of work it is in the pool of its CPU, kind and stack size, or it
//! keeps the result of the last one until somebody takes that. So making a thread is: pop, fill in, wake.

use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::trap::call;
use hadal_hrt_abi::calls::{SlotKind, Work};
use hadal_hrt_abi::thread::{STACK_DEFAULT, STACK_MIN, THREAD_BARE};
use hadal_sched::{Thread, thread};
use spin::Once;

use crate::life::{Finished, State};
use crate::memory_of_program::read;
use crate::place;
use crate::pool::Pool;
use crate::program::Program;
use crate::record::{self, Record, Table};
use crate::status::Status;
use crate::{children, footprint, schedule};

/// The smallest stack, a power of two.
const SMALLEST_STACK: u64 = STACK_MIN as u64;
/// Stack sizes: powers of two up to 512 MiB.
const CLASSES: u32 = 16;
/// Of stacks that nobody asks a size for.
pub(crate) const DEFAULT_CLASS: u32 = (STACK_DEFAULT / STACK_MIN).ilog2();
const POOLS: usize = 2 * CLASSES as usize;

/// What a slot is for, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub(crate) SlotKind);

/// What one CPU has.
struct Cpu {
    homes: [Home; POOLS],
    moved: AtomicU64,
    missed: AtomicU64,
}

/// Where slots of one kind wait on one CPU.
pub(crate) struct Home {
    cpu: usize,
    pool: Pool,
    taken: AtomicU64,
    given_back: AtomicU64,
}

static CPUS: Once<CpuLocal<Cpu>> = Once::new();

/// Makes the pools, once the processors are counted.
pub(crate) fn init() {
    let home = |cpu| Home { cpu, pool: Pool::new(), taken: AtomicU64::new(0), given_back: AtomicU64::new(0) };
    let make = |cpu| Cpu {
        homes: core::array::from_fn(|_| home(cpu)),
        moved: AtomicU64::new(0),
        missed: AtomicU64::new(0),
    };
    CPUS.call_once(|| CpuLocal::new(cpu::count(), make));
}

#[inline(always)]
fn cpus() -> &'static CpuLocal<Cpu> {
    match CPUS.get() {
        Some(cpus) => cpus,
        None => unreachable!("the pools are made before the program runs"),
    }
}

/// Sums over all CPUs since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Threads made from a waiting slot.
    pub taken: u64,
    /// Slots among those that came from another CPU's pool.
    pub moved: u64,
    /// Requests that found no slot, so that the program had to make one.
    pub missed: u64,
    /// Slots that were given back, by those who took their results or by themselves.
    pub given_back: u64,
}

/// The counters as of now.
pub fn counters() -> Counters {
    let homes = || cpus().iter().flat_map(|cpu| &cpu.homes);
    Counters {
        taken: homes().map(|home| home.taken.load(Ordering::Relaxed)).sum(),
        moved: cpus().iter().map(|cpu| cpu.moved.load(Ordering::Relaxed)).sum(),
        missed: cpus().iter().map(|cpu| cpu.missed.load(Ordering::Relaxed)).sum(),
        given_back: homes().map(|home| home.given_back.load(Ordering::Relaxed)).sum(),
    }
}

/// The size class of a stack.
#[inline]
pub(crate) fn class_of(stack_bytes: u64) -> Result<u32, Status> {
    // Bits of the largest number that fits in the class, beyond those of the smallest one's.
    let class = ((stack_bytes.max(1) - 1) / SMALLEST_STACK).checked_ilog2().map_or(0, |bit| bit + 1);
    if class < CLASSES { Ok(class) } else { Err(Status::Invalid) }
}

impl Kind {
    /// What a thread with these attributes needs on a CPU.
    pub(crate) fn new(cpu: usize, flags: u32, class: u32) -> Self {
        let bare = u32::from(flags & THREAD_BARE != 0);
        Self(SlotKind { cpu: cpu as i32, bare, stack_bytes: SMALLEST_STACK << class })
    }

    /// Reads and checks a program's; the size is rounded up to its class's.
    pub(crate) fn read(address: usize) -> Result<Self, Status> {
        let kind: SlotKind = read(address)?;
        place::checked_cpu(kind.cpu)?;
        if kind.bare > 1 {
            return Err(Status::Invalid);
        }
        Ok(Self(SlotKind { stack_bytes: SMALLEST_STACK << class_of(kind.stack_bytes)?, ..kind }))
    }

    fn class(self) -> u32 {
        (self.0.stack_bytes / SMALLEST_STACK).trailing_zeros()
    }

    fn number(self) -> u32 {
        self.0.bare * CLASSES + self.class()
    }

    fn home(self) -> &'static Home {
        &cpus().of(self.0.cpu as usize).homes[self.number() as usize]
    }
}

/// The CPU where a slot runs that is not bound: that of its pool.
#[inline(always)]
pub(crate) fn cpu_of(slot: &Record) -> usize {
    slot.home.load(Ordering::Relaxed).map_or(0, |home| home.cpu)
}

#[inline(always)]
fn number_of(flags: u32, class: u32) -> usize {
    let bare = if flags & THREAD_BARE != 0 { CLASSES as usize } else { 0 };
    (bare + class as usize) % POOLS
}

/// Takes a waiting slot of a CPU, with the attribute flags and size class of a thread.
#[inline(always)]
pub(crate) fn take(cpu: usize, flags: u32, class: u32) -> Option<&'static Record> {
    let home = &cpus().of(cpu).homes[number_of(flags, class)];
    let slot = home.pool.pop(&Table)?;
    home.taken.fetch_add(1, Ordering::Relaxed);
    Some(slot)
}

/// The same for a CPU that may have none: it gets one of another CPU of its zone, for good: the stack is of that zone. So a
/// program needs as many slots as it has threads at a time, wherever they run.
pub(crate) fn take_or_move(cpu: usize, flags: u32, class: u32) -> Option<&'static Record> {
    let number = number_of(flags, class);
    take(cpu, flags, class).or_else(|| {
        let (zone, count) = (place::zone_of(cpu), cpu::count());
        let others = (1..count).map(|step| (cpu + step) % count);
        let mut others = others.filter(|&other| place::zone_of(other) == zone);
        let spare = others.find_map(|other| cpus().of(other).homes[number].pool.pop(&Table));
        let own = cpus().of(cpu);
        let counter = if spare.is_some() { &own.moved } else { &own.missed };
        counter.fetch_add(1, Ordering::Relaxed);
        let slot = spare?;
        slot.home.store(Some(&own.homes[number]), Ordering::Relaxed);
        own.homes[number].taken.fetch_add(1, Ordering::Relaxed);
        Some(slot)
    })
}

/// Puts a slot without work back to where it belongs.
#[inline(always)]
pub(crate) fn give(slot: &'static Record) {
    if let Some(home) = slot.home.load(Ordering::Relaxed) {
        home.given_back.fetch_add(1, Ordering::Relaxed);
        home.pool.push(&Table, slot, slot.index());
    }
}

/// Takes the result of a thread that the caller has from [`crate::life`], or throws it away. The record is in a pool
/// afterwards, or belongs to its thread, which is about to end: it may be that of another thread soon.
#[inline(always)]
pub(crate) fn release(slot: &'static Record) -> usize {
    let (result, leaving) = slot.life.let_go_after(|| {
        children::remove(slot);
        (slot.result.load(Ordering::Relaxed), slot.leaving.load(Ordering::Relaxed))
    });
    if leaving {
        slot.thread().unpark();
    } else {
        give(slot);
    }
    result
}

/// The calling thread becomes a slot.
#[cold]
fn enter<P: Program>(own: &'static Record, kind_address: usize) -> Result<(), Status> {
    let kind = Kind::read(kind_address)?;
    if own.stack_top.load(Ordering::Relaxed) == 0 {
        // A stack that libc made: the mapping ends at the guard, or further down if stacks are cut from one mapping.
        let pointer = call::program_stack_pointer();
        let mapping = P::current().space().find(pointer);
        let lowest = pointer.saturating_sub(kind.0.stack_bytes as usize);
        own.stack_bottom.store(mapping.map_or(lowest, |vma| vma.start.max(lowest)), Ordering::Relaxed);
        own.stack_top.store(pointer, Ordering::Relaxed);
    }
    footprint::note::<P>()?;
    own.home.store(Some(kind.home()), Ordering::Relaxed);
    own.thread().set_stealable(false);
    P::current().keep();
    record::settle(own);
    give(own);
    Ok(())
}

/// The calling slot has a result; returns who waits for it and must be woken.
#[inline(always)]
fn finish(own: &'static Record, program: impl Program, result: usize) -> Option<&'static Thread> {
    own.result.store(result, Ordering::Relaxed);
    schedule::end(own);
    program.renew();
    match own.life.finish() {
        Finished::Released => {
            children::remove(own);
            give(own);
            None
        }
        Finished::Kept => None,
        Finished::KeptFor(joiner) => Some(record::of(joiner).thread()),
    }
}

/// Waits until the calling slot has work, after waking `joiner`; `Interrupted` when the program ends.
#[inline(always)]
fn wait(own: &'static Record, program: impl Program, joiner: Option<&'static Thread>) -> Result<(), Status> {
    program.rest();
    if let Some(joiner) = joiner {
        hadal_sched::wake_and_park_call(joiner);
    }
    if own.life.now().state() != State::Running {
        wait_on(own, program)?;
    }
    program.resume();
    Ok(())
}

#[inline(never)]
fn wait_on(own: &'static Record, program: impl Program) -> Result<(), Status> {
    while own.life.now().state() != State::Running {
        if own.thread().interrupted() && program.must_leave() {
            program.resume();
            return Err(Status::Interrupted);
        }
        hadal_sched::park_call(None);
    }
    Ok(())
}

#[inline(always)]
fn next_work<P: Program>(kind: usize, result: usize) -> Result<Work, Status> {
    let own = record::own();
    if own.values.any() {
        return Err(Status::Busy);
    }
    let program = P::current();
    let joiner = if own.home.load(Ordering::Relaxed).is_none() {
        enter::<P>(own, kind)?;
        None
    } else {
        finish(own, program, result)
    };
    wait(own, program, joiner)?;
    Ok(Work {
        r#fn: own.function.load(Ordering::Relaxed) as u64,
        arg: own.argument.load(Ordering::Relaxed) as u64,
    })
}

/// `slot_wait`.
pub(crate) extern "C" fn slot_wait<P: Program>(kind: usize, result: usize) -> Work {
    next_work::<P>(kind, result).unwrap_or_else(|status| Work { r#fn: 0, arg: status as u64 })
}

/// `slot_leave`.
pub(crate) extern "C" fn slot_leave<P: Program>(result: usize) {
    leave::<P>(record::own(), result);
}

/// The calling thread is about to end: announces its result and stays until that is taken, so that nobody else gets the
/// record.
pub(crate) fn leave<P: Program>(own: &'static Record, result: usize) {
    own.values.clear();
    if own.home.load(Ordering::Relaxed).is_some() && own.life.now().is_named() {
        own.leaving.store(true, Ordering::Relaxed);
        own.result.store(result, Ordering::Relaxed);
        match own.life.finish() {
            Finished::Released => children::remove(own),
            kept => {
                if let Finished::KeptFor(joiner) = kept {
                    thread(joiner).unpark();
                }
                wait_until_joined(own, P::current());
            }
        }
        own.leaving.store(false, Ordering::Relaxed);
    }
    own.home.store(None, Ordering::Relaxed);
    own.stack_top.store(0, Ordering::Relaxed);
    record::free(own);
}

fn wait_until_joined(own: &'static Record, program: impl Program) {
    program.rest();
    while own.life.must_stay(|| own.thread().interrupted() && program.is_ending()) {
        hadal_sched::park_call(None);
    }
    program.resume();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_rounded_up_to_powers_of_two() {
        assert_eq!([0, 1, 16 << 10, (16 << 10) + 1, 256 << 10].map(class_of), [0, 0, 0, 1, 4].map(Ok));
        assert_eq!(class_of(512 << 20), Ok(15));
        assert_eq!([(512 << 20) + 1, u64::MAX].map(class_of), [Err(Status::Invalid); 2]);
    }

    #[test]
    fn kinds_have_pools_of_their_own() {
        let kinds = [
            Kind::new(0, 0, 4),
            Kind::new(0, THREAD_BARE, 4),
            Kind::new(1, 0, 4),
            Kind::new(1, THREAD_BARE, 15),
        ];
        assert_eq!(kinds.map(Kind::number), [4, 20, 4, 31]);
    }
}
