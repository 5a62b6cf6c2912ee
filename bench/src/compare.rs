// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal bench compare`: has a path grown?

use anyhow::{Context, Result, ensure};

use crate::args::CompareArgs;
use crate::goals::number;
use crate::order::Order;
use crate::place::{Place, System};
use crate::results::{Entry, Mode, Results};
use crate::stats::Summary;
use crate::{Environment, runner, table};

/// What a path may grow by.
const TOLERANCE: f64 = 0.02;

/// How a path length compares with the baseline's.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    Grown {
        name: String,
        from: f64,
        to: f64,
    },
    Shrunk {
        name: String,
        from: f64,
        to: f64,
    },
    /// In the baseline, but not measured: as bad as grown.
    Gone {
        name: String,
    },
    /// Measured, but not in the baseline.
    New {
        name: String,
        to: f64,
    },
}

impl Change {
    fn is_failure(&self) -> bool {
        matches!(self, Self::Grown { .. } | Self::Gone { .. })
    }

    fn text(&self) -> String {
        let percent = |from: f64, to: f64| (to / from - 1.0) * 100.0;
        match self {
            Self::Grown { name, from, to } => {
                format!("GROWN   {name}: {} -> {} ({:+.1}%)", number(*from), number(*to), percent(*from, *to))
            }
            Self::Shrunk { name, from, to } => {
                format!("shorter {name}: {} -> {} ({:+.1}%)", number(*from), number(*to), percent(*from, *to))
            }
            Self::Gone { name } => format!("GONE    {name}: not measured any more"),
            Self::New { name, to } => format!("new     {name}: {}", number(*to)),
        }
    }
}

/// Compares, or brings the baseline up to date; returns the status with which to end.
pub(crate) fn run(args: &CompareArgs, environment: &Environment) -> Result<u8> {
    let baseline = match args.update && !args.baseline.exists() {
        true => Results::default(),
        false => Results::read(std::slice::from_ref(&args.baseline))?,
    };
    let results = match &args.results {
        Some(file) => Results::read(std::slice::from_ref(file))?,
        None => measure(args, environment)?,
    };
    check_comparable(&baseline, &results)?;
    let changes = changes(&baseline, &results);
    for change in &changes {
        println!("{}", change.text());
    }
    if args.update {
        let new = Results { results: lengths(&results), ..Results::default() };
        new.write(&args.baseline)?;
        println!("{}: {} path lengths", args.baseline.display(), new.results.len());
        return Ok(0);
    }
    let failures = changes.iter().filter(|change| change.is_failure()).count() + results.failed.len();
    let compared = medians(&baseline).len();
    println!("{compared} path lengths compared, {failures} failed (limit: +{:.0}%)", TOLERANCE * 100.0);
    if failures > 0 {
        println!(
            "If that is meant: `hadal bench compare --update {}`, in the same commit.",
            args.baseline.display()
        );
    }
    Ok(u8::from(failures > 0))
}

/// Few samples may miss what many show.
fn check_comparable(baseline: &Results, results: &Results) -> Result<()> {
    let is_quick = |results: &Results| results.settings.iter().any(|setting| setting.quick);
    ensure!(
        is_quick(baseline) == is_quick(results),
        "one of these is a quick run, the other a full one: measure again without --quick"
    );
    ensure!(
        results.unfinished.is_none(),
        "the run is unfinished: `hadal bench run --resume` goes on with it"
    );
    Ok(())
}

/// Measures what baselines hold.
fn measure(args: &CompareArgs, environment: &Environment) -> Result<Results> {
    let order = Order::exact(&args.machine);
    let results = runner::measure(order, environment).context("cannot measure path lengths")?;
    if !results.failed.is_empty() {
        eprint!("{}", table::text(&results));
    }
    Ok(results)
}

/// What a baseline keeps: Hadal's path lengths without their distribution. Only those of one CPU: with several, how often
/// the idle ones look for work depends on how long the host takes to answer.
fn lengths(results: &Results) -> Vec<Entry> {
    let is_exact = |entry: &&Entry| entry.mode == Mode::Path && entry.cpus == 1 && entry.judged().is_some();
    let path = results.results.iter().filter(is_exact);
    let bare = |entry: &Entry| {
        let summary = |place: &Place| Some((*place, entry.at(*place)?.without_distribution()));
        Entry { places: entry.line_up().baseline.iter().filter_map(summary).collect(), ..entry.clone() }
    };
    path.map(bare).collect()
}

