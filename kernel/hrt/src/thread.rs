// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a thread does with itself and with others: yield, sleep, move, name, ask.

use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_hal::memory::user;
use hadal_hrt_abi::thread::{
    PRIORITIES, THREAD_BARE, THREAD_DETACHED, THREAD_STEALABLE, ThreadInfo, ThreadState,
};
use hadal_sched::{State as Doing, Wake};

use crate::attr::{self, Schedule};
use crate::join::deadline;
use crate::life::{State, Word};
use crate::memory_of_program::write_prefix;
use crate::place::{self, ANYWHERE};
use crate::program::Program;
use crate::record::{self, Record};
use crate::schedule;
use crate::status::{Code, Status, code};

/// `thread_self`.
pub(crate) extern "C" fn thread_self() -> u64 {
    record::current().name().to_word()
}

/// `thread_yield`.
pub(crate) extern "C" fn thread_yield() {
    hadal_sched::yield_call();
}

/// `thread_yield_full`.
pub(crate) extern "C" fn thread_yield_full() {
    hadal_sched::yield_call_full();
}

fn sleep(deadline_ns: u64) -> Result<(), Status> {
    loop {
        if hadal_sched::current().interrupted() {
            return Err(Status::Interrupted);
        }
        if hadal_sched::park_call(deadline(deadline_ns)) == Wake::TimedOut {
            return Ok(());
        }
    }
}

/// `thread_sleep_until`.
pub(crate) extern "C" fn thread_sleep_until(deadline_ns: u64) -> Code {
    code(sleep(deadline_ns))
}

fn bind(thread: u64, cpu: i32) -> Result<(), Status> {
    if cpu != ANYWHERE {
        place::checked_cpu(cpu)?;
    }
    let (record, _) = record::find(thread)?;
    place::bind(record, cpu);
    Ok(())
}

/// `thread_bind`.
pub(crate) extern "C" fn thread_bind(thread: u64, cpu: i32) -> Code {
    code(bind(thread, cpu))
}

fn migrate(thread: u64, cpu: i32) -> Result<(), Status> {
    let target = place::checked_cpu(cpu)?;
    let (record, name) = record::find(thread)?;
    // A thread that was bound a moment ago may still be on its way: what counts is where it is bound.
    if let Some(bound) = record.thread().bound() {
        return if bound == target { Ok(()) } else { Err(Status::Busy) };
    }
    if record.thread().affinity().is_some_and(|set| !set.contains(target)) {
        return Err(Status::Busy);
    }
    let before = record.place.load(Ordering::Relaxed);
    place::bind(record, cpu);
    // A thread that runs elsewhere moves when its CPU looks, which has been told to.
    let on_its_way = || {
        let now = record.life.now();
        record.thread().cpu() != target
            && now.generation() == name.generation
            && now.state() == State::Running
            && record.thread().info().state != Doing::Waiting
    };
    while on_its_way() && !hadal_sched::current().interrupted() {
        hadal_sched::yield_now();
        cpu::relax();
    }
    place::bind(record, before);
    Ok(())
}

/// `thread_migrate`.
pub(crate) extern "C" fn thread_migrate(thread: u64, cpu: i32) -> Code {
    code(migrate(thread, cpu))
}

fn set_schedule(thread: u64, attr: usize) -> Result<(), Status> {
    let (record, _) = record::find(thread)?;
    schedule::set(record, &Schedule::read(attr)?)
}

/// `thread_set_schedule`.
pub(crate) extern "C" fn thread_set_schedule(thread: u64, attr: usize) -> Code {
    code(set_schedule(thread, attr))
}

fn set_name<P: Program>(thread: u64, name: usize) -> Result<(), Status> {
    let (record, _) = record::find(thread)?;
    record.set_text::<P>(attr::read_name(name)?);
    Ok(())
}

/// `thread_set_name`.
pub(crate) extern "C" fn thread_set_name<P: Program>(thread: u64, name: usize) -> Code {
    code(set_name::<P>(thread, name))
}

fn state(now: Word, doing: Doing) -> ThreadState {
    match (now.state(), doing) {
        (State::Done, _) => ThreadState::Done,
        (_, Doing::Running) => ThreadState::Running,
        (_, Doing::Ready) => ThreadState::Ready,
        (_, Doing::Waiting) => ThreadState::Waiting,
    }
}

fn describe(record: &Record) -> ThreadInfo {
    let (now, info) = (record.life.now(), record.thread().info());
    let detached = if now.is_detached() { THREAD_DETACHED } else { 0 };
    let stealable = if info.stealable { THREAD_STEALABLE } else { 0 };
    let bare = record.flags.load(Ordering::Relaxed) & THREAD_BARE;
    ThreadInfo {
        thread: record.name().to_word(),
        creator: record.creator.load(Ordering::Relaxed),
        state: state(now, info.state) as u32,
        cpu: info.cpu as i32,
        bound_cpu: info.bound.map_or(ANYWHERE, |cpu| cpu as i32),
        policy: schedule::policy_of(&info) as u32,
        priority: i32::from(info.priority).min(PRIORITIES - 1),
        flags: detached | stealable | bare,
        run_ns: info.run_ns,
        switches: info.switches,
        deadlines_missed: info.deadlines_missed,
        stack_bottom: record.stack_bottom.load(Ordering::Relaxed),
        stack_top: record.stack_top.load(Ordering::Relaxed),
        name: record.text(),
    }
}

fn info(thread: u64, out: usize, bytes: u64) -> Result<(), Status> {
    let (record, _) = record::find(thread)?;
    write_prefix(out, &describe(record), bytes)
}

/// `thread_info`.
pub(crate) extern "C" fn thread_info(thread: u64, out: usize, bytes: u64) -> Code {
    code(info(thread, out, bytes))
}

/// `thread_list`: what does not fit, or cannot be written, is counted all the same.
pub(crate) extern "C" fn thread_list(threads: usize, capacity: u64) -> u64 {
    record::current();
    let mut count = 0;
    for record in record::all() {
        if count < capacity {
            let at = threads.wrapping_add(count as usize * size_of::<u64>());
            let _ = user::store_u64(at, record.name().to_word());
        }
        count += 1;
    }
    count
}
