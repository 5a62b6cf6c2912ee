// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Program memory, reached from the kernel.
//!
//! Addresses come from the program, so each is checked against the program's half (or its memory in the direct map, which
//! never faults) and each access may fault: the routines
//! live in the section `.text.user`, none of them moves the stack pointer, and the fault handler sends a fault in there
//! that nobody can resolve to `hadal_user_fault`, which returns 1. Program memory holds no Rust object, so writing any of
//! it is sound whatever the program asks for. With interrupts off no fault is resolved: an access under a spin lock fails if
//! the page is not there, and the caller touches the page first and tries again.

use core::mem::MaybeUninit;

use crate::cpu::fpu;
use crate::interrupts::handler;
use crate::memory::frames::ledger;
use spin::Once;
use zerocopy::FromBytes;

use crate::interrupts::irq::Masked;
use crate::memory::layout::{DIRECT_MAP, DIRECT_MAP_SIZE, PROGRAM_END, PROGRAM_START};
use crate::memory::phys;

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
    address >= PROGRAM_START && address.checked_add(len).is_some_and(|end| end <= PROGRAM_END)
        || in_direct_memory(address, len)
}

/// Whether a range is memory of the direct map that was given to the program: it is always there, to be read and written.
#[cold]
pub fn in_direct_memory(address: usize, len: usize) -> bool {
    let Some(pa) = address.checked_sub(DIRECT_MAP) else { return false };
    (pa as u64) < DIRECT_MAP_SIZE
        && DIRECT.get().is_some_and(|memory| memory.contains(pa as u64, len))
        // Whatever `contains` says, it is nothing of the kernel's.
        && ledger::is_unowned(pa as u64, len)
}

