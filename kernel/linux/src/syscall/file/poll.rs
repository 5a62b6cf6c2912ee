// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `poll(2)`: waits until one of several descriptors is ready.
//!
//! Honoured: `POLLIN`, `POLLOUT`, `POLLPRI`, `POLLRDNORM`, `POLLWRNORM`, `POLLRDHUP`; `POLLERR`, `POLLHUP`, `POLLNVAL` in the answer;
//! every time-out.
//!
//! Refused: `POLLRDBAND`, `POLLWRBAND`, `POLLMSG` never come true: no file here has them.

use core::mem::offset_of;

use hadal_vfs::PollEvents;
use smallvec::SmallVec;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::polling::{self, Watched};
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, clock, memory};

const NS_PER_MS: u64 = 1_000_000;
/// Descriptors that a call takes no memory for.
const FEW: usize = 8;

/// Events that are reported without being asked for.
const ALWAYS: PollEvents = PollEvents::ERROR.union(PollEvents::HANG_UP).union(PollEvents::INVALID);

/// `struct pollfd`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct PollFd {
    fd: i32,
    events: u16,
    answer: u16,
}

const _: () = assert!(size_of::<PollFd>() == 8);

signature!(Address, Size, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    // A negative time-out is none.
    let timeout_ns = u64::try_from(call.int(2)).ok().map(|ms| ms * NS_PER_MS);
    let deadline_ns = call.resumed_until().or_else(|| timeout_ns.map(clock::after));
    match poll(call, deadline_ns) {
        Err(Errno::EINTR) => Err(deadline_ns.map_or(Errno::EINTR, |until_ns| call.interrupted_until(until_ns))),
        result => result,
    }
}

/// Waits for the descriptors that arguments 0 and 1 describe, and stores the answers.
pub(super) fn poll(call: &Call<'_>, deadline_ns: Option<u64>) -> Result<usize> {
    let (address, count, files) = (call.arg(0), call.uint(1), &call.process.files);
    if count > files.limit() {
        return Err(Errno::EINVAL);
    }
    // As on Linux, memory that cannot be written to is found out when there is an answer.
    let asked: SmallVec<[PollFd; FEW]> = memory::read_array(address, count as usize)?;
    // A negative descriptor is skipped; its answer is nothing.
    let watch = |entry: &PollFd| {
        Watched::new(files.get(entry.fd).ok(), PollEvents::from_bits_truncate(entry.events) | ALWAYS)
    };
    let mut watched: SmallVec<[Watched; FEW]> = SmallVec::new();
    memory::make_room(&mut watched, asked.len())?;
    watched.extend(asked.iter().filter(|entry| entry.fd >= 0).map(watch));
    let ready = polling::wait(call, &mut watched, deadline_ns)?;
    let mut answers = watched.iter().map(|entry| entry.ready.bits());
    for (index, entry) in asked.iter().enumerate() {
        let answer = if entry.fd >= 0 { answers.next().unwrap_or(0) } else { 0 };
        let field = index * size_of::<PollFd>() + offset_of!(PollFd, answer);
        memory::write(address.wrapping_add(field), &answer)?;
    }
    Ok(ready)
}
