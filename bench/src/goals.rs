// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The figures to reach, and whether they are.

use crate::catalogue::languages::ALONE;
use crate::place::Place;
use crate::results::{Entry, Mode, Results};

/// When a figure is good enough. All are about medians.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// At most this.
    AtMost(f64),
    /// At most this on one CPU, and so much more for each further one.
    PerCpu(f64, f64),
    /// At least so many times better than the Linux guest; with OpenMP, than the best of its run-times.
    TimesBetter(f64),
    /// The unmodified program on Hadal is at least so many times better than in the Linux guest.
    UnmodifiedTimesBetter(f64),
    /// The unmodified program in ring 3 needs at most this.
    IsolatedAtMost(f64),
    /// At most this part of the best of Linux' run-times on the host.
    NativePart(f64),
    /// On the host at least so many times better with two CPUs than with one.
    SpeedUp(f64),
    /// On the host at most this part of what NESL 3.1 takes.
    Nesl31Part(f64),
    /// At most so many times another figure of Hadal's in the same run.
    TimesOther(f64, &'static str),
}

use Bound::{
    AtMost, IsolatedAtMost, NativePart, Nesl31Part, PerCpu, SpeedUp, TimesBetter, TimesOther,
    UnmodifiedTimesBetter,
};
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
    ("syscall.getppid", Path, IsolatedAtMost(180.0)),
    ("mmap.first_touch", Path, AtMost(1500.0)),
    ("process.fork", Path, UnmodifiedTimesBetter(2.0)),
    ("process.fork_1g", Path, UnmodifiedTimesBetter(2.0)),
    ("process.fork_exec", Path, UnmodifiedTimesBetter(2.0)),
    ("process.spawn", Path, UnmodifiedTimesBetter(2.0)),
    ("process.ping_pong", Path, UnmodifiedTimesBetter(2.0)),
    ("process.signal", Path, UnmodifiedTimesBetter(2.0)),
    ("process.switch", Path, UnmodifiedTimesBetter(2.0)),
    ("boot.entry_to_main", Path, PerCpu(3e6, 3e5)),
    ("boot.time", Parallel, TimesBetter(4.0)),
    ("openmp.heat", Parallel, TimesBetter(1.0)),
    ("event.notify", Parallel, TimesOther(1.15, "event.ipi")),
    ("event.condvar_polling", Parallel, TimesBetter(8.0)),
    ("event.broadcast_last", Parallel, TimesBetter(3.0)),
    ("event.broadcast_spread", Parallel, TimesBetter(3.0)),
    ("event.condvar_halted", Parallel, TimesOther(1.5, "event.ipi_halted")),
    ("memory.alloc_scaling", Parallel, AtMost(1.2)),
    ("apps.fib", Parallel, UnmodifiedTimesBetter(0.97)),
    ("apps.malloc", Parallel, UnmodifiedTimesBetter(0.97)),
    ("apps.first_touch", Parallel, UnmodifiedTimesBetter(0.97)),
    ("apps.text", Parallel, UnmodifiedTimesBetter(0.97)),
    ("openmp.parallel", Path, TimesBetter(10.0)),
    ("openmp.for", Path, TimesBetter(10.0)),
    ("openmp.barrier", Path, TimesBetter(10.0)),
    ("openmp.single", Path, TimesBetter(10.0)),
    ("openmp.reduction", Path, TimesBetter(10.0)),
    ("openmp.critical", Path, TimesBetter(1.0)),
    ("openmp.ordered", Path, TimesBetter(1.0)),
    ("openmp.lock", Path, TimesBetter(1.0)),
    ("openmp.lock_free", Path, TimesBetter(1.0)),
    ("openmp.dynamic1", Path, AtMost(60.0)),
    ("openmp.dynamic8", Path, AtMost(60.0)),
    ("openmp.guided", Path, AtMost(60.0)),
    ("openmp.guided8", Path, AtMost(60.0)),
    ("openmp.task_spawn", Path, AtMost(200.0)),
    ("openmp.parallel_1", Path, AtMost(60.0)),
    ("openmp.parallel", Parallel, TimesBetter(2.0)),
    ("openmp.for", Parallel, TimesBetter(2.0)),
    ("openmp.barrier", Parallel, TimesBetter(2.0)),
    ("openmp.single", Parallel, TimesBetter(2.0)),
    ("openmp.reduction", Parallel, TimesBetter(2.0)),
    ("openmp.critical", Parallel, TimesBetter(2.0)),
    ("openmp.dynamic1", Parallel, TimesBetter(2.0)),
    ("openmp.task_spawn", Parallel, TimesBetter(2.0)),
    ("openmp.parallel", Parallel, NativePart(0.9)),
    ("openmp.barrier", Parallel, NativePart(0.9)),
    ("openmp.for", Parallel, NativePart(0.9)),
    ("openmp.reduction", Parallel, NativePart(0.9)),
    ("openmp.task_spawn", Parallel, NativePart(0.7)),
    ("openmp.fib", Parallel, TimesOther(1.0, "openmp.fib_1")),
    ("openmp.sort", Parallel, TimesOther(1.0, "openmp.sort_1")),
    ("openmp.nqueens", Parallel, TimesOther(1.0, "openmp.nqueens_1")),
    ("openmp.strassen", Parallel, TimesOther(1.0, "openmp.strassen_1")),
    ("nesl.scalar_instruction", Path, AtMost(60.0)),
    ("nesl.chain", Parallel, NativePart(1.3)),
    ("nesl.quicksort", Parallel, TimesBetter(0.25)),
    ("nesl.quicksort", Parallel, NativePart(4.0)),
    ("ndpc.fork_join", Path, TimesBetter(4.0)),
    ("ndpc.fork_join", Parallel, TimesBetter(4.0)),
    // Serial elision, where the program by hand does the same.
    ("ndpc.chain_1", Parallel, NativePart(1.1)),
    ("ndpc.dot_1", Parallel, NativePart(1.1)),
    ("ndpc.line_fit_1", Parallel, NativePart(1.1)),
    ("ndpc.sparse_1", Parallel, NativePart(1.1)),
    ("ndpc.median_1", Parallel, NativePart(1.1)),
    ("ndpc.fib_1", Parallel, NativePart(1.1)),
    ("ndpc.integrate_1", Parallel, NativePart(1.1)),
];

