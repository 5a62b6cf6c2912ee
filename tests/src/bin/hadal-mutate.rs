// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-mutate`: programs that nobody would write, made from good ones by chance, each run in a machine of its own.
//!
//! Whatever a program does is its own end: a panic of the kernel, a machine that is lost, or one that does not answer when its
//! time is over, is a failure. The file that shows it is kept. A seed makes the same files again.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use hadal_abi::status;
use hadal_tests::programs::{FAULT, MEMORY, RECOVER};
use hadal_tests::{Hadal, Outcome, Program, TestError, Way, scratch};

/// Runs mutated programs and looks for a panic, a lost machine, or a hang.
#[derive(Debug, Parser)]
#[command(
    after_help = "Example: nice cargo run --release -p hadal-tests --bin hadal-mutate -- --what elf --count 2000"
)]
struct Options {
    /// What is changed
    #[arg(long, value_enum)]
    what: What,

    /// Programs
    #[arg(long, default_value_t = 200)]
    count: usize,

    /// Number of the first: the same number makes the same file
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Processors of each machine
    #[arg(long, default_value_t = 2)]
    cpus: u32,

    /// Machines at the same time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    jobs: u8,

    /// Seconds that a program may run
    #[arg(long, default_value_t = 5)]
    limit: u64,
}

/// What is changed in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The ELF header, program headers, the dynamic section, and bytes anywhere
    Elf,
    /// Instructions
    Code,
}

/// The good programs, small ones that end soon.
static ELF_WORK: [(&Program, Way, &[&str]); 4] = [
    (&FAULT, Way::GccDynamic, &["null"]),
    (&FAULT, Way::GccStatic, &["divide"]),
    (&RECOVER, Way::GccStaticPie, &[]),
    (&RECOVER, Way::MuslStatic, &[]),
];
static CODE_WORK: [(&Program, Way, &[&str]); 3] = [
    (&RECOVER, Way::MuslStatic, &[]),
    (&FAULT, Way::MuslStatic, &["divide"]),
    (&MEMORY, Way::MuslStatic, &[]),
];

/// Random numbers that a seed determines (SplitMix64: a counter through a hash).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A value that headers are likely to be wrong about.
    fn odd_word(&mut self, old: u64) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << self.below(64),
            3 => old.wrapping_add(self.next() % 8192).wrapping_sub(4096),
            4 => old ^ 1 << self.below(64),
            5 => (1 << 47) - 4096 * (self.next() % 3),
            6 => old.wrapping_neg(),
            _ => self.next(),
        }
    }
}

fn word(file: &[u8], at: usize) -> u64 {
    file.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

fn set_word(file: &mut [u8], at: usize, len: usize, value: u64) {
    if let Some(place) = file.get_mut(at..at + len) {
        place.copy_from_slice(&value.to_le_bytes()[..len]);
    }
}

/// Type, flags, offset and size in the file of each program header, and where it is.
fn program_headers(file: &[u8]) -> Vec<(usize, u64, u64, usize, usize)> {
    const HEADER_BYTES: usize = 56;
    let start = word(file, 32) as usize;
    let count = (word(file, 56) & 0xffff) as usize;
    (0..count)
        .map(|index| {
            let at = start + HEADER_BYTES * index;
            let head = word(file, at);
            (at, head & 0xffff_ffff, head >> 32, word(file, at + 8) as usize, word(file, at + 32) as usize)
        })
        .collect()
}

fn mutate_elf(file: &mut [u8], random: &mut Random) {
    const DYNAMIC: u64 = 2;
    /// Fields of the ELF header behind its first 16 bytes: offset and length.
    const FIELDS: [(usize, usize); 13] = [
        (16, 2),
        (18, 2),
        (20, 4),
        (24, 8),
        (32, 8),
        (40, 8),
        (48, 4),
        (52, 2),
        (54, 2),
        (56, 2),
        (58, 2),
        (60, 2),
        (62, 2),
    ];
    let headers = program_headers(file);
    for _ in 0..=random.below(3) {
        match random.below(4) {
            0 => {
                let (at, len) = FIELDS[random.below(FIELDS.len())];
                let value = random.odd_word(word(file, at));
                set_word(file, at, len, value);
            }
            1 => {
                let at = headers[random.below(headers.len())].0 + 8 * random.below(7);
                let value = random.odd_word(word(file, at));
                set_word(file, at, 8, value);
            }
            2 => {
                let dynamic = headers.iter().find(|header| header.1 == DYNAMIC);
                let Some(&(_, _, _, offset, len)) = dynamic else { continue };
                let at = offset + 8 * random.below(len / 8);
                let value = random.odd_word(word(file, at));
                set_word(file, at, 8, value);
            }
            _ => {
                for _ in 0..=random.below(16) {
                    let at = random.below(file.len());
                    file[at] = random.next() as u8;
                }
            }
        }
    }
}

fn mutate_code(file: &mut [u8], random: &mut Random) {
    const LOAD: u64 = 1;
    const EXECUTABLE: u64 = 1;
    let headers = program_headers(file);
    let code = headers.iter().find(|header| header.1 == LOAD && header.2 & EXECUTABLE != 0);
    let Some(&(_, _, _, offset, len)) = code else { return };
    for _ in 0..=random.below(200) {
        let at = offset + random.below(len);
        for place in file[at..].iter_mut().take(1 + random.below(8)) {
            *place = random.next() as u8;
        }
    }
}

/// Why an outcome is Hadal's failure and not the program's end.
fn failure(outcome: &Result<Outcome, TestError>) -> Option<String> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Some(error.to_string()),
    };
    let own = outcome.stderr_text();
    let is_failure = match u8::try_from(outcome.status) {
        // The program may end with these numbers itself: then nothing is said.
        Ok(status::KERNEL_PANIC | status::LOST | status::INTERNAL | status::QEMU) => own.contains("hadal: "),
        Ok(status::TIMEOUT) => own.contains("did not answer"),
        _ => false,
    };
    is_failure.then(|| outcome.to_string())
}

