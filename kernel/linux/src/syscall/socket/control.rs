// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control messages: files (`SCM_RIGHTS`) and the sender's ids (`SCM_CREDENTIALS`).

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_vfs::OpenFile;
use linux_raw_sys::general::RLIMIT_NOFILE;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::option::SOCKET;
use crate::process::Process;
use crate::socket::{Ids, Outgoing, Rights};
use crate::{Errno, Result, memory};

/// Most files in one message (`SCM_MAX_FD`).
const MOST_FILES: usize = 253;
/// Most bytes of control messages that a call takes (Linux: `optmem_max`).
const MOST_BYTES: usize = 128 * 1024;
const RIGHTS: i32 = 1;
const CREDENTIALS: i32 = 2;

/// `struct cmsghdr`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Header {
    len: usize,
    level: i32,
    kind: i32,
}

const HEADER: usize = size_of::<Header>();

/// Takes the files along that control messages name, and what they say of the sender.
pub(super) fn read(process: &Process, address: usize, len: usize) -> Result<Outgoing> {
    if len > MOST_BYTES {
        return Err(Errno::ENOBUFS);
    }
    let mut files: Vec<Arc<OpenFile>> = Vec::new();
    let mut said = None;
    let mut at = 0;
    while len.saturating_sub(at) >= HEADER {
        let header: Header = memory::read(address.wrapping_add(at))?;
        if header.len < HEADER || header.len > len - at {
            return Err(Errno::EINVAL);
        }
        let (data, bytes) = (address.wrapping_add(at + HEADER), header.len - HEADER);
        match (header.level, header.kind) {
            (SOCKET, RIGHTS) => add_files(process, data, bytes / size_of::<i32>(), &mut files)?,
            (SOCKET, CREDENTIALS) if bytes == size_of::<Ids>() => {
                let ids: Ids = memory::read(data)?;
                ids.check(process)?;
                said = Some(ids);
            }
            (SOCKET, _) => return Err(Errno::EINVAL),
            _ => {}
        }
        at += header.len.next_multiple_of(align_of::<Header>());
    }
    let limit = process.limits.lock()[RLIMIT_NOFILE as usize].soft;
    Ok(Outgoing { rights: Rights::new(files, limit)?, ids: said, to: None })
}

fn add_files(process: &Process, address: usize, count: usize, files: &mut Vec<Arc<OpenFile>>) -> Result<()> {
    if files.len() + count > MOST_FILES {
        return Err(Errno::EINVAL);
    }
    files.try_reserve(count).map_err(|_| Errno::ENOMEM)?;
    let mut fds = memory::ProgramArray::<i32, 8>::new();
    fds.read(address, count)?;
    for &fd in fds.iter() {
        let file = process.files().get(fd)?;
        // What only names a place is refused, as on Linux.
        file.file()?;
        files.push(file);
    }
    Ok(())
}

/// Where control messages go.
pub(super) struct Writer {
    address: usize,
    room: usize,
    used: usize,
    /// Something did not fit.
    pub(super) truncated: bool,
}

impl Writer {
    pub(super) fn new(address: usize, room: usize) -> Self {
        Self { address, room, used: 0, truncated: false }
    }

    /// Bytes that were stored.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Stores the sender's ids.
    pub(super) fn ids(&mut self, ids: &Ids) -> Result<()> {
        let room = self.room - self.used;
        if room < HEADER {
            self.truncated = true;
            return Ok(());
        }
        let data = ids.as_bytes();
        let len = data.len().min(room - HEADER);
        self.truncated |= len < data.len();
        self.put(CREDENTIALS, &data[..len])
    }

    /// Gives the files descriptors and stores those.
    pub(super) fn files(
        &mut self,
        process: &Process,
        files: Vec<Arc<OpenFile>>,
        on_exec: bool,
    ) -> Result<()> {
        let fitting = (self.room - self.used).saturating_sub(HEADER) / size_of::<i32>();
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(files.len()).map_err(|_| Errno::ENOMEM)?;
        self.truncated |= fitting < files.len();
        for file in files.into_iter().take(fitting) {
            match process.files().insert(file, on_exec) {
                Ok(fd) => numbers.push(fd),
                Err(_) => {
                    self.truncated = true;
                    break;
                }
            }
        }
        if numbers.is_empty() {
            return Ok(());
        }
        let stored = self.put(RIGHTS, numbers.as_bytes());
        if stored.is_err() {
            numbers.iter().for_each(|&fd| drop(process.files().remove(fd)));
        }
        stored
    }

    fn put(&mut self, kind: i32, data: &[u8]) -> Result<()> {
        let header = Header { len: HEADER + data.len(), level: SOCKET, kind };
        let at = self.address.wrapping_add(self.used);
        memory::write(at, &header)?;
        memory::write_bytes(at.wrapping_add(HEADER), data)?;
        self.used = (self.used + header.len.next_multiple_of(align_of::<Header>())).min(self.room);
        Ok(())
    }
}
