// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One command run to its end, or to its time limit: input fed, both outputs kept, and every process of it ended.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::error::TestError;

/// How often a running command is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long the outputs of an ended command may stay open.
const PIPE_GRACE: Duration = Duration::from_secs(5);

/// What a command left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Exit status as a shell shows it: 128 plus the signal when a signal ended the command.
    pub status: i32,
}

impl Outcome {
    /// Standard output as text.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "status {}", self.status)?;
        for (name, bytes) in [("standard output", &self.stdout), ("standard error", &self.stderr)] {
            writeln!(f, "--- {name}, {} bytes", bytes.len())?;
            writeln!(f, "{}", shortened(&String::from_utf8_lossy(bytes)))?;
        }
        Ok(())
    }
}

/// At most the first 60 and the last 140 lines of a text.
fn shortened(text: &str) -> String {
    const HEAD_LINES: usize = 60;
    const TAIL_LINES: usize = 140;
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= HEAD_LINES + TAIL_LINES {
        return lines.join("\n");
    }
    let left_out = lines.len() - HEAD_LINES - TAIL_LINES;
    let tail = &lines[lines.len() - TAIL_LINES..];
    format!("{}\n[{left_out} lines left out]\n{}", lines[..HEAD_LINES].join("\n"), tail.join("\n"))
}

fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Bytes that a thread collects from a pipe, and a bell that rings when more come.
#[derive(Default)]
struct Collected {
    bytes: Mutex<Vec<u8>>,
    changed: Condvar,
}

/// A command in progress. Dropping it ends the command.
pub struct Running {
    child: Child,
    line: String,
    /// Standard input, where it is typed later.
    input: Option<Box<dyn Write + Send>>,
    stdout: Arc<Collected>,
    stderr: Arc<Collected>,
    readers: Vec<JoinHandle<()>>,
    ended: bool,
}

impl Running {
    /// Starts `command` in a process group of its own and feeds it `stdin`.
    pub fn start(command: Command, stdin: &[u8]) -> Result<Self, TestError> {
        let mut running = Self::start_typed(command)?;
        if let Some(mut pipe) = running.input.take() {
            let stdin = stdin.to_vec();
            // A command that ends without reading its input is no error of the feeder.
            thread::spawn(move || drop(pipe.write_all(&stdin)));
        }
        Ok(running)
    }

    /// Starts `command` with input that [`Running::type_in`] gives it.
    pub fn start_typed(mut command: Command) -> Result<Self, TestError> {
        let line = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(TestError::io(format!("cannot start {line}")))?;
        let input = child.stdin.take().map(|pipe| Box::new(pipe) as Box<dyn Write + Send>);
        let mut readers = Vec::new();
        let stdout = collect(child.stdout.take(), &mut readers);
        let stderr = collect(child.stderr.take(), &mut readers);
        Ok(Self { child, line, input, stdout, stderr, readers, ended: false })
    }

    /// Starts `command` on a terminal of its own, at which [`Running::type_in`] types. What the terminal shows counts as
    /// standard output.
    pub fn start_on_terminal(mut command: Command) -> Result<Self, TestError> {
        let line = format!("{command:?}");
        let failed = || TestError::io(format!("cannot start {line} on a terminal"));
        let (master, end) = terminal().map_err(failed())?;
        let end = || end.try_clone().map_err(failed());
        command.stdin(end()?).stdout(end()?).stderr(end()?).process_group(0);
        let child = command.spawn().map_err(failed())?;
        let keys = File::from(master.try_clone().map_err(failed())?);
        let mut readers = Vec::new();
        let stdout = collect(Some(File::from(master)), &mut readers);
        let stderr = Arc::new(Collected::default());
        Ok(Self { child, line, input: Some(Box::new(keys)), stdout, stderr, readers, ended: false })
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(i32::MAX)
    }

    /// Types into a command that [`Running::start_typed`] has started.
    pub fn type_in(&mut self, keys: &[u8]) -> Result<(), TestError> {
        let input =
            self.input.as_mut().ok_or_else(|| TestError::Wrong("the input was given before".into()))?;
        input.write_all(keys).and_then(|()| input.flush()).map_err(TestError::io("cannot type"))
    }

    /// Waits until standard output contains `text`.
    pub fn wait_for_output(&self, text: &str, limit: Duration) -> Result<(), TestError> {
        let deadline = Instant::now() + limit;
        let mut bytes = self.stdout.bytes.lock().unwrap();
        loop {
            if String::from_utf8_lossy(&bytes).contains(text) {
                return Ok(());
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                drop(bytes);
                return Err(self.hung(limit));
            };
            bytes = self.stdout.changed.wait_timeout(bytes, left).unwrap().0;
        }
    }

