// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Results of calls: `enum hrt_status` of `hadal/hrt.h`.

use hadal_hal::memory::user::Fault;
use hadal_hrt_abi::base::Status as Number;

/// What a call returns in EAX.
pub(crate) type Code = i32;

/// Why a call did not do what it was asked for; the header has the meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(dead_code, reason = "the header's whole list")]
pub(crate) enum Status {
    NotPermitted = Number::Eperm as i32,
    NoSuchThing = Number::Esrch as i32,
    Interrupted = Number::Eintr as i32,
    TryAgain = Number::Eagain as i32,
    NoMemory = Number::Enomem as i32,
    BadAddress = Number::Efault as i32,
    Busy = Number::Ebusy as i32,
    Exists = Number::Eexist as i32,
    NoDevice = Number::Enodev as i32,
    Invalid = Number::Einval as i32,
    NoSpace = Number::Enospc as i32,
    Deadlock = Number::Edeadlk as i32,
    NotThere = Number::Enosys as i32,
    Overflow = Number::Eoverflow as i32,
    TimedOut = Number::Etimedout as i32,
    NotAdmitted = Number::Eadmit as i32,
}

impl From<Fault> for Status {
    fn from(_: Fault) -> Self {
        Self::BadAddress
    }
}

/// Turns a result into what the program sees.
pub(crate) fn code(result: Result<(), Status>) -> Code {
    match result {
        Ok(()) => Number::Ok as Code,
        Err(status) => status as Code,
    }
}
