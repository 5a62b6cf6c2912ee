// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.5: programs that end by a fault, handlers that recover, and a deadlock.

use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::{
    CROWD_TO_LIST, DEADLOCK, EXIT_SPIN, FAULT, FORK_FRAMES, LOST_RETURN, PIECES, RECOVER,
    SOFTWARE_INTERRUPTS, WILD,
};
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

/// Ways to go where no program can be, the status, and a function that the report names.
const WILD_ENDS: [(&str, i32, &str); 16] = [
    ("call-high", 139, "call_target"),
    ("call", 139, "call_target"),
    ("return-high", 139, "outer_function"),
    ("return", 139, "outer_function"),
    ("smash", 139, "__libc_start"),
    ("handler-high", 139, "outer_function"),
    ("handler", 139, "outer_function"),
    ("context-high", 139, "SIGSEGV"),
    ("context", 139, "SIGSEGV"),
    ("sysret", 139, "outer_function"),
    ("int-8", 139, "outer_function"),
    ("int-13", 139, "outer_function"),
    ("int-14", 139, "outer_function"),
    ("int-18", 139, "outer_function"),
    ("int-144", 139, "outer_function"),
    ("window", 139, "SIGSEGV"),
];

pub(crate) fn register(suite: &mut Suite) {
    // Memory for the mappings is what runs out first, or their number.
    for (memory, texts) in [("64M", &["null pointer"][..]), ("256M", &["null pointer", "read_through_null"])]
    {
        suite.hadal(format!("faults/many-mappings/{memory}"), move |name| {
            let hadal = Hadal::new(1).with("--memory", memory).cwd(&scratch::empty_directory(name)?);
            let outcome = hadal.run(&PIECES.build(Way::GccStatic)?, &[])?;
            expect_status(&outcome, 139)?;
            expect_texts(&outcome, texts)
        });
    }
    for (kind, status, text) in WILD_ENDS {
        suite.case(format!("faults/wild/{kind}"), &WILD, Way::GccStatic, 1, move |case| {
            let case = case.args(&[kind]);
            expect_status(&case.on_linux(&scratch::workspace())?, status)?;
            case.compare_with_report(&[text])
        });
    }
    for kind in ["recover", "vsyscall"] {
        suite
            .compare(format!("faults/wild/{kind}"), &WILD, Way::GccStatic, 1, move |case| case.args(&[kind]));
    }
    for kind in ["gs-selector", "gs-base", "gs-swap", "gs-call"] {
        suite.hadal(format!("faults/wild/{kind}"), move |name| changes_gs(name, kind));
    }
    suite.hadal("faults/lost-return", lost_return);
    suite.compare("faults/fork-frames", &FORK_FRAMES, Way::GccStatic, 1, |case| case);
    suite.hadal("faults/entry", bad_entry);
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
    for cpus in [1, 2, 4] {
        let name = format!("faults/software-interrupts/{cpus}cpus");
        suite.compare(name, &SOFTWARE_INTERRUPTS, Way::GccDynamic, cpus, |case| case);
    }
    suite.hadal("faults/deadlock", deadlock);
    suite.hadal("faults/spin-timeout", spin);
    for cpus in [1, 2, 4] {
        suite.hadal(format!("faults/crowd-timeout/{cpus}cpus"), move |name| crowd(name, cpus));
    }
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

/// `%gs` is the kernel's; the program is told so, and ended, whatever finds out first.
fn changes_gs(name: &str, kind: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = WILD.build(Way::GccStatic)?;
    let outcome =
        Hadal::new(2).cwd(&directory).limit(Duration::from_secs(60)).run(&program, &arguments(&[kind]))?;
    expect_status(&outcome, 139)?;
    // A system call that does not get its kernel stack has lost the program's stack pointer by then.
    let place = if kind == "gs-call" { "getppid" } else { "outer_function" };
    expect_texts(&outcome, &["the program has changed %gs on cpu", place])
}

/// A thread's stack goes while it sleeps in a call of the kernel's table. One CPU: another one may reach unmapped memory for a
/// moment.
fn lost_return(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = LOST_RETURN.build(Way::GccStatic)?;
    let run = |kind: &str| {
        let hadal = Hadal::new(1).cwd(&directory).limit(Duration::from_secs(60));
        hadal.run(&program, &arguments(&[kind]))
    };
    for kind in ["unmap", "empty"] {
        let outcome = run(kind)?;
        expect_status(&outcome, 139)?;
        expect_texts(&outcome, &["Segmentation fault", "backtrace"])?;
    }
    for kind in ["handle", "flags"] {
        let outcome = run(kind)?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "good\n")?;
    }
    Ok(())
}

/// An ELF file whose first instruction is where no program can be.
fn bad_entry(name: &str) -> Result<(), TestError> {
    const ENTRY_AT: usize = 24;
    let directory = scratch::empty_directory(name)?;
    let mut file =
        std::fs::read(FAULT.build(Way::GccStatic)?).map_err(|error| TestError::Wrong(error.to_string()))?;
    for (number, entry) in
        [1_u64 << 47, 0x1234_5678_9abc_def0, u64::MAX, 0xffff_9000_0000_0000].iter().enumerate()
    {
        file[ENTRY_AT..ENTRY_AT + 8].copy_from_slice(&entry.to_le_bytes());
        let program = directory.join(format!("entry-{number}"));
        let made = std::fs::write(&program, &file).and_then(|()| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))
        });
        made.map_err(|error| TestError::Wrong(error.to_string()))?;
        let outcome = Hadal::new(1).cwd(&directory).limit(Duration::from_secs(60)).run(&program, &[])?;
        expect_status(&outcome, 139)?;
    }
    Ok(())
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

/// The list of threads is of one moment: whoever waits is in it once, also when it rests, and nobody who has ended.
fn crowd(name: &str, cpus: u32) -> Result<(), TestError> {
    const WAITING: [(&str, &str); 4] = [
        ("in-futex", "waits in futex"),
        ("in-read", "waits in read"),
        ("for-word", "waits for word"),
        ("rests", "waits for word"),
    ];
    // The first thread, and of each maker itself and one that it makes.
    const OTHERS: usize = 1 + 2 * 2;
    let directory = scratch::empty_directory(name)?;
    let program = CROWD_TO_LIST.build(Way::GccDynamic)?;
    let hadal = Hadal::new(cpus).without_timeout().with("--timeout", "3").cwd(&directory);
    let outcome = hadal.limit(Duration::from_secs(60)).run(&program, &[])?;
    expect_status(&outcome, i32::from(status::TIMEOUT))?;
    expect_stdout(&outcome, "all started\n")?;
    let list = outcome.stderr_text();
    let threads: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("  thread ")).collect();
    for (thread, state) in WAITING {
        let wanted = format!("\"{thread}\": {state}");
        if threads.iter().filter(|line| line.contains(&wanted)).count() != 1 {
            return Err(wrong(&format!("the list does not have {wanted} once"), &outcome));
        }
    }
    if threads.len() > WAITING.len() + OTHERS {
        return Err(wrong("the list has threads that have ended", &outcome));
    }
    Ok(())
}
