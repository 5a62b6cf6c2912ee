// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schedules: policy, priority, real time.

use crate::attr::{Policy, Schedule};
use crate::record::Record;
use crate::status::Status;

/// Gives a thread a schedule.
#[inline]
pub(crate) fn set(record: &Record, schedule: &Schedule) -> Result<(), Status> {
    let thread = record.thread();
    let policy = match schedule.policy {
        Policy::RoundRobin => hadal_sched::Policy::RoundRobin,
        Policy::RunToCompletion => hadal_sched::Policy::RunToCompletion,
        Policy::Periodic | Policy::Sporadic | Policy::Aperiodic => return Err(Status::NotThere),
    };
    if thread.policy() != policy {
        thread.set_policy(policy);
    }
    if thread.priority() != schedule.priority {
        thread.set_priority(schedule.priority);
    }
    Ok(())
}
