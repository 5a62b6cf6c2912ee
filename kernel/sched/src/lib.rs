// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads and who runs where.
//!
//! A [`Thread`] lives in a type-stable table and is reused, so `&'static Thread` never dangles and lists link threads by
//! reference. Every blocking primitive is built on [`park`] and [`Thread::unpark`], a one-token pair that tolerates spurious
//! and late wake-ups. Each CPU has rings of ready threads that it alone touches; other CPUs reach it through a lock-free
//! inbox and interrupt it only when it would not look soon by itself. The timer is one-shot: it is armed for the next
//! time-out, and for the end of a slice only while another thread is ready on the CPU.
//!
//! # Who sees what
//! The pairs of accesses by which CPUs do not miss each other. On each side the first access comes before the second in one
//! order of all CPUs (a locked instruction, a fence, or an interrupt is between them), so at least one side sees the other.
//!
//! | one side | the other | so | checked by |
//! | --- | --- | --- | --- |
//! | condition, then token to runnable (`Token::notify`) | token to parked (`Token::park`), after a look at the condition | no wake-up is lost | loom: `token.rs`; simulator |
//! | binding or parameters, fence, then token (`Thread::changed`) | token to runnable, then binding and parameters (`queue_woken`) | who is woken is queued by what was asked for | simulator: `change-without-fence`, `bound-while-it-was-parked` |
//! | binding or parameters, fence, then CPU (`ask_for_review`) | CPU, then inbox or claim, then binding and parameters (`enqueue`, `receive`) | a thread on its way is found, or has heard | simulator: `cpu-named-after-the-look`, `no-second-look-at-the-binding` |
//! | binding or parameters, then `in_review` (`Asked::raise`) | `in_review` cleared, then binding and parameters (`review_all`) | every change is reviewed | loom: `inbox.rs`; simulator: `review-without-clear-first` |
//! | `interrupted`, then CPU (`Thread::poke`) | CPU, inbox or claim, then `interrupted` (`hand_over`) | a signal is attended to | simulator |
//! | push to the inbox, then `watch` (`must_kick`) | `watch` to `NEEDS_IPI`, then the inbox (`idle::halt`, the last tick) | no CPU sleeps over a thread | loom: `inbox.rs`; simulator: `halt-without-a-look` |
//! | timer into the queue, then `armed` (`start_on`) | `armed` to never, then the queue (`on_timer_interrupt`) | no timer is late | by reading |
//! | stack left, then the claim's end (the switch) | the claim (`Context::claim`), then the stack | one CPU runs a thread | simulator: `claim-not-checked` |
//!
//! What may happen to a thread at all is `transition.rs`; the simulator is `kernel/sim`, and the names above are those of the
//! changes there that it must find.
//!
//! Kernel code is never preempted: a thread gives the CPU up in [`park`], [`yield_now`] and [`exit`], and program code
//! where the trap layer calls [`attend`]. [`park_call`] and [`yield_call`] are the same for calls of a program that are
//! plain calls to it, and cost a few dozen instructions.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod admission;
#[cfg(feature = "sim")]
pub mod audit;
#[cfg(not(feature = "sim"))]
mod audit;
mod balance;
mod counters;
mod cpu_bits;
mod cpu_time;
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
mod spin;
mod store_watch;
mod switch;
mod table;
mod thread;
mod timers;
mod tlb_growth;
mod token;
#[cfg_attr(
    not(any(all(test, not(loom)), feature = "sim")),
    allow(dead_code, reason = "the kernel only names events")
)]
mod transition;
mod translator;
mod turns;
mod wait_note;
mod wake;

pub use balance::claim_idle;
pub use counters::{Counters, counters, counters_of};
pub use cpu_time::program_time_ns;
pub use cpus::{current, idle_thread, idle_time_ns, init, run_queue_length, running_on};
pub use idle::{enter_idle_loop, join, use_idle_time};
pub use kick::{Kick, nudge_idle, wake_all};
pub use overcommit::{cores, set_cores, yield_to_all};
pub use promise::{PeriodError, admit, wait_period};
pub use quick::{park_call, yield_call, yield_call_full};
pub use realtime::{
    PERIOD_LEAST_NS, PERIOD_MOST_NS, Realtime, Refusal, UTILISATION_LIMIT_PPM, WORK_LEAST_NS,
};
pub use relay::wake_and_park_call;
pub use spin::look as look_for_spinning;
pub use store_watch::{can_sleep_on_stores, idles_on_stores, sleep_on_store};
pub use switch::{Wake, attend, exit, exit_kept, park, release, sleep_until, yield_now};
pub use table::{SpawnError, create, discard, find_thread, live_threads, on_new_threads, thread, threads};
pub use thread::{Info, PRIORITIES, PRIORITY_DEFAULT, Params, Policy, State, Thread};
pub use timers::{TimerHandle, call_at, cancel_handler, handler_at, interrupt_within, on_timer_interrupt};
pub use translator::serve_translator;
pub use turns::SLICE_NS;
pub use wait_note::Noun;
pub use wake::{apply_affinity, note_affinity, on_reschedule_interrupt, set_affinity};
