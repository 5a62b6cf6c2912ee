// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--strace=CALLS`: which system calls are traced, in the words of `strace -e trace=`. [`classes`](mod@classes) has the
//! classes of calls, [`table`](mod@table) shows the counts of `--strace=count`.

mod classes;
mod table;

use hadal_abi::calls::{CallOutput, CallSet, CallTrace};
use syscalls::Sysno;

pub(crate) use table::table;

/// The word that asks for counts instead of lines.
const COUNT: &str = "count";
/// The word for every call.
const ALL: &str = "all";
/// Names less alike than this do not help.
const LEAST_SIMILARITY: f64 = 0.7;

/// Why a list of calls is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ListError {
    /// Nothing between two commas, or nothing at all.
    #[error("expected names of system calls, separated by commas, such as openat,read or %file")]
    Empty,
    /// A name that nothing has.
    #[error("{}", unknown_text(.name, *.nearest))]
    Unknown {
        /// The name.
        name: String,
        /// What may be meant.
        nearest: Option<&'static str>,
    },
    /// A negation of a part.
    #[error("! stands before the whole list and means all calls but these: !{0}")]
    Negation(String),
}

fn unknown_text(name: &str, nearest: Option<&'static str>) -> String {
    let kind = if name.starts_with('%') { "class of system calls" } else { "system call" };
    let text = format!("Linux has no {kind} {}", name.escape_debug());
    match nearest {
        Some(nearest) => format!("{text}; is {nearest} meant?"),
        None if name.starts_with('%') => {
            let all: Vec<&str> = classes::names().collect();
            format!("{text}; there are {}", all.join(", "))
        }
        None => text,
    }
}

/// Reads a list: names, classes with `%`, `all`, and `count`; with a `!` before it, all other calls.
pub(crate) fn parse(text: &str) -> Result<CallTrace, ListError> {
    let mut output = CallOutput::Lines;
    let mut calls = Vec::new();
    for word in text.split(',') {
        if word == COUNT {
            output = CallOutput::Counts;
        } else {
            calls.push(word);
        }
    }
    if calls.is_empty() {
        return Ok(CallTrace { calls: CallSet::ALL, output, all_processes: false });
    }
    let negated = calls[0].strip_prefix('!');
    if let Some(first) = negated {
        calls[0] = first;
    }
    let mut set = CallSet::NONE;
    for word in &calls {
        add(&mut set, word, &calls)?;
    }
    let calls = if negated.is_some() { set.complement() } else { set };
    Ok(CallTrace { calls, output, all_processes: false })
}

/// Adds what a word of the list means.
fn add(set: &mut CallSet, word: &str, list: &[&str]) -> Result<(), ListError> {
    let unknown = || ListError::Unknown { name: word.to_owned(), nearest: nearest(word) };
    match word {
        "" => return Err(ListError::Empty),
        ALL => *set = CallSet::ALL,
        _ if word.starts_with('!') => {
            let names: Vec<&str> = list.iter().map(|word| word.trim_start_matches('!')).collect();
            return Err(ListError::Negation(names.join(",")));
        }
        _ if word.starts_with('%') => {
            let names = classes::members(word).ok_or_else(unknown)?;
            // A test says that each is a call.
            names
                .filter_map(|name| name.parse::<Sysno>().ok())
                .for_each(|call| set.insert(call.id() as usize));
        }
        _ => set.insert(word.parse::<Sysno>().map_err(|_| unknown())?.id() as usize),
    }
    Ok(())
}

/// The name that is most like a word.
fn nearest(word: &str) -> Option<&'static str> {
    // A class without its mark is the likeliest mistake of those who know the old form.
    if let Some(class) = classes::names().find(|class| class.trim_start_matches('%') == word) {
        return Some(class);
    }
    let calls =
        (0..hadal_abi::calls::NUMBERS).filter_map(|number| Sysno::new(number).map(|call| call.name()));
    let words = [ALL, COUNT].into_iter();
    let alike = calls.chain(classes::names()).chain(words).map(|name| (strsim::jaro(word, name), name));
    let best = alike.max_by(|(left, _), (right, _)| left.total_cmp(right))?;
    (best.0 > LEAST_SIMILARITY).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u64> {
        let trace = parse(text).unwrap();
        (0..600).filter(|&number| trace.calls.contains(number)).collect()
    }

    #[test]
    fn names_and_classes_are_joined() {
        assert_eq!(numbers("read,openat"), [0, 257]);
        assert!(numbers("%file").contains(&257) && !numbers("%file").contains(&0));
        assert_eq!(numbers("%clock,read,read").len(), numbers("%clock").len() + 1);
        assert_eq!(numbers("all").len(), 600);
    }

    #[test]
    fn a_mark_before_the_list_negates_it() {
        let others = numbers("!read,%file");
        assert!(
            !others.contains(&0) && !others.contains(&257) && others.contains(&1) && others.contains(&599)
        );
        assert!(numbers("!all").is_empty());
        for wrong in ["read,!write", "!read,!write", "!!read"] {
            let error = parse(wrong).unwrap_err();
            assert!(matches!(error, ListError::Negation(_)), "{wrong}: {error}");
        }
    }

    #[test]
    fn count_may_stand_anywhere() {
        for text in ["count", "count,read", "read,count", "!read,count", "count,!read"] {
            assert_eq!(parse(text).unwrap().output, CallOutput::Counts, "{text}");
        }
        assert_eq!(parse("count").unwrap().calls, CallSet::ALL);
        assert_eq!(numbers("count,!read"), numbers("!read"));
        assert_eq!(parse("read").unwrap().output, CallOutput::Lines);
    }

    #[test]
    fn wrong_names_suggest_the_nearest() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(message("opnat"), "Linux has no system call opnat; is openat meant?");
        assert_eq!(message("read,futx"), "Linux has no system call futx; is futex meant?");
        assert_eq!(message("%fil"), "Linux has no class of system calls %fil; is %file meant?");
        assert_eq!(message("file"), "Linux has no system call file; is %file meant?");
        assert_eq!(message("counts"), "Linux has no system call counts; is count meant?");
        assert!(message("%xyzzy").contains("there are %file, %process"));
        assert_eq!(message("\u{1b}qqqq"), "Linux has no system call \\u{1b}qqqq");
        for empty in ["", "read,", ",", "!"] {
            assert_eq!(parse(empty), Err(ListError::Empty), "{empty}");
        }
    }
}
