// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mprotect(2)`: changes the protection of a range.
//!
//! Honoured: PROT_NONE, PROT_READ, PROT_WRITE, PROT_EXEC, PROT_SEM (ignored). ENOMEM beyond RLIMIT_DATA.
//!
//! Refused: PROT_GROWSDOWN, PROT_GROWSUP (EINVAL).

use hadal_mem::space::Prot;

use super::common::{page_aligned, pages, prot};
use super::errno;
use crate::call::Call;
use crate::strace::signature;
use crate::{Result, locking, machine};

signature!(Address, Size, Flags(&flags::PROT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = page_aligned(call.arg(0))?;
    let len = pages(call.arg(1))?;
    let prot = prot(call.uint(2))?;
    if len > 0 {
        let limits = call.process.mapping_limits();
        call.process.space().protect_within(address, len, prot, limits).map_err(errno)?;
        if prot.contains(Prot::WRITE) {
            // Stacks of threads become usable in this way.
            locking::fill(call.process, address, len);
        }
        if prot.contains(Prot::EXEC) {
            machine::get().code_mapped(call.process);
        }
    }
    Ok(0)
}
