// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an image does when Linux executes it: it runs itself by the `hadal` command, so that `./a.out`, `make check` and
//! `./configure` do what they do with any compiler's output.
//!
//! The ELF header's entry point is here, while boot loaders are told theirs by a note and a tag. The code runs in user
//! mode on the stack that Linux has made (System V ABI, section 3.4.1), and makes nothing but system calls: it executes
//! the command whose path `hadal cc` has left in the image, else a shell that looks for one in `PATH`.

use core::arch::global_asm;

use hadal_abi::image::{COMMAND_LEN, COMMAND_MAGIC};

const AT_EXECFN: u32 = 31;
const SYS_WRITE: u32 = 1;
const SYS_EXECVE: u32 = 59;
const SYS_EXIT: u32 = 60;
/// Status of a shell that does not find a command.
const NOT_FOUND: u32 = 127;

/// Where the command's path is, as [`hadal_abi::image`] describes it.
#[used]
#[unsafe(link_section = ".boot.command")]
static COMMAND: [u8; COMMAND_MAGIC.len() + COMMAND_LEN] = {
    let mut slot = [0; COMMAND_MAGIC.len() + COMMAND_LEN];
    slot.split_at_mut(COMMAND_MAGIC.len()).0.copy_from_slice(COMMAND_MAGIC);
    slot
};

global_asm!(
    ".pushsection .boot.text, \"ax\", @progbits",
    ".code64",
    ".global hadal_linux_start",
    "hadal_linux_start:",
    // R12: number of arguments, R13: arguments, R14: environment, R15: the image's own name, from behind the environment.
    "mov r12, [rsp]",
    "lea r13, [rsp + 8]",
    "lea r14, [r13 + r12 * 8 + 8]",
    "mov rdi, r14",
    "2: cmp qword ptr [rdi], 0",
    "lea rdi, [rdi + 8]",
    "jne 2b",
    "mov r15, [r13]",
    "3: mov rax, [rdi]",
    "test rax, rax",
    "jz 5f",
    "cmp rax, {at_execfn}",
    "je 4f",
    "add rdi, 16",
    "jmp 3b",
    "4: mov r15, [rdi + 8]",
    // The list of arguments, last one first: those behind the first with the end of the list, the image's name, the words
    // of the command.
    "5: and rsp, -16",
    "mov rcx, r12",
    "test rcx, rcx",
    "jnz 6f",
    "push 0",
    "jmp 7f",
    "6: push qword ptr [r13 + rcx * 8]",
    "dec rcx",
    "jnz 6b",
    "7: push r15",
    "push offset hadal_linux_run",
    "push offset hadal_linux_hadal",
    "mov eax, {execve}",
    "mov edi, offset {command} + {magic_len}",
    "mov rsi, rsp",
    "mov rdx, r14",
    "syscall",
    // It is not there any more.
    "add rsp, 16",
    "push offset hadal_linux_script",
    "push offset hadal_linux_option",
    "push offset hadal_linux_sh",
    "mov eax, {execve}",
    "mov edi, offset hadal_linux_shell",
    "mov rsi, rsp",
    "mov rdx, r14",
    "syscall",
    "mov eax, {write}",
    "mov edi, 2",
    "mov esi, offset hadal_linux_message",
    "mov edx, offset hadal_linux_message_end",
    "sub edx, esi",
    "syscall",
    "mov eax, {exit}",
    "mov edi, {not_found}",
    "syscall",
    "ud2",
    "hadal_linux_run: .asciz \"run\"",
    "hadal_linux_hadal: .asciz \"hadal\"",
    "hadal_linux_sh: .asciz \"sh\"",
    "hadal_linux_option: .asciz \"-c\"",
    "hadal_linux_script: .ascii \"command -v hadal > /dev/null && exec hadal run \\\"$0\\\" \\\"$@\\\"; \"",
    ".ascii \"echo \\\"$0: is a program image of Hadal, and there is no hadal command in PATH to run it\\\" >&2; \"",
    ".asciz \"exit 127\"",
    "hadal_linux_shell: .asciz \"/bin/sh\"",
    "hadal_linux_message: .ascii \"a program image of Hadal: run it with `hadal run`\\n\"",
    "hadal_linux_message_end:",
    ".popsection",
    command = sym COMMAND,
    magic_len = const COMMAND_MAGIC.len(),
    at_execfn = const AT_EXECFN,
    execve = const SYS_EXECVE,
    write = const SYS_WRITE,
    exit = const SYS_EXIT,
    not_found = const NOT_FOUND,
);
