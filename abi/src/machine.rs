// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Device constants of the virtual machine that the `hadal` command builds and the kernel finds.
//!
//! The control channel is port 1 of the first virtio console, which has the multiport feature. The file systems are the
//! virtio 9P devices whose mount tags stand in the run configuration.

/// I/O port of QEMU's `isa-debug-exit` device.
pub const DEBUG_EXIT_PORT: u16 = 0x118;

/// Width in bytes of the `isa-debug-exit` register.
pub const DEBUG_EXIT_SIZE_BYTES: u16 = 4;

/// Written to [`DEBUG_EXIT_PORT`] when the machine has ended in order.
pub const DEBUG_EXIT_DONE: u32 = 0x10;

/// Written to [`DEBUG_EXIT_PORT`] after a kernel panic has been reported on the serial log.
pub const DEBUG_EXIT_PANIC: u32 = 0x11;

/// Status with which QEMU ends when `value` is written to [`DEBUG_EXIT_PORT`].
pub const fn qemu_status(value: u32) -> i32 {
    ((value << 1) | 1) as i32
}

/// Status of the QEMU process after [`DEBUG_EXIT_DONE`].
pub const QEMU_STATUS_DONE: i32 = qemu_status(DEBUG_EXIT_DONE);

/// Status of the QEMU process after [`DEBUG_EXIT_PANIC`].
pub const QEMU_STATUS_PANIC: i32 = qemu_status(DEBUG_EXIT_PANIC);

/// Words, in any case, of the line on the serial log with which a panic report begins.
///
/// The host shows the log from the first such line on.
pub const PANIC_MARKER: &str = "kernel panic";

/// Highest number of CPUs a machine may have: xAPIC identifiers 0 to 254 (255 means all).
pub const MAX_CPUS: u32 = 255;

/// Least memory the kernel starts with, in bytes.
pub const MIN_MEMORY_BYTES: u64 = 64 << 20;

/// End of the part of the address space that is never mapped for a program: a null pointer faults.
pub const PROGRAM_LOWEST_ADDRESS: u64 = 64 << 10;

/// End of the program's half of the address space (the last page is left out, as on Linux).
pub const PROGRAM_END_ADDRESS: u64 = 0x7fff_ffff_f000;

/// Where the kernel places the first segment of a position-independent program: the address Linux uses without
/// address space randomisation. Debuggers are told this number before the program runs.
pub const PIE_BASE_ADDRESS: u64 = 0x5555_5555_4000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_exit_values_give_distinct_statuses() {
        assert_eq!((QEMU_STATUS_DONE, QEMU_STATUS_PANIC), (33, 35));
    }
}
