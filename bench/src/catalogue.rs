// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmarks: how each is measured, in which modes and on how many CPUs. [`list`] has them; [`openmp`] has those of
//! OpenMP, [`languages`] those of NESL and NDPC.

pub(crate) mod languages;
mod list;
pub(crate) mod openmp;

use std::sync::LazyLock;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::place::{self, LineUp};
use crate::results::Mode;
use openmp::{Class, DEFAULT_CLASSES};

/// All benchmarks, in the order of every table.
pub(crate) static BENCHMARKS: LazyLock<Vec<Benchmark>> =
    LazyLock::new(|| [list::BENCHMARKS, &openmp::all(), &languages::BENCHMARKS].concat());

/// What measures a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// A program of `programs/`, by its name without ending.
    Program(&'static str),
    /// A program of OpenMP, which each run-time has compiled its way.
    OpenMp(&'static openmp::Program),
    /// A program of a data-parallel language, beside the same program by hand in C.
    Language(&'static languages::Program),
    /// QEMU with a plugin that counts instructions from the kernel's entry on.
    BootPath,
    /// A clock on the host, from command to exit.
    BootTime,
    /// What `examples/heat` says of itself.
    Heat,
}

impl How {
    /// The places that such a benchmark has.
    pub(crate) fn line_up(self) -> &'static LineUp {
        match self {
            Self::OpenMp(_) => &place::OPENMP,
            Self::Language(_) => &place::LANGUAGES,
            _ => &place::STANDARD,
        }
    }
}

/// On how many CPUs a benchmark runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// One CPU.
    One,
    /// Two CPUs.
    Two,
    /// One CPU, and two.
    OneAndTwo,
    /// As many CPUs as the host has, at least two.
    Host,
    /// The same, split into two NUMA zones.
    HostZones,
    /// One, two and so on up to eight CPUs.
    Steps,
    /// Eight CPUs, which may be more than the host has.
    Eight,
    /// One, two and so on up to 32 CPUs.
    Turns,
    /// Two, four and eight CPUs.
    Teams,
}

/// CPUs of the machines of [`Machine::Steps`].
const STEPS: [u32; 4] = [1, 2, 4, 8];
/// CPUs of the machines of [`Machine::Teams`].
const TEAMS: [u32; 3] = [2, 4, 8];
/// CPUs of the machines of [`Machine::Turns`].
const TURNS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Shape of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) cpus: u32,
    pub(crate) zones: u32,
}

impl Machine {
    /// The machines to boot, for a host with so many cores.
    pub(crate) fn shapes(self, host_cores: u32) -> Vec<Shape> {
        let one_zone = |cpus| Shape { cpus, zones: 1 };
        let host = host_cores.max(2);
        match self {
            Self::One => vec![one_zone(1)],
            Self::Two => vec![one_zone(2)],
            Self::OneAndTwo => [1, 2].map(one_zone).into(),
            Self::Host => vec![one_zone(host)],
            Self::HostZones => vec![Shape { cpus: host, zones: 2 }],
            Self::Steps => STEPS.map(one_zone).into(),
            Self::Eight => vec![one_zone(8)],
            Self::Turns => TURNS.map(one_zone).into(),
            Self::Teams => TEAMS.map(one_zone).into(),
        }
    }
}

/// One benchmark. Its figure has its name, or, for a family, its name with `_` and a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) how: How,
    /// Where it counts instructions, if it does. Several CPUs take turns, and what all of them execute is counted.
    path: Option<Machine>,
    /// Where it measures time, if it does.
    parallel: Option<Machine>,
    /// Parameters for the kernel of the Linux guest, besides those that it always has.
    pub(crate) linux_parameters: &'static str,
    /// The size of a program of NAS. Such a benchmark takes long and is only run by name or group.
    class: Option<Class>,
    pub(crate) what: &'static str,
}

impl Benchmark {
    /// The machines on which it runs in a mode.
    pub(crate) fn shapes(&self, mode: Mode, host_cores: u32) -> Vec<Shape> {
        let machine = match mode {
            Mode::Path => self.path,
            Mode::Parallel => self.parallel,
        };
        machine.map_or_else(Vec::new, |machine| machine.shapes(host_cores))
    }

    fn modes(&self) -> &'static str {
        match (self.path, self.parallel) {
            (Some(_), Some(_)) => "path parallel",
            (Some(_), None) => "path",
            (None, _) => "parallel",
        }
    }

    /// Whether a figure is this benchmark's.
    pub(crate) fn owns(&self, figure: &str) -> bool {
        figure.strip_prefix(self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }

    fn is_meant(&self, word: &str) -> bool {
        let is_part = |rest: &str| rest.is_empty() || rest.starts_with('.');
        self.name.strip_prefix(word).is_some_and(is_part) || self.owns(word)
    }
}

/// A benchmark of a program in both modes.
const fn both(name: &'static str, program: &'static str, machine: Machine, what: &'static str) -> Benchmark {
    Benchmark { path: Some(Machine::One), ..time(name, program, machine, what) }
}

/// A benchmark of a program in parallel mode.
const fn time(name: &'static str, program: &'static str, machine: Machine, what: &'static str) -> Benchmark {
    Benchmark {
        name,
        how: How::Program(program),
        path: None,
        parallel: Some(machine),
        linux_parameters: "",
        class: None,
        what,
    }
}

/// A benchmark of a program in path mode.
const fn path(name: &'static str, program: &'static str, machine: Machine, what: &'static str) -> Benchmark {
    Benchmark { path: Some(machine), parallel: None, ..time(name, program, machine, what) }
}

impl Benchmark {
    /// The same, in path mode on this machine.
    const fn with_path(self, machine: Machine) -> Self {
        Self { path: Some(machine), ..self }
    }
}

