// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals and the timers that send them. What the calls do is in [`crate::signal`]; here are arguments and errors.

pub(super) mod event;
mod target;
pub(super) mod timer_spec;

calls! {
    13 rt_sigaction;
    14 rt_sigprocmask;
    15 rt_sigreturn;
    34 pause unless_handled;
    36 getitimer;
    37 alarm;
    38 setitimer;
    62 kill;
    127 rt_sigpending;
    128 rt_sigtimedwait;
    129 rt_sigqueueinfo;
    130 rt_sigsuspend unless_handled;
    131 sigaltstack;
    200 tkill;
    222 timer_create;
    223 timer_settime;
    224 timer_gettime;
    225 timer_getoverrun;
    226 timer_delete;
    234 tgkill;
    297 rt_tgsigqueueinfo;
    424 pidfd_send_signal;
}