    /// What standard output has so far.
    #[must_use]
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.stdout.bytes.lock().unwrap()).into_owned()
    }

    /// Whether the command goes on.
    pub fn is_running(&mut self) -> Result<bool, TestError> {
        let status = self.child.try_wait();
        Ok(status.map_err(TestError::io(format!("cannot wait for {}", self.line)))?.is_none())
    }

    /// Sends a signal to the whole process group, as a terminal does.
    pub fn signal_group(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid()) {
            // The group may have ended by itself already.
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Waits for the end; at the time limit ends everything and reports what was written until then.
    pub fn finish(mut self, limit: Duration) -> Result<Outcome, TestError> {
        let deadline = Instant::now() + limit;
        loop {
            let status =
                self.child.try_wait().map_err(TestError::io(format!("cannot wait for {}", self.line)))?;
            if let Some(status) = status {
                self.end();
                return Ok(self.outcome(shell_status(status)));
            }
            if Instant::now() >= deadline {
                self.end();
                return Err(self.hung(limit));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Ends the command and everything it started.
    fn end(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        for pid in descendants(self.pid()) {
            kill(pid);
        }
        self.signal_group(Signal::KILL);
        // Reaps; the process may have been reaped by `try_wait`.
        let _ = self.child.wait();
        // The pipes end with the last process that holds them; one that escaped must not hold the test up.
        let deadline = Instant::now() + PIPE_GRACE;
        while self.readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < deadline {
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn outcome(&self, status: i32) -> Outcome {
        let stdout = self.stdout.bytes.lock().unwrap().clone();
        let stderr = self.stderr.bytes.lock().unwrap().clone();
        Outcome { stdout, stderr, status }
    }

    fn hung(&self, limit: Duration) -> TestError {
        TestError::Hung { command: self.line.clone(), limit, outcome: Box::new(self.outcome(-1)) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>, readers: &mut Vec<JoinHandle<()>>) -> Arc<Collected> {
    let collected = Arc::new(Collected::default());
    if let Some(mut pipe) = pipe {
        let collected = Arc::clone(&collected);
        readers.push(thread::spawn(move || {
            let mut piece = [0; 65536];
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                collected.bytes.lock().unwrap().extend_from_slice(&piece[..length]);
                collected.changed.notify_all();
            }
        }));
    }
    collected
}

/// Both ends of a new pseudo-terminal.
pub(crate) fn terminal() -> std::io::Result<(OwnedFd, File)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let path = Path::new(name.to_str().map_err(std::io::Error::other)?);
    Ok((master, File::options().read(true).write(true).open(path)?))
}

/// Runs `command` to its end.
pub fn run(command: Command, stdin: &[u8], limit: Duration) -> Result<Outcome, TestError> {
    Running::start(command, stdin)?.finish(limit)
}

/// Ends one process at once.
pub fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended by itself already.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// The processes below `ancestor`, children before their own children.
#[must_use]
pub fn descendants(ancestor: i32) -> Vec<i32> {
    let mut parents: Vec<(i32, i32)> = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // The name in parentheses may hold anything; the state and the parent follow its last parenthesis.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut found = vec![ancestor];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn streams_and_status_are_kept_apart() {
        let outcome = run(shell("cat; echo err >&2; exit 3"), b"in\0put", Duration::from_secs(10)).unwrap();
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"in\0put"[..], &b"err\n"[..]));
        assert_eq!(outcome.status, 3);
    }

    #[test]
    fn a_signal_is_128_and_its_number() {
        assert_eq!(run(shell("kill -SEGV $$"), b"", Duration::from_secs(10)).unwrap().status, 139);
    }

    #[test]
    fn a_command_may_have_a_terminal() {
        let mut running =
            Running::start_on_terminal(shell("test -t 0 && test -t 1 && read x && echo got $x")).unwrap();
        running.type_in(b"keys\n").unwrap();
        running.wait_for_output("got keys", Duration::from_secs(10)).unwrap();
        assert_eq!(running.finish(Duration::from_secs(10)).unwrap().status, 0);
    }

    #[test]
    fn a_hung_tree_of_processes_is_ended_and_shown() {
        let start = Instant::now();
        let result = run(shell("echo begun; sleep 100 & setsid sleep 100"), b"", Duration::from_millis(300));
        assert!(start.elapsed() < Duration::from_secs(20));
        match result {
            Err(TestError::Hung { outcome, .. }) => assert_eq!(outcome.stdout, b"begun\n"),
            other => panic!("{other:?}"),
        }
    }
}
