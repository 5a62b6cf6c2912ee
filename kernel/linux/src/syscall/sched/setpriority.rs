// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setpriority(2)`: sets the nice value.
//!
//! Honoured: 0 and above for processes of the same user, or of any for the superuser: accepted as a wish without effect, since
//! one program has the machine.
//!
//! Refused: negative values (EACCES, as for a program without privileges), process 1 and other users' processes (EPERM), processes, groups and users that
//! are not there (ESRCH), unknown kinds (EINVAL).

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if !target::find_nice(call)? {
        return Err(Errno::EPERM);
    }
    if call.int(2) < 0 { Err(Errno::EACCES) } else { Ok(0) }
}
