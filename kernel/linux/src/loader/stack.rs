// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program's first stack: arguments, environment, auxiliary vector (System V x86-64 psABI, 3.4.1; getauxval(3)).

use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use hadal_hal::memory::{fallible, user};
use hadal_hal::threads::context;
use hadal_mem::space::{PAGE_SIZE, Prot, SpaceError, WINDOW_END};
use linux_raw_sys::auxvec::*;
use linux_raw_sys::general::{PATH_MAX, RLIMIT_STACK};
use zerocopy::IntoBytes;

use super::{StartError, map};
use crate::machine;
use crate::process::Process;
use crate::signal;

/// The stack ends this far below the end of the window.
const TOP_GAP: usize = 16 << 20;
/// Largest stack that fits above the other mappings.
const STACK_MAX: u64 = 224 << 20;
/// Smallest useful one.
const STACK_MIN: u64 = 128 << 10;
/// Clock ticks per second that `times(2)` counts in.
const CLOCK_TICKS: usize = 100;
const PROGRAM_HEADER_LEN: usize = 56;
const RANDOM_LEN: usize = 16;
/// AT_HWCAP2: programs may use the FSGSBASE instructions.
const HWCAP2_FSGSBASE: usize = 1 << 1;
/// Entries of the auxiliary vector that `linux_raw_sys` does not name (linux/auxvec.h).
const AT_RSEQ_FEATURE_SIZE: u32 = 27;
const AT_RSEQ_ALIGN: u32 = 28;
/// Up to and with `flags` of `struct rseq`.
const RSEQ_FEATURES: usize = 20;
const RSEQ_ALIGN: usize = 32;

/// What the auxiliary vector tells about the loaded images.
pub(super) struct Start {
    pub(super) entry: usize,
    pub(super) interpreter_base: usize,
    pub(super) headers: Option<usize>,
    pub(super) header_count: usize,
    pub(super) vdso: usize,
    pub(super) executable_stack: bool,
}

/// Writes downwards from the top of the stack.
struct Writer {
    at: usize,
    limit: usize,
}

impl Writer {
    fn push(&mut self, bytes: &[u8]) -> Result<usize, StartError> {
        let at = self.at.checked_sub(bytes.len()).filter(|&at| at >= self.limit);
        self.at = at.ok_or(StartError::TooManyArguments)?;
        user::copy_to(self.at, bytes)
            .map_err(|_| StartError::Map(b"[stack]".to_vec(), SpaceError::NoMemory))?;
        Ok(self.at)
    }

    fn push_text(&mut self, text: &[u8]) -> Result<usize, StartError> {
        self.push(&[0])?;
        self.push(text)
    }

    /// Where each of the texts is, the last one first.
    fn push_texts(&mut self, texts: &[Vec<u8>]) -> Result<Vec<usize>, StartError> {
        let mut places = fallible::room_for(texts.len())?;
        for text in texts.iter().rev() {
            places.push(self.push_text(text)?);
        }
        Ok(places)
    }
}

/// Bytes of the stack of a program that is started now.
fn stack_bytes(process: &Process) -> usize {
    let soft = process.limits.lock()[RLIMIT_STACK as usize].soft;
    (soft.clamp(STACK_MIN, STACK_MAX) as usize).next_multiple_of(PAGE_SIZE)
}

/// Part of the stack that arguments and environment may have, and all else that is there first.
const START_SHARE: usize = 4;
/// And no more than this, however large the stack: three quarters of Linux's usual one.
const START_MOST: usize = 6 << 20;
/// What else that is: the auxiliary vector, and what it points to.
const OTHERS: usize = 4096 + PATH_MAX as usize;

/// Bytes of a stack of a length that hold what is there first.
fn start_bytes(len: usize) -> usize {
    (len / START_SHARE).min(START_MOST)
}

/// Bytes that arguments, environment and the pointers to them may have on the stack of a program that is started now.
pub(crate) fn text_limit(process: &Process) -> usize {
    start_bytes(stack_bytes(process)) - OTHERS
}

/// Maps the stack and fills it; returns the stack pointer for the first instruction.
pub(super) fn build(process: &Process, start: &Start) -> Result<usize, StartError> {
    let len = stack_bytes(process);
    let top = (WINDOW_END - TOP_GAP) & !(PAGE_SIZE - 1);
    let prot = Prot::READ | Prot::WRITE | if start.executable_stack { Prot::EXEC } else { Prot::empty() };
    map::map_stack(process, top - len, len, prot)
        .map_err(|error| StartError::Map(b"[stack]".to_vec(), error))?;

    let mut writer = Writer { at: top - 8, limit: top - start_bytes(len) };
    let program = process.program();
    let program_name = writer.push_text(&program.name)?;
    let environment = writer.push_texts(&program.environment)?;
    let arguments = writer.push_texts(&program.arguments)?;
    let platform = writer.push_text(b"x86_64")?;
    let mut random = [0; RANDOM_LEN];
    machine::get().random(&mut random);
    let random = writer.push(&random)?;

    let auxiliary = auxiliary_vector(process, start, program_name, platform, random);
    *process.auxiliary.lock() = auxiliary.iter().flat_map(|word| word.to_le_bytes()).collect();
    let count = 1 + arguments.len() + 1 + environment.len() + 1 + auxiliary.len();
    let mut words = fallible::room_for(count)?;
    words.push(arguments.len());
    words.extend(arguments.iter().rev());
    words.push(0);
    words.extend(environment.iter().rev());
    words.push(0);
    words.extend(auxiliary);
    // The stack pointer is a multiple of 16 at the first instruction.
    writer.at = (writer.at - words.len() * 8) & !15;
    let rsp = writer.at;
    writer.at = rsp + words.len() * 8;
    writer.push(words.as_bytes())?;
    process.stack_start.store(rsp, Ordering::Relaxed);
    Ok(rsp)
}

fn auxiliary_vector(
    process: &Process,
    start: &Start,
    program_name: usize,
    platform: usize,
    random: usize,
) -> Vec<usize> {
    let credentials = &process.credentials;
    let (uid, gid) = (credentials.user().real as usize, credentials.group().real as usize);
    let hwcap2 = if context::has_fsgsbase() { HWCAP2_FSGSBASE } else { 0 };
    let (table_key, table) = machine::get().call_table();
    let linux = [
        (AT_SYSINFO_EHDR, start.vdso),
        (AT_HWCAP, machine::get().cpu_features_edx() as usize),
        (AT_PAGESZ, PAGE_SIZE),
        (AT_CLKTCK, CLOCK_TICKS),
        (AT_PHDR, start.headers.unwrap_or(0)),
        (AT_PHENT, PROGRAM_HEADER_LEN),
        (AT_PHNUM, start.header_count),
        (AT_BASE, start.interpreter_base),
        (AT_FLAGS, 0),
        (AT_ENTRY, start.entry),
        (AT_UID, uid),
        (AT_EUID, uid),
        (AT_GID, gid),
        (AT_EGID, gid),
        (AT_SECURE, 0),
        (AT_RANDOM, random),
        (AT_HWCAP2, hwcap2),
        (AT_EXECFN, program_name),
        (AT_PLATFORM, platform),
        (AT_MINSIGSTKSZ, signal::min_stack_bytes()),
        (AT_RSEQ_FEATURE_SIZE, RSEQ_FEATURES),
        (AT_RSEQ_ALIGN, RSEQ_ALIGN),
    ];
    let linux = linux.into_iter().map(|(kind, value)| (kind as usize, value));
    linux.chain([(table_key, table), (AT_NULL as usize, 0)]).flat_map(|(kind, value)| [kind, value]).collect()
}
