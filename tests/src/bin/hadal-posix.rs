// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-posix DIR`: the Open POSIX test suite on Linux and on Hadal, as images or under `hadal run`.
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
use hadal_tests::posix::machine::{Candidate, Machine};
use hadal_tests::posix::{Build, PROCESS_CALLS, Place, Posix, Symbols, Verdict, is_newer, tests};
use hadal_tests::run::{Outcome, run};
use hadal_tests::{TestError, machine, scratch};

/// Compares the Open POSIX test suite on Linux and on Hadal.
///
/// Every test is compiled with gcc and run here, by root without the rights to set the clock and to restart the machine. What
/// passes must pass on Hadal. As images: the pthread and semaphore groups, compiled with `hadal cc -pthread`. A test that
/// needs a second process is left out: one whose object file, as gcc makes it, refers to fork() or another function that
/// makes a process or runs another program. Under `hadal run`: all tests but stress, the programs as they ran here, many in one
/// machine; a test that fails there runs again in a machine of its own.
#[derive(Debug, Parser)]
#[command(after_help = after_help())]
struct Options {
    /// The suite: testcases/open_posix_testsuite of the Linux Test Project
    directory: PathBuf,

    /// Where tests are compared with Linux
    #[arg(long, value_enum, default_value = "image")]
    place: Place,

    /// Ring of the processor that programs run in under `hadal run`
    #[arg(long, default_value = "0", value_parser = ["0", "3"])]
    ring: String,

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
        "Left out of images are tests that refer to: {}.\n\n\
         What was built, and what Linux said of it, is kept for the next run, as long as it is newer than the test, the \
         command and the kernel that HADAL_KERNEL names.",
        PROCESS_CALLS.join(", ")
    )
}

/// Tests that share a machine.
const SHARING: usize = 20;

