// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.5: programs that end by a fault, handlers that recover, and a deadlock.

use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{DEADLOCK, EXIT_SPIN, FAULT, RECOVER};
use hadal_tests::{Hadal, TestError, Way, scratch};

use crate::suite::Suite;

/// Kind of fault, the status it ends with, and the function that the report names.
const FAULTS: [(&str, i32, &str); 10] = [
    ("null", 139, "read_through_null"),
    ("write", 139, "write_to_constant"),
    ("abort", 134, "call_abort"),
    ("divide", 136, "divide_by_zero"),
    ("illegal", 132, "run_illegal_instruction"),
    ("overflow", 139, "recurse_without_end"),
    ("execute", 139, "execute_data"),
    ("bus", 135, "touch_beyond_file"),
    ("kernel", 139, "read_kernel_memory"),
    ("thread", 139, "fault_on_thread"),
];

pub(crate) fn register(suite: &mut Suite) {
    for (kind, status, function) in FAULTS {
        suite.case(format!("faults/{kind}"), &FAULT, Way::GccDynamic, 2, move |case| {
            faults(case.args(&[kind]), status, function)
        });
    }
    for way in [Way::GccStatic, Way::GccStaticPie, Way::GccNoPie] {
        suite.case(format!("faults/null/{}", way.name()), &FAULT, way, 1, |case| {
            faults(case.args(&["null"]), 139, "read_through_null")
        });
    }
    for way in [Way::GccDynamic, Way::GccStatic, Way::MuslStatic] {
        suite.compare(format!("faults/recover/{}", way.name()), &RECOVER, way, 2, |case| case);
    }
    suite.hadal("faults/deadlock", deadlock);
    suite.hadal("faults/spin-timeout", spin);
}

fn faults(case: hadal_tests::Case, status: i32, function: &str) -> Result<(), TestError> {
    let linux = case.on_linux(&scratch::workspace())?;
    expect_status(&linux, status)?;
    // The report names the function and, but for the first one of a thread and a long recursion,
    // its caller in the program.
    if ["fault_on_thread", "recurse_without_end"].contains(&function) {
        case.compare_with_report(&[function])
    } else {
        case.compare_with_report(&[function, "outer_function"])
    }
}

fn deadlock(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = DEADLOCK.build(Way::GccDynamic)?;
    let hadal = Hadal::new(2).without_timeout().with("--timeout", "4").cwd(&directory);
    let outcome = hadal.limit(Duration::from_secs(60)).run(&program, &[])?;
    expect_status(&outcome, i32::from(status::TIMEOUT))?;
    expect_stdout(&outcome, "about to deadlock\n")?;
    expect_texts(&outcome, &["hadal: ", "left_then_right", "right_then_left", "main"])?;
    // Three threads wait, each in a futex.
    if outcome.stderr_text().to_lowercase().matches("futex").count() < 3 {
        return Err(wrong("the list does not show three threads that wait in a futex", &outcome));
    }
    Ok(())
}

/// A program that never makes a system call again is ended too, and the list says where it runs.
fn spin(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = EXIT_SPIN.build(Way::GccDynamic)?;
    let hadal = Hadal::new(2).without_timeout().with("--timeout", "4").cwd(&directory);
    let outcome = hadal.limit(Duration::from_secs(60)).run(&program, &arguments(&["1", "forever"]))?;
    expect_status(&outcome, i32::from(status::TIMEOUT))?;
    expect_texts(&outcome, &["hadal: ", "spin_forever"])
}
