// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starts QEMU as a child that cannot outlive the command, in a process group of its own (so that the terminal's
//! Ctrl-C reaches only the command) and without core files.
//!
//! The command runs itself for the step between fork and exec: [`exec_hook`] sets the parent-death signal and then
//! becomes QEMU. That keeps this crate free of unsafe code.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};

/// First argument that asks for [`exec_hook`]; not part of the command line for people. The parent's process id and the words
/// of a command come after it.
pub(crate) const HOOK: &str = "__exec-in-child";

/// Variables of the loader that the user means for the program, which has them in its own environment. In QEMU a library
/// that counts or replaces calls would do harm, and text of the loader would pass for QEMU's.
const FOR_THE_PROGRAM: [&str; 4] = ["LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_SHOW_AUXV"];

/// A running QEMU; killed when dropped.
#[derive(Debug)]
pub(crate) struct QemuProcess(Child);

impl QemuProcess {
    /// Starts QEMU; its standard error is a pipe, its other streams are null.
    pub(crate) fn spawn(line: &[OsString]) -> io::Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        for variable in FOR_THE_PROGRAM {
            command.env_remove(variable);
        }
        let child = command
            .arg(HOOK)
            .arg(std::process::id().to_string())
            .args(line)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self(child))
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Stops it, or lets it go on.
    pub(crate) fn hold(&self, holds: bool) {
        let signal = if holds { Signal::STOP } else { Signal::CONT };
        if let Some(id) = Pid::from_raw(self.0.id() as i32) {
            // It may have ended.
            let _ = rustix::process::kill_process(id, signal);
        }
    }

    /// Takes the pipe from its standard error.
    pub(crate) fn take_stderr(&mut self) -> Option<std::process::ChildStderr> {
        self.0.stderr.take()
    }

    /// Waits for its end, and ends it after `patience`.
    pub(crate) fn reap(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.kill();
        self.0.wait()
    }

    /// Ends it at once and collects it.
    pub(crate) fn kill(&mut self) {
        // Both fail only when it has ended already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for QemuProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs the hook and never returns, if the command was started as one.
pub(crate) fn run_hook_if_asked() {
    let mut args = env::args_os().skip(1);
    if args.next().as_deref() == Some(OsStr::new(HOOK)) {
        let error = exec_hook(args);
        // The parent reads this from the child's standard error.
        eprintln!("{error}");
        std::process::exit(127);
    }
}

/// Becomes the command in `args` (parent's process id first); returns only the error.
fn exec_hook(mut args: impl Iterator<Item = OsString>) -> io::Error {
    let parent = args.next().and_then(|id| id.to_str()?.parse().ok()).and_then(Pid::from_raw);
    if let Err(e) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        return e.into();
    }
    // The parent may have gone before the line above.
    if rustix::process::getppid() != parent {
        return io::Error::other("the hadal command has ended");
    }
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(e) = rustix::process::setrlimit(Resource::Core, no_core) {
        return e.into();
    }
    let Some(program) = args.next() else { return io::ErrorKind::InvalidInput.into() };
    Command::new(program).args(args).exec()
}
