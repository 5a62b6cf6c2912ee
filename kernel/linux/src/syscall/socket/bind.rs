// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `bind(2)`: gives a socket an address.
//!
//! Honoured: paths in memory (below `/tmp` or `/dev/shm`; the umask applies), abstract addresses, and the family alone, for an abstract
//! address that the kernel chooses.
//!
//! Refused: paths among the host's files (`EPERM`), addresses of other families (`EINVAL`), sockets of `AF_NETLINK` (`EOPNOTSUPP`).

use hadal_vfs::FileKind;

use super::address::{self, Given, GivenName};
use crate::call::Call;
use crate::files::at;
use crate::socket::{Kind, Socket};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, SocketAddress(2), Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    let given = Given::read(call.arg(1), call.int(2))?;
    if socket.kind == Kind::Notices {
        return Err(Errno::EOPNOTSUPP);
    }
    match given.name()? {
        GivenName::Any => socket.bind_abstract(None)?,
        GivenName::Abstract(name) => socket.bind_abstract(Some(name))?,
        GivenName::Path(path) => bind_path(call, socket, path)?,
    }
    Ok(0)
}

fn bind_path(call: &Call<'_>, socket: &Socket, path: &[u8]) -> Result<()> {
    let process = call.process;
    socket.bind_path(path, || {
        let start = at::start(process, at::AT_FDCWD, path)?;
        let made = process.namespace.make_special(&process.caller(), &start, path, FileKind::Socket, 0o777);
        made.map_err(|error| {
            process.refused.note_special(error);
            process.refused.note_write(process, &start, path, error);
            if error == Errno::EEXIST { Errno::EADDRINUSE } else { error }
        })
    })
}
