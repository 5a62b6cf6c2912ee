// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reports for the person who started a program: why it ended, where its threads are, where memory went.
//!
//! A report is one text. It names functions of the program and its libraries: `elf` and `view` look at the mapped files,
//! `tables` finds what [`hadal_unwind`] needs to find the callers, `symbols` the names; `fault`, `violation`, `memory`,
//! `processes` and `threads` are the texts. `code` reads the same tables for profiles. Nothing here trusts the program: its memory is read
//! through [`hadal_hal::memory::user`], its files are checked, every walk is bounded, and large buffers are on the heap, since
//! reports are made on a thread's kernel stack.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod code;
mod elf;
mod fault;
mod memory;
mod processes;
mod symbols;
mod tables;
mod threads;
mod unwind;
mod view;
mod violation;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hadal_linux::process::Process;
use hadal_linux::task::NAME_LEN;
use hadal_mem::space::{Prot, VmaInfo};

pub use code::unwind_tables;
pub use fault::fatal;
pub use memory::out_of_memory;
pub use processes::list_processes;
pub use threads::list_threads;
pub use violation::violation;

/// So many times a value, for as long as a report is made; `None` when memory is out. It may come from the kernel's reserve: a
/// report is made when memory is short, too.
fn filled<T: Clone>(value: T, len: usize) -> Option<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).ok()?;
    values.resize(len, value);
    Some(values)
}

/// The program's file name.
fn program_name(process: &Process) -> String {
    let program = process.program();
    let name = program.executable.rsplit(|&byte| byte == b'/').next().unwrap_or(b"?");
    String::from_utf8_lossy(name).into_owned()
}

/// A thread's name without padding.
fn thread_name(name: &[u8; NAME_LEN]) -> String {
    let text = name.split(|&byte| byte == 0).next().unwrap_or(b"");
    String::from_utf8_lossy(text).into_owned()
}

/// A mapping as in `/proc/self/maps`, without what a person does not need.
struct Mapping<'a>(&'a VmaInfo);

impl fmt::Display for Mapping<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vma = self.0;
        let letter = |prot, letter| if vma.prot.contains(prot) { letter } else { '-' };
        write!(
            f,
            "{:#x}-{:#x} {}{}{}{}",
            vma.start,
            vma.end,
            letter(Prot::READ, 'r'),
            letter(Prot::WRITE, 'w'),
            letter(Prot::EXEC, 'x'),
            if vma.shared { 's' } else { 'p' }
        )?;
        match &vma.name {
            hadal_mem::space::Name::None => f.write_str(" anonymous memory"),
            name => write!(f, " {name}"),
        }
    }
}

/// A number of bytes in the largest unit that keeps it readable.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if bytes >> shift > 0 {
                let tenths = ((bytes >> (shift - 10)) * 10) >> 10;
                return write!(f, "{}.{} {unit}", tenths / 10, tenths % 10);
            }
        }
        write!(f, "{bytes} bytes")
    }
}

/// Seconds with three digits behind the point.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0 / 1_000_000;
        write!(f, "{}.{:03} s", ms / 1000, ms % 1000)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use hadal_mem::space::{Name, SourceId, VmaFlags};

    use super::*;

    #[test]
    fn amounts_are_short() {
        assert_eq!(Bytes(0).to_string(), "0 bytes");
        assert_eq!(Bytes(1536).to_string(), "1.5 KiB");
        assert_eq!(Bytes(64 << 20).to_string(), "64.0 MiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16777215.9 TiB");
        assert_eq!(Seconds(1_234_567_890).to_string(), "1.234 s");
    }

    #[test]
    fn mappings_look_like_maps() {
        let vma = VmaInfo {
            start: 0x40_0000,
            end: 0x40_1000,
            prot: Prot::READ | Prot::EXEC,
            shared: false,
            flags: VmaFlags::empty(),
            offset: 0,
            id: SourceId::default(),
            name: Name::Path("/bin/true".into()),
        };
        assert_eq!(Mapping(&vma).to_string(), "0x400000-0x401000 r-xp /bin/true");
    }

    #[test]
    fn names_lose_their_padding() {
        let mut name = [0; NAME_LEN];
        name[..4].copy_from_slice(b"heat");
        assert_eq!(thread_name(&name), "heat");
    }
}
