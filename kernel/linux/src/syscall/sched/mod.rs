// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scheduling: CPUs, policies, priorities.

calls! {
    24 sched_yield;
    140 getpriority;
    141 setpriority;
    142 sched_setparam;
    143 sched_getparam;
    144 sched_setscheduler;
    145 sched_getscheduler;
    146 sched_get_priority_max;
    147 sched_get_priority_min;
    148 sched_rr_get_interval;
    203 sched_setaffinity;
    204 sched_getaffinity;
    309 getcpu;
    324 membarrier;
}

mod polite;
mod target;
