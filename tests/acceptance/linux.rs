// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux tells programs: auxiliary vector, vDSO, clocks, /proc and /sys, limits, pipes.

use hadal_tests::Way;
use hadal_tests::programs::{
    CROWDS, DIE, EPOLL, EXEC, FIFOS, HARDSHIP, NAMED_SOCKETS, OTHER_MEMORY, OTHERS, PROCESS_MEMORY,
    PROCESSES, QUEUES, RECORD_LOCKS, SHARING, SOCKETS, SYSTEM, SYSV, TERMINALS,
};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 8] {
        suite.compare(format!("linux/system/{cpus}cpus"), &SYSTEM, Way::GccDynamic, cpus, |case| case);
    }
    for way in [Way::GccStatic, Way::GccStaticPie, Way::GccNoPie] {
        suite.compare(format!("linux/system/{}", way.name()), &SYSTEM, way, 2, |case| case);
    }
    for cpus in [1, 2, 4] {
        suite.compare(format!("linux/epoll/{cpus}cpus"), &EPOLL, Way::GccDynamic, cpus, |case| case);
    }
    for cpus in [1, 4] {
        suite.compare(format!("linux/sockets/{cpus}cpus"), &SOCKETS, Way::GccDynamic, cpus, |case| case);
    }
    for cpus in [1, 2, 4] {
        suite.compare(
            format!("linux/named-sockets/{cpus}cpus"),
            &NAMED_SOCKETS,
            Way::GccDynamic,
            cpus,
            |case| case,
        );
    }
    for (cpus, ring) in [(1, "0"), (4, "0"), (2, "3"), (8, "3")] {
        suite.compare(
            format!("linux/hardship/{cpus}cpus/ring{ring}"),
            &HARDSHIP,
            Way::GccDynamic,
            cpus,
            |case| case.hadal(move |hadal| hadal.with("--ring", ring)),
        );
    }
    suite.compare("linux/named-sockets/musl", &NAMED_SOCKETS, Way::MuslStatic, 2, |case| case);
    suite.compare("linux/named-sockets/ring3", &NAMED_SOCKETS, Way::GccDynamic, 2, |case| {
        case.hadal(|hadal| hadal.with("--ring", "3"))
    });
    for cpus in [1, 4] {
        suite.compare(format!("linux/queues/{cpus}cpus"), &QUEUES, Way::GccDynamic, cpus, |case| case);
    }
    suite.compare("linux/queues/musl", &QUEUES, Way::MuslStatic, 2, |case| case);
    for cpus in [1, 2, 4] {
        suite.compare(format!("linux/sysv/{cpus}cpus"), &SYSV, Way::GccDynamic, cpus, |case| case);
    }
    for cpus in [1, 2, 4] {
        suite.compare(
            format!("linux/other-memory/{cpus}cpus"),
            &OTHER_MEMORY,
            Way::GccDynamic,
            cpus,
            |case| case,
        );
    }
    suite.compare("linux/sysv/musl", &SYSV, Way::MuslStatic, 2, |case| case);
    for cpus in [1, 2, 4, 8] {
        suite.compare(format!("linux/exec/{cpus}cpus"), &EXEC, Way::GccDynamic, cpus, |case| case);
    }
    for way in [Way::GccStatic, Way::GccStaticPie, Way::MuslStatic] {
        suite.compare(format!("linux/exec/{}", way.name()), &EXEC, way, 2, |case| case);
    }
    for cpus in [1, 4, 8] {
        suite.compare(format!("linux/processes/{cpus}cpus"), &PROCESSES, Way::GccDynamic, cpus, |case| case);
    }
    let name = |way: Way| format!("linux/processes/{}", way.name());
    suite.compare(name(Way::GccStatic), &PROCESSES, Way::GccStatic, 2, |case| case);
    suite.compare_in_all(name(Way::GccNoPie), &PROCESSES, Way::GccNoPie, 2, |case| case);
    suite.compare_in_all("linux/processes/2cpus", &PROCESSES, Way::GccDynamic, 2, |case| case);
    // On Linux, too, a process that is forked among threads of musl may wait for ever.
    let alone = [
        "basics",
        "waiting",
        "many",
        "programs",
        "replacing",
        "guests",
        "signals",
        "signal-files",
        "groups",
        "descriptors",
        "chains",
        "memory",
        "advice",
        "reapers",
        "usage",
        "leaks",
    ];
    suite.compare("linux/processes/musl", &PROCESSES, Way::MuslStatic, 2, move |case| case.args(&alone));
    suite.compare("linux/processes/ring3", &PROCESSES, Way::GccDynamic, 2, |case| {
        case.args(&["memory", "advice", "reapers"]).hadal(|hadal| hadal.with("--ring", "3"))
    });
    for cpus in [1, 2, 4] {
        suite.compare(
            format!("linux/process-memory/{cpus}cpus"),
            &PROCESS_MEMORY,
            Way::GccDynamic,
            cpus,
            |case| case,
        );
    }
    for cpus in [1, 2, 4] {
        suite.compare(format!("linux/sharing/{cpus}cpus"), &SHARING, Way::GccDynamic, cpus, |case| case);
    }
    suite.compare("linux/sharing/musl", &SHARING, Way::MuslStatic, 2, |case| case);
    for cpus in [1, 4] {
        suite.compare(
            format!("linux/record-locks/{cpus}cpus"),
            &RECORD_LOCKS,
            Way::GccDynamic,
            cpus,
            |case| case,
        );
    }
    suite.compare("linux/record-locks/ring3", &RECORD_LOCKS, Way::GccDynamic, 2, |case| {
        case.hadal(|hadal| hadal.with("--ring", "3"))
    });
    for cpus in [1, 2, 4] {
        suite.compare(format!("linux/terminals/{cpus}cpus"), &TERMINALS, Way::GccDynamic, cpus, |case| case);
    }
    suite.compare("linux/crowds", &CROWDS, Way::GccStatic, 2, |case| {
        case.args(&["in-sequence", "at-once"]).limit_s(120)
    });
    // It takes a minute on a quiet machine.
    suite.compare_in_all("linux/crowds/long", &CROWDS, Way::GccStatic, 2, |case| {
        case.args(&["in-long-sequence"]).limit_s(400)
    });
    for (cpus, ring) in [(1, "0"), (4, "0"), (2, "3")] {
        suite.compare(format!("linux/fifos/{cpus}cpus/ring{ring}"), &FIFOS, Way::GccDynamic, cpus, |case| {
            case.hadal(move |hadal| hadal.with("--ring", ring))
        });
    }
    suite.compare("linux/others", &OTHERS, Way::GccDynamic, 2, |case| case);
    for (how, status) in
        [("return", 0), ("exit", 1), ("return", 119), ("exit", 255), ("return", 256), ("thread", 45)]
    {
        suite.compare(format!("linux/status/{how}-{status}"), &DIE, Way::GccDynamic, 1, |case| {
            case.args(&[how, &status.to_string()])
        });
    }
}
