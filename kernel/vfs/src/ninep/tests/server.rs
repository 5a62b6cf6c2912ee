// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A small 9P server over a file system in memory, as a transport.
//!
//! It behaves like QEMU's: walks end early at the first missing name, symbolic links are never followed, and (when
//! asked to) attributes of a file without a name are `ENOENT`. It checks the client too: using an unknown fid,
//! opening one twice or walking from an open one fails the test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::errno::Errno;
use crate::file::File;
use crate::flags::{OpenFlags, RenameFlags};
use crate::inode::{Inode, Owner};
use crate::metadata::{FileKind, SetAttr, SetTime, Timespec};
use crate::ninep::codec::{
    Attributes, Changes, FsNumbers, QID_DIRECTORY, QID_SYMLINK, Qid, WireEntry, WireTime, change,
};
use crate::ninep::message::{Reply, Request};
use crate::ninep::transport::{Transport, TransportError};

/// How the server differs from the usual.
#[derive(Clone, Copy, Default)]
pub(super) struct Quirks {
    /// A walk that cannot follow all names is an error, as in QEMU before 7.0.
    pub(super) all_or_nothing_walk: bool,
    /// Attributes of files without a name are `ENOENT`, as in QEMU before 10.
    pub(super) forgets_orphans: bool,
    /// Somebody else appends a question mark before each append: between the client's question for
    /// the length and its write.
    pub(super) strangers_append: bool,
    /// The agreed message size.
    pub(super) msize: usize,
}

struct State {
    fids: BTreeMap<u32, ServerFid>,
    log: Vec<&'static str>,
}

#[derive(Clone)]
struct ServerFid {
    inode: Arc<dyn Inode>,
    open: Option<Arc<dyn File>>,
    /// Opened with `O_APPEND`: as on Linux, writes go to the end whatever position they name.
    appends: bool,
}

pub(super) struct TestServer {
    root: Arc<dyn Inode>,
    quirks: Quirks,
    state: Mutex<State>,
}

impl TestServer {
    pub(super) fn new(root: Arc<dyn Inode>, quirks: Quirks) -> Arc<Self> {
        let state = State { fids: BTreeMap::new(), log: Vec::new() };
        Arc::new(Self { root, quirks, state: Mutex::new(state) })
    }

    /// The kinds of requests since the last call.
    pub(super) fn take_log(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }

    pub(super) fn fids(&self) -> usize {
        self.state.lock().unwrap().fids.len()
    }

    pub(super) fn open_fids(&self) -> usize {
        self.state.lock().unwrap().fids.values().filter(|fid| fid.open.is_some()).count()
    }

    fn msize(&self) -> usize {
        if self.quirks.msize == 0 { 65536 } else { self.quirks.msize }
    }
}

impl Transport for TestServer {
    fn msize_limit(&self) -> usize {
        1 << 20
    }

