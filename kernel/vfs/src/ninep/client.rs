// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One 9P exchange per function.
//!
//! [`Client`] owns the connection: message size, tags, fid numbers and reply buffers. [`Fid`] is a file number at
//! the server; dropping it gives it back (`Tclunk`). A fid that was never opened holds nothing at the server, so
//! it is given back later, in batches; on a connection where nothing is written that goes for all fids. This
//! halves the exchanges of a program that opens many small files.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible::MakeRoom;
use hadal_hal::sync::{Rank, SpinLock};

use super::buffers::{self, Buffers};
use super::codec::{
    Attributes, Changes, FsNumbers, GETATTR_BASIC, IO_OVERHEAD, MAX_WALK, NO_FID, NO_TAG, Qid,
};
use super::message::{Reply, Request};
use super::transport::{Transport, TransportError};
use crate::errno::{Errno, Result};

/// The protocol this client speaks.
const VERSION: &[u8] = b"9P2000.L";
/// Smallest message size to work with: a path and its surroundings must fit.
const MSIZE_MIN: usize = buffers::SMALL;
/// Largest message size to ask for.
const MSIZE_MAX: usize = 512_000;
/// What one read or write moves when memory for a larger message is lacking.
const SMALL_IO: usize = buffers::SMALL - IO_OVERHEAD;
/// How many unused fids may wait before they are given back.
const LAZY_CLUNKS: usize = 128;
/// `Tunlinkat` flag: remove a directory.
const AT_REMOVEDIR: u32 = 0x200;

/// A connection to a server.
pub struct Client {
    transport: Arc<dyn Transport>,
    msize: usize,
    tags: SpinLock<Numbers>,
    fids: SpinLock<Numbers>,
    buffers: Buffers,
    /// Fids that nobody uses any more and that are given back later.
    unused: SpinLock<Vec<u32>>,
    lazy: AtomicBool,
}

/// A file number at the server.
pub struct Fid {
    client: Arc<Client>,
    number: u32,
    /// An open fid keeps storage of a removed file, so it is given back at once.
    opened: AtomicBool,
}

/// What a walk came to.
pub(super) enum WalkEnd {
    /// All names were followed: the new fid, and the identity of each step.
    All(Fid, Vec<Qid>),
    /// Only some, at least one: the identity of each step made. There is no fid.
    Part(Vec<Qid>),
}

impl Client {
    /// Agrees on version and message size and attaches to a tree as a user. Returns its root.
    pub fn connect(transport: Arc<dyn Transport>, tree: &[u8], uid: u32) -> Result<(Arc<Self>, Fid, Qid)> {
        let offered = transport.msize_limit().min(MSIZE_MAX);
        if offered < MSIZE_MIN {
            return Err(Errno::EPROTO);
        }
        let mut client = Self {
            transport,
            msize: MSIZE_MIN,
            tags: SpinLock::ranked(Rank::Files, Numbers::new(u32::from(NO_TAG))),
            fids: SpinLock::ranked(Rank::Files, Numbers::new(NO_FID)),
            buffers: Buffers::new(MSIZE_MIN),
            unused: SpinLock::new(Vec::new()),
            lazy: AtomicBool::new(false),
        };
        let request = Request::Version { msize: offered as u32, version: VERSION };
        let agreed = client.exchange_tagged(NO_TAG, &request, 0, |reply| match reply {
            Reply::Version { msize, version } => Some((msize as usize, version == VERSION)),
            _ => None,
        })?;
        match agreed {
            (msize, true) if msize >= MSIZE_MIN && msize <= offered => {
                client.msize = msize;
                client.buffers = Buffers::new(msize);
            }
            _ => return Err(Errno::EPROTO),
        }
        let client = Arc::new(client);
        let fid = client.new_fid()?;
        let request = Request::Attach { fid: fid.number, afid: NO_FID, user: b"", tree, uid };
        let qid = client.exchange(&request, |reply| match reply {
            Reply::Attach { qid } => Some(qid),
            _ => None,
        });
        fid.unless_failed(qid).map(|(fid, qid)| (client, fid, qid))
    }

    /// From now on, open fids too may be given back late: nothing is written through this connection.
    pub fn put_off_clunks(&self) {
        self.lazy.store(true, Ordering::Relaxed);
    }

