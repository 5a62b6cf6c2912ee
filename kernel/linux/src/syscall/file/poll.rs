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

use crate::call::Call;
use crate::files::polling::{self, Watched};
use crate::strace::signature;
use crate::{Errno, Result, memory};

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
    let deadline_ns = call.resumed_until().or_else(|| timeout_ns.map(polling::deadline_after));
    match poll(call, deadline_ns) {
        Err(Errno::EINTR) => {
            Err(deadline_ns.map_or(Errno::EINTR, |until_ns| call.interrupted_until(until_ns)))
        }
        result => result,
    }
}

/// Waits for the descriptors that arguments 0 and 1 describe, and stores the answers.
pub(super) fn poll(call: &Call<'_>, deadline_ns: Option<u64>) -> Result<usize> {
    let (address, count, files) = (call.arg(0), call.uint(1), call.process.files());
    if count > files.limit() {
        return Err(Errno::EINVAL);
    }
    // As on Linux, memory that cannot be written to is found out when there is an answer.
    let mut asked = memory::ProgramArray::<PollFd, FEW>::new();
    asked.read(address, count as usize)?;
    let mut watched: SmallVec<[Watched; FEW]> = SmallVec::new();
    memory::make_room(&mut watched, asked.len())?;
    for entry in asked.iter() {
        // The answer for a negative descriptor is nothing.
        watched.push(match entry.fd {
            ..0 => Watched::new(None, PollEvents::empty()),
            fd => Watched::new(files.get(fd).ok(), PollEvents::from_bits_truncate(entry.events) | ALWAYS),
        });
    }
    let ready = polling::wait(call, &mut watched, deadline_ns)?;
    let mut field = address.wrapping_add(offset_of!(PollFd, answer));
    for entry in &watched {
        memory::write(field, &entry.ready.bits())?;
        field = field.wrapping_add(size_of::<PollFd>());
    }
    Ok(ready)
}
