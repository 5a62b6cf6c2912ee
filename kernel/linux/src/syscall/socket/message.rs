// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending and receiving: what `send`, `recv` and their variants have in common.

use alloc::sync::Arc;
use core::ops::Deref;

use hadal_mem::space::FaultAccess;
use hadal_vfs::Blocking;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::address::{self, Given};
use super::control;
use crate::buffers::Buffer;
use crate::call::Call;
use crate::files::segments::{Memory, Segments};
use crate::files::transfer::CHUNK;
use crate::signal::number::SIGPIPE;
use crate::signal::send;
use crate::socket::names::Name;
use crate::socket::{Destination, Kind, Outgoing, ReceiveFlags, Received, Socket};
use crate::{Errno, Result, memory};

/// `MSG_OOB`.
const OUT_OF_BAND: u32 = 0x1;
/// `MSG_PEEK`.
const PEEK: u32 = 0x2;
/// `MSG_CTRUNC`.
const CONTROL_TRUNCATED: u32 = 0x8;
/// `MSG_TRUNC`.
const TRUNCATED: u32 = 0x20;
/// `MSG_DONTWAIT`.
pub(super) const DONT_WAIT: u32 = 0x40;
/// `MSG_WAITALL`.
const WAIT_ALL: u32 = 0x100;
/// `MSG_NOSIGNAL`.
const NO_SIGNAL: u32 = 0x4000;
/// `MSG_CMSG_CLOEXEC`.
const CLOSE_ON_EXEC: u32 = 0x4000_0000;

/// `struct msghdr`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct Header {
    pub(super) name: usize,
    pub(super) name_len: u32,
    reserved: u32,
    iovecs: usize,
    iovec_count: usize,
    pub(super) control: usize,
    pub(super) control_len: usize,
    pub(super) flags: u32,
    reserved_end: u32,
}

impl Header {
    /// The memory that the message is in.
    pub(super) fn segments(&self) -> Result<Segments> {
        match Segments::vector(self.iovecs, self.iovec_count) {
            Err(Errno::EINVAL) => Err(Errno::EMSGSIZE),
            result => result,
        }
    }
}

/// Where a message goes that was given an address, if it does not go to the other end.
pub(super) fn destination(
    call: &Call<'_>,
    socket: &Socket,
    address: usize,
    len: i32,
) -> Result<Option<Destination>> {
    if address == 0 {
        return Ok(None);
    }
    let given = Given::read(address, len)?;
    match socket.kind {
        _ if len == 0 => Ok(None),
        Kind::Datagram => given.find(call.process).and_then(|to| socket.destination(&to)).map(Some),
        Kind::Notices => Err(Errno::EOPNOTSUPP),
        Kind::Stream if socket.peer_name().is_err() => Err(Errno::EOPNOTSUPP),
        Kind::Stream => Err(Errno::EISCONN),
        Kind::Packets => Ok(None),
    }
}

/// Sends `from` and what goes with it.
pub(super) fn send(
    call: &Call<'_>,
    socket: &Socket,
    status: Blocking,
    mut from: impl Memory,
    mut with: Outgoing,
    flags: u32,
) -> Result<usize> {
    if flags & OUT_OF_BAND != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    from.check(call.process, FaultAccess::Read)?;
    let total = from.len();
    if socket.kind != Kind::Stream && total > CHUNK {
        return Err(Errno::EMSGSIZE);
    }
    let blocking = if flags & DONT_WAIT != 0 { Blocking::Never } else { status };
    let mut buffer = Buffer::of(total.min(CHUNK))?;
    let mut sent = 0;
    loop {
        let part = &mut buffer[..(total - sent).min(CHUNK)];
        let len = part.len();
        let step = from.gather(part).and_then(|()| socket.send(part, &mut with, blocking));
        match step {
            Ok(count) => {
                sent += count;
                if count < len || sent == total {
                    return Ok(sent);
                }
            }
            Err(error) if sent == 0 => {
                if error == Errno::EPIPE && flags & NO_SIGNAL == 0 && socket.raises_sigpipe() {
                    send::to_self(call.task, call.process, SIGPIPE);
                }
                return Err(socket.send_error(call, error));
            }
            Err(_) => return Ok(sent),
        }
    }
}

/// What came of receiving.
pub(super) struct Outcome {
    /// What the call returns.
    pub(super) len: usize,
    /// What `msg_flags` says.
    pub(super) flags: u32,
    /// Something was received, be it empty.
    is_message: bool,
    /// The name of the socket that has sent a message.
    from: Option<Arc<Name>>,
}

