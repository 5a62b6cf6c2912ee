// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads, their schedules, and groups.

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::words::{Char, Text, ThreadId};

/// Smallest stack of a bare thread, bytes.
pub const STACK_MIN: u32 = 16_u32 << 10;
/// Bytes; sizes are rounded up to a power of two.
pub const STACK_DEFAULT: u32 = 256_u32 << 10;
/// Number of priorities; 0 is the least urgent.
pub const PRIORITIES: i32 = 32;
/// The priority of a thread that asks for none.
pub const PRIORITY_DEFAULT: i32 = 16;
/// Longest name with its NUL; longer ones are cut.
pub const NAME_BYTES: usize = 32;
/// Keys of thread-local data.
pub const KEYS_MAX: usize = 128;

/// Attribute flag: nobody joins the thread; its result is dropped.
pub const THREAD_DETACHED: u32 = 1_u32;
/// Attribute flag: the thread may not use libc or __thread: no TLS block is prepared.
pub const THREAD_BARE: u32 = 2_u32;
/// Attribute flag: an idle CPU may take the thread (work stealing is opt-in).
pub const THREAD_STEALABLE: u32 = 4_u32;

/// Who runs when. Real-time threads precede all others of their CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// By priority; equals take turns, 4 ms each.
    RoundRobin = 0,
    /// By priority; never preempted by its equals.
    RunToCompletion = 1,
    /// work_ns in each period_ns, from start_ns on.
    EdfPeriodic = 2,
    /// work_ns once, by deadline_ns; then as HRT_POLICY_ROUND_ROBIN.
    EdfSporadic = 3,
    /// When no admitted thread wants the CPU, earliest deadline_ns first; never refused.
    EdfAperiodic = 4,
}

/// Attributes; hrt_thread_attr_init() first, then change what matters.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
pub struct ThreadAttr {
    /// sizeof(struct hrt_thread_attr).
    pub size: u32,
    /// HRT_THREAD_*.
    pub flags: u32,
    /// Bound to this CPU, or HRT_CPU_ANY.
    pub cpu: i32,
    /// Bound to the CPUs of this zone, or HRT_ZONE_ANY.
    pub zone: i32,
    /// enum hrt_policy.
    pub policy: u32,
    /// Less than HRT_PRIORITIES.
    pub priority: i32,
    /// Size of the stack.
    pub stack_bytes: u64,
    /// HRT_POLICY_EDF_PERIODIC.
    pub period_ns: u64,
    /// CPU time per period, or in all: what admission counts.
    pub work_ns: u64,
    /// Sporadic and aperiodic: relative to start_ns.
    pub deadline_ns: u64,
    /// Absolute start of the first period; 0: now.
    pub start_ns: u64,
    /// Name, or NULL.
    pub name: Text,
}

/// What a thread is doing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    /// It has a CPU.
    Running = 1,
    /// It waits for a CPU.
    Ready = 2,
    /// It waits for something else.
    Waiting = 3,
    /// It has ended, and nobody has joined it.
    Done = 4,
}

/// What hrt_thread_info() tells about a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
pub struct ThreadInfo {
    /// The thread.
    pub thread: ThreadId,
    /// Who created it; 0: not made through this interface.
    pub creator: ThreadId,
    /// enum hrt_thread_state, as of the call.
    pub state: u32,
    /// Where it runs, or ran last.
    pub cpu: i32,
    /// The CPU that it is bound to, or HRT_CPU_ANY.
    pub bound_cpu: i32,
    /// enum hrt_policy.
    pub policy: u32,
    /// Its priority.
    pub priority: i32,
    /// HRT_THREAD_*.
    pub flags: u32,
    /// CPU time.
    pub run_ns: u64,
    /// How often it got a CPU.
    pub switches: u64,
    /// Deadlines missed so far.
    pub deadlines_missed: u64,
    /// Lowest address of the stack; 0: unknown (a stack that pthread_create made).
    pub stack_bottom: usize,
    /// End of the stack.
    pub stack_top: usize,
    /// Its name, padded with NUL.
    pub name: [Char; NAME_BYTES],
}

/// Groups: threads that run together. After hrt_group_admit() every member, each bound to a CPU of its own,
/// runs in the same periods: a member's start in a period differs from any other's by at most `skew_ns`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
pub struct GroupAttr {
    /// sizeof(struct hrt_group_attr).
    pub size: u32,
    /// How many will join.
    pub members: u32,
    /// What the program can bear; 0: as small as the machine allows.
    pub skew_ns: u64,
    /// Name, or NULL.
    pub name: Text,
}
