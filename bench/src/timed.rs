// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One command run to its end, its time limit or an interrupt, with the time it took.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::interrupt;

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// From before the start of the command to its end.
    pub(crate) seconds: f64,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command whose end is awaited; killed when dropped before.
pub(crate) struct Guard(pub(crate) Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only when it has ended already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `command` with no input. `hadal` ends its QEMU when it is ended itself.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Ended> {
    let line = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut guard = Guard(command.spawn().with_context(|| format!("cannot start {line}"))?);
    let stdout = reader(guard.0.stdout.take());
    let stderr = reader(guard.0.stderr.take());
    let ends = ends_within(&guard.0, limit)?;
    if interrupt::signal().is_some() {
        bail!("interrupted");
    }
    if !ends {
        drop(guard);
        let shown = [stdout, stderr].map(|thread| thread.join().unwrap_or_default()).join("\n");
        bail!("no end within {} s: {line}\n{shown}", limit.as_secs());
    }
    let seconds = started.elapsed().as_secs_f64();
    let status = guard.0.wait().context("cannot wait for a child")?;
    Ok(Ended {
        seconds,
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

/// Waits for the end of a child without collecting it; whether it came in time and before an interrupt.
pub(crate) fn ends_within(child: &Child, limit: Duration) -> Result<bool> {
    let pid = Pid::from_child(child);
    let end = pidfd_open(pid, PidfdFlags::empty()).context("cannot watch a child")?;
    let limit = Timespec::try_from(limit).context("the time limit is too long")?;
    let interrupts = interrupt::pipe();
    let mut watched = vec![PollFd::new(&end, PollFlags::IN)];
    if let Some(pipe) = &interrupts {
        watched.push(PollFd::new(pipe, PollFlags::IN));
    }
    loop {
        match poll(&mut watched, Some(&limit)) {
            Ok(_) => return Ok(!watched[0].revents().is_empty()),
            // A signal that is caught is also readable from the pipe.
            Err(Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for a child"),
        }
    }
}

/// Reads all of an output.
pub(crate) fn reader(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is all there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_status_and_time_are_those_of_the_command() {
        let ended =
            run(&mut shell("echo out; echo err >&2; sleep 0.05; exit 3"), Duration::from_secs(20)).unwrap();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(ended.status.code(), Some(3));
        assert!(ended.seconds >= 0.05);
    }

    #[test]
    fn a_hung_command_is_ended_and_its_output_shown() {
        let error = run(&mut shell("echo begun; exec sleep 100"), Duration::from_millis(200)).unwrap_err();
        assert!(error.to_string().contains("begun"), "{error}");
    }
}
