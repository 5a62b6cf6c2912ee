// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clone3(2)`: makes a thread or a process, with its arguments in a structure.
//!
//! Honoured: as `clone`; the stack is given as base and size.
//!
//! Refused: as `clone`; set_tid and cgroup (EINVAL), a structure larger than 88 bytes with content there (E2BIG).

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

use super::new_thread::{Arguments, start};
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

/// `struct clone_args`.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// The first version of the structure ended before `set_tid`.
const FIRST_LEN: usize = 64;
const LONGEST: usize = 4096;

signature!(CloneArgs, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, len) = (call.arg(0), call.arg(1));
    if len < FIRST_LEN {
        return Err(Errno::EINVAL);
    }
    if len > LONGEST {
        return Err(Errno::E2BIG);
    }
    let known = size_of::<CloneArgs>();
    let args = if len >= known { memory::read::<CloneArgs>(address)? } else { read_first(address, len)? };
    if len > known {
        let mut unknown = memory::buffer(len - known)?;
        memory::read_bytes(address + known, &mut unknown)?;
        if unknown.iter().any(|&byte| byte != 0) {
            return Err(Errno::E2BIG);
        }
    }
    if args.set_tid != 0 || args.set_tid_size != 0 || (args.stack == 0) != (args.stack_size == 0) {
        return Err(Errno::EINVAL);
    }
    let arguments = Arguments {
        flags: args.flags,
        stack: args.stack.checked_add(args.stack_size).ok_or(Errno::EINVAL)?,
        parent_tid: args.parent_tid as usize,
        child_tid: args.child_tid as usize,
        pidfd: args.pidfd as usize,
        tls: args.tls,
        exit_signal: args.exit_signal,
    };
    start(call, &arguments)
}

/// Reads a shorter structure, of which the rest is 0.
#[cold]
fn read_first(address: usize, len: usize) -> Result<CloneArgs> {
    let mut args = CloneArgs::new_zeroed();
    memory::read_bytes(address, &mut args.as_mut_bytes()[..len])?;
    Ok(args)
}
