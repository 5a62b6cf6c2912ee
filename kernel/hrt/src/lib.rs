// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's side of `hadal/hrt.h`: what run-times get without a system call.
//!
//! [`table`] is `struct hrt_calls`, which a program finds through its auxiliary vector. Each entry runs on the calling
//! thread's kernel stack (`hadal_hal::trap::call`) and is a safe function here, one file per subject, that takes raw words and
//! believes none of them: program memory is reached through `hadal_hal::memory::user` only.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

use core::sync::atomic::Ordering;

mod admission;
mod attr;
mod bare;
mod children;
mod create;
mod event;
mod footprint;
mod group;
mod irq;
mod join;
mod keys;
mod life;
mod memory;
mod memory_of_program;
pub mod module;
mod owners;
mod place;
mod pool;
mod program;
mod record;
mod schedule;
mod slot;
mod status;
mod table;
mod thread;
mod time;
mod timer;
mod topology;
mod trace;
mod wait;

use life::State;

pub use hadal_hrt_abi::thread::NAME_BYTES;

pub use footprint::{may_share, outlives_program};
pub use memory::{keep_records, window_copied, window_emptied};
pub use program::Program;
pub use slot::{Counters, counters};
pub use table::{AUXILIARY_KEY, address};

/// Prepares what is sized by the number of processors; once, before the program starts.
pub fn init() {
    memory::init();
    slot::init();
    place::init();
}

/// The calling thread of the program is about to end: whoever joins it has not to wait for ever.
pub fn thread_ends<P: Program>() {
    match record::adopted() {
        Some(own) => slot::leave::<P>(own, 0),
        // Most use nothing of this interface; a bare slot may end before its first instruction.
        None => record::own().stack_top.store(0, Ordering::Relaxed),
    }
}

/// Makes what this interface keeps for the threads around an index; false when memory is out.
pub fn prepare_table(index: u32) -> bool {
    record::prepare(index)
}

/// Whether a thread is a slot without work: it waits for some, or its result waits to be taken.
pub fn is_idle_slot(thread: u32) -> bool {
    let state = record::known(thread).map(|record| record.life.now().state());
    matches!(state, Some(State::Idle | State::Done | State::Taken))
}

/// What a thread waits for in a call of this interface: a noun and a number or address.
pub fn waits_for(thread: u32) -> Option<(&'static str, u64)> {
    let word = record::known(thread)?.waits_for.load(Ordering::Relaxed);
    match word & 3 {
        join::WAITS_FOR_THREAD => Some(("thread", word >> 2)),
        wait::WAITS_FOR_WORD => Some(("word", word & !3)),
        _ => None,
    }
}
