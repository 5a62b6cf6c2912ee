// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Addresses of sockets: `struct sockaddr_un`, and for `AF_NETLINK` zeros.

use alloc::sync::Arc;

use arrayvec::ArrayVec;
use hadal_hal::memory::fallible;
use hadal_vfs::{Access, FileKind, Follow, OpenFile};

use crate::call::Call;
use crate::files::at;
use crate::process::Process;
use crate::socket::names::{Address, Name};
use crate::socket::{Kind, Socket};
use crate::{Errno, Result, memory};

/// `AF_UNSPEC`.
pub(super) const UNSPECIFIED: u16 = 0;
/// `AF_UNIX`.
pub(super) const UNIX: u16 = 1;
/// `AF_NETLINK`.
pub(super) const NETLINK: u16 = 16;

/// Bytes of the family, which an address begins with.
const FAMILY_BYTES: usize = size_of::<u16>();
/// Most bytes of a name.
const MOST_NAME_BYTES: usize = 108;
/// Bytes of the longest address that calls look at (`struct sockaddr_storage`).
const MOST_GIVEN_BYTES: usize = 128;
/// Bytes of an address of `AF_NETLINK`.
const NETLINK_BYTES: usize = 12;

/// An address as a program gets it: a path of full length has a 0 behind it.
type Bytes = ArrayVec<u8, { FAMILY_BYTES + MOST_NAME_BYTES + 1 }>;

/// An address as a program has given it.
pub(super) struct Given(ArrayVec<u8, MOST_GIVEN_BYTES>);

/// A name that a program has given.
pub(super) enum GivenName<'a> {
    /// None: the kernel makes one.
    Any,
    /// A path.
    Path(&'a [u8]),
    /// Bytes behind a 0.
    Abstract(&'a [u8]),
}

impl Given {
    /// Reads one: `EINVAL` when it is too long.
    pub(super) fn read(address: usize, len: i32) -> Result<Self> {
        let len = usize::try_from(len).ok().filter(|&len| len <= MOST_GIVEN_BYTES).ok_or(Errno::EINVAL)?;
        let mut bytes = [0; MOST_GIVEN_BYTES];
        memory::read_bytes(address, &mut bytes[..len])?;
        let mut given = ArrayVec::from(bytes);
        given.truncate(len);
        Ok(Self(given))
    }

    /// The family, if it has one.
    pub(super) fn family(&self) -> Option<u16> {
        let bytes = self.0.first_chunk::<FAMILY_BYTES>()?;
        Some(u16::from_ne_bytes(*bytes))
    }

    /// The name: `EINVAL` if the address is none of `AF_UNIX`.
    pub(super) fn name(&self) -> Result<GivenName<'_>> {
        if self.family() != Some(UNIX) {
            return Err(Errno::EINVAL);
        }
        match &self.0[FAMILY_BYTES..] {
            name if name.len() > MOST_NAME_BYTES => Err(Errno::EINVAL),
            [] => Ok(GivenName::Any),
            [0, name @ ..] => Ok(GivenName::Abstract(name)),
            path => Ok(GivenName::Path(path.split(|&byte| byte == 0).next().unwrap_or(path))),
        }
    }

    /// The socket that it leads to: `ECONNREFUSED` when the path is no socket's, and the errors of paths.
    pub(super) fn find(&self, process: &Process) -> Result<Address> {
        let path = match self.name()? {
            GivenName::Any => return Err(Errno::EINVAL),
            GivenName::Abstract(name) => return Ok(Address::Abstract(fallible::boxed_bytes(name)?)),
            GivenName::Path(path) => path,
        };
        let place = at::place(process, at::AT_FDCWD, path, Follow::Yes)?;
        process.namespace.access_at(&process.caller(), &place, Access::WRITE)?;
        if place.inode().kind() != FileKind::Socket {
            return Err(Errno::ECONNREFUSED);
        }
        process.refused.note_socket_of_host(&place);
        Ok(Address::Inode(place.inode().identity()))
    }
}

/// The family of a socket.
pub(super) fn family(socket: &Socket) -> u16 {
    if socket.kind == Kind::Notices { NETLINK } else { UNIX }
}

/// The file behind a descriptor argument.
pub(super) fn file(call: &Call<'_>, index: usize) -> Result<Arc<OpenFile>> {
    call.process.files().get(call.int(index))
}

/// The address of a socket of a kind that has this name.
pub(super) fn bytes(kind: Kind, name: Option<&Name>) -> Bytes {
    let mut bytes = Bytes::new();
    if kind == Kind::Notices {
        bytes.extend(NETLINK.to_ne_bytes());
        bytes.extend([0; NETLINK_BYTES - FAMILY_BYTES]);
        return bytes;
    }
    bytes.extend(UNIX.to_ne_bytes());
    match name {
        None => {}
        Some(Name::Path(path, _)) => {
            bytes.extend(path.iter().copied());
            bytes.push(0);
        }
        Some(Name::Abstract(name)) => {
            bytes.push(0);
            bytes.extend(name.iter().copied());
        }
    }
    bytes
}

/// Stores an address, cut off at the length that is found at `len_address`, and its length there.
pub(super) fn write(bytes: &[u8], address: usize, len_address: usize) -> Result<()> {
    let room: i32 = memory::read(len_address)?;
    let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
    memory::write_bytes(address, &bytes[..room.min(bytes.len())])?;
    memory::write(len_address, &(bytes.len() as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &[u8]) -> Given {
        Given(UNIX.to_ne_bytes().into_iter().chain(name.iter().copied()).collect())
    }

    #[test]
    fn names_are_paths_or_any_bytes() {
        assert!(matches!(given(b"").name(), Ok(GivenName::Any)));
        assert!(matches!(given(b"/a\0bc").name(), Ok(GivenName::Path(b"/a"))));
        assert!(matches!(given(b"\0a\0").name(), Ok(GivenName::Abstract(b"a\0"))));
        assert!(matches!(given(&[b'a'; 108]).name(), Ok(GivenName::Path(path)) if path.len() == 108));
        assert!(given(&[b'a'; 109]).name().is_err());
        assert!(Given([2, 0, 1].into_iter().collect()).name().is_err());
        assert_eq!(Given(ArrayVec::new()).family(), None);
    }

    #[test]
    fn addresses_are_as_long_as_their_names() {
        assert_eq!(bytes(Kind::Stream, None).len(), 2);
        let longest = Name::Abstract([7; 107].into());
        assert_eq!(bytes(Kind::Stream, Some(&longest)).len(), 110);
        assert_eq!(bytes(Kind::Notices, None).len(), 12);
    }
}
