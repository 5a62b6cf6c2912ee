// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading and changing resource limits, for the three calls that do.

use hadal_vfs::MAX_DESCRIPTORS;
use linux_raw_sys::general::{RLIMIT_CPU, RLIMIT_NOFILE};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::process::{Limit, Process, UNLIMITED};
use crate::signal::timer::cpu_limit;
use crate::{Errno, Result};

/// `struct rlimit64`, and on x86-64 `struct rlimit`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(super) struct RawLimit {
    soft: u64,
    hard: u64,
}

/// The number of a resource, checked.
fn index(resource: u32) -> Result<usize> {
    let index = resource as usize;
    if index < crate::process::LIMIT_COUNT { Ok(index) } else { Err(Errno::EINVAL) }
}

/// A limit as it is.
pub(super) fn get(process: &Process, resource: u32) -> Result<RawLimit> {
    let Limit { soft, hard } = process.limits.lock()[index(resource)?];
    Ok(RawLimit { soft, hard })
}

/// Changes a limit, for a caller that is privileged or not.
pub(super) fn set(process: &'static Process, resource: u32, new: RawLimit, privileged: bool) -> Result<()> {
    let index = index(resource)?;
    let is_followed = resource == RLIMIT_CPU && new.soft != UNLIMITED;
    // First what may fail.
    let follower = is_followed.then(|| cpu_limit::follower(process)).transpose()?;
    let mut limits = process.limits.lock();
    check(resource, limits[index], new, privileged)?;
    limits[index] = Limit { soft: new.soft, hard: new.hard };
    process.note_limits(&limits);
    drop(limits);
    follower.map_or(Ok(()), cpu_limit::follow)
}

fn check(resource: u32, current: Limit, new: RawLimit, privileged: bool) -> Result<()> {
    if new.soft > new.hard {
        return Err(Errno::EINVAL);
    }
    let beyond_system = resource == RLIMIT_NOFILE && new.hard > MAX_DESCRIPTORS.into();
    if beyond_system || (new.hard > current.hard && !privileged) { Err(Errno::EPERM) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use linux_raw_sys::general::RLIMIT_STACK;

    use super::*;

    #[test]
    fn hard_limits_only_go_down() {
        let current = Limit { soft: 10, hard: 100 };
        let wanted = |soft, hard| RawLimit { soft, hard };
        assert_eq!(check(RLIMIT_STACK, current, wanted(100, 100), false), Ok(()));
        assert_eq!(check(RLIMIT_STACK, current, wanted(5, 50), false), Ok(()));
        assert_eq!(check(RLIMIT_STACK, current, wanted(5, 101), false), Err(Errno::EPERM));
        assert_eq!(check(RLIMIT_STACK, current, wanted(5, 101), true), Ok(()));
        assert_eq!(check(RLIMIT_STACK, current, wanted(60, 50), true), Err(Errno::EINVAL));
        assert_eq!(check(RLIMIT_NOFILE, current, wanted(1, u64::MAX), true), Err(Errno::EPERM));
    }
}