/// Programs in NESL, which are judged against the 3.1 release, and, at the size of the bandwidth regime, by what a second CPU
/// brings.
const NESL: &str = "nesl";
const NESL_BOUNDS: [Bound; 2] = [Nesl31Part(1.0), SpeedUp(1.7)];

/// Programs of NAS that are judged one by one, and together by their geometric mean.
const NAS: &str = "nas";
/// What no program of NAS falls below, in parts of the best Linux guest's speed.
const NAS_LEAST: Bound = TimesBetter(0.98);
/// What they reach together.
const NAS_TOGETHER: f64 = 1.10;
/// Where this is about.
const NAS_PLACE: Place = Place::Rtk;

/// What came of a goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The goal, in words.
    pub(crate) goal: String,
    pub(crate) is_met: bool,
}

/// Judges a figure by the goals for it that refer to what was measured.
pub(crate) fn judge(entry: &Entry, all: &Results) -> Vec<Verdict> {
    let is_meant = |goal: &&(&str, Mode, Bound)| (goal.0, goal.1) == (entry.name.as_str(), entry.mode);
    let of_group: &[Bound] = match entry.group() {
        NAS => &[NAS_LEAST],
        NESL => &NESL_BOUNDS,
        _ => &[],
    };
    let bounds = GOALS.iter().filter(is_meant).map(|goal| &goal.2).chain(of_group);
    bounds.filter_map(|bound| bound.judge(entry, all)).collect()
}

