// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sysinfo(2)`: memory, time since boot, number of threads.
//!
//! Honoured: uptime, total and free memory, the number of threads of the program. Nobody takes samples of the load, so the
//! three averages are the number of threads that could run now. There is no swap and no high memory.
//!
//! Refused: nothing.

use hadal_mem::frames;
use zerocopy::{Immutable, IntoBytes};

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, memory};

/// Load averages are fixed-point numbers with this many bits behind the point (`SI_LOAD_SHIFT`).
const LOAD_SHIFT: u32 = 16;

/// `struct sysinfo`.
#[repr(C)]
#[derive(IntoBytes, Immutable)]
struct Facts {
    uptime_seconds: u64,
    loads: [u64; 3],
    total: u64,
    free: u64,
    shared: u64,
    buffers: u64,
    swap_total: u64,
    swap_free: u64,
    processes: u16,
    reserved: [u16; 3],
    high_total: u64,
    high_free: u64,
    unit_bytes: u32,
    reserved_end: u32,
}

const _: () = assert!(size_of::<Facts>() == size_of::<linux_raw_sys::system::sysinfo>());

signature!(Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let memory = frames::global().stats();
    let runnable = call.process.runnable_count() as u64;
    let facts = Facts {
        uptime_seconds: hadal_time::now_ns() / hadal_time::NS_PER_SECOND,
        loads: [runnable << LOAD_SHIFT; 3],
        total: memory.total_bytes,
        free: memory.free_bytes,
        shared: call.process.space().stats().shared_bytes as u64,
        buffers: 0,
        swap_total: 0,
        swap_free: 0,
        processes: call.process.thread_count().min(usize::from(u16::MAX)) as u16,
        reserved: [0; 3],
        high_total: 0,
        high_free: 0,
        unit_bytes: 1,
        reserved_end: 0,
    };
    memory::write(call.arg(0), &facts)?;
    Ok(0)
}
