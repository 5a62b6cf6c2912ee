// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Program memory, reached from the kernel.
//!
//! Addresses come from the program, so each is checked against the program's half (or its memory in the direct map, which
//! never faults) and each access may fault: the routines live in the section `.text.user`, none of them moves the stack
//! pointer, and the fault handler sends a fault in there that nobody can resolve to `hadal_user_fault`, which returns 1. Program memory holds no Rust object, so writing any of
//! it is sound whatever the program asks for. With interrupts off no fault is resolved: an access under a spin lock fails if
//! the page is not there, and the caller touches the page first and tries again.

use core::mem::MaybeUninit;

use crate::interrupts::handler;
use crate::memory::frames::ledger;
use spin::Once;
use zerocopy::FromBytes;

use crate::interrupts::irq::Masked;
use crate::memory::layout::{DIRECT_MAP, DIRECT_MAP_SIZE, PROGRAM_END, PROGRAM_START};
use crate::memory::phys;
use crate::trap::ring;

/// The address is not the program's, or not accessible in that way (`EFAULT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// Memory that programs reach through the direct map.
pub trait DirectMemory: Sync {
    /// Whether all of a range of physical memory is the program's.
    fn contains(&self, pa: u64, len: usize) -> bool;
}

static DIRECT: Once<&'static dyn DirectMemory> = Once::new();

/// Names what programs may use of the direct map; the first call wins.
pub fn set_direct_memory(memory: &'static dyn DirectMemory) {
    DIRECT.call_once(|| memory);
}

/// Whether a range lies in the part of the address space that programs may use at all: their window, or memory of the direct
/// map that was given to them.
#[inline]
pub fn in_window(address: usize, len: usize) -> bool {
    in_program(address, len) || in_direct_memory(address, len)
}

/// Whether a range lies in the program's half.
#[inline(always)]
fn in_program(address: usize, len: usize) -> bool {
    address >= PROGRAM_START && address.checked_add(len).is_some_and(|end| end <= PROGRAM_END)
}

/// Whether a range is memory of the direct map that was given to the program: it is always there, to be read and written.
#[cold]
pub fn in_direct_memory(address: usize, len: usize) -> bool {
    // Ring 3 does not reach it.
    if ring::isolates() {
        return false;
    }
    let Some(pa) = address.checked_sub(DIRECT_MAP) else { return false };
    (pa as u64) < DIRECT_MAP_SIZE
        && DIRECT.get().is_some_and(|memory| memory.contains(pa as u64, len))
        // Whatever `contains` says, it is nothing of the kernel's.
        && ledger::is_unowned(pa as u64, len)
}

#[cfg(not(target_os = "none"))]
#[path = "user/host_routines.rs"]
mod routines;
#[cfg(target_os = "none")]
mod routines;
mod vectors;

#[cfg(target_os = "none")]
pub(crate) use routines::{fixup, guard};
use routines::{
    hadal_user_cmpxchg, hadal_user_copy, hadal_user_monitor, hadal_user_poll, hadal_user_store32,
    hadal_user_zero, load_five, load32, load64, store64,
};
pub use vectors::{load_legacy_vectors, load_vectors, save_vectors};

#[inline(always)]
fn check(address: usize, len: usize) -> Result<(), Fault> {
    // A handler's own variables are on the interrupt stack.
    if len == 0 || in_window(address, len) || handler::owns(address, len) { Ok(()) } else { Err(Fault) }
}

#[inline(always)]
fn result(failed: u32) -> Result<(), Fault> {
    if failed == 0 { Ok(()) } else { Err(Fault) }
}

/// Copies program memory at `src` into `buffer`; on a fault part of the buffer may have been written.
#[inline]
pub fn copy_from(buffer: &mut [u8], src: usize) -> Result<(), Fault> {
    check(src, buffer.len())?;
    // SAFETY: the destination is a Rust slice of that length; the source is in the program's half, where a fault is caught.
    result(unsafe { hadal_user_copy(buffer.as_mut_ptr() as usize, src, buffer.len()) })
}

/// Reads a structure; one of the size of a word by one instruction.
#[inline]
pub fn read<T: FromBytes>(src: usize) -> Result<T, Fault> {
    if size_of::<T>() == size_of::<u64>() {
        let word = load_u64(src)?;
        // SAFETY: the sizes are the same, and any bytes are a `T`.
        return Ok(unsafe { core::mem::transmute_copy(&word) });
    }
    check(src, size_of::<T>())?;
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the destination is a local of that size; the source is as in `copy_from`.
    result(unsafe { hadal_user_copy(value.as_mut_ptr() as usize, src, size_of::<T>()) })?;
    // SAFETY: all of it has been written, and any bytes are a `T`.
    Ok(unsafe { value.assume_init() })
}

/// The same for a large structure, which `use_it` gets where it was read to.
#[inline(always)]
pub fn read_for<T: FromBytes, R>(src: usize, use_it: impl FnOnce(&T) -> R) -> Result<R, Fault> {
    check(src, size_of::<T>())?;
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: as in `read`.
    result(unsafe { hadal_user_copy(value.as_mut_ptr() as usize, src, size_of::<T>()) })?;
    // SAFETY: all of it has been written, and any bytes are a `T`.
    Ok(use_it(unsafe { value.assume_init_ref() }))
}

