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
use hadal_linux::family::{self, Held};
use hadal_linux::first;
use hadal_linux::process::Process;
use hadal_linux::task::{NAME_LEN, Task};
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
        Some(Child::Directory(directory_of(&family::find_held(id)?)))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        // Process 1 comes first, and programs look for it there.
        // A record that is about to become another process's has no id.
        let others = family::all().map(Process::pid).filter(|&pid| pid != 0);
        let mut ids = fallible::collected(core::iter::once(first::PID).chain(others))?;
        ids.sort_unstable();
        numbered(ids.into_iter(), FileKind::Directory)
    }
}

/// The directory of a process, which the process keeps.
fn directory_of(held: &Held) -> Arc<dyn Children> {
    let process = held.process();
    if let Some(directory) = &*process.directory.lock() {
        return directory.clone();
    }
    let named = Named { process, pid: process.pid() };
    let made: Arc<dyn Children> = Arc::new(Entries { named, tid: named.pid, of_thread: false });
    process.directory.lock().get_or_insert(made).clone()
}

/// A process that was found once. Who has its directory open may look into it when the process is over, and its record another's.
#[derive(Clone, Copy)]
pub(super) struct Named {
    process: &'static Process,
    pid: u32,
}

impl Named {
    /// The process; `ESRCH` when it is over.
    pub(super) fn held(self) -> Result<Held> {
        family::hold_again(self.process, self.pid).ok_or(Errno::ESRCH)
    }

    /// The process whose entries are listed; `ENOENT` when it is over.
    pub(super) fn held_to_list(self) -> Result<Held> {
        self.held().map_err(|_| Errno::ENOENT)
    }
}

/// The directory of a process, or of one of its threads.
struct Entries {
    named: Named,
    tid: u32,
    of_thread: bool,
}

/// Makes the place that a link jumps to.
type Jump = fn(&Process) -> Result<Location>;

const LINKS: [(&str, Jump); 3] = [
    ("cwd", |process| process.look_at_cwd().map(|place| (*place).clone()).ok_or(Errno::ENOENT)),
    ("exe", |process| {
        if !family::is_alive(process) {
            return Err(Errno::ENOENT);
        }
        let root = process.namespace.root();
        process.namespace.resolve(&process.caller(), &root, &process.program().executable, Follow::Yes)
    }),
    ("root", |process| Ok(process.namespace.root())),
];

const DIRECTORIES: [&str; 3] = ["fd", "fdinfo", "task"];

impl Entries {
    fn whose(&self) -> Whose {
        Whose { named: self.named, tid: self.tid }
    }

    fn directory(&self, name: &[u8]) -> Option<Arc<dyn Children>> {
        let named = self.named;
        match name {
            b"fd" => Some(Arc::new(Descriptors { named })),
            b"fdinfo" => Some(Arc::new(DescriptorFiles { named })),
            b"task" if !self.of_thread => Some(Arc::new(Threads { named })),
            _ => None,
        }
    }

    fn leaf(&self, name: &[u8]) -> Option<Generated> {
        let (named, of_thread, whose) = (self.named, self.of_thread, self.whose());
        if let Some(&(_, jump)) = LINKS.iter().find(|(link, _)| link.as_bytes() == name) {
            return Some(link(LinkTarget::Jump(Box::new(move || jump(named.held()?.process())))));
        }
        if name == b"comm" {
            let content = move || whose.look(|_, task| Ok(process_files::comm(task)));
            let write = move |text: &[u8]| whose.rename(text);
            return Some(generated_file(0o644, 0, Box::new(content), Some(Box::new(write))));
        }
        let file = process_files::FILES.iter().find(|file| file.name.as_bytes() == name)?;
        let content = move || whose.look(|process, task| (file.content)(process, task, of_thread));
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
        self.whose().held().map_err(|_| Errno::ENOENT)?;
        let directories = DIRECTORIES.iter().filter(|name| !self.of_thread || **name != "task");
        let entry = |name: &str, kind| (name.as_bytes().to_vec(), kind);
        let mut all: Vec<_> = directories.map(|name| entry(name, FileKind::Directory)).collect();
        all.extend(LINKS.iter().map(|(name, _)| entry(name, FileKind::Symlink)));
        all.push(entry("comm", FileKind::Regular));
        all.extend(process_files::FILES.iter().map(|file| entry(file.name, FileKind::Regular)));
        Ok(all)
    }
}

/// A thread of a process: the first one, which may end before the others, stands for the process.
#[derive(Clone, Copy)]
struct Whose {
    named: Named,
    tid: u32,
}

impl Whose {
    /// The process; `ESRCH` when it is over, or the thread has ended.
    fn held(self) -> Result<Held> {
        let held = self.named.held()?;
        if self.is_in(&held) { Ok(held) } else { Err(Errno::ESRCH) }
    }

    fn is_in(self, held: &Held) -> bool {
        family::is_it(held, self.named.pid) && (self.tid == self.named.pid || held.has_thread(self.tid))
    }

    /// What `act` says about the thread; `ESRCH` when it has ended, also meanwhile: then that may be about another one.
    fn look<T>(self, act: impl FnOnce(&Process, &Task) -> Result<T>) -> Result<T> {
        let held = self.held()?;
        let result = act(&held, Task::of(hadal_sched::thread(self.tid - 1)));
        if self.is_in(&held) { result } else { Err(Errno::ESRCH) }
    }

    /// Names the thread by what was written to its file `comm`.
    fn rename(self, text: &[u8]) -> Result<usize> {
        let _held = self.held()?;
        if calling()?.pid() != self.named.pid {
            return Err(Errno::EINVAL);
        }
        let line = text.split(|&byte| byte == b'\n' || byte == 0).next().unwrap_or(b"");
        let mut name = [0; NAME_LEN];
        let len = line.len().min(NAME_LEN - 1);
        name[..len].copy_from_slice(&line[..len]);
        Task::of(hadal_sched::thread(self.tid - 1)).rename(name);
        Ok(text.len())
    }
}

/// `task`: the threads of a process. That with its id is there when the process has ended and waits to be waited for, as on Linux.
struct Threads {
    named: Named,
}

impl Children for Threads {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        let tid = u32::try_from(number_after(name, "")?).ok()?;
        let named = self.named;
        let held = named.held().ok()?;
        let has = held.has_thread(tid) || tid == named.pid && !family::is_alive(&held);
        has.then(|| Child::Directory(Arc::new(Entries { named, tid, of_thread: true })))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let held = self.named.held_to_list()?;
        let ended = (!family::is_alive(&held)).then_some(self.named.pid);
        numbered(held.thread_ids().chain(ended), FileKind::Directory)
    }
}
