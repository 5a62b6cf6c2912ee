// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Progress`]: how far long work has come, on standard error.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{FormattedDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Between two lines where standard error is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Between two looks of the clock on a terminal.
const TICK: Duration = Duration::from_millis(200);
const TEMPLATE: &str = "{bar:16} {pos}/{len} {elapsed_precise}{left} {wide_msg}";
const TEMPLATE_WITHOUT_STEPS: &str = "{spinner} {elapsed_precise} {wide_msg}";

/// Steps of long work: a bar on a terminal, gone at the end; now and then a line where standard error is none.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Whether a step runs.
    begun: bool,
    /// When the last line was written; `None` on a terminal.
    line: Option<Instant>,
}

impl Progress {
    /// Begins work of so many steps.
    pub(crate) fn new(total: usize) -> Self {
        let style = ProgressStyle::with_template(TEMPLATE);
        Self::with(ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr()), style)
    }

    /// Begins work whose length nobody knows.
    pub(crate) fn waiting(what: &str) -> Self {
        let style = ProgressStyle::with_template(TEMPLATE_WITHOUT_STEPS);
        let progress = Self::with(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()), style);
        progress.bar.set_message(what.to_owned());
        progress
    }

    fn with(bar: ProgressBar, style: Result<ProgressStyle, impl std::fmt::Debug>) -> Self {
        let style = style.expect("the templates are right");
        bar.set_style(style.with_key("left", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            if let Some(left) = left(state.elapsed(), state.pos(), state.len()) {
                // Writing to a string does not fail.
                let _ = write!(out, ", {} left", FormattedDuration(left));
            }
        }));
        let terminal = io::stderr().is_terminal();
        if terminal {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, begun: false, line: (!terminal).then(Instant::now) }
    }

    /// Ends the step before and begins the next one.
    pub(crate) fn step(&mut self, what: &str) {
        self.bar.inc(u64::from(self.begun));
        self.begun = true;
        self.bar.set_message(what.to_owned());
        if self.line.is_some_and(|line| line.elapsed() >= LINE_INTERVAL) {
            self.line = Some(Instant::now());
            // Nothing depends on these lines: whoever closes standard error does not want them.
            let _ = writeln!(io::stderr(), "{}", self.plain(what));
        }
    }

    /// What a line says.
    fn plain(&self, what: &str) -> String {
        let (pos, len, elapsed) = (self.bar.position(), self.bar.length(), self.bar.elapsed());
        let mut line = format!("[{pos}/{} {}", len.unwrap_or(pos), FormattedDuration(elapsed));
        if let Some(left) = left(elapsed, pos, len) {
            let _ = write!(line, ", {} left", FormattedDuration(left));
        }
        line + "] " + what
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The time that is left if the rest goes on as the work went so far. A mean over all steps: they are few and unlike, so
/// that their last ones say little.
fn left(elapsed: Duration, pos: u64, len: Option<u64>) -> Option<Duration> {
    let rest = len?.checked_sub(pos).filter(|_| pos > 0)?;
    Some(elapsed.mul_f64(rest as f64 / pos as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(total: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        Progress::with(bar, ProgressStyle::with_template(TEMPLATE))
    }

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(30), 3, Some(5)), Some(seconds(20)));
        assert_eq!(left(seconds(30), 5, Some(5)), Some(seconds(0)));
        assert_eq!(left(seconds(30), 0, Some(5)), None);
        assert_eq!(left(seconds(30), 3, None), None);
        assert_eq!(left(seconds(30), 6, Some(5)), None);
    }

    #[test]
    fn a_step_is_done_when_the_next_one_begins() {
        let mut progress = hidden(3);
        progress.step("one");
        assert_eq!(progress.plain("one"), "[0/3 00:00:00] one");
        progress.step("two");
        assert_eq!(progress.bar.position(), 1);
        let line = progress.plain("two");
        assert!(line.starts_with("[1/3 ") && line.ends_with(" left] two"), "{line}");
    }

    #[test]
    fn the_templates_are_right() {
        for template in [TEMPLATE, TEMPLATE_WITHOUT_STEPS] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
