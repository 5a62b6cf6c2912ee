// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is being measured, on standard error: one line that changes on a terminal, a line per turn elsewhere.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// How often the line on a terminal is drawn, for its clock.
const TICK: Duration = Duration::from_secs(1);

/// The turns of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    turns: usize,
    done: usize,
    started: Instant,
    /// Draws nothing when standard error is no terminal.
    bar: ProgressBar,
}

impl Progress {
    /// Begins a run of so many turns, of which some have been done earlier.
    pub(crate) fn new(turns: usize, done: usize) -> Self {
        let bar = ProgressBar::new(turns as u64);
        if let Ok(style) = ProgressStyle::with_template("[{pos}/{len} {elapsed_precise}] {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Self { turns, done, started: Instant::now(), bar }
    }

    /// Begins the next turns, which run at once; `left` is what they and those after them will take, if that is known.
    pub(crate) fn step(&mut self, turns: usize, what: &str, left: Option<Duration>) {
        self.done += turns;
        let left = left.map_or(String::new(), |left| format!(" (about {} left)", HumanDuration(left)));
        let what = format!("{what}{left}");
        if self.bar.is_hidden() {
            let seconds = self.started.elapsed().as_secs_f64();
            // Nothing depends on these lines: whoever closes standard error does not want them.
            let _ = writeln!(io::stderr(), "[{:>3}/{} {seconds:4.0} s] {what}", self.done, self.turns);
        } else {
            self.bar.set_position(self.done as u64);
            self.bar.set_message(what);
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Says something that stays.
    pub(crate) fn note(&self, what: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "{what}");
        });
    }
}
