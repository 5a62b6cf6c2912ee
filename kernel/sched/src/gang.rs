// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gang scheduling: groups of threads, one on each of several CPUs, that run in the same periods.
//!
//! A group is admitted as a whole: each member gets the same promise on its CPU, or none gets one. Afterwards nobody
//! communicates: periods begin at multiples of the period from a common start on all clocks, which agree, so each CPU starts
//! its member by its own timer. How late a member may start is part of its CPU's promise (`admission.rs`): what was, or will
//! be, admitted there otherwise is refused if it could delay the member beyond the skew that the group bears. To that the
//! machine adds what it takes to enter the timer interrupt and switch.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hadal_hal::cpu;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_time::now_ns;

use crate::admission::Promise;
use crate::cpus::current;
use crate::job::Job;
use crate::promise;
use crate::realtime::Refusal;
use crate::switch::park;
use crate::table::TABLE;
use crate::thread::Thread;

/// Most groups at a time.
pub const GROUPS_MAX: usize = 1024;
/// From the decision to the first period: time for every member's CPU to hear of it,
const LEAD_NS: u64 = 1_000_000;
/// and a little more for each member, since one thread tells them one after the other.
const LEAD_PER_MEMBER_NS: u64 = 20_000;

/// Names a group; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupId(u32);

impl GroupId {
    /// The number, never 0.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The name with this number; whether there is such a group is seen when it is used.
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// Why a request about a group failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// There is no such group.
    NoSuchGroup,
    /// No members, or more than CPUs.
    BadSize,
    /// There are [`GROUPS_MAX`] groups already.
    TooMany,
    /// No memory is left.
    NoMemory,
    /// All places are taken.
    Full,
    /// The caller is a member of a group already.
    IsMember,
    /// The caller is not a member.
    NotMember,
    /// The caller is not bound to one CPU.
    NotBound,
    /// Another member is bound to the same CPU.
    CpuTaken,
    /// The group has members.
    HasMembers,
    /// A signal is pending, or a member has left: the group was not admitted.
    Interrupted,
    /// No member was admitted.
    Refused(Refusal),
}

impl fmt::Display for GroupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoSuchGroup => "there is no such group",
            Self::BadSize => "a group has at least one member and at most one for each CPU",
            Self::TooMany => "there are too many groups",
            Self::NoMemory => "no memory is left",
            Self::Full => "the group is complete",
            Self::IsMember => "the thread is a member of a group already",
            Self::NotMember => "the thread is not a member of the group",
            Self::NotBound => "the thread is not bound to a CPU",
            Self::CpuTaken => "another member is bound to the same CPU",
            Self::HasMembers => "the group has members",
            Self::Interrupted => "the admission was interrupted",
            Self::Refused(refusal) => return refusal.fmt(out),
        })
    }
}

/// A schedule for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSchedule {
    /// Length of a period.
    pub period_ns: u64,
    /// CPU time of each member in each.
    pub work_ns: u64,
    /// Earliest begin of the first (monotonic; 0 is now).
    pub start_ns: u64,
}

struct Group {
    id: u32,
    size: usize,
    skew_ns: u64,
    state: SpinLock<State>,
}

#[derive(Clone, Copy)]
struct Member {
    thread: u32,
    cpu: usize,
    /// It waits for the others' requests.
    arrived: bool,
    /// What became of the admission that it waits for.
    outcome: Option<Result<u64, GroupError>>,
}

struct State {
    members: Vec<Member>,
    /// What the first one asked for.
    schedule: Option<GroupSchedule>,
    closed: bool,
}

struct Registry {
    groups: Vec<Arc<Group>>,
    last_id: u32,
}

static REGISTRY: SpinLock<Registry> =
    SpinLock::ranked(Rank::GroupRegistry, Registry { groups: Vec::new(), last_id: 0 });

fn find(id: GroupId) -> Result<Arc<Group>, GroupError> {
    let registry = REGISTRY.lock();
    registry.groups.iter().find(|group| group.id == id.0).cloned().ok_or(GroupError::NoSuchGroup)
}

