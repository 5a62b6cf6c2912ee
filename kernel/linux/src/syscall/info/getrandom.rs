// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getrandom(2)`: random bytes.
//!
//! Honoured: `GRND_NONBLOCK`, `GRND_RANDOM` and `GRND_INSECURE` change nothing: the generator is seeded before the program
//! starts, so a call never waits.
//!
//! Refused: other flags, and `GRND_RANDOM` together with `GRND_INSECURE` (`EINVAL`).

use hadal_mem::space::FaultAccess;
use linux_raw_sys::general::{GRND_INSECURE, GRND_NONBLOCK, GRND_RANDOM};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, machine, memory};

/// Most bytes of one call, as on Linux.
const MAX: usize = i32::MAX as usize;
/// Bytes that are made at a time.
const PIECE: usize = 1024;

signature!(Address, Size, Flags(&flags::RANDOM));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(2);
    let both = GRND_RANDOM | GRND_INSECURE;
    if flags & !(GRND_NONBLOCK | both) != 0 || flags & both == both {
        return Err(Errno::EINVAL);
    }
    let (address, len) = (call.arg(0), call.arg(1).min(MAX));
    if !memory::permits(call.process, address, len, FaultAccess::Write) {
        return Err(Errno::EFAULT);
    }
    let mut piece = [0; PIECE];
    let mut done = 0;
    while done < len {
        let part = &mut piece[..PIECE.min(len - done)];
        machine::get().random(part);
        match memory::write_bytes(address + done, part) {
            Ok(()) => done += part.len(),
            // Another thread has unmapped the rest meanwhile.
            Err(error) => return if done > 0 { Ok(done) } else { Err(error) },
        }
        if call.process.ending().is_some() {
            break;
        }
    }
    Ok(done)
}
