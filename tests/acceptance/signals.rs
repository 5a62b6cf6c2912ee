// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals between the threads of a program and from its timers, and signals that end it.

use hadal_tests::Way;
use hadal_tests::programs::{DIE, RESTART, SHOTS, SIGNALS};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4] {
        suite.compare(format!("signals/{cpus}cpus"), &SIGNALS, Way::GccDynamic, cpus, |case| case);
    }
    suite.compare("signals/gcc-static", &SIGNALS, Way::GccStatic, 2, |case| case);
    suite.compare("signals/musl-static", &SIGNALS, Way::MuslStatic, 2, |case| case);
    for cpus in [1, 2, 4] {
        suite.compare(format!("signals/restart/{cpus}cpus"), &RESTART, Way::GccDynamic, cpus, |case| case);
    }
    for cpus in [1, 2, 4] {
        suite.compare(format!("signals/shots/{cpus}cpus"), &SHOTS, Way::GccDynamic, cpus, |case| case);
    }
    // Interrupt, kill, terminate, hang-up, alarm, user 1: the default action ends the program.
    for number in [2, 9, 15, 1, 14, 10] {
        suite.case(format!("signals/default-action/{number}"), &DIE, Way::GccDynamic, 2, move |case| {
            case.args(&["signal", &number.to_string()]).compare_with_report(&[])
        });
    }
    // Child, window change, continue: ignored by default.
    for number in [17, 28, 18] {
        suite.compare(format!("signals/ignored/{number}"), &DIE, Way::GccDynamic, 1, |case| {
            case.args(&["signal", &number.to_string()])
        });
    }
}