/// Makes a group for so many members, which bears that they start up to `skew_ns` apart; 0: that they never wait for
/// anybody else's promise.
pub fn create(size: usize, skew_ns: u64) -> Result<GroupId, GroupError> {
    if size == 0 || size > cpu::count() {
        return Err(GroupError::BadSize);
    }
    let mut members = Vec::new();
    members.try_reserve(size).map_err(|_| GroupError::NoMemory)?;
    let state = State { members, schedule: None, closed: false };
    let mut registry = REGISTRY.lock();
    if registry.groups.len() == GROUPS_MAX {
        return Err(GroupError::TooMany);
    }
    registry.groups.try_reserve(1).map_err(|_| GroupError::NoMemory)?;
    // After four billion groups the oldest numbers come again.
    let mut id = registry.last_id;
    loop {
        id = id.wrapping_add(1).max(1);
        if registry.groups.iter().all(|group| group.id != id) {
            break;
        }
    }
    registry.last_id = id;
    registry.groups.push(Arc::new(Group { id, size, skew_ns, state: SpinLock::ranked(Rank::Group, state) }));
    Ok(GroupId(id))
}

/// Ends a group without members.
pub fn destroy(id: GroupId) -> Result<(), GroupError> {
    let group = find(id)?;
    {
        let mut state = group.state.lock();
        if !state.members.is_empty() {
            return Err(GroupError::HasMembers);
        }
        state.closed = true;
    }
    REGISTRY.lock().groups.retain(|other| other.id != id.0);
    Ok(())
}

/// The calling thread, which is bound to a CPU, becomes a member.
pub fn join(id: GroupId) -> Result<(), GroupError> {
    let (group, thread) = (find(id)?, current());
    let cpu = thread.bound().ok_or(GroupError::NotBound)?;
    let mut state = group.state.lock();
    if state.closed {
        return Err(GroupError::NoSuchGroup);
    }
    if thread.group() != 0 {
        return Err(GroupError::IsMember);
    }
    if state.members.len() == group.size {
        return Err(GroupError::Full);
    }
    if state.members.iter().any(|member| member.cpu == cpu) {
        return Err(GroupError::CpuTaken);
    }
    state.members.push(Member { thread: thread.id(), cpu, arrived: false, outcome: None });
    thread.set_group(group.id);
    Ok(())
}

/// The calling thread is no member any more, and an ordinary thread; the others go on.
pub fn leave(id: GroupId) -> Result<(), GroupError> {
    let thread = current();
    if find(id)?.id != thread.group() {
        return Err(GroupError::NotMember);
    }
    forget(thread);
    Ok(())
}

/// A thread ends, or leaves its group, if it is a member of one.
#[inline]
pub fn forget(thread: &'static Thread) {
    let id = thread.group();
    if id != 0 {
        forget_member(thread, id);
    }
}

#[inline(never)]
fn forget_member(thread: &'static Thread, id: u32) {
    thread.set_group(0);
    thread.end_realtime();
    let Ok(group) = find(GroupId(id)) else { return };
    let mut state = group.state.lock();
    if let Some(at) = state.members.iter().position(|member| member.thread == thread.id()) {
        let member = state.members.swap_remove(at);
        if matches!(member.outcome, Some(Ok(_))) {
            // Admitted, but it has not begun.
            promise::unbook(thread, member.cpu);
        }
    }
    // Those who wait would wait for ever.
    state.fail(GroupError::Interrupted);
}

