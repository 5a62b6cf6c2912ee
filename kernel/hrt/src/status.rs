// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Results of calls: `enum hrt_status` of `hadal/hrt/base.h`.

use hadal_hal::memory::user::Fault;

/// What a call returns in EAX.
pub(crate) type Code = i32;

/// Why a call did not do what it was asked for; the header has the meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(dead_code, reason = "the header's whole list")]
pub(crate) enum Status {
    NotPermitted = 1,
    NoSuchThing = 3,
    Interrupted = 4,
    TryAgain = 11,
    NoMemory = 12,
    BadAddress = 14,
    Busy = 16,
    Exists = 17,
    NoDevice = 19,
    Invalid = 22,
    NoSpace = 28,
    Deadlock = 35,
    NotThere = 38,
    Overflow = 75,
    TimedOut = 110,
    NotAdmitted = 1000,
}

impl From<Fault> for Status {
    fn from(_: Fault) -> Self {
        Self::BadAddress
    }
}

/// Turns a result into what the program sees.
pub(crate) fn code(result: Result<(), Status>) -> Code {
    match result {
        Ok(()) => 0,
        Err(status) => status as Code,
    }
}