    /// Most bytes that one read or write can carry.
    pub fn io_limit(&self) -> usize {
        self.msize - IO_OVERHEAD
    }

    fn new_fid(self: &Arc<Self>) -> Result<Fid> {
        let number = self.fids.lock().take().ok_or(Errno::ENFILE)?;
        Ok(Fid { client: self.clone(), number, opened: AtomicBool::new(false) })
    }

    /// One exchange with a small reply.
    fn exchange<T>(&self, request: &Request<'_>, take: impl FnOnce(Reply<'_>) -> Option<T>) -> Result<T> {
        self.exchange_sized(request, 0, take)
    }

    /// One exchange whose reply carries up to `data_len` bytes of data.
    fn exchange_sized<T>(
        &self,
        request: &Request<'_>,
        data_len: usize,
        take: impl FnOnce(Reply<'_>) -> Option<T>,
    ) -> Result<T> {
        // A bitmap of 65,535 tags cannot run out before memory for threads does.
        let tag = self.tags.lock().take().ok_or(Errno::EAGAIN)?;
        let result = self.exchange_tagged(tag as u16, request, data_len, take);
        self.tags.lock().give_back(tag);
        result
    }

    /// `take` picks what it needs from the expected reply; another reply is an error of the server (`EIO`).
    fn exchange_tagged<T>(
        &self,
        tag: u16,
        request: &Request<'_>,
        data_len: usize,
        take: impl FnOnce(Reply<'_>) -> Option<T>,
    ) -> Result<T> {
        let mut message = Vec::new();
        if let Request::Write { data, .. } = request {
            message.make_room(data.len() + IO_OVERHEAD)?;
        }
        let message = request.encode(tag, message).map_err(Errno::from)?;
        let mut reply = self.buffers.take(data_len + IO_OVERHEAD)?;
        let len = self.transport.request(&message, &mut reply);
        let result = match len.map_err(Errno::from).map(|len| Reply::decode(&reply[..len.min(reply.len())])) {
            Err(error) => Err(error),
            Ok(Ok((got, _))) if got != tag => Err(Errno::EIO),
            Ok(Ok((_, Reply::Error { number }))) => Err(Errno::from_raw(number)),
            Ok(Ok((_, reply))) => take(reply).ok_or(Errno::EIO),
            Ok(Err(_)) => Err(Errno::EIO),
        };
        self.buffers.give_back(reply);
        result
    }

    /// Frees buffers that are not in use.
    pub(super) fn release_buffers(&self) {
        self.buffers.clear();
    }

    /// Gives a fid back; false when there was no memory to say so.
    fn clunk(&self, number: u32) -> bool {
        let request = Request::Clunk { fid: number };
        let result = self.exchange(&request, |reply| matches!(reply, Reply::Clunk).then_some(()));
        // The server forgets the fid even when it answers with an error. Only if there was no answer at all the
        // number may still be in use there, and is left alone.
        if !matches!(result, Err(Errno::EPIPE | Errno::ENOMEM)) {
            self.fids.lock().give_back(number);
        }
        result != Err(Errno::ENOMEM)
    }

    fn retire(&self, number: u32, opened: bool) {
        if opened && !self.lazy.load(Ordering::Relaxed) && self.clunk(number) {
            return;
        }
        let mut unused = self.unused.lock();
        unused.push(number);
        if unused.len() >= LAZY_CLUNKS {
            let batch = core::mem::take(&mut *unused);
            drop(unused);
            for number in batch {
                if !self.clunk(number) {
                    self.unused.lock().push(number);
                }
            }
        }
    }
}

impl From<TransportError> for Errno {
    fn from(error: TransportError) -> Self {
        match error {
            // Not a number that a file server answers with.
            TransportError::Closed => Self::EPIPE,
            TransportError::TooLarge => Self::EIO,
            TransportError::NoResources => Self::ENOMEM,
        }
    }
}

/// Accepts a reply without content.
macro_rules! plain {
    ($self:expr, $request:expr, $reply:pat) => {
        $self.client.exchange(&$request, |reply| matches!(reply, $reply).then_some(()))
    };
}

impl Fid {
    /// The connection.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Keeps a new fid when the server has taken it up; else gives its number back without an exchange.
    fn unless_failed<T>(self, result: Result<T>) -> Result<(Self, T)> {
        match result {
            Ok(value) => Ok((self, value)),
            Err(error) => {
                let mut fid = self;
                fid.client.fids.lock().give_back(fid.number);
                fid.number = NO_FID;
                Err(error)
            }
        }
    }

    /// A second fid for the same file.
    pub fn duplicate(&self) -> Result<Self> {
        match self.walk(&[])? {
            WalkEnd::All(fid, _) => Ok(fid),
            WalkEnd::Part(_) => Err(Errno::EIO),
        }
    }

    /// Follows up to [`MAX_WALK`] names.
    pub(super) fn walk(&self, names: &[&[u8]]) -> Result<WalkEnd> {
        let names = &names[..names.len().min(MAX_WALK)];
        let fid = self.client.new_fid()?;
        let request = Request::Walk { fid: self.number, new_fid: fid.number, names: names.to_vec() };
        let qids = self.client.exchange(&request, |reply| match reply {
            Reply::Walk { qids } if qids.len() <= names.len() => Some(qids),
            _ => None,
        });
        let (fid, qids) = fid.unless_failed(qids)?;
        if qids.len() == names.len() {
            return Ok(WalkEnd::All(fid, qids));
        }
        // A walk that ends early makes no fid. One that does not even take the first name is an error reply.
        drop(fid.unless_failed::<()>(Err(Errno::ENOENT)));
        if qids.is_empty() { Err(Errno::EIO) } else { Ok(WalkEnd::Part(qids)) }
    }

    /// Attributes.
    pub fn getattr(&self) -> Result<Attributes> {
        let request = Request::Getattr { fid: self.number, mask: GETATTR_BASIC };
        self.client.exchange(&request, |reply| match reply {
            Reply::Getattr(attributes) => Some(attributes),
            _ => None,
        })
    }

    /// Changes attributes.
    pub fn setattr(&self, changes: &Changes) -> Result<()> {
        plain!(self, Request::Setattr { fid: self.number, changes: *changes }, Reply::Setattr)
    }

    /// Numbers of the file system.
    pub fn statfs(&self) -> Result<FsNumbers> {
        self.client.exchange(&Request::Statfs { fid: self.number }, |reply| match reply {
            Reply::Statfs(numbers) => Some(numbers),
            _ => None,
        })
    }

    /// Opens the file; returns its identity and the server's unit of input and output (0: no opinion).
    pub fn open(&self, flags: u32) -> Result<(Qid, u32)> {
        let opened =
            self.client.exchange(&Request::Lopen { fid: self.number, flags }, |reply| match reply {
                Reply::Lopen { qid, io_unit } => Some((qid, io_unit)),
                _ => None,
            })?;
        self.opened.store(true, Ordering::Relaxed);
        Ok(opened)
    }

    /// Creates a file in this directory and opens it; the fid stands for the file afterwards.
    pub fn create(&self, name: &[u8], flags: u32, mode: u32, gid: u32) -> Result<(Qid, u32)> {
        let request = Request::Lcreate { fid: self.number, name, flags, mode, gid };
        let created = self.client.exchange(&request, |reply| match reply {
            Reply::Lcreate { qid, io_unit } => Some((qid, io_unit)),
            _ => None,
        })?;
        self.opened.store(true, Ordering::Relaxed);
        Ok(created)
    }

    /// One read; returns how much came, 0 at the end of the file.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.read_to(offset, buffer.len(), &mut |data| buffer[..data.len()].copy_from_slice(data))
    }

    /// One read of up to `count` bytes, which `take` gets where the reply has them; returns how many came, 0 at the end of the
    /// file.
    pub(super) fn read_to(&self, offset: u64, count: usize, take: &mut dyn FnMut(&[u8])) -> Result<usize> {
        match self.read_once(offset, count, take) {
            // A small piece may still be had when memory is short.
            Err(Errno::ENOMEM) if count > SMALL_IO => self.read_once(offset, SMALL_IO, take),
            result => result,
        }
    }

    fn read_once(&self, offset: u64, count: usize, take: &mut dyn FnMut(&[u8])) -> Result<usize> {
        let count = count.min(self.client.io_limit());
        let request = Request::Read { fid: self.number, offset, count: count as u32 };
        self.client.exchange_sized(&request, count, |reply| match reply {
            Reply::Read { data } if data.len() <= count => {
                take(data);
                Some(data.len())
            }
            _ => None,
        })
    }

    /// One write; returns how much was taken.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<usize> {
        match self.write_once(offset, data) {
            Err(Errno::ENOMEM) if data.len() > SMALL_IO => self.write_once(offset, &data[..SMALL_IO]),
            result => result,
        }
    }

    fn write_once(&self, offset: u64, data: &[u8]) -> Result<usize> {
        let data = &data[..data.len().min(self.client.io_limit())];
        let request = Request::Write { fid: self.number, offset, data };
        self.client.exchange(&request, |reply| match reply {
            Reply::Write { count } if count as usize <= data.len() => Some(count as usize),
            _ => None,
        })
    }

    /// Reads directory entries, up to `count` bytes of them; `sink` gets the data.
    pub fn readdir<T>(&self, offset: u64, count: usize, sink: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let count = count.min(self.client.io_limit());
        let request = Request::Readdir { fid: self.number, offset, count: count as u32 };
        self.client.exchange_sized(&request, count, |reply| match reply {
            Reply::Readdir { data } if data.len() <= count => Some(sink(data)),
            _ => None,
        })
    }

    /// The text of a symbolic link.
    pub fn readlink(&self) -> Result<Vec<u8>> {
        self.client.exchange(&Request::Readlink { fid: self.number }, |reply| match reply {
            Reply::Readlink { target } => Some(target.to_vec()),
            _ => None,
        })
    }

    /// Brings written data to the host's storage.
    pub fn fsync(&self, data_only: bool) -> Result<()> {
        plain!(self, Request::Fsync { fid: self.number, data_only }, Reply::Fsync)
    }

    /// Creates a directory in this one.
    pub fn mkdir(&self, name: &[u8], mode: u32, gid: u32) -> Result<Qid> {
        let request = Request::Mkdir { dir: self.number, name, mode, gid };
        self.client.exchange(&request, |reply| match reply {
            Reply::Mkdir { qid } => Some(qid),
            _ => None,
        })
    }

    /// Creates a symbolic link in this directory.
    pub fn symlink(&self, name: &[u8], target: &[u8], gid: u32) -> Result<Qid> {
        let request = Request::Symlink { dir: self.number, name, target, gid };
        self.client.exchange(&request, |reply| match reply {
            Reply::Symlink { qid } => Some(qid),
            _ => None,
        })
    }

    /// Gives a file one more name, in this directory.
    pub fn link(&self, name: &[u8], file: &Self) -> Result<()> {
        plain!(self, Request::Link { dir: self.number, fid: file.number, name }, Reply::Link)
    }

    /// Removes a name of a file from this directory.
    pub fn unlink(&self, name: &[u8]) -> Result<()> {
        plain!(self, Request::Unlinkat { dir: self.number, name, flags: 0 }, Reply::Unlinkat)
    }

    /// Removes an empty directory from this one.
    pub fn rmdir(&self, name: &[u8]) -> Result<()> {
        plain!(self, Request::Unlinkat { dir: self.number, name, flags: AT_REMOVEDIR }, Reply::Unlinkat)
    }

    /// Moves an entry of this directory.
    pub fn rename(&self, name: &[u8], new_dir: &Self, new_name: &[u8]) -> Result<()> {
        let request = Request::Renameat { dir: self.number, name, new_dir: new_dir.number, new_name };
        plain!(self, request, Reply::Renameat)
    }
}

impl Drop for Fid {
    fn drop(&mut self) {
        if self.number != NO_FID {
            self.client.retire(self.number, *self.opened.get_mut());
        }
    }
}

/// Hands out the numbers below a bound, used ones first.
struct Numbers {
    free: Vec<u32>,
    next: u32,
    bound: u32,
}

impl Numbers {
    fn new(bound: u32) -> Self {
        Self { free: Vec::new(), next: 0, bound }
    }

    fn take(&mut self) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            return Some(number);
        }
        let number = self.next;
        (number < self.bound).then(|| {
            self.next += 1;
            number
        })
    }

    fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }
}
