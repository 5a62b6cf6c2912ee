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
use crate::strace::signature;
use crate::futex::{self, ANY};
use crate::memory::{self, efault};
use crate::restart::Restart;
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

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, operation, value) = (call.arg(0), call.uint(1), call.uint(2));
    let process = call.process;
    let private = operation & FUTEX_PRIVATE_FLAG != 0;
    let realtime = operation & FUTEX_CLOCK_REALTIME != 0;
    let key = futex::key(process, address, private);
    let count = value as i32 as usize & i32::MAX as usize;
    match operation & !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME) {
        FUTEX_WAIT => {
            let deadline = match call.resumed_until() {
                None => relative(call.arg(3))?,
                resumed => resumed,
            };
            wait(call, key?, deadline, ANY)
        }
        FUTEX_WAIT_BITSET => {
            let deadline = absolute(call.arg(3), realtime)?;
            wait(call, key?, deadline, bitset(call)?)
        }
        FUTEX_WAKE => Ok(process.futexes.wake(&key?, count.max(1), ANY)),
        FUTEX_WAKE_BITSET => Ok(process.futexes.wake(&key?, count.max(1), bitset(call)?)),
        FUTEX_REQUEUE => requeue(call, private, None).map(|(woken, moved)| woken + moved),
        FUTEX_CMP_REQUEUE => requeue(call, private, Some(call.uint(5))).map(|(woken, moved)| woken + moved),
        FUTEX_WAKE_OP => wake_op(call, private),
        // The time-out of the first form is on the real-time clock, whatever the flag says.
        FUTEX_LOCK_PI => {
            lock_pi(call, key?, absolute(call.arg(3), true)?)
        }
        FUTEX_LOCK_PI2 => {
            lock_pi(call, key?, absolute(call.arg(3), realtime)?)
        }
        FUTEX_TRYLOCK_PI => futex::try_lock_pi(call.task, address).map(|()| 0),
        FUTEX_UNLOCK_PI => futex::unlock_pi(call.task, process, address, key?).map(|()| 0),
        _ => Err(Errno::ENOSYS),
    }
}

/// Waits. With a time limit, even an absolute one, every handler ends the wait.
fn wait(call: &Call<'_>, key: futex::Key, deadline_ns: Option<u64>, bitset: u32) -> Result<usize> {
    match futex::wait(call.process, call.arg(0), key, call.uint(2), deadline_ns, bitset) {
        Err(Errno::EINTR) => Err(deadline_ns.map_or(Errno::EINTR, |until_ns| call.interrupted_until(until_ns))),
        outcome => outcome.map(|()| 0),
    }
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
    let mut woken = call.process.futexes.wake(&first, call.uint(2).max(1) as usize, ANY);
    if holds {
        woken += call.process.futexes.wake(&second, call.uint(3).max(1) as usize, ANY);
    }
    Ok(woken)
}
