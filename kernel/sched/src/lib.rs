// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads and who runs where.
//!
//! A [`Thread`] lives in a type-stable table and is reused, so `&'static Thread` never dangles and lists link threads by
//! index. Every blocking primitive is built on [`park`] and [`Thread::unpark`], a one-token pair that tolerates spurious
//! and late wake-ups. Each CPU has a run queue of its own (run queue and inbox, `cpus.rs`); other CPUs reach it through a lock-free inbox and
//! interrupt it only when it sleeps or runs without a tick. The timer is one-shot: it is armed for the next time-out, and
//! for the end of a slice only while another thread is ready on the CPU.
//!
//! Kernel code is never preempted: a thread gives the CPU up in [`park`], [`yield_now`] and [`exit`], and program code
//! where the trap layer calls [`attend`].
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod balance;
mod cpus;
mod list;
mod overcommit;
mod switch;
mod thread;
mod timers;
mod token;

pub use balance::claim_idle;
pub use cpus::{
    Counters, counters, enter_idle_loop, idle_thread, idle_time_ns, init, on_reschedule_interrupt,
    run_queue_length,
};
pub use overcommit::{set_overcommitted, yield_to_all};
pub use switch::{
    Kick, Wake, attend, exit, park, park_call, set_affinity, sleep_until, yield_call, yield_now,
};
pub use thread::{
    Info, PRIORITIES, PRIORITY_DEFAULT, Policy, SpawnError, State, Thread, create, current, live_threads,
    thread, threads,
};
pub use timers::{
    SLICE_NS, TimerHandle, call_at, cancel_handler, handler_at, interrupt_within, on_timer_interrupt,
};
