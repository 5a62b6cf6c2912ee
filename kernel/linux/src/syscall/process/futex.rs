// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `futex(2)`: waits on and wakes words of memory.
//!
//! Honoured: FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP,
//! FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_TRYLOCK_PI, FUTEX_UNLOCK_PI (without inheritance: there are no priorities),
//! FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME.
//!
//! Refused: FUTEX_FD, FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI (ENOSYS).

use hadal_hal::memory::user;
use hadal_time::{now_ns, realtime_ns};
use linux_raw_sys::general::*;

use crate::call::Call;
use crate::futex::{self, ANY};
use crate::memory::{self, efault};
use crate::restart::Restart;
use crate::strace::signature;
use crate::{Errno, Result};

const NS_PER_S: i64 = 1_000_000_000;

signature!(|words| match words[1] as u32 & flags::FUTEX_OPERATION {
    FUTEX_WAIT | FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => &[Address, Flags(&flags::FUTEX), Int, Time],
    FUTEX_WAKE | FUTEX_UNLOCK_PI | FUTEX_TRYLOCK_PI => &[Address, Flags(&flags::FUTEX), Int],
    FUTEX_WAIT_BITSET => &[Address, Flags(&flags::FUTEX), Int, Time, Address, Hex],
    FUTEX_REQUEUE | FUTEX_CMP_REQUEUE | FUTEX_WAKE_OP | FUTEX_CMP_REQUEUE_PI => {
        &[Address, Flags(&flags::FUTEX), Int, Size, Address, Hex]
    }
    _ => &[Address, Flags(&flags::FUTEX), Int, Address, Address, Hex],
});

#[inline]
pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    // Ordinary waits and wake-ups first: each is one function that this one ends with.
    match call.uint(1) & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME) {
        FUTEX_WAKE => wake(call, ANY).map(|woken| woken as usize),
        FUTEX_WAKE_BITSET => wake(call, bitset(call)?).map(|woken| woken as usize),
        FUTEX_WAIT if is_unlimited(call) => wait(call, None, ANY).map(|()| 0),
        FUTEX_WAIT_BITSET if is_unlimited(call) => wait(call, None, bitset(call)?).map(|()| 0),
        other => rare(call, other),
    }
}

/// The other operations.
#[inline(never)]
fn rare(call: &Call<'_>, operation: u32) -> Result<usize> {
    let (task, process, address) = (call.task, call.process, call.arg(0));
    let private = is_private(call);
    match operation {
        FUTEX_WAIT => {
            let deadline = match call.resumed_until() {
                None => relative(call.arg(3))?,
                resumed => resumed,
            };
            wait(call, deadline, ANY).map(|()| 0)
        }
        FUTEX_WAIT_BITSET => {
            let deadline = absolute(call.arg(3), is_realtime(call))?;
            wait(call, deadline, bitset(call)?).map(|()| 0)
        }
        FUTEX_REQUEUE => requeue(call, private, None).map(|(woken, moved)| woken + moved),
        FUTEX_CMP_REQUEUE => requeue(call, private, Some(call.uint(5))).map(|(woken, moved)| woken + moved),
        FUTEX_WAKE_OP => wake_op(call, private),
        // The time-out of the first form is on the real-time clock, whatever the flag says.
        FUTEX_LOCK_PI => lock_pi(call, key(call)?, absolute(call.arg(3), true)?),
        FUTEX_LOCK_PI2 => lock_pi(call, key(call)?, absolute(call.arg(3), is_realtime(call))?),
        FUTEX_TRYLOCK_PI => futex::try_lock_pi(task, address).map(|()| 0),
        FUTEX_UNLOCK_PI => futex::unlock_pi(task, process, address, key(call)?).map(|()| 0),
        _ => Err(Errno::ENOSYS),
    }
}

fn is_private(call: &Call<'_>) -> bool {
    call.uint(1) & FUTEX_PRIVATE_FLAG != 0
}

fn is_realtime(call: &Call<'_>) -> bool {
    call.uint(1) & FUTEX_CLOCK_REALTIME != 0
}

/// Whether a wait has no time limit, nor continues one that may have.
fn is_unlimited(call: &Call<'_>) -> bool {
    call.arg(3) == 0 && !call.is_resumed()
}

/// The key of the first word.
fn key(call: &Call<'_>) -> Result<futex::Key> {
    futex::key(call.process, call.arg(0), is_private(call))
}

/// Wakes up to as many as the third argument says, and one at least.
#[inline(never)]
fn wake(call: &Call<'_>, bitset: u32) -> Result<u32> {
    let address = call.arg(0);
    futex::check(address)?;
    match futex::private_key(call.process, address, is_private(call)) {
        Some(key) => Ok(wake_by(call, &key, bitset)),
        None => wake_shared(call, bitset),
    }
}

/// The end of a wake-up on a word that may be shared.
#[inline(never)]
fn wake_shared(call: &Call<'_>, bitset: u32) -> Result<u32> {
    Ok(wake_by(call, &futex::key_of(call.process, call.arg(0), false), bitset))
}

#[inline(always)]
fn wake_by(call: &Call<'_>, key: &futex::Key, bitset: u32) -> u32 {
    let count = (call.uint(2) & i32::MAX as u32).max(1) as usize;
    // There are no more threads than fit.
    call.process.futexes.wake(key, count, bitset) as u32
}

