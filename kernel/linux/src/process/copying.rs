// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A copy of a process for `fork`: records that are made or used again, and the window that a copy runs in.

use alloc::boxed::Box;
use core::sync::atomic::Ordering;

use hadal_hal::memory::fallible;
use linux_raw_sys::general::{CLONE_FILES, CLONE_FS, CLONE_SIGHAND, CLONE_VM, RLIMIT_CPU};

use super::{Process, RecordSetup, UNLIMITED};
use crate::program::Program;
use crate::signal::timer::cpu_limit;
use crate::task::Task;
use crate::{Errno, family, machine, signal};

/// What a process takes of kernel memory: its record and its lists of waiters.
const RECORD_BYTES: usize = 32 << 10;

impl Process {
    /// Makes a process like `parent`, in a fresh record or one that is used again: a window that is empty, or the parent's,
    /// what else the flags of `clone` say that they share, and copies of everything else. It has no threads. `EINTR` if the
    /// calling thread, one of the parent's, has a signal to take first.
    pub(crate) fn copy(parent: &'static Self, flags: u32) -> crate::Result<&'static Self> {
        let process = match family::take_free() {
            Some(process) => process,
            None => Self::new_beside(parent)?,
        };
        match process.take_over(parent, flags) {
            Ok(()) => Ok(process),
            Err(error) => {
                process.discard();
                Err(error)
            }
        }
    }

    /// A fresh record for a copy of `parent`.
    #[inline(never)]
    fn new_beside(parent: &Self) -> crate::Result<&'static Self> {
        fallible::admit(RECORD_BYTES)?;
        let limits = *parent.limits.lock();
        let setup = Box::new(RecordSetup {
            namespace: parent.namespace.clone(),
            credentials: parent.credentials.clone(),
            limits,
            program: Program::default(),
            call_trace: parent.call_trace.filter(|trace| trace.all_processes),
            fills_at_once: parent.fills_at_once,
        });
        Self::make(setup).map_err(|_| Errno::ENOMEM)
    }

    /// Makes the record that of a copy.
    #[inline(never)]
    fn take_over(&'static self, parent: &'static Self, flags: u32) -> crate::Result<()> {
        self.begin();
        self.credentials.take_over(&parent.credentials);
        let limits = *parent.limits.lock();
        let mut own = self.limits.lock();
        *own = limits;
        self.note_limits(&own);
        drop(own);
        self.set_program(parent.program());
        let auxiliary = parent.auxiliary.lock().clone();
        *self.auxiliary.lock() = auxiliary;
        self.stack_start.store(parent.stack_start.load(Ordering::Relaxed), Ordering::Relaxed);
        let barriers = parent.registered_barriers.load(Ordering::Relaxed);
        self.registered_barriers.store(barriers, Ordering::Relaxed);
        self.attributes.take_over(&parent.attributes);
        self.signals.take_over(&parent.signals, flags & CLONE_SIGHAND != 0)?;
        family::join(self, parent);
        if limits[RLIMIT_CPU as usize].soft != UNLIMITED {
            cpu_limit::follow(cpu_limit::follower(self)?)?;
        }
        // What was sent to many before does not reach the child: the caller takes it, and there is no child yet.
        if signal::interrupted(Task::current(), parent) {
            return Err(Errno::EINTR);
        }
        if flags & CLONE_FS != 0 {
            self.paths.share(&parent.paths);
        } else {
            self.paths.begin()?.take_over(parent.paths.get())?;
        }
        if flags & CLONE_FILES != 0 {
            self.files.share(&parent.files);
        } else {
            self.files.begin()?.take_over(parent.files.get())?;
        }
        self.ensure_window().map_err(|_| Errno::ENOMEM)?;
        if flags & CLONE_VM != 0 {
            self.enter_window(parent);
        } else {
            parent.space().copy_to(self.space()).map_err(|_| Errno::ENOMEM)?;
            machine::get().window_copied(parent.window_number(), self.window_number())?;
        }
        Ok(())
    }

    /// A fresh or used record becomes that of a process.
    pub(super) fn begin(&self) {
        self.started_ns.store(hadal_time::now_ns(), Ordering::Relaxed);
        self.run_ns_before.store(hadal_sched::program_time_ns(), Ordering::Relaxed);
        self.ended_ns.store(0, Ordering::Relaxed);
        self.run_ns.store(0, Ordering::Relaxed);
        self.ending.store(0, Ordering::Release);
        self.forget_stop();
        self.pid.store(0, Ordering::Relaxed);
        self.refused.forget();
        let directory = self.directory.lock().take();
        drop(directory);
    }

    /// Lets go of a process that was made and has no thread.
    pub(crate) fn discard(&'static self) {
        self.undo.end(self.pid());
        self.leave_window();
        self.leave_files();
        family::put_back(self);
    }
}
