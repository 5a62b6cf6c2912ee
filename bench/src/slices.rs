// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long programs side by side: all have been started, and one at a time runs, for a slice of time. What disturbs the host for
//! longer than a slice then falls on all of them, where runs one after the other would meet a host of another speed each.
//!
//! While a command is stopped its own clock goes on, so its time is taken here: what it was given between the lines with
//! which the program says that its timed part starts and stops (`nas_start_clock` in `programs/nas/nas.h`). What comes
//! before and after is not in slices: it runs alone.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::interrupt;
use crate::timed::{self, Ended, Guard};

/// Long enough that caches are warm for most of it, and short beside what disturbs a host.
const SLICE: Duration = Duration::from_millis(200);

/// Lines with which programs surround their timed part.
const STARTS: &str = "clock starts";
const STOPS: &str = "clock stops";

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) ended: Ended,
    /// What it was given for the program's timed part; `None` if that did not end.
    pub(crate) clock: Option<Duration>,
}

/// Runs commands side by side, each of which may be given so much time. One that fails, or has failed before, does not
/// keep the others. A command must not outlive this process: stopped it would stay for ever.
pub(crate) fn run(commands: impl Iterator<Item = Result<Command>>, limit: Duration) -> Vec<Result<Timed>> {
    let start = |command: Result<Command>| {
        let mut racer = Racer::start(command?, limit)?;
        racer.run_to_its_clock().map(|()| racer)
    };
    let mut racers: Vec<Result<Racer>> = commands.map(start).collect();
    loop {
        let mut any = false;
        for place in &mut racers {
            let Ok(racer) = place else { continue };
            if !racer.has_ended {
                any = true;
                if let Err(error) = racer.run_for_a_slice() {
                    *place = Err(error);
                }
            }
        }
        if !any {
            return racers.into_iter().map(|racer| racer?.collect()).collect();
        }
    }
}

/// What a command does next.
#[derive(Clone, Copy, Debug)]
enum Next {
    StartsClock(Instant),
    StopsClock(Instant),
    /// It closes its standard output.
    Ends,
    /// Nothing of these within the time.
    Late,
}

/// A command among others. Outside of the methods it is stopped or has ended.
struct Racer {
    guard: Guard,
    line: String,
    /// It and what it has started, once its clock runs.
    processes: Vec<Pid>,
    events: Receiver<Next>,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
    started: Instant,
    /// What it may still be given.
    left: Duration,
    /// What it has been given since its clock started.
    given: Duration,
    clock: Option<Duration>,
    has_ended: bool,
}

impl Racer {
    fn start(mut command: Command, limit: Duration) -> Result<Self> {
        let line = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut guard = Guard(command.spawn().with_context(|| format!("cannot start {line}"))?);
        let (sender, events) = channel();
        Ok(Self {
            stdout: watch(guard.0.stdout.take(), sender),
            stderr: timed::reader(guard.0.stderr.take()),
            guard,
            line,
            processes: Vec::new(),
            events,
            started,
            left: limit,
            given: Duration::ZERO,
            clock: None,
            has_ended: false,
        })
    }

    /// Lets it run until its program starts the clock, and stops it.
    fn run_to_its_clock(&mut self) -> Result<()> {
        match self.next(self.left)? {
            Next::StartsClock(at) => {
                self.processes = family(&self.guard.0)?;
                self.stop(at);
                Ok(())
            }
            other => self.take_end(other),
        }
    }

    /// Lets it run for a slice, or to its end if the clock stops in it.
    fn run_for_a_slice(&mut self) -> Result<()> {
        let from = Instant::now();
        self.signal(Signal::CONT);
        match self.next(SLICE.min(self.left))? {
            Next::StopsClock(at) => {
                self.clock = Some(self.given + at.saturating_duration_since(from));
                // Verification, and the machine's end.
                let end = self.next(self.left)?;
                self.take_end(end)
            }
            Next::Late if self.left > SLICE => {
                self.stop(from);
                Ok(())
            }
            other => self.take_end(other),
        }
    }

    /// Notes its end; what else it has done is an error.
    fn take_end(&mut self, next: Next) -> Result<()> {
        match next {
            Next::Ends if self.does_end()? => self.has_ended = true,
            Next::Ends | Next::Late => bail!("no end within its time limit: {}", self.line),
            Next::StartsClock(_) | Next::StopsClock(_) => {
                bail!("its clock has not started once and then stopped once: {}", self.line)
            }
        }
        Ok(())
    }

    /// Waits for the end of one that has closed its output, and may go on.
    fn does_end(&self) -> Result<bool> {
        let ends = timed::ends_within(&self.guard.0, self.left)?;
        if interrupt::signal().is_some() {
            bail!("interrupted");
        }
        Ok(ends)
    }

