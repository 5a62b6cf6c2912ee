// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a test fails, in a form that tells what to do or shows what differs.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::run::Outcome;

/// Why a test fails.
#[derive(Debug)]
pub enum TestError {
    /// A program that the tests need is not installed.
    Missing {
        /// Name of the command.
        tool: String,
        /// What to type to get it.
        remedy: &'static str,
    },
    /// There is no `hadal` command at this path.
    NoHadal(PathBuf),
    /// A test program does not compile.
    Compile {
        /// The command line of the compiler.
        command: String,
        /// What the compiler said.
        output: String,
    },
    /// A command could not be started, or a file not be used.
    Io {
        /// What was tried.
        what: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A command did not end within its time.
    Hung {
        /// The command line.
        command: String,
        /// The time it had.
        limit: Duration,
        /// What it wrote until then.
        outcome: Box<Outcome>,
    },
    /// Something is not as it must be; the text shows it.
    Wrong(String),
}

impl TestError {
    /// The error of trying to do `what`.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}

impl fmt::Display for TestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { tool, remedy } => write!(f, "`{tool}` is not installed; to install it: {remedy}"),
            Self::NoHadal(path) => write!(
                f,
                "no hadal command at {}; build it with `cargo build --release -p hadal`, or name one in HADAL",
                path.display()
            ),
            Self::Compile { command, output } => write!(f, "does not compile: {command}\n{output}"),
            Self::Io { what, error } => write!(f, "{what}: {error}"),
            Self::Hung { command, limit, outcome } => {
                write!(f, "not ended after {} s: {command}\n{outcome}", limit.as_secs())
            }
            Self::Wrong(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for TestError {}
