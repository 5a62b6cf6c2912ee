// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Restartable sequences: a thread's area in program memory, where it reads the number of its CPU without a call, and
//! critical sections that start over when the thread loses its CPU.
//!
//! The area's address is [`Task::rseq`]. Two events matter: another CPU, or a signal ([`abort_section`]). After every switch
//! [`on_return`] must run before the thread is in program code again.

use core::mem::offset_of;
use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_hal::memory::{layout, user};
use hadal_hal::trap::TrapFrame;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::memory;
use crate::process::Process;
use crate::signal::{self, Info};
use crate::task::Task;
use crate::{Errno, Result};

/// `RSEQ_FLAG_UNREGISTER`.
const UNREGISTER: u32 = 1;
/// `RSEQ_CPU_ID_UNINITIALIZED`.
const NO_CPU: u32 = u32::MAX;

/// `struct rseq` as it was first: what came later exists only for programs that are told so (`AT_RSEQ_FEATURE_SIZE`).
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Area {
    cpu_id_start: u32,
    cpu_id: u32,
    /// Address of a [`Section`], or 0.
    section: u64,
    flags: u32,
    padding: [u32; 3],
}

/// `struct rseq_cs`: a critical section.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Section {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
}

const _: () = {
    assert!(size_of::<Area>() == 32);
    assert!(offset_of!(Area, section) == 8);
    assert!(size_of::<Section>() == 32);
};

/// What a critical section asks for when its thread was at `rip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The thread had left it: it is forgotten.
    Left,
    /// The thread was inside: it goes on at this address.
    Abort(u64),
}

impl Section {
    /// `None` if the descriptor is malformed.
    fn judge(&self, rip: u64) -> Option<Verdict> {
        let end = self.start.checked_add(self.length)?;
        let inside = |address: u64| (self.start..end).contains(&address);
        let program = |address: u64| layout::is_program(address);
        if self.version != 0 || !program(end) || !program(self.abort) || self.abort < 4 || inside(self.abort)
        {
            return None;
        }
        Some(if inside(rip) { Verdict::Abort(self.abort) } else { Verdict::Left })
    }
}

/// The rseq system call: registers or unregisters the calling thread's area.
pub fn register(task: &Task, address: usize, length: usize, flags: u32, signature: u32) -> Result<()> {
    let current = task.rseq.load(Ordering::Relaxed);
    let same_signature = task.rseq_signature.load(Ordering::Relaxed) == signature;
    match flags {
        UNREGISTER => {
            if current == 0 || current != address || !valid_length(length) {
                return Err(Errno::EINVAL);
            }
            if !same_signature {
                return Err(Errno::EPERM);
            }
            write_cpu(address, 0, NO_CPU)?;
            task.rseq.store(0, Ordering::Relaxed);
            Ok(())
        }
        0 if current != 0 => Err(match () {
            () if current != address || !valid_length(length) => Errno::EINVAL,
            () if !same_signature => Errno::EPERM,
            () => Errno::EBUSY,
        }),
        0 => {
            if !valid_length(length) || !address.is_multiple_of(align_of::<Area>()) {
                return Err(Errno::EINVAL);
            }
            // A section left from an earlier use of the memory means nothing.
            user::store_u64(address + offset_of!(Area, section), 0).map_err(memory::efault)?;
            task.rseq_signature.store(signature, Ordering::Relaxed);
            update_cpu(task, address)?;
            task.rseq.store(address, Ordering::Relaxed);
            Ok(())
        }
        _ => Err(Errno::EINVAL),
    }
}

fn valid_length(length: usize) -> bool {
    length >= size_of::<Area>()
}

fn write_cpu(area: usize, cpu_id_start: u32, cpu_id: u32) -> Result<()> {
    // One store for both words, which are aligned to 8 bytes.
    user::store_u64(area, u64::from(cpu_id) << 32 | u64::from(cpu_id_start)).map_err(memory::efault)
}

