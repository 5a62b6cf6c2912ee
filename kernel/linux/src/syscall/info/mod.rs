// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who and what the machine and the process are: names, identities, limits, random numbers.

mod capabilities;
mod limits;

calls! {
    63 uname;
    97 getrlimit;
    99 sysinfo;
    102 getuid;
    103 syslog;
    104 getgid;
    105 setuid;
    106 setgid;
    107 geteuid;
    108 getegid;
    109 setpgid;
    111 getpgrp;
    112 setsid;
    113 setreuid;
    114 setregid;
    115 getgroups;
    116 setgroups;
    117 setresuid;
    118 getresuid;
    119 setresgid;
    120 getresgid;
    121 getpgid;
    122 setfsuid;
    123 setfsgid;
    124 getsid;
    125 capget;
    126 capset;
    135 personality;
    157 prctl;
    160 setrlimit;
    170 sethostname;
    302 prlimit64;
    318 getrandom;
}
