// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is being measured, on standard error: one line that changes on a terminal, a line per step elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

/// The steps of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    steps: usize,
    done: usize,
    started: Instant,
    terminal: bool,
}

impl Progress {
    /// Begins a run of so many steps.
    pub(crate) fn new(steps: usize) -> Self {
        Self { steps, done: 0, started: Instant::now(), terminal: io::stderr().is_terminal() }
    }

    /// Begins the next step.
    pub(crate) fn step(&mut self, what: &str) {
        self.done += 1;
        let line = format!(
            "[{:>3}/{} {:4.0} s] {what}",
            self.done,
            self.steps,
            self.started.elapsed().as_secs_f64()
        );
        // Nothing depends on these lines: whoever closes standard error does not want them.
        let _ = match self.terminal {
            true => write!(io::stderr(), "\r\x1b[K{line}"),
            false => writeln!(io::stderr(), "{line}"),
        };
    }

    /// Says something that stays.
    pub(crate) fn note(&self, what: &str) {
        let clear = if self.terminal { "\r\x1b[K" } else { "" };
        let _ = writeln!(io::stderr(), "{clear}{what}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
