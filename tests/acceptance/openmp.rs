// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.1: the program set, built nine ways, on 1, 2, 4 and 8 processors; and what the environment of OpenMP
//! changes.

use hadal_tests::programs::{CPP_OPENMP, CPP_THREADS, DYNAMIC_TEAMS, FORTRAN, OPENMP, PTHREAD};
use hadal_tests::{Case, Program, Way};

use crate::suite::Suite;

const CPUS: [u32; 4] = [1, 2, 4, 8];

/// The nine ways: name, program, and how it is built.
static WAYS: [(&str, &Program, Way); 9] = [
    ("gcc-dynamic", &OPENMP, Way::GccDynamic),
    ("gcc-static", &OPENMP, Way::GccStatic),
    ("gcc-static-pie", &OPENMP, Way::GccStaticPie),
    ("gcc-no-pie", &OPENMP, Way::GccNoPie),
    ("clang-libomp", &OPENMP, Way::ClangDynamic),
    ("gfortran", &FORTRAN, Way::Gfortran),
    ("gxx-threads", &CPP_THREADS, Way::Gxx),
    ("musl-static-pthreads", &PTHREAD, Way::MuslStatic),
    ("pthreads", &PTHREAD, Way::GccDynamic),
];

pub(crate) fn register(suite: &mut Suite) {
    for (name, program, way) in WAYS {
        for cpus in CPUS {
            suite.compare(format!("openmp/{name}/{cpus}cpus"), program, way, cpus, |case| {
                team(case, cpus.max(2))
            });
        }
    }
    for cpus in [2, 4] {
        suite.compare(format!("openmp/gxx-openmp/{cpus}cpus"), &CPP_OPENMP, Way::Gxx, cpus, |case| {
            team(case, cpus)
        });
    }
    for (library, way) in [("libgomp", Way::GccDynamic), ("libomp", Way::ClangDynamic)] {
        environment(suite, library, way);
    }
}

/// A team of this size whose idle threads sleep: spinning ones would take the host's cores from those that work.
fn team(case: Case, threads: u32) -> Case {
    case.env("OMP_NUM_THREADS", threads.to_string())
        .env("OMP_WAIT_POLICY", "passive")
        .env("OMP_CANCELLATION", "true")
        .limit_s(90)
}

fn environment(suite: &mut Suite, library: &str, way: Way) {
    // Everything that the library prints about its settings. The places are given, so that they do not depend on
    // the number of processors of the host.
    suite.compare(format!("openmp/{library}/dynamic-teams"), &DYNAMIC_TEAMS, way, 2, |case| case);
    suite.compare(format!("openmp/{library}/display-env"), &OPENMP, way, 4, |case| {
        team(case, 2)
            .args(&["settings"])
            .env("OMP_DISPLAY_ENV", "true")
            .env("OMP_STACKSIZE", "1M")
            .env("OMP_SCHEDULE", "guided,3")
            .env("OMP_DYNAMIC", "false")
            .env("OMP_PLACES", "{0},{1}")
            .env("OMP_PROC_BIND", "close")
    });
    for bind in ["true", "close", "spread", "master", "false"] {
        suite.compare(format!("openmp/{library}/bind-{bind}"), &OPENMP, way, 2, |case| {
            team(case, 2)
                .args(&["settings", "threadprivate", "loops"])
                .env("OMP_PLACES", "{0},{1}")
                .env("OMP_PROC_BIND", bind)
        });
    }
    // Places that the library finds by itself, from the topology of the machine. Equal output only needs as many
    // places as threads, which holds for one.
    suite.compare(format!("openmp/{library}/places-cores"), &OPENMP, way, 4, |case| {
        team(case, 1).args(&["loops"]).env("OMP_PLACES", "cores").env("OMP_PROC_BIND", "true")
    });
    suite.compare(format!("openmp/{library}/schedule-dynamic"), &OPENMP, way, 2, |case| {
        team(case, 3).args(&["loops", "reductions"]).env("OMP_SCHEDULE", "dynamic,2")
    });
    // The libraries' own waiting: threads spin for a while before they sleep.
    suite.compare(format!("openmp/{library}/active-waiting"), &OPENMP, way, 2, |case| {
        case.env("OMP_NUM_THREADS", "2").limit_s(90)
    });
    suite.compare(format!("openmp/{library}/oversubscribed"), &OPENMP, way, 2, |case| team(case, 16));
}
