// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Options of the command that pages name in their text: each is in a help text.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use pulldown_cmark::{Event, Parser};
use regex::Regex;

use super::{markdown_files, read};
use crate::error::TestError;
use crate::machine::hadal_command;
use crate::scratch;

/// The help texts of the command, one file for each subcommand.
const HELP: &str = "cli/help";

/// Parts of a subcommand, which have help texts of their own.
const PARTS: [&str; 4] = ["list", "run", "report", "compare"];

/// Pages about programs that are not the command.
const OTHERS: [&str; 2] = ["docs/src/stress.md", "docs/src/sync.md"];

/// Every option that README or the book names and no help text has, as `FILE:LINE: OPTION`.
pub fn unknown() -> Result<Vec<String>, TestError> {
    let directory = scratch::workspace().join(HELP);
    let mut known = BTreeSet::new();
    for entry in fs::read_dir(&directory).map_err(TestError::io(format!("cannot list {HELP}")))?.flatten() {
        let text = fs::read_to_string(entry.path()).map_err(TestError::io("cannot read a help text"))?;
        known.extend(options(&text));
    }
    for part in PARTS {
        let mut help = Command::new(hadal_command()?);
        let output = help.args(["bench", part, "--help"]).output();
        let output = output.map_err(TestError::io("cannot run hadal bench"))?;
        known.extend(options(&String::from_utf8_lossy(&output.stdout)));
    }
    let mut unknown = Vec::new();
    for file in markdown_files()? {
        let of_users = file == "README.md" || file.starts_with("docs/src/");
        if !of_users || OTHERS.contains(&file.as_str()) {
            continue;
        }
        let source = read(&file)?;
        for (line, option) in named(&source) {
            if !known.contains(&option) {
                unknown.push(format!("{file}:{line}: no help text has {option}"));
            }
        }
    }
    Ok(unknown)
}

/// Lines and names of the options in a page's text, alone or behind `hadal`.
fn named(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (event, range) in Parser::new(source).into_offset_iter() {
        let Event::Code(text) = event else { continue };
        let begins = ["--", "hadal ", "./hadal "].iter().any(|begin| text.starts_with(begin));
        if begins {
            let line = source[..range.start].matches('\n').count() + 1;
            found.extend(options(&text).into_iter().map(|option| (line, option)));
        }
    }
    found
}

fn options(text: &str) -> BTreeSet<String> {
    let option = Regex::new(r"(?:^|[\s\[(|])(--[a-z][a-z-]*)").expect("the expression is constant");
    option.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_in_text_and_help() {
        assert_eq!(
            options("  -o, --cpus <N>  as --mem, x--y [--log=A]").into_iter().collect::<Vec<_>>(),
            ["--cpus", "--log", "--mem"]
        );
        let page = "Use `--trace FILE`,\n`hadal run --env A=B x` or `gcc --help`.\n";
        assert_eq!(named(page), [(1, "--trace".to_owned()), (2, "--env".to_owned())]);
    }
}
