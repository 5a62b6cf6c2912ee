// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machines with more CPUs than their host has cores: what waits there rests, and teams get on.

use std::path::Path;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, wrong};
use hadal_tests::machine::{Hadal, arguments, hadal_command};
use hadal_tests::programs::{CROWDED, SPINNERS};
use hadal_tests::{TestError, Way, run, scratch};

use crate::suite::Suite;

const PARTS: [&str; 4] = ["fib", "sort", "ordered", "copyprivate"];

pub(crate) fn register(suite: &mut Suite) {
    for (library, way) in [("libgomp", Way::GccDynamic), ("libomp", Way::ClangDynamic)] {
        for cpus in [4, 8, 16] {
            suite.compare(format!("crowded/{library}/{cpus}cpus"), &CROWDED, way, cpus, |case| {
                case.args(&PARTS)
                    .env("OMP_NUM_THREADS", cpus.to_string())
                    .env("OMP_WAIT_POLICY", "passive")
                    .limit_s(60)
            });
        }
        suite.compare(format!("crowded/{library}/active"), &CROWDED, way, 4, |case| {
            case.args(&PARTS).env("OMP_NUM_THREADS", "4").env("OMP_WAIT_POLICY", "active").limit_s(120)
        });
    }
    suite.hadal("crowded/spinners-rest", spinners_rest);
    suite.hadal("crowded/passive-by-default", passive_by_default);
}

fn host_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Threads that wait for each other with PAUSE make their CPUs rest where there are too few cores.
fn spinners_rest(name: &str) -> Result<(), TestError> {
    const RESTS: &str = "rests of spinning CPUs, for want of host cores";
    let directory = scratch::empty_directory(name)?;
    let cpus = (2 * host_cores()).clamp(4, 64);
    let hadal = Hadal::new(cpus as u32).option("--stats").cwd(&directory).limit(Duration::from_secs(120));
    let count = cpus.to_string();
    let outcome = hadal.run(&SPINNERS.build(Way::GccDynamic)?, &arguments(&[&count, "300"]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &format!("the turn went 300 times through {cpus} hands\n"))?;
    let text = outcome.stderr_text();
    let rests = text.lines().find_map(|line| line.trim().strip_prefix(RESTS)?.trim().parse::<u64>().ok());
    match rests {
        None => Err(wrong("the counters do not tell how often CPUs have rested", &outcome)),
        Some(0) if cpus > host_cores() => Err(wrong("no CPU has rested", &outcome)),
        Some(_) => Ok(()),
    }
}

/// What a program's run-time is told about waiting, when the user says nothing, and when the user does.
fn passive_by_default(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let crowded = (host_cores() + 1).to_string();
    let policy = |cpus: &str, own: Option<&str>| {
        let mut command = std::process::Command::new(hadal_command()?);
        command.args(["run", "--cpus", cpus, "--timeout", "60"]).current_dir(&directory);
        command.args([Path::new("/bin/sh"), Path::new("-c")]).arg("echo ${OMP_WAIT_POLICY-unset}");
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "HOME"));
        command.envs(own.map(|own| ("OMP_WAIT_POLICY", own)));
        run::run(command, b"", Duration::from_secs(90))
    };
    expect_stdout(&policy("1", None)?, "unset\n")?;
    expect_stdout(&policy(&crowded, None)?, "passive\n")?;
    expect_stdout(&policy(&crowded, Some("active"))?, "active\n")
}