impl Outcome {
    /// The sender's address, if it has one.
    pub(super) fn sender(&self, socket: &Socket) -> Option<impl Deref<Target = [u8]>> {
        let name = match socket.kind {
            // The kernel has an address.
            Kind::Notices => return Some(address::bytes(socket.kind, None)),
            Kind::Stream | Kind::Packets if self.is_message => socket.peer_name().ok().flatten(),
            _ => self.from.clone(),
        };
        name.map(|name| address::bytes(socket.kind, Some(&name)))
    }
}

/// Receives into `into`; control messages go to `control`.
pub(super) fn receive(
    call: &Call<'_>,
    socket: &Socket,
    status: Blocking,
    mut into: impl Memory,
    control: Option<&mut control::Writer>,
    flags: u32,
) -> Result<Outcome> {
    if flags & OUT_OF_BAND != 0 {
        return Err(if socket.kind == Kind::Stream { Errno::EINVAL } else { Errno::EOPNOTSUPP });
    }
    into.check(call.process, FaultAccess::Write)?;
    let total = into.len();
    let mut buffer = Buffer::of(total.min(CHUNK))?;
    let mut blocking = if flags & DONT_WAIT != 0 { Blocking::Never } else { status };
    let (mut len, mut whole) = (0, 0);
    let mut files = alloc::vec::Vec::new();
    let (mut ids, mut from) = (None, None);
    loop {
        let wanted = (total - len).min(CHUNK);
        let receive = ReceiveFlags { blocking, peek: flags & PEEK != 0 };
        let mut received = Received::default();
        match socket.receive(&mut buffer[..wanted], receive, &mut received) {
            Err(error) if len == 0 => return Err(socket.receive_error(call, error)),
            Err(_) => break,
            Ok(()) => {}
        }
        into.scatter(&buffer[..received.len])?;
        len += received.len;
        whole += received.whole;
        ids = ids.or(received.ids);
        from = from.or(received.from);
        let brought_files = !received.files.is_empty();
        files.extend(received.files);
        let goes_on = socket.kind == Kind::Stream && flags & PEEK == 0 && !brought_files;
        if !goes_on || received.len == 0 || len == total {
            break;
        }
        if flags & WAIT_ALL == 0 {
            if received.len < wanted {
                break;
            }
            blocking = Blocking::Never;
        }
    }
    let mut outcome = Outcome { len, flags: flags & CLOSE_ON_EXEC, is_message: ids.is_some(), from };
    if whole > len {
        outcome.flags |= TRUNCATED;
        if flags & TRUNCATED != 0 {
            outcome.len = whole;
        }
    }
    if let Some(control) = control {
        if let Some(ids) = ids.filter(|_| socket.passes_credentials()) {
            control.ids(&ids)?;
        }
        if !files.is_empty() {
            control.files(call.process, files, flags & CLOSE_ON_EXEC != 0)?;
        }
        if control.truncated {
            outcome.flags |= CONTROL_TRUNCATED;
        }
    }
    Ok(outcome)
}

/// Sends the message that a header at `address` describes.
pub(super) fn send_header(call: &Call<'_>, index: usize, address: usize, flags: u32) -> Result<usize> {
    let file = address::file(call, index)?;
    let socket = Socket::of(&file)?;
    let header: Header = memory::read(address)?;
    let segments = header.segments()?;
    let mut with = match header.control_len {
        0 => Outgoing::default(),
        len => control::read(call.process, header.control, len)?,
    };
    if header.name_len != 0 {
        with.to = destination(call, socket, header.name, header.name_len as i32)?;
    }
    send(call, socket, file.blocking(), segments, with, flags)
}

/// Receives a message into what a header at `address` describes, and stores the rest there.
pub(super) fn receive_header(call: &Call<'_>, index: usize, address: usize, flags: u32) -> Result<usize> {
    let file = address::file(call, index)?;
    let socket = Socket::of(&file)?;
    let header: Header = memory::read(address)?;
    let segments = header.segments()?;
    let mut control = control::Writer::new(header.control, header.control_len);
    let outcome = receive(call, socket, file.blocking(), segments, Some(&mut control), flags)?;
    let mut name_len = header.name_len;
    if header.name != 0 {
        let sender = outcome.sender(socket);
        let sender = sender.as_deref().unwrap_or_default();
        memory::write_bytes(header.name, &sender[..sender.len().min(name_len as usize)])?;
        name_len = sender.len() as u32;
    }
    let stored = Header { name_len, control_len: control.used(), flags: outcome.flags, ..header };
    memory::write(address, &stored)?;
    Ok(outcome.len)
}
