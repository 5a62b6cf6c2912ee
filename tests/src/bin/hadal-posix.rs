// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-posix DIR`: the pthread and semaphore groups of the Open POSIX test suite, on Linux and as images.
//!
//! DIR is the suite's own directory (`testcases/open_posix_testsuite` of the Linux Test Project). Every test is compiled
//! with gcc and run here; what passes, and does not make a second process, is compiled with `hadal cc -pthread` and must
//! pass as an image, too.
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
use hadal_tests::run::{Outcome, run};
use hadal_tests::{TestError, machine, scratch};

/// Compares the pthread and semaphore groups of the Open POSIX test suite on Linux and in images.
#[derive(Debug, Parser)]
struct Options {
    /// The suite: testcases/open_posix_testsuite of the Linux Test Project
    directory: PathBuf,

    /// Only tests with this in their name (such as pthread_cond or sem_wait/1-1)
    #[arg(long, default_value = "")]
    filter: String,

    /// Processors of each machine
    #[arg(long, default_value_t = 2)]
    cpus: u32,

    /// Tests at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    jobs: u8,

    /// Seconds a test may take
    #[arg(long, default_value_t = 60)]
    limit: u64,

    /// How threads are made in images: Hadal's or the C library's
    #[arg(long, default_value = "hadal", value_parser = ["hadal", "system"])]
    pthread: String,
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Passes in both places.
    Passes,
    /// Passes on Linux and not in an image.
    Fails,
    /// Makes a second process, which an image does not have.
    NeedsProcess,
    /// Does not pass on Linux: unsupported, unresolved, untested, or wrong.
    NotOnLinux,
    /// Is only a part of tests, or does not compile.
    NoProgram,
}

impl Verdict {
    const ALL: [Self; 5] = [Self::Passes, Self::Fails, Self::NeedsProcess, Self::NotOnLinux, Self::NoProgram];

    fn text(self) -> &'static str {
        match self {
            Self::Passes => "pass on Linux and in an image",
            Self::Fails => "pass on Linux and not in an image",
            Self::NeedsProcess => "need a second process",
            Self::NotOnLinux => "do not pass on Linux",
            Self::NoProgram => "are no program",
        }
    }
}

/// Names of functions that make or run another process.
const PROCESS_CALLS: [&str; 6] = ["fork", "vfork", "system", "popen", "execl", "execv"];

/// The sources of the wanted groups, as `pthread_create/1-1`, in order.
fn tests(options: &Options) -> Result<Vec<(String, PathBuf)>, TestError> {
    let interfaces = options.directory.join("conformance/interfaces");
    let list = |directory: &Path| -> Result<Vec<PathBuf>, TestError> {
        let entries =
            fs::read_dir(directory).map_err(TestError::io(format!("cannot read {}", directory.display())))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut found = Vec::new();
    for group in list(&interfaces)? {
        let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("pthread_") && !name.starts_with("sem_") {
            continue;
        }
        let mut sources = list(&group)?;
        if group.join("speculative").is_dir() {
            sources.extend(list(&group.join("speculative"))?);
        }
        sources.retain(|source| source.extension().is_some_and(|extension| extension == "c"));
        for source in sources {
            let relative = source.strip_prefix(&interfaces).unwrap_or(&source).with_extension("");
            found.push((relative.to_string_lossy().into_owned(), source));
        }
    }
    found.retain(|(name, _)| name.contains(&options.filter));
    found.sort();
    Ok(found)
}

/// True when the text, without its comments, calls one of [`PROCESS_CALLS`].
fn makes_process(text: &str) -> bool {
    let code: String = text
        .split("/*")
        .enumerate()
        .map(
            |(index, part)| {
                if index == 0 { part } else { part.split_once("*/").map_or("", |(_, code)| code) }
            },
        )
        .collect();
    PROCESS_CALLS.iter().any(|name| {
        code.match_indices(name).any(|(at, _)| {
            let before = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            before && code[at + name.len()..].trim_start().starts_with('(')
        })
    })
}

fn compile(
    mut compiler: Command,
    options: &Options,
    source: &Path,
    output: &Path,
) -> Result<Outcome, TestError> {
    compiler
        .args(["-std=gnu99", "-w", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700"])
        .arg("-I")
        .arg(options.directory.join("include"))
        .arg(source)
        .arg(options.directory.join("lib/common.c"))
        .arg("-o")
        .arg(output)
        .args(["-pthread", "-lrt"]);
    run(compiler, b"", Duration::from_secs(120))
}

/// Runs one test in both places; the text says why it fails.
fn examine(options: &Options, name: &str, source: &Path) -> Result<(Verdict, String), TestError> {
    let bytes = fs::read(source).map_err(TestError::io(format!("cannot read {}", source.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    if !text.contains("test_main(") {
        return Ok((Verdict::NoProgram, String::new()));
    }
    if makes_process(&text) {
        return Ok((Verdict::NeedsProcess, String::new()));
    }
    let directory = scratch::empty_directory(&format!("posix-{name}"))?;
    let source = fs::canonicalize(source).map_err(TestError::io("cannot find the source"))?;
    let (program, image) = (directory.join("program"), directory.join("image.hadal"));
    if compile(Command::new("gcc"), options, &source, &program)?.status != 0 {
        return Ok((Verdict::NoProgram, String::new()));
    }
    let limit = Duration::from_secs(options.limit);
    let mut command = Command::new(&program);
    command.current_dir(&directory);
    if !matches!(run(command, b"", limit), Ok(Outcome { status: 0, .. })) {
        return Ok((Verdict::NotOnLinux, String::new()));
    }
    let hadal = machine::hadal_command()?;
    let mut compiler = Command::new(&hadal);
    compiler.arg("cc").arg(format!("--pthread={}", options.pthread));
    let built = compile(compiler, options, &source, &image)?;
    if built.status != 0 {
        return Ok((Verdict::Fails, built.stderr_text()));
    }
    let mut machine = Command::new(&hadal);
    machine.current_dir(&directory).arg("run").arg("--cpus").arg(options.cpus.to_string());
    // Twice the time: a machine without KVM is slow, and some tests measure work against time.
    let longer = 2 * limit;
    machine.arg("--timeout").arg(longer.as_secs().to_string()).arg(&image);
    let outcome = run(machine, b"", longer + Duration::from_secs(30))?;
    let _ = fs::remove_dir_all(&directory);
    Ok(if outcome.status == 0 {
        (Verdict::Passes, String::new())
    } else {
        let mut text = format!("status {}\n", outcome.status);
        let _ = write!(text, "{}{}", outcome.stdout_text(), outcome.stderr_text());
        (Verdict::Fails, text)
    })
}

fn main() -> ExitCode {
    let options = Options::parse();
    let tests = match tests(&options) {
        Ok(tests) => tests,
        Err(error) => {
            eprintln!("hadal-posix: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<Verdict, usize>::new()));
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some((name, source)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (verdict, text) = examine(&options, name, source)
                        .unwrap_or_else(|error| (Verdict::Fails, error.to_string()));
                    if verdict == Verdict::Fails {
                        println!("FAIL {name}\n    {}", text.trim_end().replace('\n', "\n    "));
                    }
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
