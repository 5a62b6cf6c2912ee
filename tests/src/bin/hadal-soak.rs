// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-soak`: many short OpenMP runs, each in a machine of its own, every output checked.
//!
//! The programs take turns; each one's output on Linux is what the runs are compared with.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use hadal_tests::case::expect_same;
use hadal_tests::programs::{CPP_OPENMP, FORTRAN, MANY, OPENMP};
use hadal_tests::{Case, Hadal, Outcome, Program, TestError, Way, scratch};

/// Runs short OpenMP programs many times and checks every output.
#[derive(Debug, Parser)]
#[command(
    after_help = "Example: cargo run --release -p hadal-tests --bin hadal-soak -- --runs 500 --cpus 1,2,4,8"
)]
struct Options {
    /// Runs on each number of processors
    #[arg(long, default_value_t = 500)]
    runs: usize,

    /// Numbers of processors
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8")]
    cpus: Vec<u32>,

    /// Machines at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    jobs: u8,

    /// Seconds a run may take
    #[arg(long, default_value_t = 60)]
    limit: u64,
}

/// The programs that take turns.
static WORK: [(&Program, Way, &[&str]); 7] = [
    (&MANY, Way::GccDynamic, &["8"]),
    (&OPENMP, Way::GccStatic, &["loops", "reductions"]),
    (&OPENMP, Way::ClangDynamic, &["tasks", "depend", "locks"]),
    (&OPENMP, Way::GccDynamic, &["nested", "threadprivate", "critical"]),
    (&CPP_OPENMP, Way::Gxx, &[]),
    (&FORTRAN, Way::Gfortran, &[]),
    (&MANY, Way::ClangDynamic, &["16"]),
];

/// One program on one number of processors, with what Linux says.
struct Work {
    case: Case,
    expected: Outcome,
}

impl Work {
    fn new(index: usize, cpus: u32, limit: Duration) -> Result<Self, TestError> {
        let (program, way, arguments) = WORK[index];
        let case = Case::new("soak", program, way, cpus)
            .args(arguments)
            .env("OMP_NUM_THREADS", cpus.max(2).to_string())
            .env("OMP_WAIT_POLICY", "passive")
            .hadal(|hadal: Hadal| hadal.limit(limit));
        let directory = scratch::empty_directory(&format!("soak-linux-{cpus}-{index}"))?;
        let expected = case.on_linux(&directory)?;
        Ok(Self { case, expected })
    }
}

#[derive(Default)]
struct Tally {
    times: BTreeMap<u32, Vec<Duration>>,
    failures: Vec<String>,
}

fn soak_one(options: &Options, cpus: u32, tally: &Mutex<Tally>) -> Result<(), TestError> {
    let limit = Duration::from_secs(options.limit);
    let work = (0..WORK.len()).map(|index| Work::new(index, cpus, limit)).collect::<Result<Vec<_>, _>>()?;
    let next = AtomicUsize::new(0);
    let directories = (0..options.jobs)
        .map(|job| scratch::empty_directory(&format!("soak-{cpus}-{job}")))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    thread::scope(|scope| {
        for directory in &directories {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= options.runs {
                        return;
                    }
                    let item = &work[run % work.len()];
                    let start = Instant::now();
                    let result = item
                        .case
                        .on_hadal(directory)
                        .and_then(|outcome| expect_same(&item.expected, &outcome, true));
                    record(tally, cpus, run, options.runs, start.elapsed(), result);
                }
            });
        }
    });
    Ok(())
}

fn record(
    tally: &Mutex<Tally>,
    cpus: u32,
    run: usize,
    runs: usize,
    time: Duration,
    result: Result<(), TestError>,
) {
    let mut tally = tally.lock().unwrap();
    match result {
        Ok(()) => tally.times.entry(cpus).or_default().push(time),
        Err(error) => {
            let (program, way, arguments) = WORK[run % WORK.len()];
            let what = format!("{} ({}) {}", program.name, way.name(), arguments.join(" "));
            eprintln!("run {run} on {cpus} processors, {what}: {error}");
            tally.failures.push(format!("run {run} on {cpus} processors, {what}"));
        }
    }
    if (run + 1).is_multiple_of(50) {
        eprintln!("{cpus} processors: {} of {runs} runs, {} failures in all", run + 1, tally.failures.len());
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let tally = Mutex::new(Tally::default());
    let start = Instant::now();
    for &cpus in &options.cpus {
        if let Err(error) = soak_one(&options, cpus, &tally) {
            eprintln!("hadal-soak: {error}");
            return ExitCode::FAILURE;
        }
    }
    let mut tally = tally.into_inner().unwrap();
    println!("processors  right  of     median s  longest s");
    for &cpus in &options.cpus {
        let times = tally.times.entry(cpus).or_default();
        times.sort();
        let median = times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64);
        let longest = times.last().map_or(0.0, Duration::as_secs_f64);
        println!("{cpus:<10}  {:<5}  {:<5}  {median:<8.3}  {longest:.3}", times.len(), options.runs);
    }
    println!("{} failures, {:.0} s in all", tally.failures.len(), start.elapsed().as_secs_f64());
    for failure in &tally.failures {
        println!("failed: {failure}");
    }
    if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
