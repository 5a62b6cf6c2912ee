// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the calls that wait for an epoll instance have in common.

use core::mem::size_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::call::Call;
use crate::epoll::{Epoll, Interest};
use crate::{Errno, Result, memory};

/// `struct epoll_event`.
#[repr(C, packed)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct Event {
    events: u32,
    data: u64,
}

const _: () = assert!(size_of::<Event>() == 12);

impl From<Event> for Interest {
    fn from(event: Event) -> Self {
        Self { events: event.events, data: event.data }
    }
}

/// Waits for events of the instance that argument 0 names, and stores at most as many as argument 2 says at argument 1.
pub(super) fn wait(call: &Call<'_>, deadline_ns: Option<u64>) -> Result<usize> {
    const MOST: i32 = i32::MAX / size_of::<Event>() as i32;
    let (address, most) = (call.arg(1), call.int(2));
    let file = call.process.files().get(call.int(0))?;
    file.file()?;
    if !(1..=MOST).contains(&most) {
        return Err(Errno::EINVAL);
    }
    Epoll::of(&file)?.wait(call, most as usize, deadline_ns, |index, Interest { events, data }| {
        memory::write(address.wrapping_add(index * size_of::<Event>()), &Event { events, data })
    })
}
