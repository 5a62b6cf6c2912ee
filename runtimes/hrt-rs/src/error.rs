// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `enum hrt_status` as an error.

use std::ffi::{CStr, c_int};
use std::fmt;

use hadal_hrt_abi::base::Status;

use crate::ffi;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not the owner, or not allowed in this context.
    NotPermitted,
    /// There is no such thread, event or timer, or no longer.
    NotFound,
    /// A signal handler ran.
    Interrupted,
    /// No more of a limited resource.
    Exhausted,
    /// No memory left in the zones allowed.
    NoMemory,
    /// In use.
    Busy,
    /// Registered already.
    Exists,
    /// The machine has no such device.
    NoDevice,
    /// An argument is out of range.
    Invalid,
    /// A fixed table is full.
    NoSpace,
    /// Waiting would never end.
    Deadlock,
    /// This place cannot do it.
    Unsupported,
    /// A counter is at its maximum.
    Overflow,
    /// The deadline passed first.
    TimedOut,
    /// The scheduler refused a real-time thread or group, for this reason.
    Refused(String),
    /// A number that this crate does not know.
    Other(i32),
}

const KNOWN: [(Status, Error); 14] = [
    (Status::Eperm, Error::NotPermitted),
    (Status::Esrch, Error::NotFound),
    (Status::Eintr, Error::Interrupted),
    (Status::Eagain, Error::Exhausted),
    (Status::Enomem, Error::NoMemory),
    (Status::Ebusy, Error::Busy),
    (Status::Eexist, Error::Exists),
    (Status::Enodev, Error::NoDevice),
    (Status::Einval, Error::Invalid),
    (Status::Enospc, Error::NoSpace),
    (Status::Edeadlk, Error::Deadlock),
    (Status::Enosys, Error::Unsupported),
    (Status::Eoverflow, Error::Overflow),
    (Status::Etimedout, Error::TimedOut),
];

/// Result of a call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn from_status(status: c_int) -> Self {
        if let Some((_, error)) = KNOWN.iter().find(|&&(number, _)| number as c_int == status) {
            return error.clone();
        }
        if status == Status::Eadmit as c_int {
            // SAFETY: the interface promises a string, which lives until the thread's next request.
            let text = unsafe { CStr::from_ptr(ffi::hrt_rs_admission_text()) };
            return Self::Refused(text.to_string_lossy().into_owned());
        }
        Self::Other(status)
    }
}

/// Turns a status into a result.
pub(crate) fn check(status: c_int) -> Result<()> {
    if status == ffi::OK { Ok(()) } else { Err(Error::from_status(status)) }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::NotPermitted => "not permitted",
            Self::NotFound => "not found",
            Self::Interrupted => "interrupted by a signal",
            Self::Exhausted => "resource exhausted",
            Self::NoMemory => "out of memory",
            Self::Busy => "in use",
            Self::Exists => "exists already",
            Self::NoDevice => "no such device",
            Self::Invalid => "argument out of range",
            Self::NoSpace => "table full",
            Self::Deadlock => "would wait for ever",
            Self::Unsupported => "not supported here",
            Self::Overflow => "counter at its maximum",
            Self::TimedOut => "timed out",
            Self::Refused(reason) => return write!(f, "refused by the scheduler: {reason}"),
            Self::Other(number) => return write!(f, "status {number}"),
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
