// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables in `/proc/sysvipc`: everybody sees all objects.

use alloc::string::String;
use core::fmt::{self, Write};

use hadal_hal::memory::fallible::MakeRoom;

use super::permissions::Permissions;
use super::{messages, segments, semaphores};
use crate::Result;

/// More than a line is long.
const LINE_BYTES: usize = 256;

/// A text to which lines are added, as far as there is memory.
struct Table(String);

impl Table {
    fn new(title: &str) -> Result<Self> {
        let mut text = String::new();
        text.make_room(LINE_BYTES)?;
        text.push_str(title);
        Ok(Self(text))
    }

    fn line(&mut self, line: fmt::Arguments<'_>) -> Result<()> {
        self.0.make_room(LINE_BYTES)?;
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(line);
        Ok(())
    }
}

/// Owner and creator.
struct Owners<'a>(&'a Permissions);

impl fmt::Display for Owners<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Permissions { uid, gid, creator_uid, creator_gid, .. } = self.0;
        write!(f, "{uid:5} {gid:5} {creator_uid:5} {creator_gid:5}")
    }
}

/// `/proc/sysvipc/shm`.
pub fn shm() -> Result<String> {
    let mut table = Table::new(
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      \
         atime      dtime      ctime                   rss                  swap\n",
    )?;
    for (id, segment) in segments::table().iter() {
        let (state, bytes, rss) = (segment.state(), segment.bytes(), segment.resident_pages() << 12);
        let (permissions, creator) = (&state.permissions, segment.creator());
        let (key, mode, owners) = (permissions.key, permissions.mode, Owners(permissions));
        let (user, mappings) = (state.last_user, state.mappings);
        let (attached, detached, changed) = (state.attached, state.detached, state.changed);
        table.line(format_args!(
            "{key:10} {id:10}  {mode:4o} {bytes:21} {creator:5} {user:5}  {mappings:5} {owners} {attached:10} {detached:10} \
             {changed:10} {rss:21} {:21}\n",
            0
        ))?;
    }
    Ok(table.0)
}

/// `/proc/sysvipc/sem`.
pub fn sem() -> Result<String> {
    let mut table =
        Table::new("       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n")?;
    for (id, set) in semaphores::table().iter() {
        let about = set.describe(None)?;
        let (key, mode, owners) = (about.permissions.key, about.permissions.mode, Owners(&about.permissions));
        let (size, operated, changed) = (about.size, about.operated, about.changed);
        table.line(format_args!(
            "{key:10} {id:10}  {mode:4o} {size:10} {owners} {operated:10} {changed:10}\n"
        ))?;
    }
    Ok(table.0)
}

/// `/proc/sysvipc/msg`.
pub fn msg() -> Result<String> {
    let mut table = Table::new(
        "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      \
         rtime      ctime\n",
    )?;
    for (id, queue) in messages::table().iter() {
        let about = queue.describe(None)?;
        let (key, mode, owners) = (about.permissions.key, about.permissions.mode, Owners(&about.permissions));
        let (bytes, count, sender, receiver) = (about.bytes, about.count, about.sender, about.receiver);
        let (sent, received, changed) = (about.sent, about.received, about.changed);
        table.line(format_args!(
            "{key:10} {id:10}  {mode:4o}  {bytes:10} {count:10} {sender:5} {receiver:5} {owners} {sent:10} {received:10} \
             {changed:10}\n"
        ))?;
    }
    Ok(table.0)
}
