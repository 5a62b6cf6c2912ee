// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether there is a shell that could continue this process after a stop (POSIX, orphaned process group).

use std::fs;

use rustix::process::{Pid, getpgid, getpgrp, getppid, getsid};

/// Whether nobody could: no ancestor is in another process group of this session.
pub(crate) fn is_orphaned() -> bool {
    let (Ok(session), group) = (getsid(None), getpgrp()) else { return true };
    let mut ancestor = getppid();
    while let Some(pid) = ancestor {
        if getsid(Some(pid)) != Ok(session) {
            return true;
        }
        if getpgid(Some(pid)) != Ok(group) {
            return false;
        }
        ancestor = parent(pid);
    }
    true
}

fn parent(pid: Pid) -> Option<Pid> {
    parent_in(&fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?)
}

/// The `PPid` in the text of `/proc/PID/status`.
fn parent_in(status: &str) -> Option<Pid> {
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Pid::from_raw(line.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_read_from_the_status() {
        let pid = |text| parent_in(text).map(|pid| pid.as_raw_nonzero().get());
        assert_eq!(pid("Name:\tsh\nPPid:\t42\n"), Some(42));
        assert_eq!((pid("PPid:\t0\n"), pid("")), (None, None));
    }
}
