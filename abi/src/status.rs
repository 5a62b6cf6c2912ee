// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Exit statuses of the `hadal` command.
//!
//! `hadal run` ends with the status of the program: what it passed to `exit`, or 128 plus the signal that killed it.
//! Hadal's own failures use the block 119 to 125, just below the two statuses that shells reserve (126 and 127), which
//! mean here what they mean there, and the block of signals (from 129). A program may of course return such a number
//! itself; the difference is that a failure of Hadal always prints a line that starts with `hadal: ` on standard error.
//! A wrong command line is 2.

/// Added to a signal's number when a signal ended the program.
pub const SIGNAL_BASE: u8 = 128;

/// The command line is wrong (unknown option, value out of range); the argument parser's own choice.
pub const USAGE: u8 = 2;

/// The program could not be started: not an x86-64 ELF, interpreter missing, too little memory.
pub const CANNOT_START: u8 = 119;

/// QEMU is missing, refused its command line or could not start the machine.
pub const QEMU: u8 = 120;

/// The kernel panicked or reported that it cannot go on.
pub const KERNEL_PANIC: u8 = 121;

/// The time limit of `--timeout` passed.
pub const TIMEOUT: u8 = 122;

/// The machine ended, or broke the control channel, without its "done" message.
pub const LOST: u8 = 123;

/// The source file given in place of a program did not compile.
pub const COMPILE: u8 = 124;

/// Any other failure of the command itself (a file it cannot write, a tool it needs and does not find).
pub const INTERNAL: u8 = 125;

/// There is a file of the program's name, and it may not be executed; a shell's status.
pub const NOT_EXECUTABLE: u8 = 126;

/// There is no program of this name; a shell's status.
pub const NOT_FOUND: u8 = 127;

/// Each status above with its meaning, for help texts and the book.
pub const TABLE: &[(u8, &str)] = &[
    (USAGE, "wrong command line"),
    (CANNOT_START, "the program could not be started (not an x86-64 ELF, too little memory)"),
    (QEMU, "QEMU is missing or could not start the machine"),
    (KERNEL_PANIC, "the kernel panicked"),
    (TIMEOUT, "the time limit of --timeout passed"),
    (LOST, "the machine ended without its done message"),
    (COMPILE, "the source file did not compile"),
    (INTERNAL, "another failure of the hadal command"),
    (NOT_EXECUTABLE, "the program's file is not executable"),
    (NOT_FOUND, "the program was not found"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_statuses_are_distinct_and_below_the_block_of_signals() {
        let mut seen = std::collections::BTreeSet::new();
        for (status, _) in TABLE {
            assert!(*status < SIGNAL_BASE, "{status} collides with signals");
            assert!(seen.insert(*status), "{status} is used twice");
        }
    }
}
