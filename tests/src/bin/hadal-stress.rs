// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-stress`: everything in `hadal/hrt.h` at once (`tests/programs/stress`), for as long as is wanted.
//!
//! The program shows its progress, says what it found, and with which seed. A machine that says nothing any more is ended
//! by the time limit of `hadal run`, which lists its threads.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime};

use clap::{Parser, ValueEnum};
use hadal_tests::machine::{arguments, hadal_command};
use hadal_tests::programs::STRESS;
use hadal_tests::{Hadal, TestError, Way, image, scratch};

/// Uses all primitives of hadal/hrt.h at once, with random parameters and time-outs.
#[derive(Debug, Parser)]
#[command(
    after_help = "Example: cargo run --release -p hadal-tests --bin hadal-stress -- --cpus 8 --seconds 3600 --seed 1"
)]
struct Options {
    /// Processors of the machine
    #[arg(long, default_value_t = 8)]
    cpus: u32,

    /// How long it runs
    #[arg(long, default_value_t = 60)]
    seconds: u64,

    /// Threads that do rounds of operations; each round makes more [default: three for each processor]
    #[arg(long)]
    threads: Option<u32>,

    /// What the random numbers begin with [default: the time]
    #[arg(long)]
    seed: Option<u64>,

    /// Only these parts, such as mutex,cond (an unknown one lists them all)
    #[arg(long)]
    only: Option<String>,

    /// Seconds without progress that count as a failure
    #[arg(long, default_value_t = 20)]
    stall: u64,

    /// After a failure stay for a debugger, or until the list of threads at the time limit
    #[arg(long)]
    hold: bool,

    /// Where it runs
    #[arg(long, value_enum, default_value_t = Place::Image)]
    place: Place,
}

/// The three places of one source.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Place {
    /// In an image of kernel and program
    Image,
    /// A Linux binary under `hadal run`
    Run,
    /// The same binary on Linux
    Linux,
}

impl Options {
    fn of_program(&self) -> Vec<String> {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seed = self.seed.unwrap_or(since_1970.as_secs());
        let mut list = vec![format!("--seconds={}", self.seconds), format!("--seed={seed}")];
        list.push(format!("--stall={}", self.stall));
        list.extend(self.threads.map(|threads| format!("--threads={threads}")));
        list.extend(self.only.iter().map(|parts| format!("--only={parts}")));
        list.extend(self.hold.then(|| "--hold".to_owned()));
        list
    }

    /// The program ends by itself long before, unless the machine hangs.
    fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds + 4 * self.stall + 60)
    }

    fn command(&self, directory: &Path) -> Result<Command, TestError> {
        let list = arguments(&self.of_program());
        let machine = Hadal::new(self.cpus).cwd(directory).limit(self.limit());
        Ok(match self.place {
            Place::Image => {
                let program: PathBuf = image::build(directory, &STRESS, Way::GccDynamic, &[])?;
                machine.command(&hadal_command()?, &program, &list)
            }
            Place::Run => machine.command(&hadal_command()?, &STRESS.build(Way::GccDynamic)?, &list),
            Place::Linux => {
                let mut command = Command::new(STRESS.build(Way::GccDynamic)?);
                command.args(&list).current_dir(directory);
                command
            }
        })
    }
}

fn stress(options: &Options) -> Result<bool, TestError> {
    let directory = scratch::empty_directory("stress")?;
    let mut command = options.command(&directory)?;
    let line = format!("{command:?}");
    Ok(command.status().map_err(TestError::io(format!("cannot start {line}")))?.success())
}

fn main() -> ExitCode {
    match stress(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hadal-stress: {error}");
            ExitCode::FAILURE
        }
    }
}
