// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `arch_prctl(2)`: the base of FS, a thread's pointer to its local storage.
//!
//! Honoured: ARCH_SET_FS, ARCH_GET_FS.
//!
//! Refused: ARCH_SET_GS and ARCH_GET_GS (EINVAL: GS is the kernel's in ring 0), all other codes (EINVAL).

use hadal_hal::interrupts::handler;
use hadal_hal::memory::layout;
use hadal_hal::threads::context;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

const ARCH_SET_FS: usize = 0x1002;
const ARCH_GET_FS: usize = 0x1003;

signature!(Choice(flags::ARCH), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    match call.arg(0) {
        ARCH_SET_FS => {
            let base = call.arg(1) as u64;
            if !layout::is_program(base) {
                return Err(Errno::EPERM);
            }
            context::set_fs_base(base);
            handler::note_thread_pointer(base);
        }
        ARCH_GET_FS => memory::write(call.arg(1), &context::fs_base())?,
        _ => return Err(Errno::EINVAL),
    }
    Ok(0)
}
