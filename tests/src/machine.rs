// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `hadal` command line of one run, and the limit on machines that run at the same time.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::error::TestError;
use crate::run::{self, Outcome, Running};
use crate::scratch;

/// Machines that may run at once: QEMU translates on every core of the host.
const MACHINES_AT_ONCE: usize = 2;

/// What a run gets beyond the time after which `hadal` itself should give up with a list of threads.
const GRACE: Duration = Duration::from_secs(30);

/// The `hadal` command: the value of `HADAL`, else the release build of this tree.
pub fn hadal_command() -> Result<PathBuf, TestError> {
    let path = match std::env::var_os("HADAL") {
        Some(path) => PathBuf::from(path),
        None => scratch::target().join("release").join("hadal"),
    };
    if path.is_file() { Ok(path) } else { Err(TestError::NoHadal(path)) }
}

/// True when only the Linux half of each comparison is wanted: `HADAL_TESTS_NATIVE=1`.
#[must_use]
pub fn native_only() -> bool {
    std::env::var_os("HADAL_TESTS_NATIVE").is_some_and(|value| value != "0")
}

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Leave to run one machine, or to be the only one, until dropped.
pub struct Permit {
    places: usize,
}

impl Permit {
    /// Waits for a free place.
    #[must_use]
    pub fn one() -> Self {
        Self::take(1)
    }

    /// Waits until no other machine runs, and keeps others away.
    #[must_use]
    pub fn alone() -> Self {
        Self::take(MACHINES_AT_ONCE)
    }

    fn take(places: usize) -> Self {
        let running = RUNNING.lock().unwrap();
        let mut running = ENDED.wait_while(running, |running| *running + places > MACHINES_AT_ONCE).unwrap();
        *running += places;
        Self { places }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap() -= self.places;
        ENDED.notify_all();
    }
}

/// A `hadal run` command line in the making.
#[derive(Clone, Debug)]
pub struct Hadal {
    options: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    cwd: Option<PathBuf>,
    stdin: Vec<u8>,
    limit: Duration,
    own_timeout: bool,
    alone: bool,
    user: Option<u32>,
    prefix: Vec<(OsString, OsString)>,
}

impl Hadal {
    /// A run on `cpus` processors with an empty environment.
    #[must_use]
    pub fn new(cpus: u32) -> Self {
        Self::plain().with("--cpus", cpus.to_string())
    }

    /// A run with an empty environment and no other choice made.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            options: Vec::new(),
            environment: Vec::new(),
            cwd: None,
            stdin: Vec::new(),
            limit: Duration::from_secs(60),
            own_timeout: true,
            alone: false,
            user: None,
            prefix: Vec::new(),
        }
    }

    /// Adds an option of `hadal run`.
    #[must_use]
    pub fn option(mut self, option: impl AsRef<OsStr>) -> Self {
        self.options.push(option.as_ref().to_owned());
        self
    }

    /// Adds an option with its value.
    #[must_use]
    pub fn with(self, option: &str, value: impl AsRef<OsStr>) -> Self {
        self.option(option).option(value)
    }

    /// Sets a variable of the program's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the `hadal` command's own environment.
    #[must_use]
    pub fn command_env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.prefix.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs in this directory.
    #[must_use]
    pub fn cwd(mut self, directory: &Path) -> Self {
        self.cwd = Some(directory.to_owned());
        self
    }

    /// Feeds standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = bytes.to_vec();
        self
    }

    /// The time the run may take.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Leaves `--timeout` to the test.
    #[must_use]
    pub fn without_timeout(mut self) -> Self {
        self.own_timeout = false;
        self
    }

    /// No other machine runs meanwhile.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Runs the command as another user; only root may.
    #[must_use]
    pub fn as_user(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    /// The command line, for the given executable of `hadal`.
    #[must_use]
    pub fn command(&self, hadal: &Path, program: &Path, arguments: &[OsString]) -> Command {
        let mut command = with_default_signals(hadal);
        command.arg("run").args(&self.options).arg("--clear-env");
        for (name, value) in &self.environment {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            command.arg("--env").arg(pair);
        }
        if self.own_timeout {
            command.arg("--timeout").arg(self.limit.as_secs().to_string());
        }
        command.arg(program).args(arguments);
        command.envs(self.prefix.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.cwd {
            command.current_dir(directory);
        }
        if let Some(user) = self.user {
            std::os::unix::process::CommandExt::uid(&mut command, user);
            std::os::unix::process::CommandExt::gid(&mut command, user);
        }
        command
    }

    /// Waits for a place and starts the run.
    pub fn start(&self, program: &Path, arguments: &[OsString]) -> Result<(Permit, Running), TestError> {
        self.start_with(&hadal_command()?, program, arguments)
    }

    /// Starts the run with the given executable of `hadal`.
    pub fn start_with(
        &self,
        hadal: &Path,
        program: &Path,
        arguments: &[OsString],
    ) -> Result<(Permit, Running), TestError> {
        let command = self.command(hadal, program, arguments);
        let permit = if self.alone { Permit::alone() } else { Permit::one() };
        Ok((permit, Running::start(command, &self.stdin)?))
    }

    /// Runs a program to its end.
    pub fn run(&self, program: &Path, arguments: &[OsString]) -> Result<Outcome, TestError> {
        let (_permit, running) = self.start(program, arguments)?;
        running.finish(self.limit + GRACE)
    }
}

/// A command that starts with no signal ignored: a shell makes its background jobs ignore some, and they hand that down.
#[must_use]
pub fn with_default_signals(program: &Path) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=INT,QUIT,HUP,TERM").arg(program);
    command
}

/// Runs `hadal` with other arguments than those of `hadal run`.
pub fn hadal(arguments: &[&str], cwd: &Path, limit: Duration) -> Result<Outcome, TestError> {
    let mut command = with_default_signals(&hadal_command()?);
    command.args(arguments).current_dir(cwd);
    let _permit = Permit::one();
    run::run(command, b"", limit)
}

/// Arguments of a program from anything that is text.
#[must_use]
pub fn arguments<S: AsRef<OsStr>>(list: &[S]) -> Vec<OsString> {
    list.iter().map(|argument| argument.as_ref().to_owned()).collect()
}
