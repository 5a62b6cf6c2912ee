// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.4: what code compiled for Linux relies on while it runs in ring 0.

use std::time::Duration;

use hadal_tests::case::{expect_status, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{
    AFFINITY, CALLS, DETACHED, EXIT_SPIN, FLAGS, INTERRUPTS_OFF, LOST_STACK, POINTERS, PREEMPT, REDZONE,
    RESERVE, SIGNAL_IMAGES, SIGNAL_VECTORS,
};
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};

use crate::suite::Suite;

/// Memory of the whole machine that eight idle OpenMP threads may use.
const MOST_IN_USE_KIB: u64 = 64 * 1024;

pub(crate) fn register(suite: &mut Suite) {
    for mode in ["timer", "pending", "signal", "altstack"] {
        suite.compare(format!("soundness/redzone/{mode}"), &REDZONE, Way::GccDynamic, 2, |case| {
            case.args(&[mode])
        });
    }
    suite
        .compare("soundness/redzone/signal-1cpu", &REDZONE, Way::GccStatic, 1, |case| case.args(&["signal"]));
    suite.compare("soundness/call-keeps-registers", &CALLS, Way::GccDynamic, 1, |case| case);
    suite.compare("soundness/flags", &FLAGS, Way::GccDynamic, 2, |case| case);
    suite.compare("soundness/call-without-stack", &LOST_STACK, Way::GccDynamic, 2, |case| case);
    suite.compare_slow("soundness/detached-threads-100000", &DETACHED, Way::MuslStatic, 4, |case| {
        case.args(&["100000"]).limit_s(240).hadal(Hadal::alone)
    });
    suite.compare("soundness/detached-threads-2000", &DETACHED, Way::MuslStatic, 2, |case| {
        case.args(&["2000"])
    });
    suite.compare("soundness/detached-threads-glibc", &DETACHED, Way::GccDynamic, 4, |case| {
        case.args(&["2000"])
    });
    for cpus in [1, 2, 4] {
        let threads = (2 * cpus).to_string();
        for what in ["fsbase", "vectors"] {
            suite.compare(
                format!("soundness/preempt-{what}/{cpus}cpus"),
                &PREEMPT,
                Way::GccDynamic,
                cpus,
                |case| case.args(&[what, &threads]),
            );
        }
        suite.compare(
            format!("soundness/exit-while-spinning/{cpus}cpus"),
            &EXIT_SPIN,
            Way::GccDynamic,
            cpus,
            |case| case.args(&["3"]),
        );
    }
    for cpus in [1, 2, 4] {
        suite.compare(
            format!("soundness/signal-vectors/{cpus}cpus"),
            &SIGNAL_VECTORS,
            Way::GccDynamic,
            cpus,
            |case| case.args(&["8"]),
        );
    }
    for cpus in [1, 2] {
        suite.compare(
            format!("soundness/signal-images/{cpus}cpus"),
            &SIGNAL_IMAGES,
            Way::GccDynamic,
            cpus,
            |case| case,
        );
    }
    for way in [Way::GccDynamic, Way::MuslStatic] {
        suite.compare(format!("soundness/bad-pointers/{}", way.name()), &POINTERS, way, 2, |case| case);
    }
    for cpus in [1, 4, 8] {
        suite
            .compare(format!("soundness/affinity/{cpus}cpus"), &AFFINITY, Way::GccDynamic, cpus, |case| case);
    }
    suite.compare("soundness/libomp-threads", &RESERVE, Way::ClangDynamic, 8, |case| case);
    suite.hadal("soundness/libomp-memory", libomp_memory);
    for how in ["spin", "halt"] {
        suite.hadal(format!("soundness/exit-with-interrupts-off/{how}"), move |name| exit_beside(name, how));
        suite.hadal(format!("soundness/timeout-with-interrupts-off/{how}"), move |name| time_out(name, how));
    }
}

/// A program in ring 0 can turn interrupts off; neither its end nor the list of threads may wait for them.
fn interrupts_off(name: &str, limit: &str, words: &[&str]) -> Result<Outcome, TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = INTERRUPTS_OFF.build(Way::GccDynamic)?;
    let hadal = Hadal::new(2).without_timeout().with("--timeout", limit).cwd(&directory);
    hadal.limit(Duration::from_secs(60)).run(&program, &arguments(words))
}

fn exit_beside(name: &str, how: &str) -> Result<(), TestError> {
    expect_status(&interrupts_off(name, "50", &[how])?, 7)
}

fn time_out(name: &str, how: &str) -> Result<(), TestError> {
    let outcome = interrupts_off(name, "12", &[how, "forever"])?;
    expect_status(&outcome, 122)?;
    expect_texts(&outcome, &[&format!("{how}_without_interrupts")])
}

fn libomp_memory(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = RESERVE.build(Way::ClangDynamic)?;
    let hadal = Hadal::new(8).with("--memory", "1G").cwd(&directory).limit(Duration::from_secs(60));
    let outcome = hadal.run(&program, &arguments(&["machine"]))?;
    expect_status(&outcome, 0)?;
    let text = outcome.stdout_text();
    let in_use =
        text.lines().find_map(|line| line.strip_prefix("in use ")?.strip_suffix(" KiB")?.parse::<u64>().ok());
    match in_use {
        Some(kib) if kib <= MOST_IN_USE_KIB => Ok(()),
        _ => Err(wrong(&format!("more than {MOST_IN_USE_KIB} KiB are in use"), &outcome)),
    }
}
