// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the harness needs to know of the machine it runs on.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Parts of a core that may be busy before times are doubted.
const BUSY_LOAD_PER_CORE: f64 = 0.3;

/// CPUs that this process may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Runnable processes, averaged over the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Whether something else runs that would be measured with the benchmark.
pub(crate) fn is_busy(load: f64) -> bool {
    load > BUSY_LOAD_PER_CORE * f64::from(cores())
}

/// The first line that a command prints when asked with one option.
pub(crate) fn first_line_of(command: &Path, option: &str) -> Result<String> {
    let output = Command::new(command).arg(option).output();
    let output = output.with_context(|| format!("cannot run {}", command.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("").to_owned())
}

/// Runs a tool to its end; what it says is shown only when it fails.
pub(crate) fn run_tool(command: &mut Command, remedy: &str) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}: {remedy}"))?;
    ensure!(
        output.status.success(),
        "{name} failed ({}); {remedy}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