struct Work {
    file: Vec<u8>,
    arguments: &'static [&'static str],
}

fn run_one(options: &Options, work: &Work, number: u64, directory: &Path) -> Result<i32, (PathBuf, String)> {
    let mut random = Random(number);
    let mut file = work.file.clone();
    match options.what {
        What::Elf => mutate_elf(&mut file, &mut random),
        What::Code => mutate_code(&mut file, &mut random),
    }
    let program = directory.join(format!("mutated-{number}"));
    let made = fs::write(&program, &file)
        .and_then(|()| fs::set_permissions(&program, fs::Permissions::from_mode(0o755)));
    if let Err(error) = made {
        return Err((program, error.to_string()));
    }
    let place = directory.join("place");
    // What an earlier program has left there does not matter.
    let _ = fs::create_dir(&place);
    let hadal = Hadal::new(options.cpus).cwd(&place).limit(Duration::from_secs(options.limit));
    let outcome = hadal.run(&program, &hadal_tests::machine::arguments(work.arguments));
    if let Some(why) = failure(&outcome) {
        return Err((program, why));
    }
    let _ = fs::remove_file(&program);
    Ok(outcome.map_or(-1, |outcome| outcome.status))
}

#[derive(Default)]
struct Tally {
    statuses: BTreeMap<i32, usize>,
    failures: Vec<PathBuf>,
}

fn mutate(options: &Options) -> Result<Tally, TestError> {
    let sources: &[(&Program, Way, &'static [&'static str])] = match options.what {
        What::Elf => &ELF_WORK,
        What::Code => &CODE_WORK,
    };
    let read = |&(program, way, arguments): &(&Program, Way, &'static [&'static str])| {
        let path = program.build(way)?;
        let file = fs::read(&path).map_err(TestError::io(format!("cannot read {}", path.display())))?;
        Ok(Work { file, arguments })
    };
    let work = sources.iter().map(read).collect::<Result<Vec<_>, TestError>>()?;
    let directories = (0..options.jobs)
        .map(|job| scratch::empty_directory(&format!("mutate-{:?}-{job}", options.what)))
        .collect::<Result<Vec<PathBuf>, _>>()?;
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for directory in &directories {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= options.count {
                        return;
                    }
                    let number = options.seed + index as u64;
                    let result = run_one(options, &work[number as usize % work.len()], number, directory);
                    let mut tally = tally.lock().unwrap();
                    match result {
                        Ok(status) => *tally.statuses.entry(status).or_default() += 1,
                        Err((program, why)) => {
                            eprintln!("{}: {why}", program.display());
                            tally.failures.push(program);
                        }
                    }
                    if (index + 1).is_multiple_of(100) {
                        eprintln!("{} of {}, {} failures", index + 1, options.count, tally.failures.len());
                    }
                }
            });
        }
    });
    Ok(tally.into_inner().unwrap())
}

fn main() -> ExitCode {
    let options = Options::parse();
    let tally = match mutate(&options) {
        Ok(tally) => tally,
        Err(error) => {
            eprintln!("hadal-mutate: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("status  programs");
    for (status, count) in &tally.statuses {
        println!("{status:<6}  {count}");
    }
    println!("{} of {} are Hadal's failures", tally.failures.len(), options.count);
    for program in &tally.failures {
        println!("  {}", program.display());
    }
    if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
