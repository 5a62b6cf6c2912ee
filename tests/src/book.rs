// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Markdown pages as tests: what a page shows on a console is run, and compared with what the page shows.
//!
//! - [`page`]: a page as a reader meets it: files that it lists, and console blocks.
//! - [`console`]: one console block: commands, what is typed into them, what they print.
//! - [`pattern`]: printed lines compared with shown ones, in which some places vary.
//! - [`session`]: the blocks of a page run one after the other in a directory of their own.
//! - [`links`]: links between pages lead somewhere, in the source tree and in the built book.
//! - [`options`]: options of the command that pages name exist.
//!
//! `docs/README.md` has the rules for authors.

pub mod console;
pub mod links;
pub mod options;
pub mod page;
pub mod pattern;
pub mod session;

use std::process::Command;

use crate::error::TestError;
use crate::scratch;

/// The Markdown files of the source tree, relative to its root.
pub fn markdown_files() -> Result<Vec<String>, TestError> {
    let mut git = Command::new("git");
    let output = git
        .current_dir(scratch::workspace())
        .args(["ls-files", "*.md"])
        .output()
        .map_err(TestError::io("cannot run git"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(TestError::Wrong(format!("git ls-files ended with {}:\n{text}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// The text of a Markdown file of the source tree.
pub fn read(file: &str) -> Result<String, TestError> {
    let path = scratch::workspace().join(file);
    std::fs::read_to_string(path).map_err(TestError::io(format!("cannot read {file}")))
}
