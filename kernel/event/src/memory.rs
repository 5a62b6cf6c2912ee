// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory events: a CPU waits for a word to change, as the hardware's cache coherence tells it. The least latency that there
//! is, at the price of a CPU that does nothing else.
//!
//! The CPU looks at the word for a while and then, where it has MONITOR and MWAIT, sleeps on it. Threads that are ready on
//! the same CPU get their turn when the caller's slice ends.

use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::interrupts::irq;
use hadal_hal::memory::user;
use hadal_time::now_ns;

use crate::{Error, may_wait};

/// Looks at the word between looks at the clock: some microseconds.
const LOOKS: u32 = 256;
/// Rounds of looks before the CPU sleeps: about as long as waking up from the sleep takes.
const ROUNDS_AWAKE: u32 = 8;

/// Why a wait for memory ended in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// As for other waits.
    Event(Error),
    /// The word is not the program's memory.
    Fault,
}

impl From<user::Fault> for WaitError {
    fn from(_: user::Fault) -> Self {
        Self::Fault
    }
}

/// Waits until the 64-bit word at a program's `address` is another value than `old`, or the deadline (monotonic, `None` for
/// never).
pub fn wait(address: usize, old: u64, deadline_ns: Option<u64>) -> Result<(), WaitError> {
    let mut round = 0u32;
    loop {
        if user::poll_u64(address, old, LOOKS)? {
            return Ok(());
        }
        if deadline_ns.is_some_and(|deadline| deadline <= now_ns()) {
            return Err(WaitError::Event(Error::TimedOut));
        }
        if hadal_sched::current().interrupted() {
            return Err(WaitError::Event(Error::Interrupted));
        }
        if percpu::pending_attention() & (attention::RESCHEDULE | attention::BUDGET) != 0 && may_wait() {
            hadal_sched::attend();
        }
        round = round.saturating_add(1);
        if round > ROUNDS_AWAKE && hadal_sched::can_sleep_on_stores() && may_wait() {
            sleep(address, old, deadline_ns)?;
        }
    }
}

/// Sleeps on the word. An interrupt ends it, too: that of the deadline's timer, one that gives this thread something to do,
/// and after a while one in case the store was not noticed.
fn sleep(address: usize, old: u64, deadline_ns: Option<u64>) -> Result<(), WaitError> {
    let mut irq = irq::disable();
    if percpu::pending_attention() != 0 {
        return Ok(());
    }
    if let Some(deadline) = deadline_ns {
        hadal_sched::interrupt_within(deadline.saturating_sub(now_ns()));
    }
    let sleep = || user::monitor_u64(irq.masked(), address, old);
    Ok(hadal_sched::sleep_on_store(sleep, || user::poll_u64(address, old, 1) == Ok(true))?)
}
