// SPDX-License-Identifier: Apache-2.0 OR MIT
//! System calls: the dispatch table and the way in. Each call is one file in a folder by subject; a folder's `mod.rs` lists
//! its calls with their numbers.
//!
//! The head of each call's file says which flags are honoured and which are refused, in two paragraphs that start with
//! `Honoured:` and `Refused:`; `docs/coverage/linux.md` is made from them.

use core::sync::atomic::Ordering;

use syscalls::Sysno;

use crate::call::{Call, Entry, Handler};
use crate::process::Process;
use crate::restart::Restart;
use crate::task::Task;
use crate::traps::NO_CALL;
use crate::{Errno, Result};

/// Declares the files of a folder and lists their calls: `number name`, and behind it `restart` for a call that `SA_RESTART`
/// makes again ([`Restart::IfAsked`]), or `unless_handled` for one that is made again if no handler runs. A call is the
/// function `call` of the file with its name; `SIGNATURE` there says what its arguments are.
macro_rules! calls {
    ($($number:literal $name:ident $($restart:ident)?;)*) => {
        $(mod $name;)*
        /// The calls of this folder.
        pub(super) const CALLS: &[$crate::call::Entry] = &[
            $($crate::call::Entry {
                number: $number,
                name: stringify!($name),
                handler: |call| $crate::syscall::result_word($name::call(call)),
                restart: $crate::syscall::calls!(@restart $($restart)?),
                signature: $name::SIGNATURE,
            },)*
        ];
    };
    (@restart) => { $crate::restart::Restart::Never };
    (@restart restart) => { $crate::restart::Restart::IfAsked };
    (@restart unless_handled) => { $crate::restart::Restart::UnlessHandled };
}
pub(crate) use calls;

mod event;
mod file;
mod info;
mod ipc;
mod memory;
mod process;
mod sched;
mod signal;
mod socket;
mod sysv;
mod time;

const TABLE_SIZE: usize = 512;

const fn build_table() -> [Option<Entry>; TABLE_SIZE] {
    let mut table = [None; TABLE_SIZE];
    let folders = [
        event::CALLS,
        file::CALLS,
        info::CALLS,
        ipc::CALLS,
        memory::CALLS,
        process::CALLS,
        sched::CALLS,
        signal::CALLS,
        socket::CALLS,
        sysv::CALLS,
        time::CALLS,
    ];
    let mut folder = 0;
    while folder < folders.len() {
        let mut index = 0;
        while index < folders[folder].len() {
            let entry = folders[folder][index];
            assert!(table[entry.number].is_none(), "two calls with one number");
            table[entry.number] = Some(entry);
            index += 1;
        }
        folder += 1;
    }
    table
}

static TABLE: [Option<Entry>; TABLE_SIZE] = build_table();

/// The table's line for a number.
pub fn entry(number: u64) -> Option<&'static Entry> {
    TABLE.get(usize::try_from(number).ok()?)?.as_ref()
}

/// All calls, by number.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().flatten()
}

/// The handlers by number: what is not there is [`refuse`].
static HANDLERS: [Handler; TABLE_SIZE] = {
    let mut handlers = [refuse as Handler; TABLE_SIZE];
    let mut number = 0;
    while number < TABLE_SIZE {
        if let Some(entry) = &TABLE[number] {
            handlers[number] = entry.handler;
        }
        number += 1;
    }
    handlers
};

/// Runs the call that the frame asks for, stores its result in the frame and returns it.
#[inline]
pub(crate) fn dispatch(call: &mut Call<'_>) -> u64 {
    let number = call.frame.rax;
    call.task.call_number.store(number, Ordering::Relaxed);
    let handler = HANDLERS.get(number as usize).copied().unwrap_or(refuse);
    let word = handler(call);
    call.frame.rax = word;
    word
}

/// The handler of numbers without a call.
fn refuse(call: &mut Call<'_>) -> u64 {
    result_word(unknown(call.process, call.frame.rax))
}

/// What the table says about a call that a signal interrupted.
pub(crate) fn restart_rule(number: u64) -> Restart {
    entry(number).map_or(Restart::Never, |entry| entry.restart)
}

/// What a program finds in RAX.
#[inline]
pub(crate) fn result_word(result: Result<usize>) -> u64 {
    match result {
        Ok(value) => value as u64,
        Err(error) => -i64::from(error.raw()) as u64,
    }
}

/// The result of a call that a signal has interrupted, until it is known what becomes of it.
pub(crate) const INTERRUPTED: u64 = -(Errno::EINTR.raw() as i64) as u64;

/// What [`result_word`] was made of: the last 4095 words are errors.
pub(crate) fn word_result(word: u64) -> Result<usize> {
    match u32::try_from((word as i64).wrapping_neg()) {
        Ok(number @ 1..=4095) => Err(Errno::from_raw(number)),
        _ => Ok(word as usize),
    }
}

/// An unknown call is refused, never faked, and named once in the log.
fn unknown(process: &Process, number: u64) -> Result<usize> {
    static LOGGED: [core::sync::atomic::AtomicBool; TABLE_SIZE] =
        [const { core::sync::atomic::AtomicBool::new(false) }; TABLE_SIZE];
    let first = usize::try_from(number)
        .ok()
        .and_then(|index| LOGGED.get(index))
        .is_none_or(|logged| !logged.swap(true, Ordering::Relaxed));
    if first {
        let name = usize::try_from(number).ok().and_then(Sysno::new).map_or("unknown", |call| call.name());
        log::warn!(
            "{}: system call {number} ({name}) is not there: ENOSYS",
            process.program().executable.escape_ascii()
        );
    }
    Err(Errno::ENOSYS)
}

impl Task {
    /// The system call in progress, if any: its number.
    pub fn call_in_progress(&self) -> Option<u64> {
        let number = self.call_number.load(Ordering::Relaxed);
        (number != NO_CALL).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_tells_errors_from_values() {
        let values = [0, 1, 4095, usize::MAX - 4095, 1 << 63].map(Ok);
        let errors = [Errno::EPERM, Errno::EINTR, Errno::from_raw(4095)].map(Err);
        for result in values.into_iter().chain(errors) {
            assert_eq!(word_result(result_word(result)), result);
        }
    }
}
