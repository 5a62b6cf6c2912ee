// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--stats`: the counters of a run as text.

use hadal_abi::control::Stats;

/// Counters as lines, the numbers right-aligned.
pub(crate) fn table(stats: &Stats) -> String {
    let name_width = stats.counters.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let value_width = stats.counters.iter().map(|(_, value)| value.to_string().len()).max().unwrap_or(0);
    let line = |(name, value): &(String, u64)| format!("  {name:name_width$}  {value:>value_width$}\n");
    let lines: String = stats.counters.iter().map(line).collect();
    format!("hadal: counters of the run\n{lines}")
}

/// A column for each CPU.
pub(crate) fn cpu_table(stats: &Stats) -> String {
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
    fn cpus_are_columns() {
        let by_cpu = vec![("system calls".into(), vec![1_234_567, 1]), ("ipis".into(), vec![0, 22])];
        let stats = Stats { counters: Vec::new(), by_cpu };
        assert_eq!(
            cpu_table(&stats),
            "                  CPU 0  CPU 1\n  system calls  1234567      1\n  ipis                0     22\n"
        );
    }
}
