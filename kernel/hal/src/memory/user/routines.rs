// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions that touch program memory: where a fault that nobody can resolve leads to `hadal_user_fault`. All of them
//! twice, the second time for processors that keep the kernel from the memory of programs in ring 3 otherwise ([`guard`]).

use crate::memory::layout::{DIRECT_MAP, KERNEL_BASE};

macro_rules! routines {
    ($ending:literal, $open:literal, $close:literal) => {
        core::arch::global_asm!(
            ".pushsection .text.user, \"ax\", @progbits",
            concat!(".global hadal_user_start", $ending),
            concat!(".global hadal_user_end", $ending),
            concat!(".global hadal_user_fault", $ending),
            concat!("hadal_user_start", $ending, ":"),
            // rdi destination, rsi source, rdx bytes
            concat!(".global hadal_user_copy", $ending),
            concat!("hadal_user_copy", $ending, ":"),
            $open,
            "mov rcx, rdx",
            "shr rcx, 3",
            "rep movsq",
            "mov ecx, edx",
            "and ecx, 7",
            "rep movsb",
            "xor eax, eax",
            $close,
            "ret",
            // rdi destination, rsi bytes
            concat!(".global hadal_user_zero", $ending),
            concat!("hadal_user_zero", $ending, ":"),
            $open,
            "xor eax, eax",
            "mov rcx, rsi",
            "shr rcx, 3",
            "rep stosq",
            "mov ecx, esi",
            "and ecx, 7",
            "rep stosb",
            $close,
            "ret",
            // rdi program address, rsi where the old value is kept: in the expected value, out the one found; edx new value
            concat!(".global hadal_user_cmpxchg", $ending),
            concat!("hadal_user_cmpxchg", $ending, ":"),
            $open,
            "mov eax, [rsi]",
            "lock cmpxchg [rdi], edx",
            "mov [rsi], eax",
            "xor eax, eax",
            $close,
            "ret",
            // rdi program address, esi value
            concat!(".global hadal_user_store32", $ending),
            concat!("hadal_user_store32", $ending, ":"),
            $open,
            "mov [rdi], esi",
            "xor eax, eax",
            $close,
            "ret",
            // rdi program address, rsi value, edx looks: until the word is another, 2 if it never is
            concat!(".global hadal_user_poll", $ending),
            concat!("hadal_user_poll", $ending, ":"),
            $open,
            "3:",
            "cmp [rdi], rsi",
            "jne 2f",
            "pause",
            "dec edx",
            "jnz 3b",
            "mov eax, 2",
            $close,
            "ret",
            // rdi program address, rsi value, interrupts off: sleeps unless the word is another; interrupts are on afterwards
            concat!(".global hadal_user_monitor", $ending),
            concat!("hadal_user_monitor", $ending, ":"),
            $open,
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
            $close,
            "ret",
            "2:",
            "xor eax, eax",
            $close,
            "ret",
            // rdi image in program memory: the vector registers are saved there; rsi, rdx, rcx its first words for software; r8
            // address of the end mark, r9d end mark. Of the words for software and the header the processor writes only which
            // components are in use.
            concat!(".global hadal_user_xsave", $ending),
            concat!("hadal_user_xsave", $ending, ":"),
            $open,
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
            $close,
            "ret",
            // rdi image in program memory: the vector registers are loaded from there; rsi components
            concat!(".global hadal_user_xrstor", $ending),
            concat!("hadal_user_xrstor", $ending, ":"),
            $open,
            "mov eax, esi",
            "mov rdx, rsi",
            "shr rdx, 32",
            "xrstor64 [rdi]",
            "xor eax, eax",
            $close,
            "ret",
            concat!(".global hadal_user_fxsave", $ending),
            concat!("hadal_user_fxsave", $ending, ":"),
            $open,
            "fxsave64 [rdi]",
            "xor eax, eax",
            $close,
            "ret",
            concat!(".global hadal_user_fxrstor", $ending),
            concat!("hadal_user_fxrstor", $ending, ":"),
            $open,
            "fxrstor64 [rdi]",
            "xor eax, eax",
            $close,
            "ret",
            // The next four are called from inline assembly and change nothing but RAX and what they load.
            // rdi program address; the value in esi
            concat!(".global hadal_user_load32", $ending),
            concat!("hadal_user_load32", $ending, ":"),
            $open,
            "mov esi, [rdi]",
            "xor eax, eax",
            $close,
            "ret",
            // rdi program address; the value in rsi
            concat!(".global hadal_user_load64", $ending),
            concat!("hadal_user_load64", $ending, ":"),
            $open,
            "mov rsi, [rdi]",
            "xor eax, eax",
            $close,
            "ret",
            // rdi program address, r9 distance; the values there in rcx, rdx, rsi, r8, and that at the distance in r9
            concat!(".global hadal_user_load_five", $ending),
            concat!("hadal_user_load_five", $ending, ":"),
            $open,
            "mov rcx, [rdi]",
            "mov rdx, [rdi + 8]",
            "mov rsi, [rdi + 16]",
            "mov r8, [rdi + 24]",
            "mov r9, [rdi + r9]",
            "xor eax, eax",
            $close,
            "ret",
            // rdi program address, rsi value
            concat!(".global hadal_user_store64", $ending),
            concat!("hadal_user_store64", $ending, ":"),
            $open,
            "mov [rdi], rsi",
            "xor eax, eax",
            $close,
            "ret",
            concat!("hadal_user_fault", $ending, ":"),
            $close,
            "mov eax, 1",
            $close,
            "ret",
            concat!("hadal_user_end", $ending, ":"),
            ".popsection",
        );
    };
}
routines!("", "", "");
// Where the processor keeps the kernel from memory of ring 3 (SMAP).
routines!("_guarded", "stac", "clac");
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
    safe static hadal_user_start_guarded: u8;
    safe static hadal_user_end_guarded: u8;
    safe static hadal_user_fault_guarded: u8;
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
    let address = |symbol: &u8| core::ptr::from_ref(symbol) as u64;
    if (address(&hadal_user_start)..address(&hadal_user_end)).contains(&rip) {
        return Some(address(&hadal_user_fault));
    }
    (address(&hadal_user_start_guarded)..address(&hadal_user_end_guarded))
        .contains(&rip)
        .then_some(address(&hadal_user_fault_guarded))
}

