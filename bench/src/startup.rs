// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Wall time from command to exit of a dynamic hello.

use anyhow::{Result, ensure};

use crate::figures::{Figure, Goal, Samples, Unit};
use crate::hadal::Hadal;
use crate::linux::Guest;
use crate::packages::Linux;
use crate::programs::Program;

const GREETING: &str = "hello\n";
/// Most that Hadal may take of Linux's time.
const GOAL_RATIO: f64 = 0.25;

pub(crate) fn measure(hadal: &Hadal, linux: &Linux, runs: u32) -> Result<Figure> {
    let hello = Program::compile("hello", "bench/programs/hello.c", &[])?;
    let guest = Guest::new(hadal, linux, &hello)?;
    // The first run of each fills the host's file cache and is not counted.
    hadal.run(&[], &hello.words())?;
    guest.run()?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for run in 1..=runs {
        let ended = hadal.run(&[], &hello.words())?;
        ensure!(ended.stdout == GREETING, "hello printed {:?} on Hadal", ended.stdout);
        ours.push(ended.cost.wall_seconds, ended.cost);
        let linux_ended = guest.run()?;
        ensure!(
            linux_ended.stdout.contains(GREETING),
            "hello printed nothing on Linux: {}",
            linux_ended.stdout
        );
        theirs.push(linux_ended.cost.wall_seconds, linux_ended.cost);
        eprintln!(
            "startup {run}/{runs}: Hadal {:.3} s, Linux {:.3} s",
            ended.cost.wall_seconds, linux_ended.cost.wall_seconds
        );
    }
    Ok(Figure {
        name: "startup: dynamic hello, command to exit".to_owned(),
        unit: Unit::Seconds,
        hadal: ours,
        linux: Some(theirs),
        goal: Goal::Ratio(GOAL_RATIO),
    })
}
