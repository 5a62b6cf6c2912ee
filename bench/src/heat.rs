// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compute-bound OpenMP: the time that `examples/heat` measures of itself, which leaves out every start and
//! end.

use anyhow::{Context, Result, ensure};

use crate::figures::{Figure, Goal, Samples, Unit};
use crate::hadal::Hadal;
use crate::linux::Guest;
use crate::packages::Linux;
use crate::programs::Program;

/// Hadal is not to be slower.
const GOAL_RATIO: f64 = 1.0;

pub(crate) fn measure(hadal: &Hadal, linux: &Linux, runs: u32, (size, steps): (u32, u32)) -> Result<Figure> {
    let heat = Program::compile("heat", "examples/heat/heat.c", &["-fopenmp", "-lm"])?
        .with_args([size.to_string(), steps.to_string()]);
    let guest = Guest::new(hadal, linux, &heat)?;
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    for run in 1..=runs {
        let ended = hadal.run(&[], &heat.words())?;
        let linux_ended = guest.run()?;
        let (here, there) = (value_of(&ended.stdout, "time")?, value_of(&linux_ended.stdout, "time")?);
        let results = [&ended, &linux_ended].map(|ended| value_of(&ended.stdout, "mean"));
        ensure!(results[0].as_ref().ok() == results[1].as_ref().ok(), "the results differ: {results:?}");
        ours.push(here, ended.cost);
        theirs.push(there, linux_ended.cost);
        eprintln!("heat {run}/{runs}: Hadal {here:.3} s, Linux {there:.3} s");
    }
    Ok(Figure {
        name: format!("heat {size} {steps}: time of the program itself"),
        unit: Unit::Seconds,
        hadal: ours,
        linux: Some(theirs),
        goal: Goal::Ratio(GOAL_RATIO),
    })
}

/// The number in the line of this name.
fn value_of(output: &str, name: &str) -> Result<f64> {
    let line = output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("heat printed no line '{name}':\n{output}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_by_name() {
        let text = "threads        2\ntime           1.250 s\n";
        assert_eq!(super::value_of(text, "time").unwrap(), 1.25);
        assert!(super::value_of(text, "mean").is_err());
    }
}
