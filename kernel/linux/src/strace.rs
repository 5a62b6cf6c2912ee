// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace of system calls (`hadal run --strace`): one line for each call, in the form people know from `strace(1)`, or
//! [`counts`]. Only calls that are asked for come here.
//!
//! [`signature`](mod@signature) has the kinds of arguments; which ones a call has is written in the call's own file. The names
//! of flag bits are in [`flags`](mod@flags), [`values`](mod@values) shows one argument. A line is sent when the call has
//! returned, because some arguments are results; a call that never returns is sent before it is made.

pub mod counts;
pub(crate) mod flags;
mod signature;
mod values;

use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use core::sync::atomic::Ordering;

use hadal_abi::calls::{CallOutput, CallTrace};
use hadal_hal::trap::TrapFrame;
use syscalls::Sysno;

use crate::call::{Call, Entry};
use crate::syscall::{self, word_result};
use crate::{Errno, Result, machine};
use signature::Words;
pub(crate) use signature::{Arg, Args, Returned, Signature, signature};

/// Makes the call that the frame asks for, stores its result in the frame, and sends its line or counts it.
pub(crate) fn dispatch(trace: &CallTrace, call: &mut Call<'_>) -> u64 {
    match trace.output {
        CallOutput::Lines => with_line(trace, call),
        CallOutput::Counts => with_count(call),
    }
}

/// The begin of a line: who makes the call.
fn begun(trace: &CallTrace, call: &Call<'_>) -> String {
    let tid = call.task.tid();
    if trace.all_processes { format!("[{}/{tid}] ", call.process.pid()) } else { format!("[{tid}] ") }
}

fn with_count(call: &mut Call<'_>) -> u64 {
    let number = call.frame.rax;
    let has_result = syscall::entry(number).is_none_or(|entry| entry.signature.returned != Returned::Nothing);
    counts::begins(number);
    let start_ns = hadal_time::now_ns();
    let word = syscall::dispatch(call);
    let is_error = has_result && word_result(word).is_err();
    counts::returned(number, hadal_time::now_ns().saturating_sub(start_ns), is_error);
    word
}

fn with_line(trace: &CallTrace, call: &mut Call<'_>) -> u64 {
    let number = call.frame.rax;
    let line = begun(trace, call);
    let Some(entry) = syscall::entry(number) else {
        unknown(line, call.frame);
        return syscall::dispatch(call);
    };
    call.task.call_number.store(number, Ordering::Relaxed);
    let word = traced(line, entry, call);
    call.frame.rax = word;
    word
}

/// Makes a call, sends its line and returns what the program finds in RAX.
fn traced(mut line: String, entry: &Entry, call: &mut Call<'_>) -> u64 {
    let words: Words = core::array::from_fn(|index| call.arg(index));
    let args = entry.signature.args(&words);
    let shown = args.iter().position(|arg| arg.is_result()).unwrap_or(args.len());
    line.push_str(entry.name);
    line.push('(');
    arguments(&mut line, args, &words, 0..shown, Ok(0));
    if entry.signature.returned == Returned::Nothing {
        line.push_str(") = ?");
        machine::get().trace(&line);
        return (entry.handler)(call);
    }
    let word = (entry.handler)(call);
    let result = word_result(word);
    arguments(&mut line, args, &words, shown..args.len(), result);
    line.push_str(") = ");
    outcome(&mut line, entry.signature.returned, result);
    machine::get().trace(&line);
    word
}

/// Sends the line of a call that is not there.
fn unknown(mut line: String, frame: &TrapFrame) {
    // Writing to a string cannot fail.
    let _ = match usize::try_from(frame.rax).ok().and_then(Sysno::new) {
        Some(call) => write!(line, "{}", call.name()),
        None => write!(line, "syscall_{:#x}", frame.rax),
    };
    let words = [frame.rdi, frame.rsi, frame.rdx, frame.r10, frame.r8, frame.r9].map(|word| word as usize);
    line.push('(');
    arguments(&mut line, Signature::UNKNOWN.args(&words), &words, 0..words.len(), Ok(0));
    line.push_str(") = ");
    outcome(&mut line, Signature::UNKNOWN.returned, Err(Errno::ENOSYS));
    machine::get().trace(&line);
}

fn arguments(
    line: &mut String,
    args: &[Arg],
    words: &Words,
    range: core::ops::Range<usize>,
    result: Result<usize>,
) {
    for index in range {
        if index > 0 {
            line.push_str(", ");
        }
        values::show(line, &args[index], words, index, result);
    }
}

fn outcome(line: &mut String, returned: Returned, result: Result<usize>) {
    let _ = match result {
        Ok(value) if returned == Returned::Address => write!(line, "{value:#x}"),
        Ok(value) => write!(line, "{}", value as isize),
        Err(error) => write!(line, "-1 {error}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, words: Words, result: Result<usize>) -> String {
        let mut line = String::from(name);
        let entry = syscall::entries().find(|entry| entry.name == name).expect("a call's name");
        let args = entry.signature.args(&words);
        line.push('(');
        arguments(&mut line, args, &words, 0..args.len(), result);
        line.push_str(") = ");
        outcome(&mut line, entry.signature.returned, result);
        line
    }

    #[test]
    fn lines_look_like_those_of_strace() {
        assert_eq!(
            line("mmap", [0, 8192, 3, 0x22, usize::MAX, 0], Ok(0x7f00_0000_0000)),
            "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000"
        );
        assert_eq!(line("close", [3, 0, 0, 0, 0, 0], Err(Errno::EBADF)), "close(3) = -1 EBADF");
        assert_eq!(
            line("futex", [0x1000, 0x80, 1, 0, 0, 0], Err(Errno::EAGAIN)),
            "futex(0x1000, FUTEX_WAIT|FUTEX_PRIVATE_FLAG, 1, NULL) = -1 EAGAIN"
        );
        assert_eq!(line("getpid", [0; 6], Ok(7)), "getpid() = 7");
        assert_eq!(line("lseek", [3, usize::MAX, 2, 0, 0, 0], Ok(9)), "lseek(3, -1, SEEK_END) = 9");
        assert_eq!(line("tgkill", [5, 6, 11, 0, 0, 0], Ok(0)), "tgkill(5, 6, SIGSEGV) = 0");
    }

    #[test]
    fn bad_pointers_are_shown_as_numbers() {
        assert_eq!(
            line("openat", [-100isize as usize, 0x10, 0o2000101, 0o644, 0, 0], Err(Errno::EFAULT)),
            "openat(AT_FDCWD, 0x10, O_WRONLY|O_CREAT|O_CLOEXEC, 0644) = -1 EFAULT"
        );
        assert_eq!(
            line("openat", [3, 0x10, 0o200000, 0o644, 0, 0], Err(Errno::EFAULT)),
            "openat(3, 0x10, O_RDONLY|O_DIRECTORY) = -1 EFAULT"
        );
        assert_eq!(line("write", [1, 0x20, 5, 0, 0, 0], Err(Errno::EFAULT)), "write(1, 0x20, 5) = -1 EFAULT");
    }
}