#[cfg(target_os = "none")]
mod routines {
    core::arch::global_asm!(
        ".pushsection .text.user, \"ax\", @progbits",
        ".global hadal_user_start, hadal_user_end, hadal_user_fault",
        "hadal_user_start:",
        // rdi destination, rsi source, rdx bytes
        ".global hadal_user_copy",
        "hadal_user_copy:",
        "mov rcx, rdx",
        "shr rcx, 3",
        "rep movsq",
        "mov ecx, edx",
        "and ecx, 7",
        "rep movsb",
        "xor eax, eax",
        "ret",
        // rdi destination, rsi bytes
        ".global hadal_user_zero",
        "hadal_user_zero:",
        "xor eax, eax",
        "mov rcx, rsi",
        "shr rcx, 3",
        "rep stosq",
        "mov ecx, esi",
        "and ecx, 7",
        "rep stosb",
        "ret",
        // rdi program address, rsi where the old value is kept: in the expected value, out the one found; edx new value
        ".global hadal_user_cmpxchg",
        "hadal_user_cmpxchg:",
        "mov eax, [rsi]",
        "lock cmpxchg [rdi], edx",
        "mov [rsi], eax",
        "xor eax, eax",
        "ret",
        // rdi program address, esi value
        ".global hadal_user_store32",
        "hadal_user_store32:",
        "mov [rdi], esi",
        "xor eax, eax",
        "ret",
        // rdi program address, rsi value, edx looks: until the word is another, 2 if it never is
        ".global hadal_user_poll",
        "hadal_user_poll:",
        "cmp [rdi], rsi",
        "jne 2f",
        "pause",
        "dec edx",
        "jnz hadal_user_poll",
        "mov eax, 2",
        "ret",
        // rdi program address, rsi value, interrupts off: sleeps unless the word is another; interrupts are on afterwards
        ".global hadal_user_monitor",
        "hadal_user_monitor:",
        "mov rax, rdi",
        "xor ecx, ecx",
        "xor edx, edx",
        "monitor",
        "cmp [rdi], rsi",
        "jne 2f",
        "xor eax, eax",
        // STI takes effect after the next instruction, so no interrupt comes between the look and the sleep.
        "sti",
        "mwait",
        "ret",
        "2:",
        "xor eax, eax",
        "ret",
        // rdi image in program memory: the vector registers are saved there; rsi, rdx, rcx its first words for software; r8
        // address of the end mark, r9d end mark. Of the words for software and the header the processor writes only which
        // components are in use.
        ".global hadal_user_xsave",
        "hadal_user_xsave:",
        "mov [rdi + 464], rsi",
        "mov [rdi + 472], rdx",
        "mov [rdi + 480], rcx",
        "xor eax, eax",
        "mov [rdi + 488], rax",
        "mov [rdi + 496], rax",
        "mov [rdi + 504], rax",
        "mov [rdi + 512], rax",
        "mov [rdi + 520], rax",
        "mov [rdi + 528], rax",
        "mov [rdi + 536], rax",
        "mov [rdi + 544], rax",
        "mov [rdi + 552], rax",
        "mov [rdi + 560], rax",
        "mov [rdi + 568], rax",
        "mov eax, -1",
        "mov edx, -1",
        "xsave64 [rdi]",
        "mov [r8], r9d",
        "xor eax, eax",
        "ret",
        // rdi image in program memory: the vector registers are loaded from there; rsi components
        ".global hadal_user_xrstor",
        "hadal_user_xrstor:",
        "mov eax, esi",
        "mov rdx, rsi",
        "shr rdx, 32",
        "xrstor64 [rdi]",
        "xor eax, eax",
        "ret",
        ".global hadal_user_fxsave",
        "hadal_user_fxsave:",
        "fxsave64 [rdi]",
        "xor eax, eax",
        "ret",
        ".global hadal_user_fxrstor",
        "hadal_user_fxrstor:",
        "fxrstor64 [rdi]",
        "xor eax, eax",
        "ret",
        // The next four are called from inline assembly and change nothing but RAX and what they load.
        // rdi program address; the value in esi
        ".global hadal_user_load32",
        "hadal_user_load32:",
        "mov esi, [rdi]",
        "xor eax, eax",
        "ret",
        // rdi program address; the value in rsi
        ".global hadal_user_load64",
        "hadal_user_load64:",
        "mov rsi, [rdi]",
        "xor eax, eax",
        "ret",
        // rdi program address, r9 distance; the values there in rcx, rdx, rsi, r8, and that at the distance in r9
        ".global hadal_user_load_five",
        "hadal_user_load_five:",
        "mov rcx, [rdi]",
        "mov rdx, [rdi + 8]",
        "mov rsi, [rdi + 16]",
        "mov r8, [rdi + 24]",
        "mov r9, [rdi + r9]",
        "xor eax, eax",
        "ret",
        // rdi program address, rsi value
        ".global hadal_user_store64",
        "hadal_user_store64:",
        "mov [rdi], rsi",
        "xor eax, eax",
        "ret",
        "hadal_user_fault:",
        "mov eax, 1",
        "ret",
        "hadal_user_end:",
        ".popsection",
    );
    unsafe extern "C" {
        pub(super) fn hadal_user_copy(dst: usize, src: usize, len: usize) -> u32;
        pub(super) fn hadal_user_zero(dst: usize, len: usize) -> u32;
        pub(super) fn hadal_user_cmpxchg(address: usize, value: *mut u32, new: u32) -> u32;
        pub(super) fn hadal_user_store32(address: usize, value: u32) -> u32;
        pub(super) fn hadal_user_poll(address: usize, value: u64, looks: u32) -> u32;
        pub(super) fn hadal_user_monitor(address: usize, value: u64) -> u32;
        pub(super) fn hadal_user_xsave(image: usize, a: u64, b: u64, c: u64, end_at: usize, end: u32) -> u32;
        pub(super) fn hadal_user_xrstor(image: usize, components: u64) -> u32;
        pub(super) fn hadal_user_fxsave(image: usize) -> u32;
        pub(super) fn hadal_user_fxrstor(image: usize) -> u32;
        fn hadal_user_load32();
        fn hadal_user_load64();
        fn hadal_user_load_five();
        fn hadal_user_store64();
        safe static hadal_user_start: u8;
        safe static hadal_user_end: u8;
        safe static hadal_user_fault: u8;
    }

    /// # Safety
    /// The address is in the program's half.
    #[inline(always)]
    pub(super) unsafe fn load64(address: usize) -> (u32, u64) {
        let (failed, value);
        // SAFETY: the routine, or the end of its fault, changes what is named here.
        unsafe {
            core::arch::asm!("call {}", sym hadal_user_load64, in("rdi") address, inout("rsi") 0_u64 => value, out("eax") failed);
        }
        (failed, value)
    }

    /// # Safety
    /// As for [`load64`].
    #[inline(always)]
    pub(super) unsafe fn load32(address: usize) -> (u32, u32) {
        let (failed, value);
        // SAFETY: as in `load64`.
        unsafe {
            core::arch::asm!("call {}", sym hadal_user_load32, in("rdi") address, inout("esi") 0_u32 => value, out("eax") failed);
        }
        (failed, value)
    }

    /// # Safety
    /// As for [`load64`], for all five words.
    #[inline(always)]
    pub(super) unsafe fn load_five(address: usize, distance: usize) -> (u32, [u64; 5]) {
        let failed;
        let (a, b, c, d, e);
        // SAFETY: as in `load64`.
        unsafe {
            core::arch::asm!(
                "call {}", sym hadal_user_load_five, in("rdi") address, out("eax") failed,
                out("rcx") a, out("rdx") b, out("rsi") c, out("r8") d, inout("r9") distance => e,
            );
        }
        (failed, [a, b, c, d, e])
    }

