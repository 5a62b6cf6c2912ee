// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The three calls at fixed addresses in the highest half, from before there was a vDSO. No page is there: a program that
//! calls one faults on the fetch of its first instruction, and the call is made for it, as Linux does. Reading the page is a
//! fault.

use hadal_hal::trap::{Access, TrapFrame, vector};
use syscalls::Sysno;

use crate::call::Call;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, memory, syscall};

/// Addresses, and the calls there.
const CALLS: [(u64, Sysno); 3] = [
    (0xffff_ffff_ff60_0000, Sysno::gettimeofday),
    (0xffff_ffff_ff60_0400, Sysno::time),
    (0xffff_ffff_ff60_0800, Sysno::getcpu),
];

/// Makes the call that a fault is about, if it is one, and returns from it. A bad argument or stack is the fault's after all.
pub(crate) fn emulate(task: &'static Task, process: &'static Process, frame: &mut TrapFrame) -> bool {
    let is_call = frame.vector == vector::PAGE_FAULT
        && frame.fault_address == frame.rip
        && Access::from_error(frame.error) == Access::Execute;
    let Some((_, call)) = CALLS.iter().find(|(address, _)| is_call && *address == frame.rip) else {
        return false;
    };
    let Ok(back) = memory::read::<u64>(frame.rsp as usize) else { return false };
    let mut made = TrapFrame { rax: *call as u64, rdx: 0, ..*frame };
    syscall::dispatch(&mut Call { task, process, frame: &mut made });
    task.call_number.store(crate::traps::NO_CALL, core::sync::atomic::Ordering::Relaxed);
    if made.rax == syscall::result_word(Err(Errno::EFAULT)) {
        return false;
    }
    (frame.rax, frame.rip, frame.rsp) = (made.rax, back, frame.rsp.wrapping_add(8));
    true
}
