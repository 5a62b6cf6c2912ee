// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `semop` and `semtimedop` share.

use zerocopy::{FromZeros, IntoBytes};

use crate::call::Call;
use crate::sysv::operation::Operation;
use crate::sysv::semaphores::{self, OPERATIONS_MAX, Operations};
use crate::{Errno, Result, memory};

/// Carries out the operations of a call's first three arguments, and waits until a monotonic time, or as long as it takes. A time
/// that is none is found out when the operations have been read, as on Linux.
pub(super) fn carry_out(call: &Call<'_>, deadline_ns: Option<Result<Option<u64>>>) -> Result<usize> {
    let (id, address, count) = (call.int(0), call.arg(1), call.uint(2) as usize);
    if id < 0 || count == 0 {
        return Err(Errno::EINVAL);
    }
    if count > OPERATIONS_MAX {
        return Err(Errno::E2BIG);
    }
    let mut operations = Operations::new();
    memory::make_room(&mut operations, count)?;
    operations.resize(count, Operation::new_zeroed());
    memory::read_bytes(address, operations.as_mut_slice().as_mut_bytes())?;
    let deadline_ns = deadline_ns.transpose()?.flatten();
    semaphores::table().get(id)?.operate(call.process, operations, deadline_ns)?;
    Ok(0)
}
