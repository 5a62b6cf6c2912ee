// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machines that count instructions: two runs are the same, to the instruction.

use std::io::{Read, Write};
use std::num::NonZero;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, hint, process, thread};

use hadal_tests::case::{expect_status, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::programs::COUNTING;
use hadal_tests::{Hadal, TestError, Way, scratch};

use crate::suite::Suite;

/// Runs that are compared.
const RUNS: usize = 5;

pub(crate) fn register(suite: &mut Suite) {
    for (name, way) in [("static", Way::GccStatic), ("dynamic", Way::GccDynamic)] {
        suite.hadal(format!("counting/repeats/{name}"), move |name| repeats(name, way));
    }
    suite.hadal("counting/repeats/emulator-awake", repeats_with_emulator_awake);
    suite.hadal("counting/starts-at-the-program", starts_at_the_program);
}

/// What is run.
struct What {
    program: PathBuf,
    argument: &'static str,
    qemu: Option<PathBuf>,
}

/// What a run leaves: the program's output, which has readings of its clocks, the trace and the folded profile.
struct Traces {
    output: String,
    trace: Vec<u8>,
    folded: Vec<u8>,
}

fn run(directory: &Path, number: usize, what: &What) -> Result<Traces, TestError> {
    // Beside the program's directory, whose content the program sees.
    let files = directory.join("files");
    fs::create_dir_all(&files).map_err(TestError::io("a directory for traces"))?;
    let trace = files.join(format!("{number}.json"));
    let profile = files.join(number.to_string());
    let work = directory.join("work");
    fs::create_dir_all(&work).map_err(TestError::io("a working directory"))?;
    let hadal = Hadal::plain().option("--icount").cwd(&work).with("--trace", &trace);
    let hadal = hadal.with("--profile", &profile).with("--profile-hz", "10000").option("--stats");
    let hadal = match &what.qemu {
        Some(qemu) => hadal.with("--qemu", qemu),
        None => hadal,
    };
    let outcome = hadal.run(&what.program, &arguments(&[what.argument]))?;
    expect_status(&outcome, 0)?;
    let counters = outcome.stderr_text();
    let counters = counters.lines().filter(|line| !line.starts_with("hadal: "));
    let output = format!("{}{}", outcome.stdout_text(), counters.collect::<Vec<_>>().join("\n"));
    let read = |file: &Path| fs::read(file).map_err(TestError::io(file.display().to_string()));
    Ok(Traces { output, trace: read(&trace)?, folded: read(&profile.with_extension("folded"))? })
}

/// Keeps the host's CPUs busy while `work` runs, so that QEMU's threads come late, and later in one run than in another.
fn on_a_busy_host<T>(work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) + 1 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        // Also when `work` panics, or the scope would wait for ever.
        let outcome = panic::catch_unwind(AssertUnwindSafe(work));
        is_done.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|payload| panic::resume_unwind(payload))
    })
}

fn repeats(name: &str, way: Way) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let what = What { program: COUNTING.build(way)?, argument: "/etc/services", qemu: None };
    on_a_busy_host(|| compare_runs(&directory, &what))
}

/// QEMU moves the clock of a halted machine from its main loop. Here that runs all the time, beside a machine that halts thousands
/// of times: it looks in the middle of what the machine does.
fn repeats_with_emulator_awake(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let socket = format!("hadal-awake-{}", process::id());
    let qemu = directory.join("qemu-with-monitor");
    let script = format!(
        "#!/bin/sh\nexec qemu-system-x86_64 \"$@\" -mon chardev=monitor \
         -chardev socket,id=monitor,path={socket},abstract=on,server=on,wait=off\n"
    );
    fs::write(&qemu, script).map_err(TestError::io("a script that starts QEMU"))?;
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755))
        .map_err(TestError::io("the script that starts QEMU"))?;
    let address = SocketAddr::from_abstract_name(&socket).map_err(TestError::io("a socket's name"))?;
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                // No machine runs yet, or none any more.
                if keep_awake(&address, &is_done).is_err() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let what = What { program: "/bin/sleep".into(), argument: "0.8", qemu: Some(qemu) };
        let outcome = on_a_busy_host(|| compare_runs(&directory, &what));
        is_done.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Types at the monitor of QEMU until that ends.
fn keep_awake(address: &SocketAddr, is_done: &AtomicBool) -> std::io::Result<()> {
    let mut monitor = UnixStream::connect_addr(address)?;
    monitor.set_nonblocking(true)?;
    let mut echo = [0; 4096];
    while !is_done.load(Ordering::Relaxed) {
        // Too much at a time is left out.
        match monitor.write(b"x") {
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        let _ = monitor.read(&mut echo);
        thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

fn compare_runs(directory: &Path, what: &What) -> Result<(), TestError> {
    let first = run(directory, 0, what)?;
    if !first.output.contains("system calls") || first.trace.is_empty() || first.folded.is_empty() {
        return Err(TestError::Wrong(format!("something is missing:\n{}", first.output)));
    }
    for number in 1..RUNS {
        let next = run(directory, number, what)?;
        if next.output != first.output {
            let pairs = first.output.lines().zip(next.output.lines()).filter(|(first, next)| first != next);
            let pairs: String = pairs.map(|(first, next)| format!("\n{first}\n  is {next}")).collect();
            return Err(TestError::Wrong(format!("in run {number}{pairs}")));
        }
        if next.trace != first.trace {
            return Err(TestError::Wrong(format!("the trace of run {number} differs")));
        }
        if next.folded != first.folded {
            return Err(TestError::Wrong(format!("the profile of run {number} differs")));
        }
    }
    Ok(())
}

/// The clocks are near zero when `main` begins, and the time of day is the same in every run.
fn starts_at_the_program(_: &str) -> Result<(), TestError> {
    let outcome = Hadal::plain().option("--icount").run(&COUNTING.build(Way::GccStatic)?, &[])?;
    expect_status(&outcome, 0)?;
    let text = outcome.stdout_text();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    const MIDNIGHT_S: u64 = 1_767_225_600;
    match (number("monotonic ns"), number("time of day s")) {
        (Some(ns), Some(MIDNIGHT_S)) if ns < 50_000_000 => Ok(()),
        _ => Err(wrong("the clocks do not start at the program", &outcome)),
    }
}
