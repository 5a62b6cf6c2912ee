// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Results, and constants that every part uses.

/// Results. The numbers are Linux's, so that a POSIX layer can pass them on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// Not the owner, or not allowed in this context.
    Eperm = 1,
    /// No such thread, group, timer or event: never made, joined already, or destroyed.
    Esrch = 3,
    /// A signal handler ran, or pthread_cancel was called: look again and wait again.
    Eintr = 4,
    /// No more of a limited resource, or the awaited word had another value.
    Eagain = 11,
    /// No memory left in the zones allowed.
    Enomem = 12,
    /// An address is not the program's.
    Efault = 14,
    /// In use: destroy of a locked object, a second joiner, trylock of a held lock.
    Ebusy = 16,
    /// Registered already.
    Eexist = 17,
    /// The machine has no such device.
    Enodev = 19,
    /// An argument out of range, or an object that is not one (destroyed, never initialised).
    Einval = 22,
    /// A fixed table is full.
    Enospc = 28,
    /// Waiting would never end: joining oneself, locking one's own mutex again.
    Edeadlk = 35,
    /// This place (Linux user level, this CPU) cannot do it; the function's text says where it can.
    Enosys = 38,
    /// A counter is at its maximum.
    Eoverflow = 75,
    /// The deadline passed first.
    Etimedout = 110,
    /// The scheduler refused a real-time thread or group; hrt_admission_text() says why.
    Eadmit = 1000,
}

/// A deadline that never passes.
pub const FOREVER: u64 = u64::MAX;
/// Let the scheduler choose the CPU.
pub const CPU_ANY: i32 = -1;
/// The zone of the CPU concerned, others when it is full.
pub const ZONE_ANY: i32 = -1;
