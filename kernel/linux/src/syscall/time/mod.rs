// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clocks, sleeping, and CPU time used.

calls! {
    35 nanosleep unless_handled;
    96 gettimeofday;
    98 getrusage;
    100 times;
    164 settimeofday;
    201 time;
    227 clock_settime;
    228 clock_gettime;
    229 clock_getres;
    230 clock_nanosleep unless_handled;
}