    fn request(&self, request: &[u8], reply: &mut [u8]) -> Result<usize, TransportError> {
        let (tag, request) = Request::decode(request).expect("the client's messages are well-formed");
        let mut data = Vec::new();
        let answer = match self.state.lock().unwrap().serve(self, request, &mut data) {
            Ok(reply) => reply,
            Err(error) => Reply::Error { number: u32::from(error.raw()) },
        };
        let bytes = answer.encode(tag)?;
        assert!(bytes.len() <= self.msize().max(8192), "replies stay below the message size");
        reply.get_mut(..bytes.len()).ok_or(TransportError::TooLarge)?.copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

fn qid(inode: &Arc<dyn Inode>) -> Qid {
    let kind = match inode.kind() {
        FileKind::Directory => QID_DIRECTORY,
        FileKind::Symlink => QID_SYMLINK,
        _ => 0,
    };
    Qid { kind, version: 0, path: inode.identity().ino }
}

impl State {
    fn fid(&self, fid: u32) -> &ServerFid {
        self.fids.get(&fid).expect("the client uses fids it has")
    }

    fn inode(&self, fid: u32) -> Arc<dyn Inode> {
        self.fid(fid).inode.clone()
    }

    fn file(&self, fid: u32) -> Arc<dyn File> {
        self.fid(fid).open.clone().expect("the client reads and writes open fids")
    }

    fn set_new(&mut self, fid: u32, inode: Arc<dyn Inode>) {
        assert!(
            self.fids.insert(fid, ServerFid { inode, open: None, appends: false }).is_none(),
            "the new fid is free"
        );
    }

    fn named(&self, server: &TestServer, fid: u32) -> Result<Arc<dyn Inode>, Errno> {
        let inode = self.inode(fid);
        let orphan = inode.metadata()?.nlink == 0;
        if orphan && server.quirks.forgets_orphans { Err(Errno::ENOENT) } else { Ok(inode) }
    }

    fn serve<'a>(
        &mut self,
        server: &TestServer,
        request: Request<'_>,
        data: &'a mut Vec<u8>,
    ) -> Result<Reply<'a>, Errno> {
        let log = |state: &mut Self, what| state.log.push(what);
        Ok(match request {
            Request::Version { msize, version } => {
                assert_eq!(version, b"9P2000.L");
                Reply::Version { msize: (msize as usize).min(server.msize()) as u32, version: b"9P2000.L" }
            }
            Request::Attach { fid, .. } => {
                self.set_new(fid, server.root.clone());
                Reply::Attach { qid: qid(&server.root) }
            }
            Request::Walk { fid, new_fid, names } => {
                log(self, "walk");
                assert!(self.fid(fid).open.is_none(), "no walk from an open fid");
                let mut inode = self.named(server, fid)?;
                let mut qids = Vec::new();
                for name in &names {
                    match inode.lookup(name) {
                        Ok(next) => inode = next,
                        Err(error) if qids.is_empty() || server.quirks.all_or_nothing_walk => {
                            return Err(error);
                        }
                        Err(_) => break,
                    }
                    qids.push(qid(&inode));
                }
                if qids.len() == names.len() {
                    self.set_new(new_fid, inode);
                }
                Reply::Walk { qids }
            }
            Request::Lopen { fid, flags } => {
                log(self, "open");
                assert!(self.fid(fid).open.is_none(), "a fid is opened once");
                let inode = self.inode(fid);
                let mode = inode.metadata()?.mode & 0o777;
                let flags = OpenFlags::from_bits_retain(flags);
                if mode == 0 {
                    return Err(Errno::EACCES);
                }
                let file = inode.clone().open(flags)?;
                let appends = flags.contains(OpenFlags::APPEND);
                self.fids.insert(fid, ServerFid { inode: inode.clone(), open: Some(file), appends });
                Reply::Lopen { qid: qid(&inode), io_unit: 0 }
            }
            Request::Lcreate { fid, name, flags, mode, gid } => {
                log(self, "create");
                let owner = Owner { uid: 0, gid };
                let flags = OpenFlags::from_bits_retain(flags);
                let created = self.inode(fid).create(name, mode, owner, flags)?;
                let qid = qid(&created.inode);
                let appends = flags.contains(OpenFlags::APPEND);
                let (inode, open) = (created.inode, Some(created.file));
                self.fids.insert(fid, ServerFid { inode, open, appends });
                Reply::Lcreate { qid, io_unit: 4096 }
            }
            Request::Symlink { dir, name, target, gid } => {
                Reply::Symlink { qid: qid(&self.inode(dir).symlink(name, target, Owner { uid: 0, gid })?) }
            }
            Request::Readlink { fid } => {
                log(self, "readlink");
                *data = self.inode(fid).readlink()?;
                Reply::Readlink { target: data }
            }
            Request::Getattr { fid, .. } => {
                log(self, "getattr");
                Reply::Getattr(attributes(&self.named(server, fid)?)?)
            }
            Request::Setattr { fid, changes } => {
                log(self, "setattr");
                self.named(server, fid)?.set_attr(&set_attr(&changes))?;
                Reply::Setattr
            }
            Request::Readdir { fid, offset, count } => {
                log(self, "readdir");
                self.file(fid).readdir(offset, &mut |entry| {
                    let qid = Qid { kind: 0, version: 0, path: entry.ino };
                    let kind = entry.kind.map_or(0, FileKind::dirent_type);
                    let fits = data.len() + 24 + entry.name.len() <= count as usize;
                    if fits {
                        WireEntry { qid, offset: entry.next_cookie, kind, name: entry.name }.encode(data);
                    }
                    fits
                })?;
                Reply::Readdir { data }
            }
            Request::Fsync { fid, data_only } => {
                log(self, if data_only { "fdatasync" } else { "fsync" });
                self.file(fid).fsync(data_only)?;
                Reply::Fsync
            }
            Request::Link { dir, fid, name } => {
                self.inode(dir).link(name, &self.inode(fid))?;
                Reply::Link
            }
            Request::Mkdir { dir, name, mode, gid } => {
                Reply::Mkdir { qid: qid(&self.inode(dir).mkdir(name, mode, Owner { uid: 0, gid })?) }
            }
            Request::Renameat { dir, name, new_dir, new_name } => {
                let target = self.inode(new_dir);
                self.inode(dir).rename(name, &target, new_name, RenameFlags::empty())?;
                Reply::Renameat
            }
            Request::Unlinkat { dir, name, flags } => {
                let dir = self.inode(dir);
                if flags & 0x200 != 0 {
                    dir.rmdir(name)?
                } else {
                    dir.unlink(name)?
                }
                Reply::Unlinkat
            }
            Request::Read { fid, offset, count } => {
                log(self, "read");
                data.resize(count as usize, 0);
                let len = self.file(fid).read_at(offset, data)?;
                Reply::Read { data: &data[..len] }
            }
            Request::Write { fid, offset, data } => {
                log(self, "write");
                let file = self.file(fid);
                if server.quirks.strangers_append && self.fid(fid).appends {
                    file.append(b"?")?;
                }
                let count =
                    if self.fid(fid).appends { file.append(data)?.1 } else { file.write_at(offset, data)? };
                Reply::Write { count: count as u32 }
            }
            Request::Clunk { fid } => {
                log(self, "clunk");
                self.fids.remove(&fid).expect("the client gives back fids it has");
                Reply::Clunk
            }
            Request::Statfs { fid } => {
                let numbers = self.inode(fid).statfs()?;
                Reply::Statfs(FsNumbers {
                    magic: numbers.magic as u32,
                    blocks: numbers.blocks,
                    block_size: numbers.block_size as u32,
                    ..FsNumbers::default()
                })
            }
        })
    }
}

