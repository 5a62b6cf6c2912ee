// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace of system calls (`hadal run --strace`): one line for each call, in the form people know from `strace(1)`.
//!
//! [`signatures`](mod@signatures) says what the arguments of each call are, [`flags`](mod@flags) has the names of flag bits,
//! [`values`](mod@values) shows one argument. A line is sent when the call has returned, because some arguments are results;
//! a call that never returns is sent before it is made.

mod flags;
mod signatures;
mod values;

use alloc::string::String;
use core::fmt::Write;

use hadal_hal::trap::TrapFrame;
use syscalls::Sysno;

use crate::call::{Call, Entry};
use crate::syscall::word_result;
use crate::task::Task;
use crate::{Errno, Result, machine};
use signatures::{Arg, Signature};

/// Calls that do not come back to their handler's caller, or whose result is not one.
const NEVER_RETURN: [&str; 3] = ["exit", "exit_group", "rt_sigreturn"];

/// Makes a call, sends its line and returns what the program finds in RAX.
pub(crate) fn traced(entry: &Entry, call: &mut Call<'_>) -> u64 {
    let tid = call.task.tid();
    let words: [usize; 6] = core::array::from_fn(|index| call.arg(index));
    let signature = signatures::of(entry.name, &words);
    let shown = signature.args.iter().position(|arg| arg.is_result()).unwrap_or(signature.args.len());
    let mut line = String::new();
    // Writing to a string cannot fail.
    let _ = write!(line, "[{tid}] {}(", entry.name);
    arguments(&mut line, &signature, &words, 0..shown, Ok(0));
    if NEVER_RETURN.contains(&entry.name) {
        line.push_str(") = ?");
        machine::get().trace(&line);
        return (entry.handler)(call);
    }
    let word = (entry.handler)(call);
    let result = word_result(word);
    arguments(&mut line, &signature, &words, shown..signature.args.len(), result);
    line.push_str(") = ");
    outcome(&mut line, &signature, result);
    machine::get().trace(&line);
    word
}

/// Sends the line of a call that is not there.
pub(crate) fn unknown(task: &Task, frame: &TrapFrame) {
    let mut line = String::new();
    let _ = write!(line, "[{}] ", task.tid());
    let _ = match usize::try_from(frame.rax).ok().and_then(Sysno::new) {
        Some(call) => write!(line, "{}", call.name()),
        None => write!(line, "syscall_{:#x}", frame.rax),
    };
    let words = [frame.rdi, frame.rsi, frame.rdx, frame.r10, frame.r8, frame.r9].map(|word| word as usize);
    line.push('(');
    arguments(&mut line, &Signature::UNKNOWN, &words, 0..words.len(), Ok(0));
    line.push_str(") = ");
    outcome(&mut line, &Signature::UNKNOWN, Err(Errno::ENOSYS));
    machine::get().trace(&line);
}

fn arguments(
    line: &mut String,
    signature: &Signature,
    words: &[usize; 6],
    range: core::ops::Range<usize>,
    result: Result<usize>,
) {
    for index in range {
        if index > 0 {
            line.push_str(", ");
        }
        values::show(line, &signature.args[index], words, index, result);
    }
}

fn outcome(line: &mut String, signature: &Signature, result: Result<usize>) {
    let _ = match result {
        Ok(value) if matches!(signature.result, Arg::Address) => write!(line, "{value:#x}"),
        Ok(value) => write!(line, "{}", value as isize),
        Err(error) => write!(line, "-1 {error}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, words: [usize; 6], result: Result<usize>) -> String {
        let mut line = String::from(name);
        let signature = signatures::of(name, &words);
        line.push('(');
        arguments(&mut line, &signature, &words, 0..signature.args.len(), result);
        line.push_str(") = ");
        outcome(&mut line, &signature, result);
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
