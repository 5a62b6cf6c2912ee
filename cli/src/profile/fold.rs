// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From samples to folded stacks: one line for each stack, outermost function first, and how often it was seen.

use std::collections::{BTreeMap, HashMap};

use hadal_abi::profile::{Head, Mapping, Sample, samples};
use hadal_abi::symbols::SymbolTable;
use hadal_abi::trace::{Kind, Record};

use super::code::{Code, demangle};

/// What the guest sent of a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    /// Set when it has sent all.
    pub(crate) head: Option<Head>,
    /// Executable mappings of the program, by address.
    pub(crate) mappings: Vec<Mapping>,
    /// Pieces in words.
    pub(crate) pieces: Vec<Vec<u64>>,
}

impl Samples {
    fn all(&self) -> impl Iterator<Item = Sample<'_>> {
        self.pieces.iter().flat_map(|piece| samples(piece))
    }
}

/// Stacks in words, `thread;outermost;...;innermost`, and their counts.
pub(crate) type Folded = BTreeMap<String, u64>;

/// Names the frames of all samples. `read` gives the content of a file of the guest.
pub(crate) fn fold(
    samples: &Samples,
    kernel: Option<SymbolTable<'_>>,
    read: impl FnMut(&str) -> Vec<u8>,
) -> Folded {
    let mappings = &samples.mappings[..];
    let mut names = Names { kernel, mappings, files: HashMap::new(), read };
    let mut folded = Folded::new();
    for sample in samples.all() {
        *folded.entry(names.line(&sample)).or_default() += sample.count;
    }
    folded
}

/// Stands for outer functions that were not found, as in other profilers.
const UNKNOWN: &str = "[unknown]";

struct Names<'a, R> {
    kernel: Option<SymbolTable<'a>>,
    mappings: &'a [Mapping],
    files: HashMap<&'a str, Code>,
    read: R,
}

impl<'a, R: FnMut(&str) -> Vec<u8>> Names<'a, R> {
    fn line(&mut self, sample: &Sample<'_>) -> String {
        let [a, b] = sample.name;
        let thread = Record { time: 0, kind: Kind::ThreadName, thread: 0, a, b }.text();
        let mut frames = vec![thread];
        if !sample.is_complete {
            frames.push(UNKNOWN.into());
        }
        frames.extend(sample.program.iter().rev().map(|&address| self.program(address)));
        frames.extend(sample.kernel.iter().rev().map(|&address| self.kernel(address)));
        // What separates frames is in no name.
        frames.iter().map(|frame| frame.replace(';', ":")).collect::<Vec<_>>().join(";")
    }

    /// A kernel function, marked as flame graphs do.
    fn kernel(&self, address: u64) -> String {
        let name = self.kernel.and_then(|symbols| symbols.find(address));
        format!("{}_[k]", name.map_or_else(|| "?".into(), |(name, _)| demangle(name)))
    }

    /// The mapping of an address in the program.
    fn mapping(&self, address: u64) -> Option<&'a Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.end <= address);
        self.mappings.get(after).filter(|mapping| mapping.start <= address)
    }

    /// The file with an address in the program, and the place in it.
    fn code(&mut self, address: u64) -> Option<(&Code, u64)> {
        let mapping = self.mapping(address).filter(|mapping| !mapping.path.starts_with('['))?;
        let read = &mut self.read;
        let code = self.files.entry(&mapping.path).or_insert_with(|| Code::read(&read(&mapping.path)));
        Some((code, address - mapping.start + mapping.offset))
    }

    /// A function of the program, or at least the file.
    fn program(&mut self, address: u64) -> String {
        let Some(mapping) = self.mapping(address) else { return "?".into() };
        match self.code(address) {
            Some((code, place)) => code
                .function(place)
                .unwrap_or_else(|| format!("[{}]", mapping.path.rsplit('/').next().unwrap_or("?"))),
            None => mapping.path.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_abi::symbols::{self, BASE};
    use hadal_abi::trace::text_words;

    #[test]
    fn stacks_are_named_and_counted() {
        let mapping =
            |start, path: &str| Mapping { start, end: start + 0x1000, offset: 0, path: path.into() };
        let mappings = vec![mapping(0x1000, "/bin/a;b"), mapping(0x5000, "[vdso]")];
        let [low, high] = text_words(b"main");
        let samples = [
            // Count, length, name, kernel frames, complete, kernel, program.
            vec![2, 7, low, high, 1, 1, BASE + 0x10, 0x5010, 0x1010],
            vec![3, 5, low, high, 0, 0, 0x9999],
            vec![4, 7, low, high, 1, 1, BASE + 0x18, 0x5020, 0x1020],
        ];
        let piece = samples.concat();
        let table = symbols::encode([(BASE + 0x10, "entry")].into_iter());
        let samples = Samples { head: Some(Head::default()), mappings, pieces: vec![piece] };
        let folded = fold(&samples, SymbolTable::find_in(&table), |_| Vec::new());
        let expected = [("main;[unknown];?".to_owned(), 3), ("main;[a:b];[vdso];entry_[k]".to_owned(), 6)];
        assert_eq!(folded, Folded::from(expected));
    }
}