fn attributes(inode: &Arc<dyn Inode>) -> Result<Attributes, Errno> {
    let metadata = inode.metadata()?;
    let time = |time: Timespec| WireTime { sec: time.sec as u64, nsec: u64::from(time.nsec) };
    Ok(Attributes {
        valid: 0x7ff,
        qid: qid(inode),
        mode: metadata.mode,
        uid: metadata.uid,
        gid: metadata.gid,
        nlink: metadata.nlink,
        rdev: 0,
        size: metadata.size,
        blksize: 1 << 20,
        blocks: metadata.blocks,
        atime: time(metadata.atime),
        mtime: time(metadata.mtime),
        ctime: time(metadata.ctime),
        ..Attributes::default()
    })
}

fn set_attr(changes: &Changes) -> SetAttr {
    let has = |bit| changes.valid & bit != 0;
    let time = |bit, set, time: WireTime| {
        let given = SetTime::At(Timespec { sec: time.sec as i64, nsec: time.nsec as u32 });
        has(bit).then_some(if has(set) { given } else { SetTime::Now })
    };
    SetAttr {
        mode: has(change::MODE).then_some(changes.mode),
        uid: has(change::UID).then_some(changes.uid),
        gid: has(change::GID).then_some(changes.gid),
        size: has(change::SIZE).then_some(changes.size),
        atime: time(change::ATIME, change::ATIME_SET, changes.atime),
        mtime: time(change::MTIME, change::MTIME_SET, changes.mtime),
    }
}
