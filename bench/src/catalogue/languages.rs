// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of NESL, VCODE and NDPC: what is known of them. [`list`] has them.

mod list;

pub(super) use list::BENCHMARKS;

use super::openmp;

/// A program of a data-parallel language.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program {
    /// Of what is built from it.
    pub(crate) name: &'static str,
    /// What its text is compiled as. Of NESL and NDPC, a program may be both.
    pub(crate) language: Language,
    /// Below `bench/programs`.
    pub(crate) source: &'static str,
    /// The same by hand, if there is something to set it against.
    pub(crate) peer: Option<openmp::Program>,
    pub(crate) sizes: &'static [Size],
    /// Whether the figure has a second one of one CPU, `_1`.
    pub(crate) is_scaled: bool,
    /// For the program, besides those that bound its CPUs.
    pub(crate) options: &'static [&'static str],
}

/// A size of a program: a figure.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size {
    /// Behind the benchmark's name.
    pub(crate) suffix: &'static str,
    /// What the program gets.
    pub(crate) size: u32,
    /// How often a sample computes it, so that clocks can tell.
    pub(crate) repetitions: u32,
    /// What a sample is divided by.
    pub(crate) operations: u32,
    pub(crate) samples: u32,
    /// The sum of the answers of a sample's repetitions, in 32 bits.
    pub(crate) answer: i32,
}

/// A data-parallel language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    Nesl,
    Vcode,
    Ndpc,
}

impl Language {
    /// The ending of a source's name, which tells the language.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Nesl => "nesl",
            Self::Vcode => "vcode",
            Self::Ndpc => "ndpc",
        }
    }
}

/// Samples of a quick run.
const QUICK_SAMPLES: u32 = 2;

impl Program {
    /// The options that let it compute on one CPU of a machine with more.
    pub(crate) fn alone(&self) -> [&'static str; 2] {
        match self.language {
            Language::Nesl | Language::Vcode => ["--cpus", "1"],
            Language::Ndpc => ["--threads", "1"],
        }
    }

    /// The size that is measured on one CPU as well.
    pub(crate) fn large(&self) -> &'static [Size] {
        &self.sizes[..self.sizes.len().min(1)]
    }

    /// The figures as the program by hand is told them.
    pub(crate) fn words(&self, benchmark: &str, cpus: u32, is_quick: bool) -> Vec<String> {
        let word = |size: &Size, ending: &str, threads: u32| {
            let Size { suffix, size: input, repetitions, operations, .. } = size;
            let samples = size.samples(is_quick);
            format!("{benchmark}{suffix}{ending}={input},{repetitions},{operations},{samples},{threads}")
        };
        let all = self.sizes.iter().map(|size| word(size, "", cpus));
        let alone = self.large().iter().filter(|_| self.is_scaled).map(|size| word(size, ALONE, 1));
        all.chain(alone).collect()
    }

    /// The size that a figure is of.
    pub(crate) fn size_of(&self, benchmark: &str, figure: &str) -> Option<&'static Size> {
        let suffix = figure.strip_prefix(benchmark)?;
        let suffix = suffix.strip_suffix(ALONE).unwrap_or(suffix);
        self.sizes.iter().find(|size| size.suffix == suffix)
    }
}

impl Size {
    pub(crate) fn samples(&self, is_quick: bool) -> u32 {
        if is_quick { QUICK_SAMPLES } else { self.samples }
    }
}

/// Ends the name of a figure of one CPU.
pub(crate) const ALONE: &str = "_1";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::How;

    #[test]
    fn sizes_are_found_by_the_names_of_figures() {
        let named = BENCHMARKS.iter().find(|benchmark| benchmark.name == "nesl.quicksort").unwrap();
        let How::Language(program) = named.how else { panic!("a program of NESL") };
        let size = |figure| program.size_of("nesl.quicksort", figure).map(|size| size.size);
        assert_eq!(size("nesl.quicksort"), Some(1_000_000));
        assert_eq!(size("nesl.quicksort_1"), Some(1_000_000));
        assert_eq!(size("nesl.quicksort_short"), Some(1_000));
        assert_eq!((size("nesl.quicksort_long"), size("nesl.dot")), (None, None));
    }

    #[test]
    fn programs_have_names_of_their_own() {
        let programs = BENCHMARKS.iter().filter_map(|benchmark| match benchmark.how {
            How::Language(program) => Some(program.name),
            _ => None,
        });
        let names: Vec<&str> = programs.collect();
        assert_eq!(names.len(), BENCHMARKS.len());
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1));
    }
}
