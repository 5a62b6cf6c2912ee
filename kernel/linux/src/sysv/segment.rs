// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A segment of shared memory: a file without a name that mappings show, which it counts.

use alloc::format;
use alloc::sync::Arc;

use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::Lent;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_mem::frames;
use hadal_mem::space::{IoError, PAGE_SIZE, PageSource, SharedMemory, SourceId};
use hadal_vfs::{Caller, make_dev};

use super::ids::Place;
use super::permissions::Permissions;
use super::{now, segments};
use crate::task::Task;
use crate::{Errno, Result};

/// Device number of segments in `/proc/PID/maps`: a minor that the running numbers of file systems do not reach. The inode
/// number is the segment's id.
pub(crate) const DEVICE: u64 = make_dev(0, 0xf_fffd);
/// Bit of a segment's mode (`SHM_DEST`): it goes with its last mapping.
const DOOMED: u32 = 0o1000;
/// `SHM_LOCKED`.
const LOCKED: u32 = 0o2000;

/// A segment.
pub(crate) struct Segment {
    id: i32,
    bytes: usize,
    /// Its name in `/proc/PID/maps`.
    name: Arc<str>,
    memory: SharedMemory,
    creator: u32,
    state: SpinLock<State>,
}

/// What changes of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) permissions: Permissions,
    /// Mappings, and calls that make one.
    pub(crate) mappings: usize,
    pub(crate) attached: i64,
    pub(crate) detached: i64,
    pub(crate) changed: i64,
    /// The process that has attached or detached it last.
    pub(crate) last_user: u32,
    /// It is in the table no more.
    is_gone: bool,
}

/// The calling process, also that which ends with the thread; 0 for a thread of the kernel's.
fn caller_pid() -> u32 {
    let task = Task::current();
    task.try_process().map_or_else(|| task.ended_pid(), |process| process.pid())
}

impl Segment {
    /// What makes a segment when its place is known.
    pub(super) fn prepare(
        key: i32,
        bytes: usize,
        caller: &Caller<'_>,
        flags: i32,
    ) -> Result<impl FnOnce(Place) -> Self + use<>> {
        let name = format!("/SYSV{key:08x} (deleted)");
        fallible::admit(name.len())?;
        let name = Arc::from(name);
        let permissions = Permissions::new(key, caller, flags);
        let (creator, changed) = (caller_pid(), now());
        Ok(move |place: Place| {
            let permissions = permissions.at(place.sequence);
            let state = State {
                permissions,
                mappings: 0,
                attached: 0,
                detached: 0,
                changed,
                last_user: 0,
                is_gone: false,
            };
            let memory = SharedMemory::new(frames::global());
            Self { id: place.id(), bytes, name, memory, creator, state: SpinLock::ranked(Rank::Files, state) }
        })
    }

    /// Its size, as it was asked for.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The size of its mappings.
    pub(crate) fn mapped_bytes(&self) -> usize {
        self.bytes.next_multiple_of(PAGE_SIZE)
    }

    pub(crate) fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(crate) fn creator(&self) -> u32 {
        self.creator
    }

    /// Pages that have been touched.
    pub(crate) fn resident_pages(&self) -> usize {
        self.memory.resident_pages()
    }

    pub(crate) fn state(&self) -> State {
        *self.state.lock()
    }

    /// Keeps it, as a mapping does, while one is made; `EIDRM` if it is gone, `EACCES` if the caller may not.
    pub(crate) fn hold(self: &Arc<Self>, caller: &Caller<'_>, wanted: u32) -> Result<Hold> {
        let mut state = self.state.lock();
        state.permissions.check(caller, wanted)?;
        if state.is_gone {
            return Err(Errno::EIDRM);
        }
        state.mappings += 1;
        drop(state);
        Ok(Hold(self.clone()))
    }

    /// Changes owner and mode.
    pub(crate) fn set(&self, caller: &Caller<'_>, wanted: &Permissions) -> Result<()> {
        let mut state = self.state.lock();
        state.permissions.check_owner(caller)?;
        state.permissions.change(wanted)?;
        state.changed = now();
        Ok(())
    }

    /// `SHM_LOCK` and `SHM_UNLOCK`. All memory stays where it is anyway: only the mode tells.
    pub(crate) fn lock(&self, is_locked: bool) {
        let mut state = self.state.lock();
        let mode = state.permissions.mode & !LOCKED;
        state.permissions.mode = if is_locked { mode | LOCKED } else { mode };
    }

    /// It is not found by its key any more, and goes with its last mapping.
    pub(crate) fn doom(&self, caller: &Caller<'_>) -> Result<()> {
        let mut state = self.state.lock();
        state.permissions.check_owner(caller)?;
        state.permissions.mode |= DOOMED;
        state.permissions.key = super::PRIVATE;
        let goes = state.goes();
        drop(state);
        if goes {
            segments::remove(self.id, self.bytes);
        } else {
            segments::forget_key(self.id);
        }
        Ok(())
    }

    fn one_less(&self) {
        let mut state = self.state.lock();
        state.mappings -= 1;
        let goes = state.goes();
        drop(state);
        if goes {
            segments::remove(self.id, self.bytes);
        }
    }
}

impl State {
    /// Whether it is to leave the table now.
    fn goes(&mut self) -> bool {
        let goes = self.mappings == 0 && self.permissions.mode & DOOMED != 0 && !self.is_gone;
        self.is_gone |= goes;
        goes
    }
}

/// Keeps a segment.
pub(crate) struct Hold(Arc<Segment>);

impl Hold {
    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.one_less();
    }
}

impl PageSource for Segment {
    fn id(&self) -> SourceId {
        SourceId { dev: DEVICE, ino: self.id as u64 }
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> core::result::Result<usize, IoError> {
        let left = (self.mapped_bytes() as u64).saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        self.memory.read(offset, &mut buffer[..len])
    }

    fn can_share(&self) -> bool {
        true
    }

    fn shared_frame(&self, index: u64, writable: bool) -> core::result::Result<Option<Lent>, IoError> {
        // A mapping may have become longer than the segment.
        if index >= (self.mapped_bytes() / PAGE_SIZE) as u64 {
            return Ok(None);
        }
        self.memory.shared_frame(index, writable)
    }

    fn counts_mappings(&self) -> bool {
        true
    }

    fn mapping_added(&self) {
        let (pid, time) = (caller_pid(), now());
        let mut state = self.state.lock();
        state.mappings += 1;
        (state.last_user, state.attached) = (pid, time);
    }

    fn mapping_removed(&self) {
        let (pid, time) = (caller_pid(), now());
        {
            let mut state = self.state.lock();
            (state.last_user, state.detached) = (pid, time);
        }
        self.one_less();
    }
}
