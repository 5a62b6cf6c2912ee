// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions that touch program memory: where a fault that nobody can resolve leads to `hadal_user_fault`.

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