/// Every member calls it with the same schedule. When all have, all are admitted, or nobody is; returns when the group's
/// first period has begun. A real-time schedule that a member has had ends.
pub fn admit(id: GroupId, schedule: GroupSchedule) -> Result<(), GroupError> {
    let (group, thread) = (find(id)?, current());
    if thread.group() != group.id {
        return Err(GroupError::NotMember);
    }
    thread.end_realtime();
    {
        let mut state = group.state.lock();
        let own = state.member(thread)?;
        *own = Member { arrived: true, outcome: None, ..*own };
        let first = *state.schedule.get_or_insert(schedule);
        if first != schedule {
            state.fail(GroupError::Refused(Refusal::Differs));
        } else if state.members.len() == group.size && state.members.iter().all(|member| member.arrived) {
            match decide(&group, &state, schedule) {
                Ok(start_ns) => state.finish(Ok(start_ns)),
                Err(refusal) => state.fail(GroupError::Refused(refusal)),
            }
        }
    }
    let start_ns = wait_for_outcome(&group, thread)??;
    let job = Job::periodic(schedule.period_ns, schedule.work_ns, start_ns);
    let cpu = thread.bound().ok_or(GroupError::NotBound)?;
    promise::begin(thread, cpu, job);
    Ok(())
}

/// Writes the promises of all members into their CPUs' ledgers, or none; returns the common start.
fn decide(group: &Group, state: &State, schedule: GroupSchedule) -> Result<u64, Refusal> {
    let GroupSchedule { period_ns, work_ns, start_ns } = schedule;
    for (count, member) in state.members.iter().enumerate() {
        let promise = Promise { thread: member.thread, period_ns, work_ns, skew_ns: Some(group.skew_ns) };
        if let Err(refusal) = promise::book(TABLE.get(member.thread), member.cpu, Some(promise)) {
            for booked in &state.members[..count] {
                promise::unbook(TABLE.get(booked.thread), booked.cpu);
            }
            return Err(refusal);
        }
    }
    Ok(common_start(now_ns(), group.size, start_ns))
}

/// When the first period of a group begins: not before everybody can know.
fn common_start(now_ns: u64, members: usize, wanted_ns: u64) -> u64 {
    wanted_ns.max(now_ns + LEAD_NS + members as u64 * LEAD_PER_MEMBER_NS)
}

impl State {
    fn member(&mut self, thread: &Thread) -> Result<&mut Member, GroupError> {
        self.members.iter_mut().find(|member| member.thread == thread.id()).ok_or(GroupError::NotMember)
    }

    /// Tells everybody who waits.
    fn finish(&mut self, outcome: Result<u64, GroupError>) {
        self.schedule = None;
        for member in self.members.iter_mut().filter(|member| member.arrived) {
            member.arrived = false;
            member.outcome = Some(outcome);
            TABLE.get(member.thread).unpark();
        }
    }

    fn fail(&mut self, error: GroupError) {
        self.finish(Err(error));
    }
}

fn wait_for_outcome(group: &Group, thread: &'static Thread) -> Result<Result<u64, GroupError>, GroupError> {
    loop {
        {
            let mut state = group.state.lock();
            let own = state.member(thread)?;
            if let Some(outcome) = own.outcome.take() {
                return Ok(outcome);
            }
            if thread.interrupted() {
                state.fail(GroupError::Interrupted);
            }
        }
        if !thread.interrupted() {
            park(None);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{GroupError, LEAD_NS, common_start, create, destroy, find};

    #[test]
    fn everybody_can_be_told_before_the_start() {
        assert_eq!(common_start(5_000, 1, 0), 5_000 + LEAD_NS + 20_000);
        assert!(common_start(0, 64, 0) > common_start(0, 2, 0));
        assert_eq!(common_start(0, 64, 1 << 40), 1 << 40);
    }

    #[test]
    fn groups_come_and_go() {
        assert_eq!(create(0, 0), Err(GroupError::BadSize));
        assert_eq!(create(2, 0), Err(GroupError::BadSize), "the host has one CPU");
        let (first, second) = (create(1, 0).unwrap(), create(1, 7).unwrap());
        assert_ne!(first, second);
        assert_eq!(find(second).unwrap().skew_ns, 7);
        assert_eq!(destroy(first), Ok(()));
        assert_eq!(destroy(first), Err(GroupError::NoSuchGroup));
        assert_eq!(destroy(second), Ok(()));
    }
}
