// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `membarrier(2)`: memory barriers on all CPUs that run the program.
//!
//! Honoured: MEMBARRIER_CMD_QUERY, GLOBAL, GLOBAL_EXPEDITED, PRIVATE_EXPEDITED and their registrations,
//! PRIVATE_EXPEDITED_SYNC_CORE (an interrupt and its return serialise).
//!
//! Refused: PRIVATE_EXPEDITED_RSEQ, flags (EINVAL); PRIVATE commands before their registration (EPERM).

use core::sync::atomic::Ordering;

use hadal_hal::memory::tlb;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

const QUERY: u32 = 0;
const GLOBAL: u32 = 1 << 0;
const GLOBAL_EXPEDITED: u32 = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: u32 = 1 << 2;
const PRIVATE_EXPEDITED: u32 = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: u32 = 1 << 4;
const SYNC_CORE: u32 = 1 << 5;
const REGISTER_SYNC_CORE: u32 = 1 << 6;
const ALL: u32 = (1 << 7) - 1;

signature!(Hex, Hex, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(1) != 0 {
        return Err(Errno::EINVAL);
    }
    let registered = &call.process.registered_barriers;
    match call.uint(0) {
        QUERY => return Ok(ALL as usize),
        GLOBAL | GLOBAL_EXPEDITED => {
            tlb::interrupt_all();
            return Ok(0);
        }
        command @ (REGISTER_GLOBAL_EXPEDITED | REGISTER_PRIVATE_EXPEDITED | REGISTER_SYNC_CORE) => {
            registered.fetch_or(command, Ordering::Relaxed);
            return Ok(0);
        }
        command @ (PRIVATE_EXPEDITED | SYNC_CORE) => {
            // Each command's registration is the next bit.
            if registered.load(Ordering::Relaxed) & command << 1 == 0 {
                return Err(Errno::EPERM);
            }
        }
        _ => return Err(Errno::EINVAL),
    }
    call.process.space().interrupt_cpus();
    Ok(0)
}
