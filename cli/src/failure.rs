// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Failure`]: how the command itself fails, with the exit status and the remedy that belong to each case.
//!
//! A failure is printed as `hadal: WHAT` and, where something can be done, a line `  help: REMEDY`. The statuses are
//! those of [`hadal_abi::status`].

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hadal_abi::status;

use crate::elf::ElfError;
use crate::qemu_failure::Cause;

/// The signal of an end that a program cannot prevent.
const SIGKILL: u8 = 9;

/// A failure of Hadal, as opposed to an exit status of the program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The program's file cannot be run.
    #[error("{path}: {error}", path = .path.display())]
    Program {
        /// The file as the user named it.
        path: PathBuf,
        /// What is wrong with it.
        error: ElfError,
    },
    /// Something about the program's surroundings is wrong: a mount, the working directory, where the file lies.
    #[error("{what}")]
    Setup {
        /// What is wrong.
        what: String,
        /// What to do.
        help: String,
    },
    /// The command line makes no sense.
    #[error("{what}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What to do.
        help: String,
    },
    /// The kernel refused to start the program.
    #[error("the program could not be started: {0}")]
    CannotStart(String),
    /// QEMU is not installed.
    #[error("{}", qemu_missing_text(.0))]
    QemuMissing(PathBuf),
    /// QEMU ended before the kernel said a word.
    #[error("{}", .cause.text(.ended))]
    QemuFailed {
        /// Why.
        cause: Cause,
        /// How it ended.
        ended: String,
        /// What it printed.
        output: String,
    },
    /// The kernel panicked or gave up.
    #[error("the kernel panicked")]
    KernelPanic {
        /// Report of the kernel.
        report: String,
    },
    /// The program ran longer than allowed.
    #[error("{}", timeout_text(*.seconds, *.answered))]
    Timeout {
        /// The limit.
        seconds: f64,
        /// Whether the kernel still answered.
        answered: bool,
        /// Last lines of the kernel's log, shown when it did not answer.
        log: String,
    },
    /// The machine went away without its "done" message.
    #[error("the machine ended without its done message ({how})")]
    Lost {
        /// What was seen.
        how: String,
        /// Last lines of the kernel's log and of QEMU's output.
        log: String,
    },
    /// The source file did not compile.
    #[error("{path}: does not compile ({compiler} ended with {ended})", path = .path.display())]
    Compile {
        /// The source.
        path: PathBuf,
        /// The compiler's command.
        compiler: String,
        /// How it ended.
        ended: String,
    },
    /// One of Hadal's own compilers found errors in the source, and has printed them.
    #[error("{path}: does not compile: {}", errors_text(*.errors), path = .path.display())]
    Rejected {
        /// The source.
        path: PathBuf,
        /// How many errors.
        errors: usize,
    },
    /// `hadal stop` ended the machine.
    #[error("{}", stopped_text(*.grace))]
    Stopped {
        /// Time that the program had to end by itself; `None`: it had none.
        grace: Option<Duration>,
    },
    /// A second Ctrl-C ended the run.
    #[error("interrupted")]
    Interrupted {
        /// The signal.
        signal: u8,
    },
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

fn timeout_text(seconds: f64, answered: bool) -> String {
    let mut text = format!("the time limit of {seconds} s passed");
    if !answered {
        text.push_str(", and the kernel did not answer any more");
    }
    text
}

fn errors_text(errors: usize) -> String {
    if errors == 1 { "1 error".to_owned() } else { format!("{errors} errors") }
}

fn stopped_text(grace: Option<Duration>) -> String {
    match grace {
        Some(grace) => format!(
            "ended by hadal stop: the program did not end within {} s after SIGTERM",
            grace.as_secs_f64()
        ),
        None => "ended by hadal stop".to_owned(),
    }
}

fn qemu_missing_text(qemu: &Path) -> String {
    match qemu.exists() {
        true => format!("{}: is not an executable file, and so not QEMU", qemu.display()),
        false => format!("{}: QEMU not found", qemu.display()),
    }
}

impl Failure {
    /// A failure of the surroundings with its remedy.
    pub(crate) fn setup(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Setup { what: what.into(), help: help.into() }
    }

    /// Exit status of the command.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Program { error: ElfError::NotFound { .. }, .. } => status::NOT_FOUND,
            Self::Program { error: ElfError::NotExecutable { .. } | ElfError::Directory, .. } => {
                status::NOT_EXECUTABLE
            }
            Self::Program { .. } | Self::Setup { .. } | Self::CannotStart(_) => status::CANNOT_START,
            Self::Usage { .. } => status::USAGE,
            Self::QemuMissing(_) | Self::QemuFailed { .. } => status::QEMU,
            Self::KernelPanic { .. } => status::KERNEL_PANIC,
            Self::Timeout { .. } => status::TIMEOUT,
            Self::Lost { .. } => status::LOST,
            Self::Compile { .. } | Self::Rejected { .. } => status::COMPILE,
            Self::Stopped { .. } => status::SIGNAL_BASE + SIGKILL,
            Self::Interrupted { signal } => status::SIGNAL_BASE + signal,
            Self::Other(_) => status::INTERNAL,
        }
    }

    /// The whole message, lines ended.
    pub(crate) fn message(&self) -> String {
        let mut text = format!("hadal: {self}\n");
        if let Some(help) = self.help() {
            let _ = writeln!(text, "  help: {help}");
        }
        if let Some((title, details)) = self.details().filter(|(_, details)| !details.trim().is_empty()) {
            let _ = writeln!(text, "  {title}:");
            for line in details.lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
        text
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Self::Program { error, .. } => error.help()?,
            Self::Setup { help, .. } | Self::Usage { help, .. } => help.clone(),
            Self::QemuMissing(_) => {
                "install it (Debian, Ubuntu: apt-get install qemu-system-x86) or name it with --qemu".into()
            }
            Self::QemuFailed { cause, .. } => cause.help().into(),
            Self::KernelPanic { .. } => {
                "this is a bug in Hadal; please report it with the lines below and the program".into()
            }
            Self::Timeout { answered: true, .. } => {
                "the thread list above says where each thread waits; --timeout sets the limit".into()
            }
            Self::Timeout { answered: false, .. } => {
                "--gdb attaches a debugger; --log debug shows more".into()
            }
            Self::Lost { .. } => "run it again with --log info to see more of the kernel's log".into(),
            _ => return None,
        })
    }

    fn details(&self) -> Option<(&'static str, &str)> {
        Some(match self {
            Self::QemuFailed { output, .. } => ("QEMU said", output),
            Self::KernelPanic { report } => ("the kernel's report", report),
            Self::Timeout { answered: false, log, .. } | Self::Lost { log, .. } => {
                ("last lines of the log", log)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_case_and_indent_the_details() {
        let failure = Failure::Lost { how: "QEMU was killed".into(), log: "a\nb\n".into() };
        let text = failure.message();
        assert!(text.starts_with("hadal: the machine ended without its done message (QEMU was killed)\n"));
        assert!(text.contains("\n    a\n    b\n"), "{text}");
        assert_eq!(failure.status(), status::LOST);
    }

    #[test]
    fn empty_details_are_left_out() {
        let ended = "exit status: 1".into();
        let text = Failure::QemuFailed { cause: Cause::Unknown, ended, output: "\n".into() }.message();
        assert!(!text.contains("QEMU said"), "{text}");
    }
}