fn changes(baseline: &Results, results: &Results) -> Vec<Change> {
    let mut changes = Vec::new();
    let (old, new) = (medians(baseline), medians(results));
    for (name, from) in &old {
        let (name, from) = (name.clone(), *from);
        match new.iter().find(|(now, _)| *now == name).map(|(_, to)| *to) {
            None => changes.push(Change::Gone { name }),
            Some(to) if to > from * (1.0 + TOLERANCE) => changes.push(Change::Grown { name, from, to }),
            Some(to) if to < from * (1.0 - TOLERANCE) => changes.push(Change::Shrunk { name, from, to }),
            Some(_) => {}
        }
    }
    for (name, to) in new.iter().filter(|(now, _)| !old.iter().any(|(before, _)| before == now)) {
        changes.push(Change::New { name: name.clone(), to: *to });
    }
    changes
}

/// Each length with its name; that of an unmodified program is told from the image's.
fn medians(results: &Results) -> Vec<(String, f64)> {
    let name = |entry: &Entry, place: Place| match place.system() {
        System::Image => entry.name.clone(),
        _ => format!("{} ({})", entry.name, place.way().short),
    };
    let lengths = lengths(results);
    let of = |entry: &Entry| {
        let median = |(place, summary): (&Place, &Summary)| (name(entry, *place), summary.median);
        entry.places.iter().map(median).collect::<Vec<_>>()
    };
    lengths.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::entry;

    fn path(lengths: &[(&str, u32, f64)]) -> Results {
        let entries =
            lengths.iter().map(|(name, cpus, length)| entry(name, Mode::Path, *cpus, &[*length], &[]));
        Results { results: entries.collect(), ..Results::default() }
    }

    #[test]
    fn only_growth_beyond_the_limit_fails() {
        let failed = |from, to| {
            changes(&path(&[("a.b", 1, from)]), &path(&[("a.b", 1, to)])).iter().any(Change::is_failure)
        };
        assert!(!failed(1000.0, 1000.0) && !failed(1000.0, 1020.0) && !failed(1000.0, 500.0));
        assert!(failed(1000.0, 1021.0) && failed(7.0, 8.0));
    }

    #[test]
    fn what_was_not_measured_fails_and_what_is_new_does_not() {
        let baseline = path(&[("a.b", 1, 10.0), ("a.c", 1, 10.0)]);
        let found = changes(&baseline, &path(&[("a.b", 1, 5.0), ("a.d", 1, 3.0)]));
        let text: Vec<String> = found.iter().map(Change::text).collect();
        assert_eq!(text[0], "shorter a.b: 10 -> 5 (-50.0%)");
        assert!(found[1].is_failure() && text[1].starts_with("GONE    a.c"));
        assert!(!found[2].is_failure() && text[2].starts_with("new     a.d"));
    }

    #[test]
    fn only_one_cpu_counts_exactly() {
        let old = path(&[("a.b", 1, 10.0), ("a.b", 2, 20.0)]);
        assert_eq!(changes(&old, &path(&[("a.b", 1, 10.0), ("a.b", 2, 30.0)])), []);
        let grown = changes(&old, &path(&[("a.b", 1, 30.0)]));
        assert_eq!(grown, [Change::Grown { name: "a.b".into(), from: 10.0, to: 30.0 }]);
    }

    #[test]
    fn times_and_distributions_stay_out_of_a_baseline() {
        let mut results = path(&[("a.b", 1, 10.0)]);
        results.results.push(entry("a.b", Mode::Parallel, 2, &[1.0], &[2.0]));
        let kept = lengths(&results);
        assert_eq!(kept.len(), 1);
        assert!(kept[0].at(Place::Hadal).unwrap().quantiles.is_empty());
        assert!(kept[0].at(Place::Linux).is_none());
    }
}
