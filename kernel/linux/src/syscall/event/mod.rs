// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting for events as files: `epoll`, timers and signals. What the calls do is in [`crate::epoll`], [`crate::timerfd`] and
//! [`crate::signalfd`]; here are arguments and errors.

mod epoll_events;

calls! {
    213 epoll_create;
    232 epoll_wait;
    233 epoll_ctl;
    281 epoll_pwait;
    282 signalfd;
    283 timerfd_create;
    286 timerfd_settime;
    287 timerfd_gettime;
    289 signalfd4;
    291 epoll_create1;
    441 epoll_pwait2;
}
