// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--stats` and `--stats-file`: the counters of a run as text and as JSON.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hadal_abi::control::Stats;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::args::StatsChoice;
use crate::failure::Failure;

/// Version of the JSON document; it grows when a member changes its meaning or goes.
const FORMAT: u32 = 1;

/// The counters in the form that was asked for.
pub(crate) fn text(stats: &Stats, choice: StatsChoice) -> Result<String> {
    Ok(match choice {
        StatsChoice::All => table(stats),
        StatsChoice::Cpu => table(stats) + &cpu_table(stats),
        StatsChoice::Json => json(stats)?,
    })
}

/// The file of `--stats-file`.
#[derive(Debug)]
pub(crate) struct StatsFile {
    file: File,
    path: PathBuf,
}

impl StatsFile {
    /// Makes the file, so that one that cannot be written is known before the run.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            Failure::setup(
                format!("--stats-file {}: {error}", path.display()),
                "name a file in a directory that you may write to",
            )
        })?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Writes the counters, or says that there are none.
    pub(crate) fn write(mut self, stats: Option<&Stats>) -> Result<()> {
        let path = self.path.display();
        match stats {
            Some(stats) => self
                .file
                .write_all(json(stats)?.as_bytes())
                .with_context(|| format!("cannot write {path}"))?,
            None => eprintln!("hadal: {path}: the machine ended without sending its counters"),
        }
        Ok(())
    }
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    counters: Counters<'a>,
}

/// An object with a member for each counter, in their order.
struct Counters<'a>(&'a Stats);

#[derive(Serialize)]
struct Counter<'a> {
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_cpu: Option<&'a Vec<u64>>,
}

impl Serialize for Counters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Stats { counters, by_cpu } = self.0;
        let by_cpu: HashMap<&str, &Vec<u64>> =
            by_cpu.iter().map(|(name, values)| (name.as_str(), values)).collect();
        let mut map = serializer.serialize_map(Some(counters.len()))?;
        for (name, total) in counters {
            let counter = Counter { total: *total, by_cpu: by_cpu.get(name.as_str()).copied() };
            map.serialize_entry(name, &counter)?;
        }
        map.end()
    }
}

/// One line of JSON.
fn json(stats: &Stats) -> Result<String> {
    let document = Document { format: FORMAT, counters: Counters(stats) };
    Ok(serde_json::to_string(&document).context("the counters cannot be written as JSON")? + "\n")
}

/// Counters as lines, the numbers right-aligned.
fn table(stats: &Stats) -> String {
    let name_width = stats.counters.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let value_width = stats.counters.iter().map(|(_, value)| value.to_string().len()).max().unwrap_or(0);
    let line = |(name, value): &(String, u64)| format!("  {name:name_width$}  {value:>value_width$}\n");
    let lines: String = stats.counters.iter().map(line).collect();
    format!("hadal: counters of the run\n{lines}")
}

/// A column for each CPU.
fn cpu_table(stats: &Stats) -> String {
    let name_width = stats.by_cpu.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let cpus = stats.by_cpu.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let titles: Vec<String> = (0..cpus).map(|cpu| format!("CPU {cpu}")).collect();
    let width = |cpu: usize| {
        let values = stats.by_cpu.iter().filter_map(|(_, values)| values.get(cpu));
        values.map(|value| value.to_string().len()).max().unwrap_or(0).max(titles[cpu].len())
    };
    let widths: Vec<usize> = (0..cpus).map(width).collect();
    let row = |name: &str, values: &[String]| {
        let columns: String =
            values.iter().zip(&widths).map(|(value, width)| format!("  {value:>width$}")).collect();
        format!("  {name:name_width$}{columns}\n")
    };
    let mut text = row("", &titles);
    for (name, values) in &stats.by_cpu {
        text += &row(name, &values.iter().map(u64::to_string).collect::<Vec<_>>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_aligned() {
        let counters = vec![("system calls".into(), 12_345), ("ipis".into(), 7)];
        let stats = Stats { counters, by_cpu: Vec::new() };
        assert_eq!(
            table(&stats),
            "hadal: counters of the run\n  system calls  12345\n  ipis              7\n"
        );
    }

    #[test]
    fn json_has_totals_and_cpus_in_order() {
        let counters = vec![("b \"x\"".into(), 7), ("a, bytes".into(), u64::MAX)];
        let stats = Stats { counters, by_cpu: vec![("b \"x\"".into(), vec![3, 4])] };
        assert_eq!(
            json(&stats).unwrap(),
            "{\"format\":1,\"counters\":{\"b \\\"x\\\"\":{\"total\":7,\"by_cpu\":[3,4]},\
             \"a, bytes\":{\"total\":18446744073709551615}}}\n"
        );
    }

    #[test]
    fn cpus_are_columns() {
        let by_cpu = vec![("system calls".into(), vec![1_234_567, 1]), ("ipis".into(), vec![0, 22])];
        let stats = Stats { counters: Vec::new(), by_cpu };
        assert_eq!(
            cpu_table(&stats),
            "                  CPU 0  CPU 1\n  system calls  1234567      1\n  ipis                0     22\n"
        );
    }
}
