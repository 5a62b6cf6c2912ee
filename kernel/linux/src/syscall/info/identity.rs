// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Changing to the identity that a process has already, which is all that it may do.

use crate::{Errno, Result};

/// Stands for "leave it as it is" in the calls that set several ids.
const KEEP: u32 = u32::MAX;

/// Checks ids that may each be left alone: all others must be `current`.
pub(super) fn keep_or_same(wanted: &[u32], current: u32) -> Result<usize> {
    if wanted.iter().all(|&id| id == KEEP || id == current) { Ok(0) } else { Err(Errno::EPERM) }
}

/// Checks one id that must be named.
pub(super) fn same(wanted: u32, current: u32) -> Result<usize> {
    match wanted {
        KEEP => Err(Errno::EINVAL),
        id if id == current => Ok(0),
        _ => Err(Errno::EPERM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_identity_can_be_taken() {
        assert_eq!(same(1000, 1000), Ok(0));
        assert_eq!(same(0, 1000), Err(Errno::EPERM));
        assert_eq!(same(KEEP, 1000), Err(Errno::EINVAL));
        assert_eq!(keep_or_same(&[KEEP, 1000, KEEP], 1000), Ok(0));
        assert_eq!(keep_or_same(&[KEEP, 0], 1000), Err(Errno::EPERM));
    }
}
