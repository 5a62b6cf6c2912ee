// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One system call in progress.

use core::sync::atomic::Ordering;

use hadal_hal::trap::TrapFrame;

use crate::process::Process;
use crate::restart::Restart;
use crate::strace::Signature;
use crate::task::Task;

/// What a handler gets: the caller and its registers.
pub struct Call<'a> {
    /// The calling thread.
    pub task: &'static Task,
    /// Its process.
    pub process: &'static Process,
    /// Its registers; the result is stored in RAX after the handler.
    pub frame: &'a mut TrapFrame,
}

/// A system call's implementation, as the table has it: returns what a program finds in RAX
/// ([`result_word`](crate::syscall::result_word)), so that it takes a register and no branch.
pub type Handler = fn(&mut Call<'_>) -> u64;

/// One line of the dispatch table.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Linux's number.
    pub number: usize,
    /// Name, as in the manual.
    pub name: &'static str,
    /// Implementation.
    pub handler: Handler,
    /// Behaviour after a signal.
    pub restart: Restart,
    /// Arguments and result, for the trace of calls.
    pub(crate) signature: Signature,
}

impl Call<'_> {
    /// Its number; of a call that `restart_syscall` continues, the number of that one.
    pub fn number(&self) -> u64 {
        self.task.call_number.load(Ordering::Relaxed)
    }

    /// Argument `index` (0 to 5) as a word.
    pub fn arg(&self, index: usize) -> usize {
        let frame = &self.frame;
        [frame.rdi, frame.rsi, frame.rdx, frame.r10, frame.r8, frame.r9][index] as usize
    }

    /// Argument `index` as a C `int`.
    pub fn int(&self, index: usize) -> i32 {
        self.arg(index) as i32
    }

    /// Argument `index` as a C `unsigned int`.
    pub fn uint(&self, index: usize) -> u32 {
        self.arg(index) as u32
    }
}
