// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the calls share that make a thread: one of the calling process, or the first of a new one.

use core::sync::atomic::Ordering;

use hadal_hal::memory::layout;
use hadal_hal::threads::context;
use hadal_hal::trap;
use hadal_sync::MutexGuard;
use hadal_vfs::{Errno, OpenFlags};
use linux_raw_sys::general::*;

use crate::call::Call;
use crate::fork::{self, Request};
use crate::process::Process;
use crate::signal::number::COUNT;
use crate::task::Task;
use crate::{Result, memory};

/// What a new thread of a process shares with its creator; all of it is demanded.
const THREAD: u32 = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
/// What a new process may share, have its creator wait for, or give its creator.
const PROCESS: u32 = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_VFORK | CLONE_PIDFD;
/// Further flags that are understood. Threads of a process have one list for CLONE_SYSVSEM anyway, and the two historical ones change
/// nothing.
const UNDERSTOOD: u32 = CLONE_SYSVSEM
    | CLONE_SETTLS
    | CLONE_PARENT_SETTID
    | CLONE_CHILD_CLEARTID
    | CLONE_CHILD_SETTID
    | CLONE_DETACHED
    | CLONE_PTRACE
    | CLONE_IO;

/// The arguments of all these calls, in one form.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) flags: u64,
    /// Stack pointer of the new thread; 0 keeps the caller's.
    pub(super) stack: u64,
    pub(super) parent_tid: usize,
    pub(super) child_tid: usize,
    /// Where a descriptor for a new process goes (`CLONE_PIDFD`).
    pub(super) pidfd: usize,
    pub(super) tls: u64,
    /// What a new process sends its parent when it ends.
    pub(super) exit_signal: u64,
}

/// Makes and starts the thread; returns its id.
pub(super) fn start(call: &Call<'_>, arguments: &Arguments) -> Result<usize> {
    let flags = u32::try_from(arguments.flags).map_err(|_| Errno::EINVAL)?;
    // Without CLONE_THREAD it is a process.
    let request =
        if flags & CLONE_THREAD == 0 { Some(process_request(call, flags, arguments)?) } else { None };
    let known = if request.is_some() { PROCESS } else { THREAD };
    if request.is_none() && flags & THREAD != THREAD || flags & !(known | UNDERSTOOD | CSIGNAL) != 0 {
        return Err(Errno::EINVAL);
    }
    // What the caller has may be any address: WRFSBASE asks nobody.
    let (fs_base, is_valid) = if flags & CLONE_SETTLS != 0 {
        (arguments.tls, layout::is_program(arguments.tls))
    } else {
        (context::fs_base(), layout::is_canonical(context::fs_base()))
    };
    if !is_valid {
        return Err(Errno::EPERM);
    }
    let turn = call.process.may_make_task()?;
    let Some(request) = request else {
        return make(call, call.process, arguments, flags, fs_base, None, turn);
    };
    let child = fork::copy(call, &request)?;
    make(call, child, arguments, flags, fs_base, Some(&request), turn).inspect_err(|_| child.discard())
}

/// What a new process is like.
#[cold]
fn process_request(call: &Call<'_>, flags: u32, arguments: &Arguments) -> Result<Request> {
    super::no_copy::must_leave_nothing(call, if flags & CLONE_VFORK != 0 { "vfork" } else { "fork" })?;
    // A handler is of use only where its code is.
    if flags & (CLONE_SIGHAND | CLONE_VM) == CLONE_SIGHAND {
        return Err(Errno::EINVAL);
    }
    let exit_signal = u8::try_from(arguments.exit_signal).ok().filter(|&signo| signo <= COUNT);
    Ok(Request { flags, exit_signal: exit_signal.ok_or(Errno::EINVAL)? })
}

/// Makes and starts a thread of a process, the first one if there is a request for that; returns its id. `turn` ends when it can
/// be counted.
#[inline]
fn make(
    call: &Call<'_>,
    process: &'static Process,
    arguments: &Arguments,
    flags: u32,
    fs_base: u64,
    request: Option<&Request>,
    turn: Option<MutexGuard<'static, ()>>,
) -> Result<usize> {
    let affinity = call.task.thread().affinity();
    let thread = hadal_sched::create(first_code, 0, affinity).map_err(|_| Errno::EAGAIN)?;
    if !thread.context().set_program(process.space().switchable(), fs_base, true) {
        hadal_sched::discard(thread);
        return Err(Errno::EAGAIN);
    }
    let task = Task::of(thread);
    task.prepare(process, Some(call.task));
    if let Some(request) = request {
        fork::complete(call, task, request);
    }
    let tid = task.tid();
    if flags & CLONE_CHILD_CLEARTID != 0 {
        task.clear_child_tid.store(arguments.child_tid, Ordering::Relaxed);
    }
    if flags & CLONE_PARENT_SETTID != 0 {
        // Before either side goes on; a bad pointer is ignored as on Linux.
        let _ = memory::write(arguments.parent_tid, &tid);
    }
    let set_tid = if flags & CLONE_CHILD_SETTID != 0 { arguments.child_tid } else { 0 };
    task.set_child_tid.store(set_tid, Ordering::Relaxed);
    {
        let mut frame = task.first_frame.lock();
        // Copied once, to where the thread finds it, and changed there.
        *frame = *call.frame;
        frame.rax = 0;
        frame.full_restore = 1;
        if arguments.stack != 0 {
            frame.rsp = arguments.stack;
        }
    }
    let pidfd = match request {
        Some(_) if flags & CLONE_PIDFD != 0 => match give_pidfd(call, process, tid, arguments.pidfd) {
            Ok(fd) => Some(fd),
            Err(error) => {
                hadal_sched::discard(thread);
                return Err(error);
            }
        },
        _ => None,
    };
    if task.publish().is_err() {
        if let Some(fd) = pidfd {
            // Unless another thread has closed it.
            let _ = call.process.files().remove(fd);
        }
        hadal_sched::discard(thread);
        return Err(Errno::EAGAIN);
    }
    if let Some(request) = request {
        return Ok(fork::start(call, process, thread, request, turn));
    }
    // It can be counted.
    drop(turn);
    // A process that is ending or stopping while its thread is being made must not miss it.
    if process.calls_off() {
        thread.set_interrupted(true);
    }
    thread.start();
    Ok(tid as usize)
}

/// Makes a descriptor for a process that is being made, and stores it.
#[cold]
fn give_pidfd(call: &Call<'_>, process: &'static Process, pid: u32, address: usize) -> Result<i32> {
    let fd = super::process_file::open(call, process, pid, OpenFlags::empty())?;
    memory::write(address, &fd).inspect_err(|_| drop(call.process.files().remove(fd)))?;
    Ok(fd)
}

fn first_code(_: usize) -> ! {
    let task = Task::current();
    let set_tid = task.set_child_tid.load(Ordering::Relaxed);
    if set_tid != 0 {
        let _ = memory::write(set_tid, &task.tid());
    }
    trap::enter_program(|| *task.first_frame.lock())
}
