// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mq_notify(2)`: asks to be told when a message comes to an empty queue.
//!
//! Honoured: `SIGEV_SIGNAL`, `SIGEV_NONE`, and `SIGEV_THREAD` as C libraries do it: 32 bytes come to a socket of `AF_NETLINK`; a null
//! event of the process that has registered ends the registration, and so does closing any of its descriptors of the queue.
//!
//! Refused: other ways (`EINVAL`).

use linux_raw_sys::general::{SIGEV_NONE, SIGEV_SIGNAL, SIGEV_THREAD};

use crate::call::Call;
use crate::mqueue::{self, COOKIE_BYTES, How, Notice};
use crate::signal::number::COUNT;
use crate::socket::notices::Expected;
use crate::strace::signature;
use crate::syscall::signal::event::Event;
use crate::{Errno, Result, memory};

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let event: Option<Event> = match call.arg(1) {
        0 => None,
        address => Some(memory::read(address)?),
    };
    let how = event.map(|event| how(call, &event)).transpose()?;
    let file = call.process.files().get(call.int(0))?;
    let queue = mqueue::of(&file)?;
    match how {
        None => queue.unregister(call.process),
        Some(how) => queue.register(Notice::new(call.process, how))?,
    }
    Ok(0)
}

fn how(call: &Call<'_>, event: &Event) -> Result<How> {
    match event.notify {
        SIGEV_NONE => Ok(How::Nothing),
        SIGEV_SIGNAL => match u8::try_from(event.signal) {
            Ok(signo @ 0..=COUNT) => Ok(How::Signal { signo, value: event.value }),
            _ => Err(Errno::EINVAL),
        },
        SIGEV_THREAD => {
            let mut cookie = memory::buffer(COOKIE_BYTES)?;
            memory::read_bytes(event.value as usize, &mut cookie)?;
            let file = call.process.files().get(event.signal)?;
            Ok(How::Thread { place: Expected::at(&file)?, cookie })
        }
        _ => Err(Errno::EINVAL),
    }
}
