// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads and languages beside the nine ways: priority inheritance, C++ without threads, terminate.

use hadal_tests::Way;
use hadal_tests::programs::{CPP_LANGUAGE, CPP_TERMINATE, CPP_THREADS, PLACES, PRIORITY, PTHREAD};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for way in [Way::GccDynamic, Way::MuslStatic] {
        let name = format!("threads/priority-inheritance/{}", way.name());
        suite.compare(name, &PRIORITY, way, 2, |case| case);
    }
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
    suite.case("threads/cpp-terminate", &CPP_TERMINATE, Way::Gxx, 1, |case| {
        case.compare_with_report(&["abort"])
    });
}
