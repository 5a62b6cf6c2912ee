// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of sockets (unix(7)): paths, and names that are in no file system.
//!
//! A file system keeps a path alone. Which socket stands behind it is found here by the inode, which the name holds on to, so
//! that no other gets its number.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};

use hadal_hal::memory::fallible::{self, SMALL_BYTES};
use hadal_sync::Mutex;
use hadal_vfs::{Inode, InodeId};

use super::side::Side;
use super::{Kind, Socket};
use crate::{Errno, Result};

/// What a socket is called.
pub(crate) enum Name {
    /// A path, as the program has given it.
    Path(Box<[u8]>, Arc<dyn Inode>),
    /// Any bytes (an abstract address, without the first 0).
    Abstract(Box<[u8]>),
}

/// Where a message goes or a connection is to be.
pub(crate) enum Address {
    /// What a path leads to.
    Inode(InodeId),
    /// An abstract name.
    Abstract(Box<[u8]>),
}

/// Sockets with a name, until they are closed.
struct Names {
    paths: BTreeMap<InodeId, Weak<Side>>,
    abstracts: BTreeMap<Box<[u8]>, Weak<Side>>,
    /// The last name that the kernel has made.
    last: u32,
}

static NAMES: Mutex<Names> =
    Mutex::new(Names { paths: BTreeMap::new(), abstracts: BTreeMap::new(), last: 0 });

/// Names that the kernel makes are so many, of five hexadecimal digits.
const MADE: u32 = 1 << 20;

impl Socket {
    /// Gives the socket an abstract name: `EADDRINUSE` when it is taken, `EINVAL` if the socket has a name. `None` is any that
    /// is free.
    pub(crate) fn bind_abstract(&self, name: Option<&[u8]>) -> Result<()> {
        let _naming = self.side.naming.lock();
        match (self.side.name.is_completed(), name) {
            // Who has a name needs no other.
            (true, None) => return Ok(()),
            (true, Some(_)) => return Err(Errno::EINVAL),
            _ => {}
        }
        let mut names = NAMES.lock();
        let bytes = match name {
            Some(name) => fallible::boxed_bytes(name)?,
            None => names.free()?,
        };
        if names.abstracts.contains_key(&bytes) {
            return Err(Errno::EADDRINUSE);
        }
        let name = fallible::arc(Name::Abstract(fallible::boxed_bytes(&bytes)?))?;
        fallible::admit(SMALL_BYTES)?;
        names.abstracts.insert(bytes, Arc::downgrade(&self.side));
        self.side.name.call_once(|| name);
        Ok(())
    }

    /// Gives the socket a path as its name. `make` makes the inode, and says how that failed; `EINVAL` if the socket has a name.
    pub(crate) fn bind_path(&self, path: &[u8], make: impl FnOnce() -> Result<Arc<dyn Inode>>) -> Result<()> {
        let _naming = self.side.naming.lock();
        if self.side.name.is_completed() {
            return Err(Errno::EINVAL);
        }
        // First what may fail: an inode that was made stays.
        let (path, room) = (fallible::boxed_bytes(path)?, fallible::arc_room()?);
        fallible::admit(SMALL_BYTES)?;
        let inode = make()?;
        NAMES.lock().paths.insert(inode.identity(), Arc::downgrade(&self.side));
        self.side.name.call_once(|| room.fill(Name::Path(path, inode)));
        Ok(())
    }

    /// Its name.
    pub(crate) fn name(&self) -> Option<&Name> {
        self.side.name.get().map(|name| &**name)
    }
}

impl Names {
    /// An abstract name that nobody has; `ENOSPC` when there is none.
    fn free(&mut self) -> Result<Box<[u8]>> {
        for _ in 0..MADE {
            self.last = (self.last + 1) % MADE;
            let digit = |place: usize| b"0123456789abcdef"[(self.last >> (16 - 4 * place)) as usize % 16];
            let name: [u8; 5] = core::array::from_fn(digit);
            if !self.abstracts.contains_key(&name[..]) {
                return Ok(fallible::boxed_bytes(&name)?);
            }
        }
        Err(Errno::ENOSPC)
    }
}

/// The socket of some kind at an address: `ECONNREFUSED` if there is none, `EPROTOTYPE` if it is of another kind.
pub(super) fn find(address: &Address, kind: Kind) -> Result<Arc<Side>> {
    let side = {
        let names = NAMES.lock();
        let found = match address {
            Address::Inode(id) => names.paths.get(id),
            Address::Abstract(name) => names.abstracts.get(name),
        };
        found.and_then(Weak::upgrade).ok_or(Errno::ECONNREFUSED)?
    };
    if side.kind == kind { Ok(side) } else { Err(Errno::EPROTOTYPE) }
}

/// A socket is closed: its name stands for none. (A connection that was taken has the name of another one.)
pub(super) fn forget(side: &Arc<Side>) {
    let Some(name) = side.name.get() else { return };
    let is_own = |found: &Weak<Side>| Weak::as_ptr(found) == Arc::as_ptr(side);
    let mut names = NAMES.lock();
    match &**name {
        Name::Path(_, inode) => {
            let id = inode.identity();
            if names.paths.get(&id).is_some_and(is_own) {
                names.paths.remove(&id);
            }
        }
        Name::Abstract(bytes) => {
            if names.abstracts.get(bytes).is_some_and(is_own) {
                names.abstracts.remove(bytes);
            }
        }
    }
}
