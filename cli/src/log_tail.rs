// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`LogTail`]: passes the kernel's log on to where the user wants it and keeps its last lines, to show them when the
//! machine dies.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hadal_abi::machine::PANIC_MARKER;

const KEPT_LINES: usize = 400;
const MAX_LINE_LEN: usize = 4096;

/// Where the log goes besides the kept lines.
#[derive(Debug)]
pub(crate) enum LogSink {
    /// Nowhere.
    Quiet,
    /// Standard error.
    Stderr,
    /// A file.
    File(File),
}

impl LogSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Quiet => Ok(()),
            Self::Stderr => io::stderr().write_all(bytes),
            Self::File(file) => file.write_all(bytes),
        }
    }
}

/// Last lines of a stream.
#[derive(Debug, Default)]
struct Lines {
    done: VecDeque<String>,
    open: Vec<u8>,
    panicked: bool,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                b'\r' => {}
                _ => {
                    self.open.push(*byte);
                    if self.open.len() == MAX_LINE_LEN {
                        self.end_line();
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        if self.done.len() == KEPT_LINES {
            self.done.pop_front();
        }
        let line = String::from_utf8_lossy(&self.open).into_owned();
        self.panicked |= is_panic(&line);
        self.done.push_back(line);
        self.open.clear();
    }

    fn last(&self, count: usize) -> String {
        let open = (!self.open.is_empty()).then(|| String::from_utf8_lossy(&self.open).into_owned());
        let lines: Vec<&str> = self.done.iter().chain(&open).map(String::as_str).collect();
        join(&lines[lines.len().saturating_sub(count)..])
    }

    fn panic_report(&self) -> Option<String> {
        let lines: Vec<&str> = self.done.iter().map(String::as_str).collect();
        // The first panic is the cause; what follows may be a panic while reporting it.
        let start = lines.iter().position(|line| is_panic(line))?;
        Some(join(&lines[start..]))
    }
}

fn is_panic(line: &str) -> bool {
    line.to_ascii_lowercase().contains(PANIC_MARKER)
}

fn join(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// The kept lines of a stream that a thread reads.
#[derive(Debug)]
pub(crate) struct LogTail {
    lines: Arc<Mutex<Lines>>,
    reader: JoinHandle<()>,
}

impl LogTail {
    /// Reads `stream` to its end in a thread of its own.
    ///
    /// `on_panic` is called once, when a kernel panic is seen.
    pub(crate) fn follow(
        mut stream: impl Read + Send + 'static,
        mut sink: LogSink,
        on_panic: impl FnOnce() + Send + 'static,
    ) -> Self {
        let lines = Arc::new(Mutex::new(Lines::default()));
        let shared = Arc::clone(&lines);
        let mut on_panic = Some(on_panic);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(len) => {
                        let mut lines = shared.lock().unwrap_or_else(PoisonError::into_inner);
                        lines.push(&buffer[..len]);
                        let is_panic = lines.panicked;
                        drop(lines);
                        if is_panic && let Some(on_panic) = on_panic.take() {
                            on_panic();
                        }
                        if sink.write(&buffer[..len]).is_err() {
                            // A full disk or a closed pager must not end the program; the kept lines remain.
                            sink = LogSink::Quiet;
                        }
                    }
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
        });
        Self { lines, reader }
    }

    /// Waits until the stream has ended, which it does when its writer is gone.
    pub(crate) fn wait_for_end(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while !self.reader.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_micros(200));
        }
    }

    /// The last lines.
    pub(crate) fn last(&self, count: usize) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).last(count)
    }

    /// Everything from the first panic on, if there was one.
    pub(crate) fn panic_report(&self) -> Option<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).panic_report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(text: &'static str) -> LogTail {
        let tail = LogTail::follow(text.as_bytes(), LogSink::Quiet, || {});
        tail.wait_for_end(Duration::from_secs(5));
        tail
    }

    #[test]
    fn last_lines_include_an_unfinished_one() {
        let tail = follow("one\r\ntwo\nthree");
        assert_eq!(tail.last(2), "two\nthree\n");
        assert_eq!(tail.panic_report(), None);
    }

    #[test]
    fn the_panic_report_starts_at_the_first_panic() {
        let tail = follow("boot\n[0.1] Kernel panic: first\nat x\nkernel panic: again\n");
        assert_eq!(tail.panic_report().unwrap(), "[0.1] Kernel panic: first\nat x\nkernel panic: again\n");
    }

    #[test]
    fn long_logs_keep_their_end() {
        let mut lines = Lines::default();
        for n in 0..1000 {
            lines.push(format!("{n}\n").as_bytes());
        }
        lines.push(&[b'x'; 3 * MAX_LINE_LEN]);
        assert_eq!(lines.done.len(), KEPT_LINES);
        assert!(lines.open.len() < MAX_LINE_LEN);
    }
}
