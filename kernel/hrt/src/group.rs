// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of threads that run together, and periods.

use hadal_hal::memory::user;
use hadal_hrt_abi::thread::{GroupAttr, Policy};
use hadal_sched::gang::{self, GroupError, GroupId, GroupSchedule};
use hadal_sched::{PeriodError, wait_period};

use crate::admission;
use crate::attr::{Schedule, Times};
use crate::memory_of_program::read;
use crate::status::{Code, Status, code};

impl From<GroupError> for Status {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::NoSuchGroup => Self::NoSuchThing,
            GroupError::BadSize | GroupError::NotBound | GroupError::CpuTaken => Self::Invalid,
            GroupError::NotMember => Self::NotPermitted,
            GroupError::TooMany | GroupError::Full => Self::NoSpace,
            GroupError::NoMemory => Self::NoMemory,
            GroupError::IsMember => Self::Exists,
            GroupError::HasMembers => Self::Busy,
            GroupError::Interrupted => Self::Interrupted,
            GroupError::Refused(refusal) => {
                admission::refuse(&refusal);
                Self::NotAdmitted
            }
        }
    }
}

fn create(attr: usize, out: usize) -> Result<(), Status> {
    let attributes: GroupAttr = read(attr)?;
    if (attributes.size as usize) < size_of::<GroupAttr>() {
        return Err(Status::Invalid);
    }
    let group = gang::create(attributes.members as usize, attributes.skew_ns)?;
    if let Err(fault) = user::store_u32(out, group.number()) {
        gang::destroy(group)?;
        return Err(fault.into());
    }
    Ok(())
}

/// `group_create`.
pub(crate) extern "C" fn group_create(attr: usize, out: usize) -> Code {
    code(create(attr, out))
}

/// `group_join`.
pub(crate) extern "C" fn group_join(group: u32) -> Code {
    code(gang::join(GroupId::from_number(group)).map_err(Status::from))
}

/// `group_leave`.
pub(crate) extern "C" fn group_leave(group: u32) -> Code {
    code(gang::leave(GroupId::from_number(group)).map_err(Status::from))
}

fn admit(group: u32, attr: usize) -> Result<(), Status> {
    let schedule = Schedule::read(attr)?;
    if schedule.policy != Policy::EdfPeriodic {
        return Err(Status::Invalid);
    }
    let Times { period_ns, work_ns, start_ns, .. } = schedule.times;
    Ok(gang::admit(GroupId::from_number(group), GroupSchedule { period_ns, work_ns, start_ns })?)
}

/// `group_admit`.
pub(crate) extern "C" fn group_admit(group: u32, attr: usize) -> Code {
    code(admit(group, attr))
}

/// `group_destroy`.
pub(crate) extern "C" fn group_destroy(group: u32) -> Code {
    code(gang::destroy(GroupId::from_number(group)).map_err(Status::from))
}

fn wait(missed: usize) -> Result<(), Status> {
    let count = wait_period().map_err(|error| match error {
        PeriodError::NotPeriodic => Status::NotPermitted,
        PeriodError::Interrupted => Status::Interrupted,
    })?;
    if missed != 0 {
        user::store_u64(missed, count)?;
    }
    Ok(())
}

/// `thread_wait_period`.
pub(crate) extern "C" fn thread_wait_period(missed: usize) -> Code {
    code(wait(missed))
}
