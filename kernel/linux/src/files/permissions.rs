// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the `chmod` and `chown` calls have in common.

use hadal_vfs::{FileKind, SetAttr};

use super::at::Target;
use crate::process::Process;
use crate::{Errno, Result};

/// Changes the permission bits; a symbolic link has none to change.
pub(crate) fn set_mode(process: &Process, target: &Target, mode: u32) -> Result<usize> {
    if target.location().inode().kind() == FileKind::Symlink {
        return Err(Errno::EOPNOTSUPP);
    }
    target.set_attr(process, &SetAttr::mode(mode & 0o7777))?;
    Ok(0)
}

/// Changes user and group; -1 leaves one as it is.
pub(crate) fn set_owner(process: &Process, target: &Target, uid: u32, gid: u32) -> Result<usize> {
    target.set_attr(process, &owner(uid, gid))?;
    Ok(0)
}

fn owner(uid: u32, gid: u32) -> SetAttr {
    let given = |id: u32| (id != u32::MAX).then_some(id);
    SetAttr { uid: given(uid), gid: given(gid), ..SetAttr::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_one_changes_nothing() {
        assert_eq!(owner(u32::MAX, u32::MAX), SetAttr::default());
        assert_eq!(owner(0, u32::MAX).uid, Some(0));
        assert_eq!(owner(0, 7).gid, Some(7));
    }
}
