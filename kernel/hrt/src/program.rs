// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this interface needs of the program that uses it: of its threads, its memory, and whoever started it.
//!
//! The kernel image says what kind of program there is by the type that it gives [`address`](crate::address) and the other
//! functions of this crate. It is a type and not a table of functions, because most of this is on the paths of fork and join.

use hadal_hrt_abi::thread::NAME_BYTES;
use hadal_mem::space::ProgramSpace;
use hadal_sched::{SpawnError, Thread};

/// A thread of the program.
pub trait Program: Copy + 'static {
    /// What the program knows of the calling thread, which is one of its own.
    fn current() -> Self;

    /// The calling thread waits for work, and takes no signals until [`Program::resume`].
    fn rest(self);

    /// The calling thread has work again.
    fn resume(self);

    /// Whether a resting thread has to leave its wait all the same: the program ends, or is about to.
    fn must_leave(self) -> bool;

    /// Whether the program ends.
    fn is_ending(self) -> bool;

    /// The calling thread will be used again, and begins every work as it is now.
    fn keep(self);

    /// The work of the calling thread has ended: it is again as [`Program::keep`] found it.
    fn renew(self);

    /// Gives a thread that waits for work what a new thread has of the one that makes it.
    fn inherit(thread: &'static Thread, creator: &'static Thread);

    /// Gives a thread a name, NUL-padded.
    fn rename(thread: &'static Thread, name: &[u8; NAME_BYTES]);

    /// The program's memory.
    fn space(self) -> &'static ProgramSpace;

    /// A number for the program's memory: no other program that runs at the same time has it unless the two share
    /// their memory.
    fn window(self) -> u16;

    /// Makes another thread of the program that begins in the kernel with `entry(arg)` once it is started.
    ///
    /// # Errors
    /// There is no memory, or no place, for one.
    fn spawn(self, entry: fn(usize) -> !, arg: usize, fs_base: u64) -> Result<&'static Thread, SpawnError>;

    /// Ends the calling thread.
    fn exit(self) -> !;

    /// Shows a text to the person who started the program.
    fn report(text: &str);
}
