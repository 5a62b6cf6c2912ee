// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `epoll_ctl(2)`: adds files to an epoll instance, changes what is wanted of them, and takes them out.
//!
//! Honoured: `EPOLL_CTL_ADD`, `EPOLL_CTL_MOD`, `EPOLL_CTL_DEL`; `EPOLLIN`, `EPOLLOUT`, `EPOLLPRI`, `EPOLLRDHUP`, `EPOLLRDNORM`,
//! `EPOLLWRNORM`, `EPOLLERR`, `EPOLLHUP`; `EPOLLET`, `EPOLLONESHOT`, `EPOLLEXCLUSIVE`; `EPOLLWAKEUP` has no effect: the machine never
//! sleeps. Pipes, sockets, counters, timers, signals, message queues, terminals and other instances.
//!
//! Refused: files that are always ready by their kind (`EPERM`), cycles and more than five instances in a chain (`ELOOP`).

use linux_raw_sys::general::{
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLERR, EPOLLET, EPOLLEXCLUSIVE, EPOLLHUP, EPOLLIN,
    EPOLLOUT, EPOLLRDNORM, EPOLLWAKEUP, EPOLLWRNORM,
};

use alloc::sync::Arc;

use super::epoll_events::Event;
use crate::call::Call;
use crate::epoll::{Epoll, Interest};
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// What may go with `EPOLLEXCLUSIVE`.
const WITH_EXCLUSIVE: u32 = EPOLLIN
    | EPOLLOUT
    | EPOLLRDNORM
    | EPOLLWRNORM
    | EPOLLERR
    | EPOLLHUP
    | EPOLLWAKEUP
    | EPOLLET
    | EPOLLEXCLUSIVE;

signature!(Int, Choice(flags::EPOLL_CTL), Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (operation, fd) = (call.uint(1), call.int(2));
    let interest = match operation {
        EPOLL_CTL_DEL => Interest { events: 0, data: 0 },
        _ => Interest::from(memory::read::<Event>(call.arg(3))?),
    };
    let instance = call.process.files().get(call.int(0))?;
    let file = call.process.files().get(fd)?;
    instance.file()?;
    if !file.file()?.is_pollable() {
        return Err(Errno::EPERM);
    }
    let epoll = Epoll::of(&instance)?;
    if Arc::ptr_eq(&instance, &file) {
        return Err(Errno::EINVAL);
    }
    let exclusive = interest.events & EPOLLEXCLUSIVE != 0;
    match operation {
        EPOLL_CTL_ADD
            if exclusive && (Epoll::of(&file).is_ok() || interest.events & !WITH_EXCLUSIVE != 0) =>
        {
            Err(Errno::EINVAL)
        }
        EPOLL_CTL_MOD if exclusive => Err(Errno::EINVAL),
        EPOLL_CTL_ADD => epoll.add(&file, fd, interest),
        EPOLL_CTL_MOD => epoll.modify(&file, fd, interest),
        EPOLL_CTL_DEL => epoll.delete(&file, fd),
        _ => Err(Errno::EINVAL),
    }?;
    Ok(0)
}