fn update_cpu(task: &Task, area: usize) -> Result<()> {
    let cpu_id = cpu::current_id() as u32;
    write_cpu(area, cpu_id, cpu_id)?;
    task.rseq_cpu.store(cpu_id, Ordering::Relaxed);
    Ok(())
}

/// Whether the calling thread runs on another CPU than its area names, or than it ran on when an area was looked for last.
#[inline]
pub fn has_moved(task: &Task) -> bool {
    task.rseq_cpu.load(Ordering::Relaxed) != cpu::current_id() as u32
}

/// What that means for its area, if it has one. A bad area is a SIGSEGV.
#[cold]
pub fn on_move(task: &'static Task, process: &'static Process, frame: &mut TrapFrame) {
    match task.rseq.load(Ordering::Relaxed) {
        0 => task.rseq_cpu.store(cpu::current_id() as u32, Ordering::Relaxed),
        area => update_area(task, process, frame, area),
    }
}

/// The calling thread may have lost its CPU since it was in program code: names the CPU in its area, and ends a critical
/// section. A bad area is a SIGSEGV.
#[inline]
pub fn on_return(task: &'static Task, process: &'static Process, frame: &mut TrapFrame) {
    let area = task.rseq.load(Ordering::Relaxed);
    if area != 0 {
        update_area(task, process, frame, area);
    }
}

#[inline(never)]
fn update_area(task: &'static Task, process: &'static Process, frame: &mut TrapFrame, area: usize) {
    let moved = task.rseq_cpu.load(Ordering::Relaxed) != cpu::current_id() as u32;
    if abort_section(task, frame).is_err() || moved && update_cpu(task, area).is_err() {
        task.rseq.store(0, Ordering::Relaxed);
        let info = Info::fault(signal::number::SIGSEGV, signal::info::code::KERNEL, 0);
        signal::force(task, process, frame, info);
    }
}

/// Makes a thread that is inside a critical section go on at the section's abort address.
#[inline(always)]
pub(crate) fn abort_section(task: &Task, frame: &mut TrapFrame) -> Result<()> {
    let area = task.rseq.load(Ordering::Relaxed);
    if area == 0 {
        return Ok(());
    }
    let pointer = area + offset_of!(Area, section);
    let descriptor = user::load_u64(pointer).map_err(memory::efault)?;
    if descriptor == 0 { Ok(()) } else { abort_described(task, frame, pointer, descriptor as usize) }
}

/// The same for a section that is described at `descriptor`, as the thread says at `pointer`.
fn abort_described(task: &Task, frame: &mut TrapFrame, pointer: usize, descriptor: usize) -> Result<()> {
    let section: Section = memory::read(descriptor)?;
    let verdict = section.judge(frame.rip).ok_or(Errno::EINVAL)?;
    user::store_u64(pointer, 0).map_err(memory::efault)?;
    if let Verdict::Abort(address) = verdict {
        let signature = user::load_u32(address as usize - 4).map_err(memory::efault)?;
        if signature != task.rseq_signature.load(Ordering::Relaxed) {
            return Err(Errno::EINVAL);
        }
        frame.rip = address;
        frame.full_restore = 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: Section = Section { version: 0, flags: 0, start: 0x1000, length: 0x20, abort: 0x2000 };

    #[test]
    fn sections_are_aborted_only_from_inside() {
        assert_eq!(SECTION.judge(0x1000), Some(Verdict::Abort(0x2000)));
        assert_eq!(SECTION.judge(0x101f), Some(Verdict::Abort(0x2000)));
        assert_eq!(SECTION.judge(0x1020), Some(Verdict::Left), "the commit is done");
        assert_eq!(SECTION.judge(0xfff), Some(Verdict::Left));
    }

    #[test]
    fn malformed_sections() {
        for section in [
            Section { version: 1, ..SECTION },
            Section { abort: 0x1010, ..SECTION },
            Section { abort: u64::MAX, ..SECTION },
            Section { length: u64::MAX, ..SECTION },
            Section { abort: 0, ..SECTION },
        ] {
            assert_eq!(section.judge(0x1000), None);
        }
    }
}
