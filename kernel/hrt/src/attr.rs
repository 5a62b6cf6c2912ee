// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Attributes of threads (`struct hrt_thread_attr`), checked.

use core::mem::offset_of;

use hadal_hal::memory::user;
use hadal_hrt_abi::calls::THREAD_PTHREAD;
use hadal_hrt_abi::thread::{
    self as abi, NAME_BYTES, PRIORITIES, Policy, THREAD_BARE, THREAD_DETACHED, THREAD_STEALABLE, ThreadAttr,
};
use hadal_sched::PRIORITY_DEFAULT;

use crate::memory_of_program::read;
use crate::place::{self, ANYWHERE, IN_ZONE};
use crate::slot::{self, DEFAULT_CLASS};
use crate::status::Status;

/// Attribute flags that there are.
const FLAGS: u32 = THREAD_DETACHED | THREAD_BARE | THREAD_STEALABLE | THREAD_PTHREAD;

fn policy(number: u32) -> Result<Policy, Status> {
    use Policy::{EdfAperiodic, EdfPeriodic, EdfSporadic, RoundRobin, RunToCompletion};
    let known = [RoundRobin, RunToCompletion, EdfPeriodic, EdfSporadic, EdfAperiodic];
    known.into_iter().find(|&policy| policy as u32 == number).ok_or(Status::Invalid)
}

/// A schedule that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    pub(crate) policy: Policy,
    pub(crate) priority: u8,
    /// For the real-time policies.
    pub(crate) times: Times,
}

/// What real-time policies need besides: nanoseconds, as the header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) period_ns: u64,
    pub(crate) work_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) start_ns: u64,
}

/// Everything about a new thread but what it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) flags: u32,
    /// CPU, or a value of [`crate::place`].
    pub(crate) place: i32,
    pub(crate) schedule: Schedule,
    /// Stack size class.
    pub(crate) class: u32,
    /// Address of the name, or 0.
    pub(crate) name: usize,
}

/// `hrt_thread_attr_init`.
const DEFAULT: Attributes = Attributes {
    flags: 0,
    place: ANYWHERE,
    schedule: Schedule {
        policy: Policy::RoundRobin,
        priority: PRIORITY_DEFAULT,
        times: Times { period_ns: 0, work_ns: 0, deadline_ns: 0, start_ns: 0 },
    },
    class: DEFAULT_CLASS,
    name: 0,
};

/// Attributes that ask for nothing but what is cheap: what almost every thread has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) flags: u32,
    pub(crate) class: u32,
}

impl Plain {
    /// Those of null.
    pub(crate) const USUAL: Self = Self { flags: 0, class: DEFAULT_CLASS };

    /// Reads attributes. `None` for others, and for those that cannot be read or are wrong: [`Attributes::read`] tells.
    #[inline(always)]
    pub(crate) fn read(address: usize) -> Option<Self> {
        if address == 0 {
            return Some(Self::USUAL);
        }
        let [sizes, place, schedule, stack_bytes, name] = user::load_five_u64(address, NAME).ok()?;
        let (size, flags) = (sizes as u32 as usize, (sizes >> 32) as u32);
        if size < BYTES
            || place != PLAIN_PLACE
            || schedule != PLAIN_SCHEDULE
            || name != 0
            || flags & !FLAGS != 0
        {
            return None;
        }
        Some(Self { flags, class: slot::class_of(stack_bytes).ok()? })
    }
}

const BYTES: usize = size_of::<ThreadAttr>();
const NAME: usize = offset_of!(ThreadAttr, name);

// The words that `Plain::read` takes, and the scheduler's default.
const _: () = assert!(offset_of!(ThreadAttr, cpu) == 8 && offset_of!(ThreadAttr, policy) == 16);
const _: () = assert!(offset_of!(ThreadAttr, stack_bytes) == 24);
const _: () = assert!(PRIORITY_DEFAULT as i32 == abi::PRIORITY_DEFAULT);

/// Neither `cpu` nor `zone`.
const PLAIN_PLACE: u64 = u64::MAX;
/// `HRT_POLICY_ROUND_ROBIN` and the default priority.
const PLAIN_SCHEDULE: u64 = (PRIORITY_DEFAULT as u64) << 32 | Policy::RoundRobin as u64;

impl Attributes {
    /// Reads attributes; null gives the defaults.
    pub(crate) fn read(address: usize) -> Result<Self, Status> {
        if address == 0 {
            return Ok(DEFAULT);
        }
        Self::check(&read(address)?)
    }

    fn check(raw: &ThreadAttr) -> Result<Self, Status> {
        let schedule = Schedule::check(raw)?;
        let place = if raw.cpu & raw.zone == ANYWHERE { ANYWHERE } else { Self::place(raw.cpu, raw.zone)? };
        let class = slot::class_of(raw.stack_bytes)?;
        if raw.flags & !FLAGS != 0 {
            return Err(Status::Invalid);
        }
        Ok(Self { flags: raw.flags, place, schedule, class, name: raw.name as usize })
    }

    fn place(cpu: i32, zone: i32) -> Result<i32, Status> {
        if cpu == ANYWHERE {
            return Ok(IN_ZONE - place::checked_zone(zone)? as i32);
        }
        let number = place::checked_cpu(cpu)?;
        if zone != ANYWHERE && place::zone_of(number) != place::checked_zone(zone)? {
            return Err(Status::Invalid);
        }
        Ok(cpu)
    }
}

impl Schedule {
    fn check(raw: &ThreadAttr) -> Result<Self, Status> {
        let fits = raw.size as usize >= BYTES && (0..PRIORITIES).contains(&raw.priority);
        if !fits {
            return Err(Status::Invalid);
        }
        let ThreadAttr { period_ns, work_ns, deadline_ns, start_ns, .. } = *raw;
        let times = Times { period_ns, work_ns, deadline_ns, start_ns };
        Ok(Self { policy: policy(raw.policy)?, priority: raw.priority as u8, times })
    }

    /// Reads the schedule in attributes whose other fields do not matter.
    pub(crate) fn read(address: usize) -> Result<Self, Status> {
        Self::check(&read(address)?)
    }
}

/// Reads a name of a thread; a longer one is cut.
pub(crate) fn read_name(address: usize) -> Result<[u8; NAME_BYTES], Status> {
    let mut name = [0; NAME_BYTES];
    // Byte by byte, since what comes behind the NUL may not be there.
    for at in 0..NAME_BYTES - 1 {
        user::copy_from(&mut name[at..=at], address.wrapping_add(at))?;
        if name[at] == 0 {
            break;
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> ThreadAttr {
        ThreadAttr {
            size: BYTES as u32,
            flags: 0,
            cpu: -1,
            zone: -1,
            policy: 0,
            priority: 16,
            stack_bytes: 256 << 10,
            period_ns: 0,
            work_ns: 0,
            deadline_ns: 0,
            start_ns: 0,
            name: 0,
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        place::init();
        assert!(Attributes::check(&raw()).is_ok_and(|attr| attr.class == DEFAULT_CLASS));
        let changes: [fn(&mut ThreadAttr); 8] = [
            |raw| raw.size -= 1,
            |raw| raw.flags = 8,
            |raw| raw.cpu = 1,
            |raw| raw.cpu = -2,
            |raw| raw.zone = 40,
            |raw| raw.policy = 5,
            |raw| raw.priority = 32,
            |raw| raw.stack_bytes = 1 << 40,
        ];
        for change in changes {
            let mut raw = raw();
            change(&mut raw);
            assert_eq!(Attributes::check(&raw).map(drop), Err(Status::Invalid), "{raw:?}");
        }
    }
}
