// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The figures to reach, and whether they are.

use crate::results::{Entry, Mode, Results};

/// When a figure is good enough. All are about medians.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// At most this.
    AtMost(f64),
    /// At most this on one CPU, and so much more for each further one.
    PerCpu(f64, f64),
    /// At least so many times better than the Linux guest.
    TimesBetter(f64),
    /// At most so many times another figure of Hadal's in the same run.
    TimesOther(f64, &'static str),
}

use Bound::{AtMost, PerCpu, TimesBetter, TimesOther};
use Mode::{Parallel, Path};

const GOALS: &[(&str, Mode, Bound)] = &[
    ("thread.create", Path, AtMost(700.0)),
    ("thread.create_bare", Path, AtMost(400.0)),
    ("thread.create_tls", Path, AtMost(300.0)),
    ("thread.create_join", Path, AtMost(1100.0)),
    ("thread.create_join_bare", Path, AtMost(800.0)),
    ("thread.fork_join", Path, AtMost(800.0)),
    ("thread.yield", Path, AtMost(80.0)),
    ("thread.yield_fpu", Path, AtMost(150.0)),
    ("sync.spin", Path, AtMost(7.0)),
    ("sync.mutex", Path, AtMost(20.0)),
    ("task.submit", Path, AtMost(150.0)),
    ("fiber.switch", Path, AtMost(40.0)),
    ("syscall.getppid", Path, AtMost(120.0)),
    ("boot.entry_to_main", Path, PerCpu(3e6, 3e5)),
    ("boot.time", Parallel, TimesBetter(4.0)),
    ("openmp.heat", Parallel, TimesBetter(1.0)),
    ("event.notify", Parallel, TimesOther(1.15, "event.ipi")),
    ("event.condvar_polling", Parallel, TimesBetter(8.0)),
    ("event.broadcast_last", Parallel, TimesBetter(3.0)),
    ("event.broadcast_spread", Parallel, TimesBetter(3.0)),
    ("memory.alloc_scaling", Parallel, AtMost(1.2)),
];

/// What came of a goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The goal, in words.
    pub(crate) goal: String,
    pub(crate) is_met: bool,
}

/// Judges a figure, if there is a goal for it and what the goal refers to was measured.
pub(crate) fn judge(entry: &Entry, all: &Results) -> Option<Verdict> {
    let is_meant = |goal: &&(&str, Mode, Bound)| (goal.0, goal.1) == (entry.name.as_str(), entry.mode);
    GOALS.iter().find(is_meant)?.2.judge(entry, all)
}

impl Bound {
    fn judge(self, entry: &Entry, all: &Results) -> Option<Verdict> {
        let median = entry.judged()?.median;
        let (goal, is_met) = match self {
            AtMost(most) => (format!("<= {}", number(most)), median <= most),
            PerCpu(one, more) => {
                let most = one + more * f64::from(entry.cpus - 1);
                (format!("<= {}", number(most)), median <= most)
            }
            TimesBetter(times) => {
                let linux = entry.linux.as_ref()?.median;
                (format!("<= Linux / {}", number(times)), median <= linux / times)
            }
            TimesOther(times, other) => {
                let reference = all.find(other, entry.mode, Some(entry.cpus))?.judged()?.median;
                (format!("<= {times} x {other}"), median <= reference * times)
            }
        };
        Some(Verdict { goal, is_met })
    }
}

/// A value with its unit where that is not told elsewhere: long times are easier to read so.
pub(crate) fn show(value: f64, unit: &str) -> String {
    match (unit, value.abs()) {
        ("ns", size) if size >= 1e9 => format!("{} s", number(value / 1e9)),
        ("ns", size) if size >= 1e6 => format!("{} ms", number(value / 1e6)),
        ("ns", size) if size >= 1e4 => format!("{} us", number(value / 1e3)),
        _ => number(value),
    }
}

/// How many times better, as `55x`.
pub(crate) fn times(factor: f64) -> String {
    match factor {
        factor if factor >= 9.95 => format!("{factor:.0}x"),
        factor if factor >= 0.0995 => format!("{factor:.1}x"),
        factor => format!("{factor:.2}x"),
    }
}

/// A number with as many digits as say something.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if value.fract() == 0.0 || size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    let (whole, fraction) =
        text.split_once('.').map_or((text.as_str(), String::new()), |(w, f)| (w, format!(".{f}")));
    let sign_length = usize::from(whole.starts_with('-'));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if index > sign_length && left % 3 == 0 && whole.len() - sign_length > 4 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + &fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::results::tests::entry;

    fn is_met(bound: Bound, entries: Vec<Entry>) -> Option<bool> {
        let all = Results { results: entries, ..Results::default() };
        bound.judge(&all.results[0], &all).map(|verdict| verdict.is_met)
    }

    #[test]
    fn every_goal_is_about_a_benchmark() {
        for (name, mode, _) in GOALS {
            let benchmark = catalogue::BENCHMARKS.get(catalogue::rank(name));
            let benchmark = benchmark.unwrap_or_else(|| panic!("{name} is no benchmark"));
            assert!(!benchmark.shapes(*mode, 2).is_empty(), "{name} has no mode {}", mode.name());
        }
    }

    #[test]
    fn goals_are_judged_by_medians() {
        let path = |cpus, hadal: &[f64]| vec![entry("a.b", Path, cpus, hadal, &[])];
        assert_eq!(is_met(AtMost(7.0), path(1, &[7.0, 7.0, 900.0])), Some(true));
        assert_eq!(is_met(AtMost(7.0), path(1, &[8.0])), Some(false));
        assert_eq!(is_met(AtMost(7.0), path(1, &[])), None);
        assert_eq!(is_met(PerCpu(3e6, 3e5), path(8, &[5e6])), Some(true));
        assert_eq!(is_met(PerCpu(3e6, 3e5), path(2, &[5e6])), Some(false));
        let beside = |linux: &[f64]| vec![entry("a.b", Parallel, 2, &[10.0], linux)];
        assert_eq!(is_met(TimesBetter(8.0), beside(&[79.0])), Some(false));
        assert_eq!(is_met(TimesBetter(8.0), beside(&[80.0])), Some(true));
        assert_eq!(is_met(TimesBetter(8.0), beside(&[])), None);
    }

    #[test]
    fn some_goals_are_other_figures_on_as_many_cpus() {
        let bound = TimesOther(1.15, "a.ipi");
        let with_ipi = |cpus, median| {
            vec![entry("a.b", Parallel, 2, &[median], &[]), entry("a.ipi", Parallel, cpus, &[100.0], &[])]
        };
        assert_eq!(is_met(bound, with_ipi(2, 114.0)), Some(true));
        assert_eq!(is_met(bound, with_ipi(2, 116.0)), Some(false));
        assert_eq!(is_met(bound, with_ipi(4, 114.0)), None);
    }

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!([7.0, 1234.0, 42200.4, 1_900_000.0].map(number), ["7", "1234", "42,200", "1,900,000"]);
        assert_eq!(
            [(2.5e6, "ns"), (1.5e9, "ns"), (2.5e6, "instructions")].map(|(v, u)| show(v, u)),
            ["2.50 ms", "1.50 s", "2,500,000"]
        );
        assert_eq!([7.25, 123.456, -12345.0, 0.0].map(number), ["7.25", "123.5", "-12,345", "0"]);
    }
}
