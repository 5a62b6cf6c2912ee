// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events: active messages, waits for them, waits for memory (`hadal/hrt/event.h`).

use hadal_event::memory::{self, WaitError};
use hadal_event::{Action, Error};
use hadal_hal::memory::user;
use hadal_hrt_abi::base::FOREVER;
use hadal_hrt_abi::event::{EVENT_SELF, EVENTS_MAX, HANDLER_VECTORS};

use crate::footprint;
use crate::program::Program;
use crate::status::{Code, Status, code};

const _: () = assert!(hadal_event::EVENTS == EVENTS_MAX);

/// Words of a CPU set that are copied at a time.
const SET_WORDS: usize = hadal_hal::cpu::percpu::MAX_CPUS / 64;

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::Unknown | Error::NoCpu => Self::Invalid,
            Error::NotHere => Self::NotPermitted,
            Error::TimedOut => Self::TimedOut,
            Error::Interrupted => Self::Interrupted,
        }
    }
}

/// Takes an event away that is registered no more as `ESRCH`, where it is the call's only subject.
pub(crate) fn named(error: Error) -> Status {
    if error == Error::Unknown { Status::NoSuchThing } else { error.into() }
}

/// Reads what a program wants to be called.
pub(crate) fn action<P: Program>(function: usize, arg: usize, flags: u32) -> Result<Action, Status> {
    footprint::note::<P>()?;
    if flags & !HANDLER_VECTORS != 0 || (function != 0 && !user::in_window(function, 1)) {
        return Err(Status::Invalid);
    }
    Ok(Action { function, arg, vectors: flags & HANDLER_VECTORS != 0 })
}

/// The same for a function that must be there.
pub(crate) fn handler<P: Program>(function: usize, arg: usize, flags: u32) -> Result<Action, Status> {
    if function == 0 { Err(Status::Invalid) } else { action::<P>(function, arg, flags) }
}

/// A CPU by its number.
pub(crate) fn cpu_of(cpu: i32) -> Result<usize, Status> {
    usize::try_from(cpu).ok().filter(|&cpu| cpu < hadal_hal::cpu::count()).ok_or(Status::Invalid)
}

/// A deadline: `HRT_FOREVER` is none.
pub(crate) fn deadline(ns: u64) -> Option<u64> {
    (ns != FOREVER).then_some(ns)
}

/// `event_register`.
pub(crate) extern "C" fn register<P: Program>(function: usize, arg: usize, flags: u32, event: usize) -> Code {
    let register = || {
        let action = action::<P>(function, arg, flags)?;
        user::store_u32(event, 0)?;
        let number = hadal_event::register(action).ok_or(Status::NoSpace)?;
        user::store_u32(event, number).map_err(|fault| {
            let _ = hadal_event::unregister(number);
            fault.into()
        })
    };
    code(register())
}

/// `event_unregister`.
pub(crate) extern "C" fn unregister(event: u32) -> Code {
    code(hadal_event::unregister(event).map_err(named))
}

/// `event_notify`.
pub(crate) extern "C" fn notify(event: u32, cpu: i32) -> Code {
    // A negative number is a CPU that does not exist.
    code(hadal_event::notify(event, cpu as u32 as usize).map_err(Status::from))
}

/// `event_notify_set`.
pub(crate) extern "C" fn notify_set(event: u32, cpus: usize, words: u32) -> Code {
    let notify = || {
        let mut set = [0u64; SET_WORDS];
        for word in 0..words as usize {
            let bits = user::load_u64(cpus.checked_add(8 * word).ok_or(Status::BadAddress)?)?;
            match set.get_mut(word) {
                Some(place) => *place = bits,
                None if bits != 0 => return Err(Status::Invalid),
                None => {}
            }
        }
        Ok(hadal_event::notify_set(event, &set)?)
    };
    code(notify())
}

/// `event_notify_all`.
pub(crate) extern "C" fn notify_all(event: u32, flags: u32) -> Code {
    if flags & !EVENT_SELF != 0 {
        return Status::Invalid as Code;
    }
    code(hadal_event::notify_all(event, flags & EVENT_SELF != 0).map_err(Status::from))
}

/// `event_wait`.
pub(crate) extern "C" fn wait(event: u32, seen: usize, deadline_ns: u64) -> Code {
    let wait = || {
        let before = user::load_u64(seen)?;
        let (arrived, outcome) = hadal_event::wait(event, before, deadline(deadline_ns));
        user::store_u64(seen, arrived)?;
        outcome.map_err(named)
    };
    code(wait())
}

/// `memory_wait`.
pub(crate) extern "C" fn memory_wait(word: usize, old: u64, deadline_ns: u64) -> Code {
    if !word.is_multiple_of(8) {
        return Status::Invalid as Code;
    }
    code(memory::wait(word, old, deadline(deadline_ns)).map_err(|error| match error {
        WaitError::Event(error) => error.into(),
        WaitError::Fault => Status::BadAddress,
    }))
}
