// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads and who runs where.
//!
//! A [`Thread`] lives in a type-stable table and is reused, so `&'static Thread` never dangles and lists link threads by
//! reference. Every blocking primitive is built on [`park`] and [`Thread::unpark`], a one-token pair that tolerates spurious
//! and late wake-ups. Each CPU has rings of ready threads that it alone touches; other CPUs reach it through a lock-free
//! inbox and interrupt it only when it would not look soon by itself. The timer is one-shot: it is armed for the next
//! time-out, and for the end of a slice only while another thread is ready on the CPU.
//!
//! Kernel code is never preempted: a thread gives the CPU up in [`park`], [`yield_now`] and [`exit`], and program code
//! where the trap layer calls [`attend`]. [`park_call`] and [`yield_call`] are the same for calls of a program that are
//! plain calls to it, and cost a few dozen instructions.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod admission;
mod balance;
mod counters;
mod cpus;
mod edf;
pub mod gang;
mod idle;
mod inbox;
mod job;
mod kick;
mod levels;
mod overcommit;
mod promise;
mod quick;
mod realtime;
mod relay;
mod switch;
mod table;
mod thread;
mod timers;
mod token;
mod wake;

pub use balance::claim_idle;
pub use counters::{Counters, counters, counters_of};
pub use cpus::{current, idle_thread, idle_time_ns, init, run_queue_length, running_on};
pub use idle::enter_idle_loop;
pub use kick::{Kick, wake_all};
pub use overcommit::{cores, set_cores, yield_to_all};
pub use promise::{PeriodError, admit, wait_period};
pub use quick::{park_call, yield_call, yield_call_full};
pub use realtime::{
    PERIOD_LEAST_NS, PERIOD_MOST_NS, Realtime, Refusal, UTILISATION_LIMIT_PPM, WORK_LEAST_NS,
};
pub use relay::wake_and_park_call;
pub use switch::{Wake, attend, exit, park, sleep_until, yield_now};
pub use table::{SpawnError, create, discard, live_threads, on_new_threads, thread, threads};
pub use thread::{Info, Manner, PRIORITIES, PRIORITY_DEFAULT, Policy, State, Thread};
pub use timers::{
    SLICE_NS, TimerHandle, call_at, cancel_handler, handler_at, interrupt_within, on_timer_interrupt,
};
pub use wake::{on_reschedule_interrupt, set_affinity};
