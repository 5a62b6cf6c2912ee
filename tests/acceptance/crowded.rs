// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Machines with more CPUs than their host has cores: what waits there rests, and teams get on.

use std::path::Path;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, wrong};
use hadal_tests::machine::{Hadal, arguments, hadal_command};
use hadal_tests::programs::{CROWDED, HANDED, SPINNERS};
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
    suite.hadal("crowded/spinners-rest", |name| spinners(name, &["pause", "bound"], RESTS));
    for way in ["pause", "yield"] {
        suite.hadal(format!("crowded/spinners-move/{way}"), move |name| spinners(name, &[way], MOVES));
    }
    // Elsewhere there is always a core left.
    if too_many_cpus() > host_cores() {
        suite.hadal("crowded/handed-on", handed_on);
    }
    suite.hadal("crowded/passive-by-default", passive_by_default);
}

fn host_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

const RESTS: &str = "rests of spinning CPUs, for want of host cores";
const MOVES: &str = "moves of waiting threads to busy CPUs, likewise";

/// More CPUs than the host has cores.
fn too_many_cpus() -> usize {
    (2 * host_cores()).clamp(4, 64)
}

/// Threads that wait for each other in a loop: those that must stay where they are make their CPUs rest where there are too
/// few cores, others go where they can give way.
fn spinners(name: &str, words: &[&str], counter: &str) -> Result<(), TestError> {
    let cpus = too_many_cpus();
    let count = cpus.to_string();
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(cpus as u32).option("--stats").cwd(&directory).limit(Duration::from_secs(120));
    let words = [&[count.as_str(), "300"], words].concat();
    let outcome = hadal.run(&SPINNERS.build(Way::GccDynamic)?, &arguments(&words))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &format!("the turn went 300 times through {cpus} hands\n"))?;
    let text = outcome.stderr_text();
    let counted = text.lines().find_map(|line| line.trim().strip_prefix(counter)?.trim().parse::<u64>().ok());
    match counted {
        None => Err(wrong(&format!("the counters do not tell {counter:?}"), &outcome)),
        Some(0) if cpus > host_cores() => Err(wrong(&format!("no {counter}"), &outcome)),
        Some(_) => Ok(()),
    }
}

/// A thread that is woken by one that sleeps then runs on that one's CPU, if the host has no core for another.
fn handed_on(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(too_many_cpus() as u32).cwd(&directory).limit(Duration::from_secs(120));
    let outcome = hadal.run(&HANDED.build(Way::GccDynamic)?, &arguments(&[&host_cores().to_string()]))?;
    expect_status(&outcome, 0)?;
    let text = outcome.stdout_text();
    let on_own = text.trim().strip_suffix(" of 50").and_then(|count| count.parse::<u32>().ok());
    // Another one only if the host stops a CPU for the length of a slice.
    match on_own {
        Some(25..) => Ok(()),
        _ => Err(wrong("woken threads did not run on the waker's CPU", &outcome)),
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
