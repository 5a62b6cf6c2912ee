// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a program in ring 0 can do that ends it as if by SIGSEGV, though no exception of the processor says so.

use hadal_hal::interrupts::handler::{Handler, HandlerError};
use hadal_hal::trap::TrapFrame;

/// What a program did that it is ended for.
#[derive(Clone, Copy, Debug)]
pub enum Violation {
    /// A handler broke the rules of interrupt context.
    Handler {
        /// The handler.
        handler: Handler,
        /// How it did.
        error: HandlerError,
        /// Its registers at that moment.
        frame: TrapFrame,
        /// Where it ran.
        cpu: usize,
    },
    /// `%gs` was made to point elsewhere than to the kernel's data of the CPU.
    PerCpuPointer {
        /// The registers of the code where that was found.
        frame: TrapFrame,
        /// Where.
        cpu: usize,
    },
    /// Interrupts stayed off on a CPU for too long.
    InterruptsOff {
        /// The registers of the code that was interrupted.
        frame: TrapFrame,
        /// Where.
        cpu: usize,
    },
}