/// Where what was built is kept.
fn kept() -> PathBuf {
    scratch::target().join("hadal-tests/posix")
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
    if rustix::process::geteuid().is_root() {
        // Tests that set the clock would set that of everybody here.
        command = Command::new("setpriv");
        command.arg("--bounding-set=-sys_time,-sys_boot").arg(program);
    }
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

/// What the examination of a test found, and the text that says why it does not pass.
type Finding = (Verdict, String);

/// Builds a test and runs it on Linux: the program if it passes there.
fn on_linux(options: &Options, build: &Build<'_>) -> Result<Result<PathBuf, Finding>, TestError> {
    let nothing = |verdict| Ok(Err((verdict, String::new())));
    let Some(object) = build.object()? else { return nothing(Verdict::NoProgram) };
    let symbols = Symbols::of(&object)?;
    if !symbols.is_test {
        return nothing(Verdict::NoProgram);
    }
    if symbols.needs_process && options.place == Place::Image {
        return nothing(Verdict::NeedsProcess);
    }
    let Some(program) = build.program(&object)? else { return nothing(Verdict::NoProgram) };
    Ok(match status_on_linux(options, build, &program) {
        Ok(0) => Ok(program),
        Ok(status) => Err((Verdict::NotOnLinux, format!("status {status}"))),
        Err(error) => Err((Verdict::NotOnLinux, error.to_string())),
    })
}

/// Runs one test on Linux and as an image.
fn examine_as_image(options: &Options, build: &Build<'_>, name: &str) -> Result<Finding, TestError> {
    if let Err(finding) = on_linux(options, build)? {
        return Ok(finding);
    }
    let hadal = machine::hadal_command()?;
    let kernel = std::env::var_os("HADAL_KERNEL").map(PathBuf::from);
    let how = format!("--pthread={}", options.pthread);
    let image = format!("{}.hadal", options.pthread);
    let image = match build.image(&hadal, &[how], &image, kernel.as_deref().as_slice())? {
        Ok(image) => image,
        Err(outcome) => return Ok((Verdict::Fails, outcome.stderr_text())),
    };
    let outcome = run_image(options, name, &image)?;
    if outcome.status == 0 {
        return Ok((Verdict::Passes, String::new()));
    }
    let mut text = format!("status {}\n", outcome.status);
    let _ = write!(text, "{}{}", outcome.stdout_text(), outcome.stderr_text());
    Ok((Verdict::Fails, text))
}

/// Runs candidates under `hadal run`, in one machine if none of them harms it.
fn run_candidates(
    options: &Options,
    candidates: &[Candidate],
    tell: &dyn Fn(&str, Finding),
) -> Result<(), TestError> {
    let limit = 2 * Duration::from_secs(options.limit);
    let machine = Machine { programs: kept(), cpus: options.cpus, ring: options.ring.clone(), limit };
    let mut rest = candidates;
    while let [first, ..] = rest {
        let place = scratch::empty_directory(&format!("posix-run-{}-{}", options.ring, first.name))?;
        let endings = machine.run(&place, rest)?;
        for (candidate, ending) in rest.iter().zip(&endings) {
            if ending.status == Some(0) {
                tell(&candidate.name, (Verdict::Passes, String::new()));
                continue;
            }
            let own = place.join("alone");
            scratch::make_empty(&own)?;
            let alone = machine.run_alone(&own, candidate)?;
            let verdict = if alone.status == Some(0) { Verdict::PassesAlone } else { Verdict::Fails };
            let text = format!("{:?}\n{}\nalone: {}", ending.status, ending.text.trim_end(), alone.text);
            tell(&candidate.name, (verdict, text));
        }
        let _ = fs::remove_dir_all(&place);
        rest = &rest[endings.len().min(rest.len())..];
    }
    Ok(())
}

/// Examines tests, which share machines under `hadal run`.
fn examine(options: &Options, suite: &Path, tests: &[Posix], tell: &dyn Fn(&str, Finding)) {
    let failed = |error: TestError| (Verdict::Fails, error.to_string());
    let mut candidates = Vec::new();
    for test in tests {
        let name = test.name.clone();
        let build = Build::new(test, suite, &kept());
        let found = build.and_then(|build| match options.place {
            Place::Image => examine_as_image(options, &build, &name).map(Err),
            Place::Run => on_linux(options, &build),
        });
        match found.unwrap_or_else(|error| Err(failed(error))) {
            Ok(program) => candidates.push(Candidate { name, program }),
            Err(finding) => tell(&name, finding),
        }
    }
    if let Err(error) = run_candidates(options, &candidates, tell) {
        tell("a machine", failed(error));
    }
}

fn show(options: &Options, name: &str, (verdict, text): &Finding) {
    let verdict = *verdict;
    if options.list || verdict == Verdict::PassesAlone || verdict == Verdict::Fails {
        let mark = if verdict == Verdict::Fails { "FAIL".into() } else { format!("{verdict:?}") };
        let text = if text.is_empty() { String::new() } else { format!("\n{}", text.trim_end()) };
        println!("{mark} {name}{}", text.replace('\n', "\n    "));
    }
}

fn prepare(options: &Options) -> Result<(PathBuf, Vec<Posix>), TestError> {
    let suite = fs::canonicalize(&options.directory)
        .map_err(TestError::io(format!("cannot find {}", options.directory.display())))?;
    let mut found = tests(&suite, options.place)?;
    found.retain(|test| {
        options.filter.is_empty() || options.filter.iter().any(|part| test.name.contains(part))
    });
    if options.fresh {
        for test in &found {
            Build::new(test, &suite, &kept())?.forget()?;
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
    let sharing = if options.place == Place::Run { SHARING } else { 1 };
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<Verdict, usize>::new()));
    let tell = |name: &str, finding: Finding| {
        show(&options, name, &finding);
        let mut tally = tally.lock().unwrap();
        *tally.entry(finding.0).or_default() += 1;
        let all: usize = tally.values().sum();
        if sharing > 1 && all.is_multiple_of(sharing) {
            let failures = tally.get(&Verdict::Fails).unwrap_or(&0);
            eprintln!("hadal-posix: {all} of {} tests, {failures} fail", found.len());
        }
    };
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(tests) = found.chunks(sharing).nth(next.fetch_add(1, Ordering::Relaxed)) {
                    examine(&options, &suite, tests, &tell);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    for verdict in Verdict::all(options.place) {
        println!("{:4} tests {}", tally.get(&verdict).unwrap_or(&0), verdict.text());
    }
    if tally.contains_key(&Verdict::Fails) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
