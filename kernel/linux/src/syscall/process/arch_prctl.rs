// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `arch_prctl(2)`: the bases of FS, a thread's pointer to its local storage, and of GS.
//!
//! Honoured: ARCH_SET_FS, ARCH_GET_FS; in ring 3 ARCH_SET_GS, ARCH_GET_GS.
//!
//! Refused: ARCH_SET_GS and ARCH_GET_GS in ring 0 (EINVAL: GS is the kernel's there), all other codes (EINVAL).

use hadal_hal::interrupts::handler;
use hadal_hal::memory::layout;
use hadal_hal::threads::context::{self, program_gs};
use hadal_hal::trap::ring;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

const ARCH_SET_GS: usize = 0x1001;
const ARCH_SET_FS: usize = 0x1002;
const ARCH_GET_FS: usize = 0x1003;
const ARCH_GET_GS: usize = 0x1004;

signature!(Choice(flags::ARCH), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    match call.arg(0) {
        ARCH_SET_FS => {
            let base = base_of(call)?;
            context::set_fs_base(base);
            handler::note_thread_pointer(base);
        }
        ARCH_GET_FS => memory::write(call.arg(1), &context::fs_base())?,
        ARCH_SET_GS if ring::isolates() => program_gs::set_base(base_of(call)?),
        ARCH_GET_GS if ring::isolates() => memory::write(call.arg(1), &program_gs::base())?,
        _ => return Err(Errno::EINVAL),
    }
    Ok(0)
}

fn base_of(call: &Call<'_>) -> Result<u64> {
    let base = call.arg(1) as u64;
    if layout::is_program(base) { Ok(base) } else { Err(Errno::EPERM) }
}
