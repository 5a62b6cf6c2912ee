// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Named pipes (fifo(7)): a name in a file system, and one pipe for all who have it open.
//!
//! The file system keeps the name alone. As long as anybody has the pipe open, it is found here by the inode, whose number no
//! other gets; when the last end goes, so does what was not read.

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};

use hadal_hal::memory::fallible::{self, SMALL_BYTES};
use hadal_sync::{Mutex, WaitMode};

use super::{Pipe, PipeEnd, State};
use crate::errno::{Errno, Result};
use crate::file::File;
use crate::flags::{OpenFlags, PollEvents};
use crate::inode::{InodeId, Owner};

/// Pipes that are open, and some that were.
static OPEN: Mutex<BTreeMap<InodeId, Weak<Pipe>>> = Mutex::new(BTreeMap::new());

/// Opens an end of a named pipe, or both. One that only reads waits for a writer and one that only writes for a reader; with
/// `O_NONBLOCK` the first does not wait, and the second gets `ENXIO`.
pub(crate) fn open(id: InodeId, flags: OpenFlags) -> Result<Arc<dyn File>> {
    let (reads, writes) = (flags.readable(), flags.writable());
    if !reads && !writes {
        return Err(Errno::EINVAL);
    }
    let is_patient = !flags.contains(OpenFlags::NONBLOCK);
    let (pipe, room) = (find(id)?, fallible::arc_room()?);
    let mut state = pipe.state.lock();
    if writes && !reads && !is_patient && state.readers == 0 {
        return Err(Errno::ENXIO);
    }
    let (readers, writers) = (state.openings_to_read, state.openings_to_write);
    let has_partner = reads && writes || if reads { state.writers > 0 } else { state.readers > 0 };
    // One that has met no writer yet is told of the end of the data, but of no hang-up.
    let writers_before = if writes || has_partner { 0 } else { writers };
    let end = room.fill(PipeEnd::new(pipe.clone(), &mut state, (reads, writes), writers_before));
    drop(state);
    // Whoever waits for this end.
    pipe.read_queue.wake_all_for(PollEvents::empty().changes());
    pipe.write_queue.wake_all_for(PollEvents::empty().changes());
    if !has_partner && is_patient {
        // One that has come may have gone already.
        let came = |state: &State| match reads {
            true => state.openings_to_write != writers,
            false => state.openings_to_read != readers,
        };
        let queue = if reads { &pipe.read_queue } else { &pipe.write_queue };
        queue.wait_until(None, WaitMode::Interruptible, || came(&pipe.state.lock()).then_some(()))?;
    }
    Ok(end)
}

fn find(id: InodeId) -> Result<Arc<Pipe>> {
    let mut open = OPEN.lock();
    if let Some(pipe) = open.get(&id).and_then(Weak::upgrade) {
        return Ok(pipe);
    }
    // First what may fail: a pipe that goes takes this lock.
    fallible::admit(SMALL_BYTES)?;
    let pipe = Pipe::new(id, Owner::default(), true)?;
    open.insert(id, Arc::downgrade(&pipe));
    Ok(pipe)
}

/// A pipe is gone: its name stands for none, or for another one already.
pub(super) fn forget(id: InodeId) {
    let mut open = OPEN.lock();
    if open.get(&id).is_some_and(|pipe| pipe.strong_count() == 0) {
        open.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn name(ino: u64) -> InodeId {
        InodeId { dev: 77, ino }
    }

    #[test]
    fn ends_meet_by_the_name() {
        const NOW: OpenFlags = OpenFlags::NONBLOCK;
        assert_eq!(open(name(1), NOW | OpenFlags::WRITE_ONLY).err(), Some(Errno::ENXIO));
        let reader = open(name(1), NOW).unwrap();
        let mut buffer = [0; 8];
        assert_eq!(reader.read(&mut buffer, crate::Blocking::Never), Ok(0));
        assert_eq!(reader.poll(), PollEvents::empty());
        let writer = open(name(1), NOW | OpenFlags::WRITE_ONLY).unwrap();
        assert_eq!(writer.write(b"text", crate::Blocking::Never), Ok(4));
        let other = open(name(2), NOW).unwrap();
        assert_eq!(other.read(&mut buffer, crate::Blocking::Never), Ok(0));
        drop(writer);
        assert!(reader.poll().contains(PollEvents::HANG_UP | PollEvents::READABLE));
        assert_eq!(reader.read(&mut buffer, crate::Blocking::Never), Ok(4));
        assert_eq!(open(name(1), OpenFlags::READ_WRITE | OpenFlags::WRITE_ONLY).err(), Some(Errno::EINVAL));
    }

    #[test]
    fn what_was_not_read_goes_with_the_last_end() {
        let both = open(name(3), OpenFlags::READ_WRITE).unwrap();
        assert_eq!(both.write(b"text", crate::Blocking::Never), Ok(4));
        drop(both);
        assert!(!OPEN.lock().contains_key(&name(3)));
        let both = open(name(3), OpenFlags::READ_WRITE).unwrap();
        assert_eq!(both.read(&mut [0; 8], crate::Blocking::Never), Err(Errno::EAGAIN));
    }
}
