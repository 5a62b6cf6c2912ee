// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compute-bound OpenMP: the time that `examples/heat` measures of itself, which leaves out every start and end.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::catalogue::Shape;
use crate::hadal::{self, Hadal};
use crate::initramfs::Init;
use crate::linux::Guest;
use crate::native;
use crate::packages::Linux;
use crate::place::{Place, System};
use crate::protocol::Line;
use crate::results::Mode;
use crate::timed;
use crate::toolchain::Toolchain;

/// Points along an edge, and steps.
const SIZE: [&str; 2] = ["256", "1000"];

/// For a run on the host.
const NATIVE_LIMIT: Duration = Duration::from_secs(120);

/// One run.
pub(crate) fn time(
    hadal: &Hadal,
    toolchain: &Toolchain,
    linux: Option<&Linux>,
    place: Place,
    shape: Shape,
) -> Result<Vec<Line>> {
    let program = toolchain.compile("heat", "examples/heat/heat.c", &["-fopenmp", "-lm"])?;
    let program = program.with_args(SIZE.map(str::to_owned));
    let ended = match place.system() {
        System::Image | System::Pik | System::Isolated => {
            hadal::checked(hadal.run(Mode::Parallel, shape, &[], &program.words())?)?
        }
        System::Host => timed::run(&mut native::command(&program, toolchain.programs()), NATIVE_LIMIT)?,
        System::Guest => {
            let linux = linux.context("the Linux guest was not asked for")?;
            let line = hadal.qemu_line(Mode::Parallel, shape)?;
            Guest::new(linux, &line, "", Init::Mounts, std::slice::from_ref(&program))?.run()?
        }
    };
    let threads = value_of(&ended.stdout, "threads")?;
    ensure!(threads == f64::from(shape.cpus) || place == Place::Native, "it ran on {threads} threads");
    Ok(vec![Line {
        name: "openmp.heat".to_owned(),
        unit: "ns".to_owned(),
        cpus: shape.cpus,
        samples: vec![value_of(&ended.stdout, "time")? * 1e9],
        overhead: 0.0,
        answer: None,
        skipped: None,
    }])
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
