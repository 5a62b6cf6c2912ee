// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-bench`: the figures of Hadal that are published, each measured beside its peer in the same run.
//!
//! [`startup`], [`path`] and [`heat`] are the figures; [`hadal`] runs the command, [`linux`] boots the peer
//! on the same machine, [`timed`] runs either to its end, [`figures`] makes the table and the file of
//! results. To count instructions the `hadal` command runs this program in place of QEMU
//! ([`path::become_qemu_if_asked`]).
#![forbid(unsafe_code)]

mod figures;
mod hadal;
mod heat;
mod host;
mod initramfs;
mod linux;
mod packages;
mod path;
mod programs;
mod startup;
mod timed;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use figures::{Figure, Results};
use hadal::Hadal;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Wall time of a dynamic hello: `hadal run` against booting Linux with it
    Startup,
    /// Instructions from kernel entry to the program's first instruction
    Path,
    /// Compute-bound OpenMP on two CPUs: time that the program itself measures
    Heat,
}

/// Measures Hadal beside a Linux guest on the same QEMU machine.
#[derive(Debug, Parser)]
#[command(name = "hadal-bench", after_help = AFTER_HELP)]
struct Args {
    /// What to measure [default: everything]
    what: Vec<What>,
    /// Runs of each kind, alternating
    #[arg(short = 'n', long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The hadal command [default: target/release/hadal]
    #[arg(long, env = "HADAL", value_name = "PATH")]
    hadal: Option<PathBuf>,
    /// QEMU command, for both sides
    #[arg(long, default_value = "qemu-system-x86_64", value_name = "PATH")]
    qemu: PathBuf,
    /// How QEMU executes both guests: tcg, kvm or auto
    #[arg(long, default_value = "tcg")]
    accel: String,
    /// Memory of both machines
    #[arg(long, default_value = "2G")]
    memory: String,
    /// CPUs of both machines (`path` always counts on one)
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    cpus: u32,
    /// Points along the edge of the plate of `heat`
    #[arg(long, default_value_t = 256)]
    heat_size: u32,
    /// Steps of `heat`
    #[arg(long, default_value_t = 2000)]
    heat_steps: u32,
    /// Where the results go besides the table [default: target/hadal-bench/results.json]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  hadal-bench                          everything, 15 runs of each
  hadal-bench startup -n 5             one figure, quickly
  hadal-bench heat --heat-steps 500

The Linux guest is Debian's cloud kernel with busybox; both packages are downloaded once with apt-get into
target/hadal-bench/linux. Times are worth something on a machine that does nothing else.";

fn main() -> ExitCode {
    if let Some(error) = path::become_qemu_if_asked() {
        eprintln!("hadal-bench: cannot run QEMU: {error}");
        return ExitCode::FAILURE;
    }
    match run(&Args::parse()) {
        Ok(met) => {
            if met {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(2)
            }
        }
        Err(error) => {
            eprintln!("hadal-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and reports; returns whether every goal was met.
fn run(args: &Args) -> Result<bool> {
    let hadal = Hadal::new(args)?;
    let wanted = |what| args.what.is_empty() || args.what.contains(&what);
    let load_before = host::load();
    if load_before > 0.3 * f64::from(host::cores()) {
        eprintln!("This machine is busy (load {load_before:.1}): wall times are not to be trusted.");
    }
    let linux = match wanted(What::Startup) || wanted(What::Heat) {
        true => Some(packages::linux()?),
        false => None,
    };
    let mut figures: Vec<Figure> = Vec::new();
    if let Some(linux) = linux.as_ref().filter(|_| wanted(What::Startup)) {
        figures.push(startup::measure(&hadal, linux, args.runs)?);
    }
    if wanted(What::Path) {
        figures.extend(path::measure(&hadal, args.runs.min(path::ENOUGH_RUNS))?);
    }
    if let Some(linux) = linux.as_ref().filter(|_| wanted(What::Heat)) {
        figures.push(heat::measure(&hadal, linux, args.runs, (args.heat_size, args.heat_steps))?);
    }
    let results = Results {
        machine: hadal.machine_line()?,
        linux: linux.map(|linux| linux.describe()),
        qemu: host::first_line_of(&args.qemu, "--version")?,
        host_cores: host::cores(),
        load_before,
        load_after: host::load(),
        figures,
    };
    print!("{}", results.table());
    let file = args.json.clone().unwrap_or_else(|| host::work_dir().join("results.json"));
    std::fs::write(&file, results.json()?).with_context(|| format!("cannot write {}", file.display()))?;
    println!("All samples: {}", file.display());
    Ok(results.figures.iter().all(Figure::is_met))
}
