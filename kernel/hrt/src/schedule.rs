// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Schedules: policy, priority, real time.

use hadal_hrt_abi::thread::Policy;
use hadal_sched::{Policy as Ordinary, Realtime, admit, gang};

use crate::admission;
use crate::attr::{Schedule, Times};
use crate::record::Record;
use crate::status::Status;

/// Gives a thread a schedule.
pub(crate) fn set(record: &Record, schedule: &Schedule) -> Result<(), Status> {
    let thread = record.thread();
    if thread.priority() != schedule.priority {
        thread.set_priority(schedule.priority);
    }
    let ordinary = match schedule.policy {
        Policy::RoundRobin => Ordinary::RoundRobin,
        Policy::RunToCompletion => Ordinary::RunToCompletion,
        Policy::EdfPeriodic | Policy::EdfSporadic | Policy::EdfAperiodic => {
            return set_realtime(record, schedule);
        }
    };
    if thread.is_realtime() || thread.policy() != ordinary {
        thread.set_policy(ordinary);
    }
    Ok(())
}

fn set_realtime(record: &Record, schedule: &Schedule) -> Result<(), Status> {
    let Times { period_ns, work_ns, deadline_ns, start_ns } = schedule.times;
    let wanted = match schedule.policy {
        Policy::EdfSporadic => Realtime::Sporadic { work_ns, deadline_ns, start_ns },
        Policy::EdfAperiodic => Realtime::Aperiodic { deadline_ns, start_ns },
        _ => Realtime::Periodic { period_ns, work_ns, start_ns },
    };
    let within_ns = if schedule.policy == Policy::EdfPeriodic { period_ns } else { deadline_ns };
    if schedule.policy != Policy::EdfAperiodic && !(1..=within_ns).contains(&work_ns) {
        return Err(Status::Invalid);
    }
    admit(record.thread(), wanted).map_err(|refusal| {
        admission::refuse(&refusal);
        Status::NotAdmitted
    })
}

/// The thread's work is done: it keeps neither promises nor company.
#[inline(always)]
pub(crate) fn end(record: &Record) {
    let thread = record.thread();
    if !thread.is_ordinary() {
        gang::forget(thread);
        thread.end_realtime();
    }
}

/// `enum hrt_policy` of a thread as it is.
pub(crate) fn policy_of(info: &hadal_sched::Info) -> Policy {
    match (info.realtime, info.policy) {
        (Some(Realtime::Periodic { .. }), _) => Policy::EdfPeriodic,
        (Some(Realtime::Sporadic { .. }), _) => Policy::EdfSporadic,
        (Some(Realtime::Aperiodic { .. }), _) => Policy::EdfAperiodic,
        (None, Ordinary::RoundRobin) => Policy::RoundRobin,
        (None, Ordinary::RunToCompletion) => Policy::RunToCompletion,
    }
}