/// Judges what is about several figures.
pub(crate) fn overall(all: &Results) -> Vec<Verdict> {
    let of_nas = all.results.iter().filter(|entry| entry.group() == NAS);
    let logarithms: Vec<f64> = of_nas.filter_map(|entry| Some(entry.times_better(NAS_PLACE)?.ln())).collect();
    if logarithms.is_empty() {
        return Vec::new();
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    let goal = format!(
        "NAS, {} programs, best Linux / {}: geometric mean {mean:.2}x, goal >= {NAS_TOGETHER:.2}x",
        logarithms.len(),
        NAS_PLACE.title()
    );
    vec![Verdict { goal, is_met: mean >= NAS_TOGETHER }]
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
                let linux = entry.best(entry.line_up().contests.first()?.theirs)?.1.median;
                (format!("<= Linux / {}", number(times)), median <= linux / times)
            }
            UnmodifiedTimesBetter(times) => {
                let (unmodified, linux) = (entry.at(Place::Pik)?.median, entry.at(Place::Linux)?.median);
                (format!("unmodified <= Linux / {}", number(times)), unmodified <= linux / times)
            }
            IsolatedAtMost(most) => {
                (format!("ring 3 <= {}", number(most)), entry.at(Place::Ring3)?.median <= most)
            }
            NativePart(part) => {
                let contest = entry.line_up().contests.get(1)?;
                let (ours, theirs) =
                    (entry.best(contest.ours)?.1.median, entry.best(contest.theirs)?.1.median);
                (format!("natively <= {part} x the best peer"), ours <= theirs * part)
            }
            SpeedUp(times) => {
                let alone = all.find(&format!("{}{ALONE}", entry.name), entry.mode, Some(entry.cpus))?;
                let (one, both) = (alone.at(Place::Native)?.median, entry.at(Place::Native)?.median);
                (format!("natively {times} x as fast as one CPU"), both * times <= one)
            }
            Nesl31Part(part) => {
                let (ours, theirs) = (entry.at(Place::Native)?.median, entry.at(Place::Nesl31)?.median);
                (format!("natively <= {part} x NESL 3.1"), ours <= theirs * part)
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
    use crate::stats::Summary;

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
    fn openmp_is_judged_where_it_is_worst_against_the_best_run_time() {
        let with = |medians: &[(Place, f64)]| {
            let mut entry = entry("openmp.barrier", Parallel, 2, &[], &[]);
            let summary = |(place, median): &(Place, f64)| (*place, Summary::of(&[*median]).unwrap());
            entry.places = medians.iter().map(summary).collect();
            let all = Results { results: vec![entry], ..Results::default() };
            judge(&all.results[0], &all).iter().map(|verdict| verdict.is_met).collect::<Vec<_>>()
        };
        use Place::{LinuxLibgomp, LinuxLibomp, NativeHadal, NativeLibgomp, NativeLibomp, PikNative, Rtk};
        let linux = [(LinuxLibgomp, 30.0), (LinuxLibomp, 20.0)];
        assert_eq!(with(&[&[(Rtk, 9.0), (PikNative, 10.0)], &linux[..]].concat()), [true]);
        assert_eq!(with(&[&[(Rtk, 9.0), (PikNative, 11.0)], &linux[..]].concat()), [false]);
        assert!(with(&linux).is_empty());
        let native = [(Rtk, 5.0), (NativeHadal, 9.1), (NativeLibgomp, 10.0), (NativeLibomp, 11.0)];
        assert_eq!(with(&native), [false]);
        assert_eq!(with(&[(Rtk, 1.0), (NativeHadal, 9.0), (NativeLibomp, 10.0)]), [true]);
    }

    #[test]
    fn programs_of_nas_are_judged_together() {
        let nas = |name: &str, rtk: f64, linux: f64| {
            let mut entry = entry(name, Parallel, 2, &[], &[]);
            let summary = |median: f64| Summary::of(&[median]).unwrap();
            entry.places = [(Place::Rtk, summary(rtk)), (Place::LinuxLibomp, summary(linux))].into();
            entry
        };
        let all = |entries| Results { results: entries, ..Results::default() };
        let results = all(vec![nas("nas.ep.W", 10.0, 9.9), nas("nas.cg.W", 10.0, 14.0)]);
        assert!(judge(&results.results[0], &results)[0].is_met && overall(&results)[0].is_met);
        let results = all(vec![nas("nas.ep.W", 10.0, 9.7), nas("nas.cg.W", 10.0, 11.0)]);
        assert!(!judge(&results.results[0], &results)[0].is_met && !overall(&results)[0].is_met);
        assert!(overall(&Results::default()).is_empty());
    }

    #[test]
    fn languages_are_judged_on_the_host() {
        use Place::{Hadal, Native, NativeLibgomp, NativeLibomp, Nesl31};
        let met = |names: &[&str], medians: &[&[(Place, f64)]]| {
            let summary = |(place, median): &(Place, f64)| (*place, Summary::of(&[*median]).unwrap());
            let entries = names.iter().zip(medians).map(|(name, medians)| {
                let bare = entry(name, Parallel, 2, &[], &[]);
                Entry { places: medians.iter().map(summary).collect(), ..bare }
            });
            let all = Results { results: entries.collect(), ..Results::default() };
            judge(&all.results[0], &all).iter().map(|verdict| verdict.is_met).collect::<Vec<_>>()
        };
        let dot = ["nesl.dot", "nesl.dot_1"];
        assert_eq!(met(&dot, &[&[(Hadal, 9.0), (Native, 1.0)], &[(Hadal, 9.0), (Native, 1.7)]]), [true]);
        assert_eq!(met(&dot, &[&[(Hadal, 9.0), (Native, 1.1)], &[(Hadal, 9.0), (Native, 1.7)]]), [false]);
        let short = ["nesl.dot_short"];
        assert_eq!(met(&short, &[&[(Hadal, 9.0), (Native, 2.0), (Nesl31, 2.0)]]), [true]);
        assert_eq!(met(&short, &[&[(Hadal, 1.0), (Native, 2.1), (Nesl31, 2.0)]]), [false]);
        assert!(met(&short, &[&[(Hadal, 1.0), (Native, 2.0)]]).is_empty());
        let by_hand = [(NativeLibgomp, 1.2), (NativeLibomp, 1.0)];
        let fib = |native| [&[(Hadal, 1.0), (Native, native)], &by_hand[..]].concat();
        assert_eq!(met(&["ndpc.fib_1"], &[&fib(1.1)]), [true]);
        assert_eq!(met(&["ndpc.fib_1"], &[&fib(1.2)]), [false]);
        assert!(met(&["ndpc.fib"], &[&fib(1.2)]).is_empty());
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
