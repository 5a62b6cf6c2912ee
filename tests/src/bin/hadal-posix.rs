// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-posix DIR`: the pthread and semaphore groups of the Open POSIX test suite, on Linux and as images.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clap::Parser;
use hadal_tests::posix::{Build, PROCESS_CALLS, Posix, Symbols, Verdict, is_newer, tests};
use hadal_tests::run::{Outcome, run};
use hadal_tests::{TestError, machine, scratch};

/// Compares the pthread and semaphore groups of the Open POSIX test suite on Linux and in images.
///
/// Every test is compiled with gcc and run here; what passes is compiled with `hadal cc -pthread` and must pass as an image,
/// too. A test that needs a second process is left out: one whose object file, as gcc makes it, refers to fork() or
/// another function that makes a process or runs another program.
#[derive(Debug, Parser)]
#[command(after_help = after_help())]
struct Options {
    /// The suite: testcases/open_posix_testsuite of the Linux Test Project
    directory: PathBuf,

    /// Only tests with this in their name (such as pthread_cond or sem_wait/1-1); may be given several times
    #[arg(long)]
    filter: Vec<String>,

    /// Processors of each machine
    #[arg(long, default_value_t = 2)]
    cpus: u32,

    /// Tests at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    jobs: u8,

    /// Seconds a test may take on Linux, and half of what it may take in an image
    #[arg(long, default_value_t = 60)]
    limit: u64,

    /// How threads are made in images: Hadal's or the C library's
    #[arg(long, default_value = "hadal", value_parser = ["hadal", "system"])]
    pthread: String,

    /// Prints the verdict on each test
    #[arg(long)]
    list: bool,

    /// Builds everything, and runs everything on Linux, again
    #[arg(long)]
    fresh: bool,
}

fn after_help() -> String {
    format!(
        "Left out are tests that refer to: {}.\n\n\
         What was built, and what Linux said of it, is kept for the next run, as long as it is newer than the test, the \
         command and the kernel that HADAL_KERNEL names.",
        PROCESS_CALLS.join(", ")
    )
}

/// The status of the test on Linux: 0 is a pass. Kept with the program; a time-out is asked for again.
fn status_on_linux(options: &Options, build: &Build<'_>, program: &Path) -> Result<i32, TestError> {
    let kept = build.file("status");
    if is_newer(&kept, [program])
        && let Some(status) = fs::read_to_string(&kept).ok().and_then(|text| text.parse().ok())
    {
        return Ok(status);
    }
    let mut command = Command::new(program);
    let place = scratch::empty_directory(&format!("posix-linux-{}", build.name()))?;
    command.current_dir(&place);
    let outcome = run(command, b"", Duration::from_secs(options.limit))?;
    let _ = fs::remove_dir_all(&place);
    fs::write(&kept, outcome.status.to_string()).map_err(TestError::io("cannot keep the status"))?;
    Ok(outcome.status)
}

/// Runs the image; twice the time, since a machine without KVM is slow and some tests measure work against time.
fn run_image(options: &Options, name: &str, image: &Path) -> Result<Outcome, TestError> {
    let place = scratch::empty_directory(&format!("posix-{name}"))?;
    let limit = 2 * Duration::from_secs(options.limit);
    let mut machine = Command::new(machine::hadal_command()?);
    machine.current_dir(&place).arg("run").arg("--cpus").arg(options.cpus.to_string());
    machine.arg("--timeout").arg(limit.as_secs().to_string()).arg(image);
    let outcome = run(machine, b"", limit + Duration::from_secs(30));
    let _ = fs::remove_dir_all(&place);
    outcome
}

/// Runs one test in both places; the text says why it does not pass.
fn examine(options: &Options, suite: &Path, test: &Posix) -> Result<(Verdict, String), TestError> {
    let build = Build::new(test, suite, &scratch::target().join("hadal-tests/posix"))?;
    let nothing = |verdict| Ok((verdict, String::new()));
    let Some(object) = build.object()? else { return nothing(Verdict::NoProgram) };
    let symbols = Symbols::of(&object)?;
    if !symbols.is_test {
        return nothing(Verdict::NoProgram);
    }
    if symbols.needs_process {
        return nothing(Verdict::NeedsProcess);
    }
    let Some(program) = build.program(&object)? else { return nothing(Verdict::NoProgram) };
    match status_on_linux(options, &build, &program) {
        Ok(0) => {}
        Ok(status) => return Ok((Verdict::NotOnLinux, format!("status {status}"))),
        Err(error) => return Ok((Verdict::NotOnLinux, error.to_string())),
    }
    let hadal = machine::hadal_command()?;
    let kernel = std::env::var_os("HADAL_KERNEL").map(PathBuf::from);
    let how = format!("--pthread={}", options.pthread);
    let name = format!("{}.hadal", options.pthread);
    let image = match build.image(&hadal, &[how], &name, kernel.as_deref().as_slice())? {
        Ok(image) => image,
        Err(outcome) => return Ok((Verdict::Fails, outcome.stderr_text())),
    };
    let outcome = run_image(options, &test.name, &image)?;
    if outcome.status == 0 {
        return nothing(Verdict::Passes);
    }
    let mut text = format!("status {}\n", outcome.status);
    let _ = write!(text, "{}{}", outcome.stdout_text(), outcome.stderr_text());
    Ok((Verdict::Fails, text))
}

fn tell(options: &Options, name: &str, verdict: Verdict, text: &str) {
    if options.list || verdict == Verdict::Fails {
        let mark = if verdict == Verdict::Fails { "FAIL".into() } else { format!("{verdict:?}") };
        let text = if text.is_empty() { String::new() } else { format!("\n{}", text.trim_end()) };
        println!("{mark} {name}{}", text.replace('\n', "\n    "));
    }
}

fn prepare(options: &Options) -> Result<(PathBuf, Vec<Posix>), TestError> {
    let suite = fs::canonicalize(&options.directory)
        .map_err(TestError::io(format!("cannot find {}", options.directory.display())))?;
    let mut found = tests(&suite)?;
    found.retain(|test| {
        options.filter.is_empty() || options.filter.iter().any(|part| test.name.contains(part))
    });
    if options.fresh {
        for test in &found {
            Build::new(test, &suite, &scratch::target().join("hadal-tests/posix"))?.forget()?;
        }
    }
    Ok((suite, found))
}

fn main() -> ExitCode {
    let options = Options::parse();
    let (suite, found) = match prepare(&options) {
        Ok(prepared) => prepared,
        Err(error) => {
            eprintln!("hadal-posix: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<Verdict, usize>::new()));
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(test) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (verdict, text) = examine(&options, &suite, test)
                        .unwrap_or_else(|error| (Verdict::Fails, error.to_string()));
                    tell(&options, &test.name, verdict, &text);
                    *tally.lock().unwrap().entry(verdict).or_default() += 1;
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    for verdict in Verdict::ALL {
        println!("{:4} tests {}", tally.get(&verdict).unwrap_or(&0), verdict.text());
    }
    if tally.contains_key(&Verdict::Fails) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
