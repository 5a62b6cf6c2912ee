// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-fuzz`: random system calls of several processes (`tests/programs/isolation/fuzz`), as many as are wanted.
//!
//! The program shows its progress. It fails if the kernel panics, if a check of the machine fails at the end, and if a worker
//! cannot be ended. A machine that says nothing any more is ended by the time limit of `hadal run`, which lists its threads.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Parser;
use hadal_tests::machine::{arguments, hadal_command};
use hadal_tests::programs::FUZZ;
use hadal_tests::{Hadal, TestError, Way, scratch};

/// Issues random system calls in ring 0 or 3.
#[derive(Debug, Parser)]
#[command(
    after_help = "Example: cargo run --release -p hadal-tests --bin hadal-fuzz -- --calls 10000000 --ring 3 --seed 1"
)]
struct Options {
    /// System calls of all processes together
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,

    /// What the random numbers begin with [default: the time]
    #[arg(long)]
    seed: Option<u64>,

    /// Ring that the program runs in
    #[arg(long, default_value_t = 0, value_parser = ring)]
    ring: u8,

    /// Processors of the machine
    #[arg(long, default_value_t = 2)]
    cpus: u32,

    /// Processes that issue calls at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    processes: u32,

    /// Memory of the machine
    #[arg(long, default_value = "2G")]
    memory: String,

    /// Boot the debug kernel, which checks itself
    #[arg(long)]
    debug_kernel: bool,

    /// Seconds after which the machine is ended [default: a minute, and a second for each 1,000 calls]
    #[arg(long)]
    limit: Option<u64>,
}

fn ring(text: &str) -> Result<u8, String> {
    match text {
        "0" => Ok(0),
        "3" => Ok(3),
        _ => Err("the rings are 0 and 3".to_owned()),
    }
}

impl Options {
    fn machine(&self) -> Result<Hadal, TestError> {
        let limit = self.limit.unwrap_or(60 + self.calls / 1000);
        let machine = Hadal::new(self.cpus)
            .cwd(&scratch::empty_directory("fuzz")?)
            .with("--ring", self.ring.to_string())
            .with("--memory", &self.memory)
            .limit(Duration::from_secs(limit));
        if self.debug_kernel { machine.debug_kernel() } else { Ok(machine) }
    }
}

fn fuzz(options: &Options, seed: u64) -> Result<bool, TestError> {
    let list = [seed, options.calls, u64::from(options.processes)].map(|number| number.to_string());
    let program = FUZZ.build(Way::GccStatic)?;
    let mut command = options.machine()?.command(&hadal_command()?, &program, &arguments(&list));
    let line = format!("{command:?}");
    Ok(command.status().map_err(TestError::io(format!("cannot start {line}")))?.success())
}

fn main() -> ExitCode {
    let options = Options::parse();
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seed = options.seed.unwrap_or(since_1970.as_secs());
    let what = format!(
        "seed {seed}, {} calls of {} processes in ring {} on {} processors",
        options.calls, options.processes, options.ring, options.cpus
    );
    println!("hadal-fuzz: {what}");
    match fuzz(&options, seed) {
        Ok(true) => {
            println!("hadal-fuzz: {what}: ok");
            ExitCode::SUCCESS
        }
        Ok(false) => {
            println!("hadal-fuzz: {what}: failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("hadal-fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}