    /// # Safety
    /// As for [`load64`]; no Rust object is there.
    #[inline(always)]
    pub(super) unsafe fn store64(address: usize, value: u64) -> u32 {
        let failed;
        // SAFETY: as in `load64`.
        unsafe {
            core::arch::asm!("call {}", sym hadal_user_store64, in("rdi") address, in("rsi") value, out("eax") failed);
        }
        failed
    }

    /// Where a fault at `rip` that cannot be resolved continues, if `rip` is in one of these routines.
    pub(crate) fn fixup(rip: u64) -> Option<u64> {
        let start = core::ptr::from_ref(&hadal_user_start) as u64;
        let end = core::ptr::from_ref(&hadal_user_end) as u64;
        (start..end).contains(&rip).then_some(core::ptr::from_ref(&hadal_user_fault) as u64)
    }
}
#[cfg(target_os = "none")]
pub(crate) use routines::fixup;

/// Host tests have no program memory: every access is a fault.
#[cfg(not(target_os = "none"))]
mod routines {
    pub(super) unsafe fn hadal_user_copy(_dst: usize, _src: usize, _len: usize) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_zero(_dst: usize, _len: usize) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_cmpxchg(_address: usize, _value: *mut u32, _new: u32) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_store32(_address: usize, _value: u32) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_poll(_address: usize, _value: u64, _looks: u32) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_monitor(_address: usize, _value: u64) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_xsave(_image: usize, _: u64, _: u64, _: u64, _: usize, _: u32) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_xrstor(_image: usize, _components: u64) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_fxsave(_image: usize) -> u32 {
        1
    }
    pub(super) unsafe fn hadal_user_fxrstor(_image: usize) -> u32 {
        1
    }
    pub(super) unsafe fn load32(_address: usize) -> (u32, u32) {
        (1, 0)
    }
    pub(super) unsafe fn load64(_address: usize) -> (u32, u64) {
        (1, 0)
    }
    pub(super) unsafe fn load_five(_address: usize, _distance: usize) -> (u32, [u64; 5]) {
        (1, [0; 5])
    }
    pub(super) unsafe fn store64(_address: usize, _value: u64) -> u32 {
        1
    }
}
use routines::{
    hadal_user_cmpxchg, hadal_user_copy, hadal_user_fxrstor, hadal_user_fxsave, hadal_user_monitor,
    hadal_user_poll, hadal_user_store32, hadal_user_xrstor, hadal_user_xsave, hadal_user_zero, load_five,
    load32, load64, store64,
};

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

/// Reads a structure.
#[inline]
pub fn read<T: FromBytes>(src: usize) -> Result<T, Fault> {
    check(src, size_of::<T>())?;
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the destination is a local of that size; the source is as in `copy_from`.
    result(unsafe { hadal_user_copy(value.as_mut_ptr() as usize, src, size_of::<T>()) })?;
    // SAFETY: all of it has been written, and any bytes are a `T`.
    Ok(unsafe { value.assume_init() })
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

/// Saves the vector registers of the calling CPU, for its program thread, as an image at `image` (see [`fpu`]). With XSAVE
/// the words that the image has for software begin with `software`, and `end` stands behind it. An address that is not
/// aligned to 64 bytes (without XSAVE: 16) is a fault.
pub fn save_vectors(image: usize, software: [u64; 3], end: u32) -> Result<(), Fault> {
    let size = fpu::size();
    check(image, size + size_of_val(&end))?;
    let [a, b, c] = software;
    // SAFETY: the processor writes no more than `fpu::size()` bytes, 576 or more if it has XSAVE, and the routine none beyond
    // the end mark: all in the program's half, where a fault is caught.
    result(unsafe {
        if fpu::components() != 0 {
            hadal_user_xsave(image, a, b, c, image + size, end)
        } else {
            hadal_user_fxsave(image)
        }
    })
}

/// Loads some components of the vector registers from an image in XSAVE format, on a CPU that has XSAVE. Whatever the
/// program has written there, and is writing meanwhile, the worst is a fault: of the registers some may be loaded then.
pub fn load_vectors(image: usize, components: u64) -> Result<(), Fault> {
    check(image, fpu::size())?;
    // SAFETY: the processor reads no more than `fpu::size()` bytes, in the program's half, where a fault is caught, and #GP
    // for what it refuses; the kernel uses none of these registers.
    result(unsafe { hadal_user_xrstor(image, components) })
}

/// Loads the legacy components of the vector registers, as FXRSTOR does. A fault may have loaded some.
pub fn load_legacy_vectors(image: usize) -> Result<(), Fault> {
    check(image, fpu::LEGACY_BYTES)?;
    // SAFETY: as in `load_vectors`.
    result(unsafe { hadal_user_fxrstor(image) })
}
