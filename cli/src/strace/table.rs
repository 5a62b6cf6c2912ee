// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--strace=count`: the counts of a run as a table, in the form people know from `strace -c`.

use hadal_abi::calls::{CallCount, NUMBERS};
use syscalls::Sysno;

const TITLES: &str = "% time     seconds  usecs/call     calls    errors syscall\n";
const RULE: &str = "------ ----------- ----------- --------- --------- ----------------\n";

/// The table, the calls that took longest first. Time is from call to return, waiting included.
pub(crate) fn table(counts: &[CallCount]) -> String {
    let mut sorted = counts.to_vec();
    sorted.sort_by_key(|count| (std::cmp::Reverse((count.time_ns, count.calls)), count.number));
    let total = CallCount {
        number: None,
        calls: counts.iter().map(|count| count.calls).sum(),
        errors: counts.iter().map(|count| count.errors).sum(),
        time_ns: counts.iter().map(|count| count.time_ns).sum(),
    };
    let mut text =
        String::from("hadal: system calls of the run; time from call to return, waiting included\n");
    text += TITLES;
    text += RULE;
    for count in &sorted {
        text += &row(count, total.time_ns, &name(count.number));
    }
    text += RULE;
    text + &row(&total, total.time_ns, "total")
}

fn row(count: &CallCount, total_ns: u64, name: &str) -> String {
    let share = if total_ns == 0 { 0.0 } else { 100.0 * count.time_ns as f64 / total_ns as f64 };
    let seconds = count.time_ns as f64 / 1e9;
    let microseconds_each = count.time_ns / 1000 / count.calls.max(1);
    let errors = if count.errors == 0 { String::new() } else { count.errors.to_string() };
    format!("{share:6.2} {seconds:11.6} {microseconds_each:11} {:9} {errors:>9} {name}\n", count.calls)
}

fn name(number: Option<u16>) -> String {
    match number {
        Some(number) => match Sysno::new(number.into()) {
            Some(call) => call.name().to_owned(),
            None => format!("syscall_{number:#x}"),
        },
        None => format!("(numbers from {NUMBERS})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first_and_the_sum_last() {
        let count = |number, calls, errors, time_ns| CallCount { number, calls, errors, time_ns };
        let counts = [
            count(Some(0), 4, 1, 500_000),
            count(Some(202), 2, 0, 1_500_000_000),
            count(Some(231), 1, 0, 0),
            count(Some(511), 1, 1, 0),
            count(None, 1, 1, 0),
        ];
        let expected = "\
hadal: system calls of the run; time from call to return, waiting included
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 99.97    1.500000      750000         2           futex
  0.03    0.000500         125         4         1 read
  0.00    0.000000           0         1         1 (numbers from 512)
  0.00    0.000000           0         1           exit_group
  0.00    0.000000           0         1         1 syscall_0x1ff
------ ----------- ----------- --------- --------- ----------------
100.00    1.500500      166722         9         3 total
";
        assert_eq!(table(&counts), expected);
    }

    #[test]
    fn a_run_without_calls_has_a_table_too() {
        assert!(table(&[]).ends_with("  0.00    0.000000           0         0           total\n"));
    }
}