/// Copies `data` to program memory at `dst`; on a fault a first part may have been written.
#[inline]
pub fn copy_to(dst: usize, data: &[u8]) -> Result<(), Fault> {
    check(dst, data.len())?;
    // SAFETY: the destination is in the program's half, where no Rust object lives and a fault is caught.
    result(unsafe { hadal_user_copy(dst, data.as_ptr() as usize, data.len()) })
}

/// Copies `len` bytes of physical memory to program memory at `dst`.
///
/// # Safety
/// The range is memory that somebody owns for as long as this takes; its bytes may change meanwhile.
#[inline]
pub(super) unsafe fn copy_from_phys(dst: usize, pa: u64, len: usize) -> Result<(), Fault> {
    check(dst, len)?;
    let src = phys::pointer(pa, len) as usize;
    // SAFETY: as for `copy_to`; the routine reads memory as the caller says, and no Rust reference is made.
    result(unsafe { hadal_user_copy(dst, src, len) })
}

/// Fills program memory with zeros.
pub fn zero(dst: usize, len: usize) -> Result<(), Fault> {
    check(dst, len)?;
    // SAFETY: as for `copy_to`.
    result(unsafe { hadal_user_zero(dst, len) })
}

/// Reads a 32-bit word; atomic when `address` is aligned.
#[inline]
pub fn load_u32(address: usize) -> Result<u32, Fault> {
    check(address, 4)?;
    // SAFETY: the address is in the program's half, where a fault is caught.
    let (failed, value) = unsafe { load32(address) };
    result(failed).map(|()| value)
}

/// Writes a 32-bit word; atomic when `address` is aligned.
pub fn store_u32(address: usize, value: u32) -> Result<(), Fault> {
    check(address, 4)?;
    // SAFETY: as for `copy_to`.
    result(unsafe { hadal_user_store32(address, value) })
}

/// Reads a 64-bit word; atomic when `address` is aligned.
#[inline(always)]
pub fn load_u64(address: usize) -> Result<u64, Fault> {
    check(address, 8)?;
    // SAFETY: the address is in the program's half, where a fault is caught.
    let (failed, value) = unsafe { load64(address) };
    result(failed).map(|()| value)
}

/// Reads the first four 64-bit words of a structure and the one at `distance` behind them.
#[inline(always)]
pub fn load_five_u64(address: usize, distance: usize) -> Result<[u64; 5], Fault> {
    check(address, distance.max(24) + 8)?;
    // SAFETY: as in `load_u64`; all five words are in what was checked.
    let (failed, values) = unsafe { load_five(address, distance) };
    result(failed).map(|()| values)
}

/// [`load_u64`] for who looks again when it fails, with that: what is not in the program's half counts as absent. No Rust
/// function is on its way, before which registers would have to be saved.
#[inline(always)]
pub fn load_ordinary_u64(address: usize) -> Result<u64, Fault> {
    if !in_program(address, 8) {
        return Err(Fault);
    }
    // SAFETY: the address is in the program's half, where a fault is caught.
    let (failed, value) = unsafe { load64(address) };
    result(failed).map(|()| value)
}

/// Writes a 64-bit word; atomic when `address` is aligned.
#[inline(always)]
pub fn store_u64(address: usize, value: u64) -> Result<(), Fault> {
    check(address, 8)?;
    // SAFETY: as for `copy_to`.
    result(unsafe { store64(address, value) })
}

/// Atomically replaces the word at `address` by `new` if it holds `old`; the inner error is the value found.
pub fn cmpxchg_u32(address: usize, old: u32, new: u32) -> Result<Result<u32, u32>, Fault> {
    check(address, 4)?;
    let mut value = old;
    // SAFETY: the address is in the program's half, where a fault is caught; `value` is a local.
    result(unsafe { hadal_user_cmpxchg(address, &raw mut value, new) })?;
    Ok(if value == old { Ok(old) } else { Err(value) })
}

/// Looks at an aligned 64-bit word up to `looks` times (not 0) until it is another value than `old`; returns whether it is.
pub fn poll_u64(address: usize, old: u64, looks: u32) -> Result<bool, Fault> {
    check(address, 8)?;
    // SAFETY: the address is in the program's half, where a fault is caught.
    match unsafe { hadal_user_poll(address, old, looks) } {
        0 => Ok(true),
        1 => Err(Fault),
        _ => Ok(false),
    }
}

/// Sleeps until somebody writes near an aligned 64-bit word, an interrupt comes, or for no reason; not if the word is
/// another value than `old`. The CPU has MONITOR and MWAIT. Interrupts are on while it sleeps, and off again afterwards. A
/// page that is not there is an error: touch it first.
pub fn monitor_u64(masked: &mut Masked, address: usize, old: u64) -> Result<(), Fault> {
    check(address, 8)?;
    // SAFETY: the address is in the program's half, where a fault is caught.
    let outcome = unsafe { hadal_user_monitor(address, old) };
    masked.again();
    result(outcome)
}
