// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The limit on open files. QEMU opens the program's files for it, so a low limit would show as failures of the machine or
//! of the program that do not name their cause.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::Failure;

/// Descriptors of the command, of QEMU with its devices, and some for files that the program has open.
const LEAST: u64 = 128;

/// What a low soft limit is raised to, if the hard one allows.
const WANTED: u64 = 1024;

/// Raises a low limit on open files as far as that is left to this process; a failure if it stays too low.
pub(crate) fn raise_open_files() -> Result<(), Failure> {
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    if soft >= WANTED {
        return Ok(());
    }
    let raised = limit.maximum.unwrap_or(u64::MAX).min(WANTED);
    if raised > soft {
        // If that is refused, the check below says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    }
    match getrlimit(Resource::Nofile).current {
        Some(open_files) if open_files < LEAST => Err(Failure::setup(
            format!("the limit on open files is {open_files} (ulimit -n), and a machine needs {LEAST}"),
            "raise the hard limit (ulimit -Hn): root does so in /etc/security/limits.conf, or a service's LimitNOFILE=",
        )),
        _ => Ok(()),
    }
}
