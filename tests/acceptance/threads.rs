// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads and languages beside the nine ways: priority inheritance, C++ without threads, terminate.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout};
use hadal_tests::programs::{
    CPP_LANGUAGE, CPP_TERMINATE, CPP_THREADS, FAIRNESS, LONG_CALLS, PLACES, PRIORITY, PTHREAD, ROBUST_LIST,
};

use hadal_tests::{Hadal, TestError, Way};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for way in [Way::GccDynamic, Way::MuslStatic] {
        let name = format!("threads/priority-inheritance/{}", way.name());
        suite.compare(name, &PRIORITY, way, 2, |case| case);
    }
    suite.compare("threads/robust-list", &ROBUST_LIST, Way::GccDynamic, 2, |case| case);
    for way in [Way::GccStatic, Way::ClangDynamic] {
        suite.compare(format!("threads/pthreads/{}", way.name()), &PTHREAD, way, 2, |case| case);
    }
    suite.compare("threads/cpp-threads-static", &CPP_THREADS, Way::GxxStatic, 2, |case| case);
    for way in [Way::Gxx, Way::GxxStatic] {
        suite.compare(format!("threads/cpp-language/{}", way.name()), &CPP_LANGUAGE, way, 2, |case| case);
    }
    for cpus in [2, 4] {
        suite.compare(format!("threads/change-places/{cpus}cpus"), &PLACES, Way::GccDynamic, cpus, |case| {
            case.args(&["1000"])
        });
    }
    fairness(suite);
    suite.hadal("threads/long-calls", long_calls);
    suite.case("threads/cpp-terminate", &CPP_TERMINATE, Way::Gxx, 1, |case| {
        case.compare_with_report(&["abort"])
    });
}

fn long_calls(_: &str) -> Result<(), TestError> {
    let hadal = Hadal::new(1).with("--memory", "3G").limit(Duration::from_secs(90));
    let outcome = hadal.run(&LONG_CALLS.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "fallocate: ok\npopulate: ok\nread: ok\nwrite: ok\n")
}

/// Many threads that want one lock, which each must get. With nothing but yields between 64 threads and a lock, one of them
/// may starve on Linux, too, where there is a single processor.
fn fairness(suite: &mut Suite) {
    for cpus in [1, 2, 4] {
        for kind in ["mutex", "holder-yields", "futex", "semaphore", "condvar", "spin-yield"] {
            let name = format!("threads/fairness/{kind}/{cpus}cpus");
            suite.compare(name, &FAIRNESS, Way::GccDynamic, cpus, |case| {
                let threads: &[&str] = if kind == "spin-yield" { &["2", "4"] } else { &["2", "4", "64"] };
                case.args(&[kind]).args(threads).limit_s(120)
            });
        }
    }
}
