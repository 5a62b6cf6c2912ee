// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the personality needs from the kernel image: somewhere to report to, and facts about the machine.

use alloc::string::String;

use hadal_hal::memory::fallible::OutOfMemory;
use hadal_hal::trap::TrapFrame;
use spin::Once;

use crate::loader::StartError;
use crate::process::{ExitStatus, Process};
use crate::signal::FaultSignal;
use crate::task::Task;
use crate::violation::Violation;

/// Services of the kernel image.
pub trait Machine: Sync {
    /// Shows a text to the person who started the program, apart from its standard error.
    fn report(&self, text: &str);
    /// Reports that a signal is about to end the program; `frame` holds the thread's registers in program code.
    fn ends_by_signal(
        &self,
        task: &Task,
        process: &Process,
        frame: &TrapFrame,
        signo: u8,
        fault: Option<FaultSignal>,
    );
    /// Reports that the program touched memory when none was left.
    fn out_of_memory(&self, process: &Process);
    /// Reports that the program is ended for a violation.
    fn violation(&self, process: &Process, violation: &Violation);
    /// Takes one line of a system-call trace.
    fn trace(&self, line: &str);
    /// The program has ended and all its threads are gone; files are on the host already. Called once, by the last thread.
    fn program_ended(&self, status: ExitStatus);
    /// The program could not be started. Called once, instead of everything the program would do.
    fn cannot_start(&self, error: &StartError);
    /// The calling thread has mapped code of a program, or made memory executable; it holds no lock.
    fn code_mapped(&self, process: &Process);
    /// The program is about to run its first instruction at `entry`; its image was moved by `bias` bytes.
    fn program_starts(&self, entry: usize, bias: usize);
    /// Fills a buffer with random bytes.
    fn random(&self, buffer: &mut [u8]);
    /// CPUID leaf 1, EDX: `AT_HWCAP`.
    fn cpu_features_edx(&self) -> u32;
    /// What the auxiliary vector tells beyond Linux: the key and the address of the call table for run-times.
    fn call_table(&self) -> (usize, usize);
    /// The calling thread of the program is about to end, in whatever way; it is still complete.
    fn thread_ends(&self);
    /// Whether the program has made something in the kernel that does not end with it.
    fn outlives_program(&self) -> bool;
    /// Whether there may be a second process. Once there may, nothing can be made any more that does not end with its program.
    fn may_share(&self) -> bool;
    /// A child's window has got a copy of what is in its parent's: both by [`Process::window_number`].
    fn window_copied(&self, from: u16, to: u16) -> Result<(), OutOfMemory>;
    /// No process runs in a window any more, and nothing is in it.
    fn window_emptied(&self, window: u16);
    /// What a thread of the program waits for in a call that is none of Linux's: a noun and a number or address.
    fn waits_for(&self, thread: u32) -> Option<(&'static str, u64)>;
    /// Whether a thread of the program has nothing to run: one that a run-time keeps for the next piece of work.
    fn is_idle_slot(&self, thread: u32) -> bool;
    /// Host name, for `uname`.
    fn hostname(&self) -> String;
}

static MACHINE: Once<&'static dyn Machine> = Once::new();

/// Installs the services; the first call wins.
pub fn set(machine: &'static dyn Machine) {
    MACHINE.call_once(|| machine);
}

/// The services.
///
/// # Panics
/// Before [`set`].
pub fn get() -> &'static dyn Machine {
    *MACHINE.get().expect("the kernel image installs its services first")
}