    fn next(&self, within: Duration) -> Result<Next> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left.min(SLICE));
            if interrupt::signal().is_some() {
                bail!("interrupted");
            }
            match event {
                Ok(next) => return Ok(next),
                Err(RecvTimeoutError::Disconnected) => return Ok(Next::Ends),
                Err(RecvTimeoutError::Timeout) if left <= SLICE => return Ok(Next::Late),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Stops it. It has been running for its clock since `from`.
    fn stop(&mut self, from: Instant) {
        self.signal(Signal::STOP);
        let ran = from.elapsed();
        self.given += ran;
        self.left = self.left.saturating_sub(ran);
    }

    fn signal(&self, signal: Signal) {
        for process in &self.processes {
            // Of one that has ended, the end of its output tells.
            let _ = kill_process(*process, signal);
        }
    }

    /// What it has left behind.
    fn collect(mut self) -> Result<Timed> {
        let status = self.guard.0.wait().context("cannot wait for a child")?;
        let ended = Ended {
            seconds: self.started.elapsed().as_secs_f64(),
            status,
            stdout: self.stdout.join().unwrap_or_default(),
            stderr: self.stderr.join().unwrap_or_default(),
        };
        Ok(Timed { ended, clock: self.clock })
    }
}

/// Reads a command's output and tells when its program starts and stops the clock.
fn watch(pipe: Option<impl Read + Send + 'static>, events: Sender<Next>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = Vec::new();
        let Some(pipe) = pipe else { return String::new() };
        let mut pipe = BufReader::new(pipe);
        let mut from = 0;
        // What came before an error is all there is.
        while pipe.read_until(b'\n', &mut text).is_ok_and(|bytes| bytes > 0) {
            let at = Instant::now();
            let line = String::from_utf8_lossy(&text[from..]);
            // A guest's kernel may write on the same line. Nobody listens to an output that is given up.
            if line.contains(STARTS) {
                let _ = events.send(Next::StartsClock(at));
            } else if line.contains(STOPS) {
                let _ = events.send(Next::StopsClock(at));
            }
            from = text.len();
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// A child and all that it has started, itself or by those: QEMU is a child of the `hadal` command.
fn family(child: &Child) -> Result<Vec<Pid>> {
    let mut family = vec![Pid::from_child(child)];
    // Without such a file (a kernel without CONFIG_PROC_CHILDREN) children would go on.
    let file = format!("/proc/{0}/task/{0}/children", child.id());
    fs::read_to_string(&file).with_context(|| format!("cannot find what to stop: {file}"))?;
    let mut next = 0;
    while let Some(process) = family.get(next) {
        let tasks = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
        // Of those that end meanwhile there is nothing to stop.
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|id| id.parse().ok());
            family.extend(children.filter_map(Pid::from_raw));
        }
        next += 1;
    }
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    /// A program whose timed part computes and which then says how long it has, by processor time. It is a child of the
    /// command like QEMU is one of `hadal`.
    fn computes(loops: u32) -> Command {
        let timed = format!("n={loops}; while [ $n -gt 0 ]; do n=$((n-1)); done");
        shell(&format!("sh -c 'echo a; echo clock starts; {timed}; echo clock stops; times'; exit 3"))
    }

    /// Seconds in the first word of what the shell's `times` prints: 0m1.234s.
    fn computed(text: &str) -> f64 {
        let word = text.lines().nth(3).unwrap().split_whitespace().next().unwrap();
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    }

    #[test]
    fn each_computes_only_while_it_is_given_time() {
        let commands = [computes(1_000_000), computes(2_000_000), computes(2_000_000)];
        for timed in run(commands.into_iter().map(Ok), LIMIT).into_iter().map(Result::unwrap) {
            assert_eq!(timed.ended.status.code(), Some(3));
            let text = &timed.ended.stdout;
            assert!(text.starts_with("a\nclock starts\nclock stops\n"), "{text}");
            // Some hundredths for what is not in the timed part, and for the clock of `times`.
            assert!(computed(text) <= timed.clock.unwrap().as_secs_f64() + 0.05, "{timed:?}");
        }
    }

    #[test]
    fn one_that_stands_still_is_not_waited_for() {
        // The stopped one's clock goes on; what counts is what it was given.
        let sleeps = |seconds: &str| shell(&format!("echo clock starts; sleep {seconds}; echo clock stops"));
        let closes = || shell("echo clock starts; echo clock stops; exec >&-; exec sleep 100");
        let commands = [sleeps("100"), sleeps("0.1"), closes()];
        let results = run(commands.into_iter().map(Ok), Duration::from_millis(500));
        for late in [0, 2] {
            assert!(results[late].as_ref().unwrap_err().to_string().contains("time limit"));
        }
        assert!(results[1].as_ref().unwrap().clock.is_some());
    }

    #[test]
    fn failures_are_those_of_the_command() {
        let twice = "echo clock starts; echo clock stops; echo clock starts; sleep 100";
        let commands = [
            shell("echo no; exit 4"),
            shell("echo clock starts; exit 5"),
            shell("echo clock stops"),
            shell(twice),
        ];
        let results = run(commands.into_iter().map(Ok), LIMIT);
        let status = |place: usize| {
            let timed = results[place].as_ref().unwrap();
            (timed.ended.status.code(), timed.clock)
        };
        assert_eq!((status(0), status(1)), ((Some(4), None), (Some(5), None)));
        for result in &results[2..] {
            let error = result.as_ref().unwrap_err().to_string();
            assert!(error.contains("started once and then stopped once"), "{error}");
        }
        assert!(run([Ok(Command::new("/nonexistent"))].into_iter(), LIMIT)[0].is_err());
    }
}
