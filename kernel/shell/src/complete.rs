// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`complete`]: what the Tab key may put at the end of a line, for the kernel's editor and the host's.

use alloc::vec::Vec;

use crate::command::{COMMANDS, TAKES_FILES};

/// What may stand in the place of a line's last word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Where that word begins, in bytes.
    pub start: usize,
    /// Words that begin as it does.
    pub words: Vec<&'static str>,
    /// Whether names of files may stand there, too.
    pub files: bool,
}

impl Completion {
    /// What all words have in common beyond the word that is there.
    pub fn common<'a>(&'a self, typed: &str) -> &'a str {
        let Some((&first, others)) = self.words.split_first() else { return "" };
        let shared = |other: &str| first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let len = others.iter().map(|other| shared(other)).min().unwrap_or(first.len());
        first.get(typed.len()..len).unwrap_or("")
    }
}

/// Finds what the last word of a line may become.
pub fn complete(line: &str) -> Completion {
    let start = line.rfind(' ').map_or(0, |blank| blank + 1);
    let (before, typed) = line.split_at(start);
    let mut words = before.split_whitespace();
    let candidates: Vec<&'static str> = match (words.next(), words.next()) {
        (None, _) => COMMANDS.iter().map(|&(name, _)| name).collect(),
        (Some(command), None) => COMMANDS
            .iter()
            .filter(|(name, _)| *name == command)
            .flat_map(|(_, words)| *words)
            .copied()
            .collect(),
        _ => Vec::new(),
    };
    Completion {
        start,
        words: candidates.into_iter().filter(|word| word.starts_with(typed)).collect(),
        files: before.split_whitespace().next() == Some(TAKES_FILES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_come_first_and_their_words_second() {
        assert_eq!(complete("").words.len(), COMMANDS.len());
        assert_eq!(complete("  th"), Completion { start: 2, words: alloc::vec!["threads"], files: false });
        assert_eq!(complete("trace o").words, ["on", "off"]);
        assert_eq!(complete("log e").words, ["error"]);
        for nothing in ["x", "threads ", "trace on ", "nonsense o"] {
            assert!(complete(nothing).words.is_empty(), "{nothing}");
        }
    }

    #[test]
    fn arguments_of_the_program_are_names_of_files() {
        assert_eq!(complete("run -n da"), Completion { start: 7, words: Vec::new(), files: true });
        assert!(!complete("ru").files && !complete("log run").files);
    }

    #[test]
    fn what_is_certain_is_put_in() {
        let common = |line: &str| {
            let completion = complete(line);
            alloc::string::String::from(completion.common(&line[completion.start..]))
        };
        assert_eq!(common("t"), "");
        assert_eq!(common("th"), "reads");
        assert_eq!(common("m"), "");
        assert_eq!(common("mo"), "dules");
        assert_eq!(common("trace "), "o");
        assert_eq!(common("x"), "");
    }
}
