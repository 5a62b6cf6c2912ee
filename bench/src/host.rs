// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the harness needs to know of the machine it runs on.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// Part of the host's CPU time that others may take before times are doubted.
pub(crate) const DISTURBING_PART: f64 = 0.05;

/// Ticks of `/proc` that the difference of two readings may be wrong by: a turn of a native program is only a few ticks long.
const ROUNDING_TICKS: u64 = 2;

/// CPUs that this process may use.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Runnable processes, averaged over the last minute.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// What happened on the host during a turn besides the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HostUse {
    /// Load average of the last minute, at the end.
    pub(crate) load: f64,
    /// Part of all CPU time that other processes used, 0 to 1.
    pub(crate) others: f64,
    /// Part of all CPU time that the hypervisor below the host gave to others, 0 to 1.
    pub(crate) steal: f64,
}

impl HostUse {
    /// Whether others took more than [`DISTURBING_PART`].
    pub(crate) fn is_disturbing(self) -> bool {
        self.others + self.steal > DISTURBING_PART
    }

    /// The worse of two, number by number.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            load: self.load.max(other.load),
            others: self.others.max(other.others),
            steal: self.steal.max(other.steal),
        }
    }
}

/// CPU time by who used it since the host started, in ticks of the clock of /proc, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CpuTimes {
    total: u64,
    /// Running something, in all processes, the kernel and interrupts.
    busy: u64,
    steal: u64,
    /// Of `busy`, what this process and the children that it has waited for used.
    own: u64,
}

impl CpuTimes {
    fn now() -> Self {
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        Self::parse(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    /// From the texts of `/proc/stat` and `/proc/self/stat` (proc(5)).
    fn parse(all: &str, own: &str) -> Self {
        let numbers = |text: &str| -> Vec<u64> {
            text.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect()
        };
        // user nice system idle iowait irq softirq steal; what guests used is part of user.
        let all = numbers(all.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or(""));
        let sum = |places: &[usize]| places.iter().filter_map(|place| all.get(*place)).sum();
        // The command's name, which may hold anything, ends at the last bracket: field 2. utime, stime, cutime and cstime
        // are fields 14 to 17.
        let own = numbers(own.rsplit_once(')').map_or("", |(_, fields)| fields));
        Self {
            total: sum(&[0, 1, 2, 3, 4, 5, 6, 7]),
            busy: sum(&[0, 1, 2, 5, 6]),
            steal: sum(&[7]),
            own: own.iter().skip(11).take(4).sum(),
        }
    }

    /// What happened since `start`; parts are 0 where nothing is known.
    fn since(self, start: Self, load: f64) -> HostUse {
        let total = self.total.saturating_sub(start.total).max(1) as f64;
        let busy = self.busy.saturating_sub(start.busy);
        let own = self.own.saturating_sub(start.own);
        let part = |ticks: u64| (ticks as f64 / total * 1000.0).round() / 1000.0;
        HostUse {
            load,
            others: part(busy.saturating_sub(own).saturating_sub(ROUNDING_TICKS)),
            steal: part(self.steal.saturating_sub(start.steal)),
        }
    }
}

/// Watches the host during a turn. The children of the turn must have been waited for at the end.
#[derive(Debug)]
pub(crate) struct Watch(CpuTimes);

impl Watch {
    /// Begins.
    pub(crate) fn start() -> Self {
        Self(CpuTimes::now())
    }

    /// What happened since.
    pub(crate) fn end(&self) -> HostUse {
        CpuTimes::now().since(self.0, load())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_use_is_told_from_the_own() {
        let start = CpuTimes::parse(
            "cpu  100 0 50 800 10 1 2 0 0 0\ncpu0 1\n",
            "7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 5 5 20 10 0",
        );
        assert_eq!(start, CpuTimes { total: 963, busy: 153, steal: 0, own: 40 });
        let end = CpuTimes::parse(
            "cpu  180 0 70 880 10 1 2 20 0 0\n",
            "7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 15 5 70 20 0",
        );
        let used = end.since(start, 1.5);
        assert_eq!(used, HostUse { load: 1.5, others: 0.14, steal: 0.1 });
        assert!(used.is_disturbing());
        assert!(!HostUse { load: 9.0, others: 0.03, steal: 0.02 }.is_disturbing());
    }

    #[test]
    fn a_tick_of_a_turn_of_a_few_is_nobody_elses() {
        let start = CpuTimes { total: 100, busy: 50, steal: 0, own: 50 };
        let end = CpuTimes { total: 105, busy: 54, steal: 0, own: 52 };
        assert_eq!(end.since(start, 0.0), HostUse::default());
    }

    #[test]
    fn of_two_turns_the_worse_counts() {
        let a = HostUse { load: 1.0, others: 0.5, steal: 0.0 };
        let b = HostUse { load: 2.0, others: 0.1, steal: 0.2 };
        assert_eq!(a.worse(b), HostUse { load: 2.0, others: 0.5, steal: 0.2 });
    }

    #[test]
    fn a_host_without_these_files_is_quiet() {
        let nothing = CpuTimes::parse("", "");
        assert_eq!(nothing.since(nothing, 0.0), HostUse::default());
    }
}
