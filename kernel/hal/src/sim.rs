// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Simulated CPUs on one thread of the host: what the scheduler's own source runs on in its simulator (`kernel/sim`).
//!
//! Each CPU has a stack that it is on, an interrupt flag, pending interrupts, a one-shot timer and a store buffer. Before
//! every access of [`crate::sync::atomic`] and every change of the interrupt flag another CPU may go on instead, an interrupt may
//! come, and a store may leave its buffer, as a random number says that follows from the seed: so the same seed gives the
//! same schedule, on every host. Threads switch by the code of [`crate::threads::context`] on its own kernel stacks. Time is a
//! counter.
//!
//! The memory is that of x86: a store stays in its CPU's buffer, where only that CPU sees it, until a locked instruction, a
//! fence, an interrupt or chance sends it to memory; everything else is in order.
//!
//! Without [`run`] everything here does nothing, and the host is one CPU without interrupts, as in ordinary unit tests.
//!
//! # Safety
//! One thread of the host calls [`run`] and everything that the simulated CPUs run is called by it: the machine is not
//! shared. A CPU's stack pointer is stored when it stops, and loaded when it goes on.

pub mod atomic;
mod buffer;
mod cpu;
mod machine;
mod random;
mod report;
mod stacks;

pub use machine::{Course, run, set_course, stop};
pub use random::Random;
pub use report::{attention_of, clock_ns, fail, is_settled, note, observe, steps};

pub(crate) use buffer::leave_stack;
pub(crate) use cpu::{
    arm_timer, cpu_id, disable, disarm_timer, enable, enabled, halt, has_monitor, relax, send,
    send_to_others, wait,
};
pub(crate) use machine::is_on;