/// Each routine with its guarded one.
macro_rules! pairs {
    ($($plain:ident $guarded:ident),* $(,)?) => {{
        unsafe extern "C" {
            $(fn $guarded();)*
        }
        [$(($plain as *const () as usize, $guarded as *const () as usize)),*]
    }};
}

/// Makes every routine open the program's memory for as long as it runs, if the processor has SMAP: its first instructions
/// become a jump to those that do. Nobody pays for that elsewhere. On the boot CPU, before the others start.
pub(crate) fn guard() {
    let features = raw_cpuid::CpuId::new().get_extended_feature_info();
    if !features.is_some_and(|features| features.has_smap()) {
        return;
    }
    let pairs = pairs!(
        hadal_user_copy hadal_user_copy_guarded,
        hadal_user_zero hadal_user_zero_guarded,
        hadal_user_cmpxchg hadal_user_cmpxchg_guarded,
        hadal_user_store32 hadal_user_store32_guarded,
        hadal_user_poll hadal_user_poll_guarded,
        hadal_user_monitor hadal_user_monitor_guarded,
        hadal_user_xsave hadal_user_xsave_guarded,
        hadal_user_xrstor hadal_user_xrstor_guarded,
        hadal_user_fxsave hadal_user_fxsave_guarded,
        hadal_user_fxrstor hadal_user_fxrstor_guarded,
        hadal_user_load32 hadal_user_load32_guarded,
        hadal_user_load64 hadal_user_load64_guarded,
        hadal_user_load_five hadal_user_load_five_guarded,
        hadal_user_store64 hadal_user_store64_guarded,
    );
    for (plain, guarded) in pairs {
        // JMP with a distance of 32 bits from behind it: five bytes, as long as the shortest routine.
        let distance = (guarded.wrapping_sub(plain + 5) as u32).to_le_bytes();
        let jump = [0xe9, distance[0], distance[1], distance[2], distance[3]];
        let place = (DIRECT_MAP + (plain - KERNEL_BASE)) as *mut [u8; 5];
        // SAFETY: the routine's own bytes, which only this CPU runs so far, where the direct map has the kernel's image; the
        // processor looks at what it has fetched ahead.
        unsafe { place.write(jump) };
    }
}
