// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/self`, `/proc/PID`, `/proc/thread-self` and `/proc/PID/task/TID`.
//!
//! A program sees all processes, and process 1, the kernel's own. As on Linux a thread's id works in place of the process's, and is
//! not listed.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::memory::fallible;
use hadal_linux::process::Process;
use hadal_linux::task::{NAME_LEN, Task};
use hadal_linux::{family, first};
use hadal_vfs::synthetic::{Child, Children, Directory, Generated, LinkTarget, generated_file, link};
use hadal_vfs::{Errno, FileKind, Follow, Location, Result};

use crate::backward::decimal;
use crate::descriptors::{DescriptorFiles, Descriptors};
use crate::{first_process, number_after, numbered, process_files};

pub(super) fn add(proc: &Directory) {
    let own_process = || Ok(decimal(calling()?.pid().into()));
    proc.add("self", link(LinkTarget::Made(Box::new(own_process))));
    let own_thread = || Ok(format!("{}/task/{}", calling()?.pid(), Task::current().tid()).into_bytes());
    proc.add("thread-self", link(LinkTarget::Made(Box::new(own_thread))));
    proc.dynamic("", Arc::new(Processes));
}

/// The process that asks.
fn calling() -> Result<&'static Process> {
    Task::current().try_process().ok_or(Errno::ENOENT)
}

/// The entries `PID` of `/proc`.
struct Processes;

impl Children for Processes {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let id = u32::try_from(number_after(name, "")?).ok()?;
        if id == first::PID {
            let process = calling().ok()?;
            return Some(Child::Directory(Arc::new(first_process::Entries { process, of_thread: false })));
        }
        let process = family::find(id).or_else(|| family::find_by_thread(id))?;
        Some(Child::Directory(directory_of(process)))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        // Process 1 comes first, and programs look for it there.
        let mut ids =
            fallible::collected(core::iter::once(first::PID).chain(family::all().map(Process::pid)))?;
        ids.sort_unstable();
        numbered(ids.into_iter(), FileKind::Directory)
    }
}

/// The directory of a process, which the process keeps.
fn directory_of(process: &'static Process) -> Arc<dyn Children> {
    if let Some(directory) = &*process.directory.lock() {
        return directory.clone();
    }
    let made: Arc<dyn Children> = Arc::new(Entries { process, tid: process.pid(), of_thread: false });
    process.directory.lock().get_or_insert(made).clone()
}

/// The directory of a process, or of one of its threads.
struct Entries {
    process: &'static Process,
    tid: u32,
    of_thread: bool,
}

/// Makes the place that a link jumps to.
type Jump = fn(&Process) -> Result<Location>;

const LINKS: [(&str, Jump); 3] = [
    ("cwd", |process| Ok((*process.cwd()).clone())),
    ("exe", |process| {
        let root = process.namespace.root();
        process.namespace.resolve(&process.caller(), &root, &process.program().executable, Follow::Yes)
    }),
    ("root", |process| Ok(process.namespace.root())),
];

const DIRECTORIES: [&str; 3] = ["fd", "fdinfo", "task"];

impl Entries {
    fn directory(&self, name: &[u8]) -> Option<Arc<dyn Children>> {
        let process = self.process;
        match name {
            b"fd" => Some(Arc::new(Descriptors { process })),
            b"fdinfo" => Some(Arc::new(DescriptorFiles { process })),
            b"task" if !self.of_thread => Some(Arc::new(Threads { process })),
            _ => None,
        }
    }

    fn leaf(&self, name: &[u8]) -> Option<Generated> {
        let (process, tid, of_thread) = (self.process, self.tid, self.of_thread);
        if let Some(&(_, jump)) = LINKS.iter().find(|(link, _)| link.as_bytes() == name) {
            return Some(link(LinkTarget::Jump(Box::new(move || jump(process)))));
        }
        // The first thread may have ended before the others.
        let task = Task::of(hadal_sched::thread(tid - 1));
        if name == b"comm" {
            let content = move || Ok(process_files::comm(task));
            let write = move |text: &[u8]| rename(process, task, text);
            return Some(generated_file(0o644, 0, Box::new(content), Some(Box::new(write))));
        }
        let file = process_files::FILES.iter().find(|file| file.name.as_bytes() == name)?;
        let content = move || (file.content)(process, task, of_thread);
        Some(generated_file(file.mode, 0, Box::new(content), None))
    }
}

impl Children for Entries {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        if let Some(directory) = self.directory(name) {
            return Some(Child::Directory(directory));
        }
        let leaf = self.leaf(name)?;
        // The directory of the process stays; that of a thread is made for each look.
        Some(if self.of_thread { Child::Leaf(leaf) } else { Child::Lasting(leaf) })
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let directories = DIRECTORIES.iter().filter(|name| !self.of_thread || **name != "task");
        let entry = |name: &str, kind| (name.as_bytes().to_vec(), kind);
        let mut all: Vec<_> = directories.map(|name| entry(name, FileKind::Directory)).collect();
        all.extend(LINKS.iter().map(|(name, _)| entry(name, FileKind::Symlink)));
        all.push(entry("comm", FileKind::Regular));
        all.extend(process_files::FILES.iter().map(|file| entry(file.name, FileKind::Regular)));
        Ok(all)
    }
}

/// Names a thread by what was written to its file `comm`.
fn rename(process: &Process, task: &Task, text: &[u8]) -> Result<usize> {
    if calling()?.pid() != process.pid() {
        return Err(Errno::EINVAL);
    }
    let line = text.split(|&byte| byte == b'\n' || byte == 0).next().unwrap_or(b"");
    let mut name = [0; NAME_LEN];
    let len = line.len().min(NAME_LEN - 1);
    name[..len].copy_from_slice(&line[..len]);
    task.rename(name);
    Ok(text.len())
}

/// `task`: the threads of a process.
struct Threads {
    process: &'static Process,
}

impl Children for Threads {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let tid = u32::try_from(number_after(name, "")?).ok()?;
        let process = self.process;
        process.has_thread(tid).then(|| Child::Directory(Arc::new(Entries { process, tid, of_thread: true })))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        numbered(self.process.thread_ids(), FileKind::Directory)
    }
}
