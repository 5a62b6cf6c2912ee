// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/PID/fd` and `/proc/PID/fdinfo`.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use hadal_vfs::Result;
use hadal_vfs::synthetic::{Child, Children, LinkTarget, link};
use hadal_vfs::{FileKind, OpenFlags, SeekFrom};

use crate::process_tree::Named;
use crate::{number_after, numbered, proc_file};

/// `fd`: links to the open files.
pub(super) struct Descriptors {
    pub(super) named: Named,
}

/// `fdinfo`: position and flags of the open files.
pub(super) struct DescriptorFiles {
    pub(super) named: Named,
}

/// The descriptor that a name stands for, if it is open, or nobody can say that any more: then looking at it fails.
fn open_descriptor(named: Named, name: &[u8]) -> Option<i32> {
    let fd = i32::try_from(number_after(name, "")?).ok()?;
    named.held().map_or(true, |process| process.look_at_files(|files| files.get(fd)).is_ok()).then_some(fd)
}

fn list(named: Named, kind: FileKind) -> Result<Vec<(Vec<u8>, FileKind)>> {
    named.held_to_list()?.look_at_files(|files| numbered(files.taken(0, u32::MAX).map(|fd| fd as u32), kind))
}

impl Children for Descriptors {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let (named, fd) = (self.named, open_descriptor(self.named, name)?);
        let jump = move || Ok(named.held()?.look_at_files(|files| files.get(fd))?.location().clone());
        Some(Child::Leaf(link(LinkTarget::Jump(Box::new(jump)))))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        list(self.named, FileKind::Symlink)
    }
}

impl Children for DescriptorFiles {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let (named, fd) = (self.named, open_descriptor(self.named, name)?);
        Some(proc_file(move || {
            let process = named.held()?;
            let (file, closes) = process
                .look_at_files(|files| files.get(fd).and_then(|file| Ok((file, files.close_on_exec(fd)?))))?;
            // A stream has no position, and Linux shows 0 for it.
            let position = file.seek(SeekFrom::Current(0)).unwrap_or(0);
            let mut flags = file.status();
            flags.set(OpenFlags::CLOSE_ON_EXEC, closes);
            let mount = file.location().mount().id;
            let mut lines = format!("pos:\t{position}\nflags:\t0{:o}\nmnt_id:\t{mount}\n", flags.bits());
            if let Ok(file) = file.file() {
                file.describe(&mut lines)?;
            }
            Ok(lines.into_bytes())
        }))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        list(self.named, FileKind::Regular)
    }
}
