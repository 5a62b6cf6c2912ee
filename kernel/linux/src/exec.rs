// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Replacing the program of a process (execve(2)).
//!
//! First everything that can fail without harm: arguments are copied, files opened, headers checked. Then the other threads
//! leave; from there on there is no way back, and what fails ends the process. The window is emptied, or left to other processes
//! that run in it for a new one, and filled anew on the calling thread, which goes on at the new program's first instruction.

use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use hadal_hal::cpu::fpu;
use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_vfs::Location;

use crate::call::Call;
use crate::loader::{self, Prepared, StartError};
use crate::memory::{self, Text};
use crate::process::{ExitStatus, Process};
use crate::program::Program;
use crate::signal::number::SIGKILL;
use crate::signal::{self, alt_stack};
use crate::task::Task;
use crate::{Errno, Result, family, futex, machine, record_locks};

/// Longest argument (`MAX_ARG_STRLEN`).
const TEXT_MOST: usize = 128 << 10;
/// Bytes of a pointer to an argument.
const POINTER: usize = size_of::<u64>();

/// What `execve` is told: the path of the program as it will know it, and where its arguments and environment are.
pub(crate) struct Request<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) arguments: usize,
    pub(crate) environment: usize,
}

/// Replaces the program of the calling process by the one at a place. On success the call's registers are the new program's.
#[inline(never)]
pub(crate) fn replace(call: &mut Call<'_>, place: Location, request: &Request<'_>) -> Result<usize> {
    let process = call.process;
    let program = read(process, request)?;
    let prepared = prepare(process, place, program)?;
    if !process.end_other_threads() {
        // The process ends, and this thread on its way to the program.
        return Err(Errno::EINTR);
    }
    match forget(call.task, process).and_then(|()| loader::load(process, prepared)) {
        Ok(frame) => {
            call.task.set_name(loader::thread_name(request.name));
            *call.frame = frame;
            fpu::load_fresh(fpu::components());
            Ok(0)
        }
        Err(error) => {
            let name = request.name.escape_ascii();
            machine::get()
                .report(&format!("hadal: {name}: execve has emptied the process, and then: {error}\n"));
            process.end(ExitStatus::Signaled(SIGKILL));
            Err(Errno::ENOMEM)
        }
    }
}

#[inline(never)]
fn prepare(process: &Process, place: Location, program: Program) -> Result<Prepared> {
    let program = fallible::arc(program)?;
    loader::prepare(process, place, program).map_err(|error| error.errno())
}

/// Copies the arguments.
#[inline(never)]
fn read(process: &Process, request: &Request<'_>) -> Result<Program> {
    let mut room = loader::text_limit(process);
    Ok(Program {
        executable: Vec::new(),
        name: request.name.to_vec(),
        arguments: read_texts(request.arguments, &mut room)?,
        environment: read_texts(request.environment, &mut room)?,
    })
}

/// Reads the strings that an array of pointers names, up to a null pointer; no array is an empty one.
fn read_texts(mut address: usize, room: &mut usize) -> Result<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    if address == 0 {
        return Ok(texts);
    }
    loop {
        let pointer = memory::read::<u64>(address)?;
        if pointer == 0 {
            return Ok(texts);
        }
        let mut buffer = Text::new();
        let text = memory::read_string(&mut buffer, pointer as usize, TEXT_MOST.min(*room), Errno::E2BIG)?;
        *room = room.checked_sub(text.len() + 1 + POINTER).ok_or(Errno::E2BIG)?;
        texts.make_room(1)?;
        texts.push(fallible::copied(text)?);
        address = address.checked_add(POINTER).ok_or(Errno::EFAULT)?;
    }
}

/// Lets go of what a new program does not have from the old one. The calling thread is the only one.
#[inline(never)]
fn forget(task: &Task, process: &'static Process) -> core::result::Result<(), StartError> {
    // First, since its parent may see its files closed.
    family::end_by_sigchld(process);
    // In the old memory: others may wait for its locks, or for the thread to leave it.
    futex::exit_robust_list(task);
    let clear = task.clear_child_tid.swap(0, Ordering::Relaxed);
    if !process.has_window_alone() {
        futex::clear_and_wake(process, clear);
    }
    alt_stack::disarm(task);
    task.rseq.store(0, Ordering::Relaxed);
    task.interruption.reset();
    signal::forget_program(task, process).map_err(|_| StartError::NoMemory)?;
    process.registered_barriers.store(0, Ordering::Relaxed);
    process.attributes.dumpable.store(1, Ordering::Relaxed);
    process.credentials.keep_effective();
    process.refused.forget();
    process.unshare_files().map_err(|_| StartError::NoMemory)?;
    let files = process.files();
    record_locks::closing_some(process, files.taken(0, u32::MAX), |fd| files.close_on_exec(fd) == Ok(true));
    files.exec();
    // What was written to files has to be there before the new program looks; nobody is left to hear of a failure.
    let _ = process.space().sync_all();
    process.renew_window(task).map_err(|_| StartError::NoMemory)?;
    family::note_replaced(process);
    Ok(())
}
