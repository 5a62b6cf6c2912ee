// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of Linux as `hadal/hrt.h` knows them.

use hadal_hrt::{NAME_BYTES, Program};
use hadal_linux::process::Process;
use hadal_linux::task::{NAME_LEN, Task};
use hadal_linux::{machine, reuse, signal};
use hadal_mem::space::ProgramSpace;
use hadal_sched::{SpawnError, Thread};

/// A thread of a Linux program.
#[derive(Clone, Copy)]
pub(crate) struct LinuxThread {
    task: &'static Task,
    process: &'static Process,
}

impl Program for LinuxThread {
    #[inline(always)]
    fn current() -> Self {
        let task = Task::current();
        Self { task, process: task.process() }
    }

    #[inline(always)]
    fn rest(self) {
        signal::rest(self.task, self.process);
    }

    #[inline(always)]
    fn resume(self) {
        signal::resume(self.task, self.process);
    }

    fn must_leave(self) -> bool {
        signal::must_leave(self.task, self.process)
    }

    fn is_ending(self) -> bool {
        self.process.ending().is_some()
    }

    fn keep(self) {
        reuse::begin(self.task);
    }

    #[inline(always)]
    fn renew(self) {
        reuse::renew(self.task, self.process);
    }

    #[inline(always)]
    fn inherit(thread: &'static Thread, creator: &'static Thread) {
        reuse::inherit(Task::of(thread), Task::of(creator));
    }

    fn rename(thread: &'static Thread, name: &[u8; NAME_BYTES]) {
        let mut short = [0; NAME_LEN];
        short.copy_from_slice(&name[..NAME_LEN]);
        Task::of(thread).rename(short);
    }

    fn space(self) -> &'static ProgramSpace {
        self.process.space()
    }

    fn window(self) -> u16 {
        self.process.window_number()
    }

    fn spawn(self, entry: fn(usize) -> !, arg: usize, fs_base: u64) -> Result<&'static Thread, SpawnError> {
        Task::spawn(self.task, entry, arg, fs_base).map(Task::thread)
    }

    fn exit(self) -> ! {
        self.task.exit()
    }

    fn report(text: &str) {
        machine::get().report(text);
    }
}