/// Waits. With a time limit, even an absolute one, every handler ends the wait.
#[inline(never)]
fn wait(call: &Call<'_>, deadline_ns: Option<u64>, bitset: u32) -> Result<()> {
    let address = call.arg(0);
    futex::check(address)?;
    match futex::private_key(call.process, address, is_private(call)) {
        Some(key) => wait_by(call, key, deadline_ns, bitset),
        None => wait_shared(call, deadline_ns, bitset),
    }
}

/// The end of a wait on a word that may be shared.
#[inline(never)]
fn wait_shared(call: &Call<'_>, deadline_ns: Option<u64>, bitset: u32) -> Result<()> {
    wait_by(call, futex::key_of(call.process, call.arg(0), false), deadline_ns, bitset)
}

#[inline(always)]
fn wait_by(call: &Call<'_>, key: futex::Key, deadline_ns: Option<u64>, bitset: u32) -> Result<()> {
    match futex::wait(call.process, call.arg(0), key, call.uint(2), deadline_ns, bitset) {
        Err(Errno::EINTR) => interrupted(call, deadline_ns),
        outcome => outcome,
    }
}

#[cold]
fn interrupted(call: &Call<'_>, deadline_ns: Option<u64>) -> Result<()> {
    Err(deadline_ns.map_or(Errno::EINTR, |until_ns| call.interrupted_until(until_ns)))
}

/// Waits for a lock. No handler ends that.
fn lock_pi(call: &Call<'_>, key: futex::Key, deadline_ns: Option<u64>) -> Result<usize> {
    match futex::lock_pi(call.task, call.process, call.arg(0), key, deadline_ns) {
        Err(Errno::EINTR) => Err(call.interrupted_as(Restart::Always)),
        outcome => outcome.map(|()| 0),
    }
}

fn bitset(call: &Call<'_>) -> Result<u32> {
    match call.uint(5) {
        0 => Err(Errno::EINVAL),
        bits => Ok(bits),
    }
}

/// Reads a `struct timespec` as nanoseconds; `None` for a null pointer.
fn timespec(address: usize) -> Result<Option<i64>> {
    if address == 0 {
        return Ok(None);
    }
    let [seconds, nanoseconds]: [i64; 2] = memory::read(address)?;
    if seconds < 0 || !(0..NS_PER_S).contains(&nanoseconds) {
        return Err(Errno::EINVAL);
    }
    Ok(Some(seconds.saturating_mul(NS_PER_S).saturating_add(nanoseconds)))
}

fn relative(address: usize) -> Result<Option<u64>> {
    Ok(timespec(address)?.map(|ns| now_ns().saturating_add(ns as u64)))
}

fn absolute(address: usize, realtime: bool) -> Result<Option<u64>> {
    let Some(ns) = timespec(address)? else { return Ok(None) };
    if !realtime {
        return Ok(Some(ns as u64));
    }
    let ahead = ns.saturating_sub(realtime_ns()).max(0);
    Ok(Some(now_ns().saturating_add(ahead as u64)))
}

fn requeue(call: &Call<'_>, private: bool, expected: Option<u32>) -> Result<(usize, usize)> {
    let (wake, move_up_to) = (call.int(2), call.int(3));
    if wake < 0 || move_up_to < 0 {
        return Err(Errno::EINVAL);
    }
    let from = futex::key(call.process, call.arg(0), private)?;
    let to = futex::key(call.process, call.arg(4), private)?;
    futex::requeue(call.process, call.arg(0), (from, to), (wake as usize, move_up_to as usize), expected)
}

/// Changes the second word atomically, wakes waiters of the first, and of the second if its old value compares.
fn wake_op(call: &Call<'_>, private: bool) -> Result<usize> {
    let encoded = call.uint(5);
    let sign_extend = |value: u32| ((value << 20) as i32 >> 20) as u32;
    let (operation, comparison) = (encoded >> 28, encoded >> 24 & 0xf);
    let (operand, compared) = (sign_extend(encoded >> 12 & 0xfff), sign_extend(encoded & 0xfff));
    const SHIFT: u32 = 8;
    let operand = if operation & SHIFT != 0 { 1 << (operand & 31) } else { operand };
    let first = futex::key(call.process, call.arg(0), private)?;
    let second = futex::key(call.process, call.arg(4), private)?;
    let old = loop {
        let old = user::load_u32(call.arg(4)).map_err(efault)?;
        let new = match operation & !SHIFT {
            0 => operand,
            1 => old.wrapping_add(operand),
            2 => old | operand,
            3 => old & !operand,
            4 => old ^ operand,
            _ => return Err(Errno::ENOSYS),
        };
        if user::cmpxchg_u32(call.arg(4), old, new).map_err(efault)?.is_ok() {
            break old as i32;
        }
    };
    let compared = compared as i32;
    let holds = match comparison {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return Err(Errno::ENOSYS),
    };
    let both = [(first, call.uint(2)), (second, call.uint(3))];
    let meant = both.iter().take(if holds { 2 } else { 1 });
    Ok(meant.map(|(key, count)| call.process.futexes.wake(key, (*count).max(1) as usize, ANY)).sum())
}