/// The benchmarks that the words mean, in the order of the list. Of those with classes, the ones of these classes, or of two
/// small ones when there are none; a whole name means that one. Without words, all but those with classes.
pub(crate) fn select(words: &[String], classes: &[Class]) -> Result<Vec<&'static Benchmark>> {
    for word in words {
        if !BENCHMARKS.iter().any(|benchmark| benchmark.is_meant(word)) {
            bail!("{word}: no benchmark and no group of this name; `hadal bench list` shows them");
        }
    }
    let classes = match (words, classes) {
        ([_, ..], []) => &DEFAULT_CLASSES,
        _ => classes,
    };
    let wanted = |benchmark: &&Benchmark| {
        let has_class = benchmark.class.is_none_or(|class| classes.contains(&class));
        let is_meant = |word: &String| benchmark.name == word || (has_class && benchmark.is_meant(word));
        (words.is_empty() && has_class) || words.iter().any(is_meant)
    };
    Ok(BENCHMARKS.iter().filter(wanted).collect())
}

/// Place of a figure in tables: that of its benchmark.
pub(crate) fn rank(figure: &str) -> usize {
    // Of two benchmarks, one named as the beginning of the other, the longer name owns the figure.
    let owners = BENCHMARKS.iter().enumerate().filter(|(_, benchmark)| benchmark.owns(figure));
    owners.max_by_key(|(_, benchmark)| benchmark.name.len()).map_or(BENCHMARKS.len(), |(index, _)| index)
}

/// The places that a figure has.
pub(crate) fn line_up(figure: &str) -> &'static LineUp {
    BENCHMARKS.get(rank(figure)).map_or(&place::STANDARD, |benchmark| benchmark.how.line_up())
}

/// What a figure is, in a sentence.
pub(crate) fn describe(figure: &str) -> &'static str {
    BENCHMARKS.get(rank(figure)).map_or("", |benchmark| benchmark.what)
}

/// The list for people.
pub(crate) fn table(words: &[String]) -> Result<String> {
    let chosen = select(words, Class::value_variants())?;
    let width = chosen.iter().map(|benchmark| benchmark.name.len()).max().unwrap_or(0);
    let line = |benchmark: &&Benchmark| {
        format!("{:width$}  {:13}  {}\n", benchmark.name, benchmark.modes(), benchmark.what)
    };
    let head = format!("{:width$}  {:13}  what\n", "name", "modes");
    Ok(head + &chosen.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::Machine::{Eight, Host, HostZones, Steps, Turns};
    use super::*;

    #[test]
    fn names_are_unique_and_have_a_group() {
        for (index, benchmark) in BENCHMARKS.iter().enumerate() {
            let parts = 2 + usize::from(benchmark.class.is_some());
            assert_eq!(benchmark.name.split('.').count(), parts, "{}", benchmark.name);
            assert_eq!(rank(benchmark.name), index, "{}", benchmark.name);
            assert!(!benchmark.what.is_empty() && !benchmark.modes().is_empty());
        }
    }

    #[test]
    fn words_mean_names_groups_and_members_of_families() {
        let names = |word: &str| {
            let chosen = select(&[word.to_owned()], &[]).unwrap();
            chosen.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>()
        };
        assert_eq!(names("syscall"), ["syscall.getppid"]);
        assert_eq!(names("syscall.getppid"), ["syscall.getppid"]);
        assert!(select(&["syscall.getpp".to_owned()], &[]).is_err());
        assert_eq!(names("openmp.parallel"), ["openmp.parallel"]);
        assert_eq!(names("openmp.parallel_4"), ["openmp.parallel"]);
        assert_eq!(select(&[], Class::value_variants()).unwrap().len(), BENCHMARKS.len());
        assert!(table(&[]).unwrap().contains("ring 3 on Linux"));
    }

    #[test]
    fn programs_of_nas_are_chosen_by_class_and_not_run_unasked() {
        let names = |words: &[&str], classes: &[Class]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            select(&words, classes).unwrap().iter().map(|benchmark| benchmark.name).collect::<Vec<_>>()
        };
        assert!(names(&[], &[]).iter().all(|name| !name.starts_with("nas.")));
        assert_eq!(names(&["nas"], &[]).len(), 16);
        assert_eq!(names(&["nas"], &[Class::S]).len(), 8);
        assert_eq!(names(&["nas.ep"], &[]), ["nas.ep.W", "nas.ep.A"]);
        assert_eq!(names(&["nas.ep.C"], &[]), ["nas.ep.C"]);
        assert_eq!(line_up("nas.ep.C").places, line_up("openmp.parallel_4").places);
        assert_eq!(line_up("openmp.heat").places, place::STANDARD.places);
    }

    #[test]
    fn path_runs_on_one_cpu_and_parallel_on_the_hosts() {
        let benchmark = both("a.b", "c", Host, "d");
        assert_eq!(benchmark.shapes(Mode::Path, 16), [Shape { cpus: 1, zones: 1 }]);
        assert_eq!(benchmark.shapes(Mode::Parallel, 16), [Shape { cpus: 16, zones: 1 }]);
        assert_eq!(time("a.b", "c", Eight, "d").shapes(Mode::Path, 2), []);
        assert_eq!(path("a.b", "c", Turns, "d").shapes(Mode::Path, 2).last().unwrap().cpus, 32);
        assert_eq!(path("a.b", "c", Turns, "d").shapes(Mode::Parallel, 2), []);
        assert_eq!(time("a.b", "c", Steps, "d").shapes(Mode::Parallel, 2).len(), STEPS.len());
        assert_eq!(time("a.b", "c", HostZones, "d").shapes(Mode::Parallel, 1), [Shape { cpus: 2, zones: 2 }]);
    }
}
