// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looks at an ELF file before a machine is booted for it, so that a wrong file is a clear error at once.
//!
//! [`inspect`] checks everything that does not depend on the machine and returns an [`Elf`]; [`Elf::check_memory`]
//! compares its segments with the machine's memory. Any bytes are accepted as input. The kernel's loader checks again
//! for itself.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hadal_abi::machine::{PROGRAM_END_ADDRESS, PROGRAM_LOWEST_ADDRESS};
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{Endianness, ReadCache, ReadRef};

use crate::program_image::WrongImage;
use hadal_abi::script::LineError;

use crate::script;
use crate::values::Bytes;

const EHDR_LEN: u64 = 64;
const PHDR_LEN: u16 = 56;
const PAGE: u64 = 4096;

/// Bytes of an interpreter's path with its NUL, as Linux and the kernel take them.
const INTERPRETER_LEN: RangeInclusive<u64> = 2..=4096;

/// Memory that the kernel and the first pages of a program need beside the program's segments.
const RESERVE_BYTES: u64 = 32 << 20;

/// What is wrong with a program's file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ElfError {
    #[error("no such file")]
    NotFound {
        /// Where a program of this name lies, if somewhere.
        elsewhere: Option<PathBuf>,
    },
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("is not executable (its mode is {mode:04o})")]
    NotExecutable {
        /// Its permission bits.
        mode: u32,
    },
    #[error("is a directory, not a program")]
    Directory,
    #[error("is not a regular file")]
    NotAFile,
    #[error("is empty")]
    Empty,
    #[error("is a script, not an ELF program (it starts with \"{0}\")")]
    Script(String),
    #[error("{0}")]
    BadScript(#[from] LineError),
    #[error("is a script whose interpreter {} was not found", .0.display())]
    NoScriptInterpreter(PathBuf),
    #[error(
        "is a script whose interpreter is a script, and so on: more than {} in a chain",
        script::MOST_NESTED
    )]
    NestedScripts,
    #[error("is not an ELF program")]
    NotElf,
    #[error("is a truncated ELF file: {what} end at byte {end}, the file has {len}")]
    Truncated { what: &'static str, end: u64, len: u64 },
    #[error("is a 32-bit program ({0}); Hadal runs 64-bit x86-64 programs")]
    Bits32(&'static str),
    #[error("is a program for {0}; Hadal runs x86-64 programs")]
    Architecture(String),
    #[error("is {0}, not a program")]
    Type(&'static str),
    #[error("has a damaged ELF header: {0}")]
    Header(&'static str),
    #[error("has a bad segment {index} at {address:#x}: {reason}")]
    Segment { index: usize, address: u64, reason: &'static str },
    #[error("too little memory for its segments: they need {}, the machine has {}", Bytes(*.needed), Bytes(*.has))]
    TooLittleMemory { needed: u64, has: u64 },
    #[error("its interpreter {} was not found", .0.display())]
    NoInterpreter(PathBuf),
    #[error("{0}")]
    Image(#[from] WrongImage),
    #[error("is dynamically linked; an image holds one program and no libraries")]
    Dynamic,
}

impl ElfError {
    /// What the user can do.
    pub(crate) fn help(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { elsewhere: Some(path) } => format!("did you mean {}?", path.display()),
            Self::NotFound { elsewhere: None } => {
                "PROGRAM is a path, a file of the working directory, or a command found in PATH".into()
            }
            Self::Unreadable(_) => "Hadal reads the program's file as you: chmod +r FILE".into(),
            Self::NotExecutable { mode } if mode & 0o111 == 0 => "make it executable: chmod +x FILE".into(),
            Self::NotExecutable { .. } => {
                "you may not execute it: `ls -l FILE` shows who may, `findmnt -T FILE` whether its file system is \
                 mounted noexec"
                    .into()
            }
            Self::Directory | Self::NotElf | Self::Empty | Self::NotAFile => {
                "PROGRAM is an x86-64 Linux executable, or a source file ending in .c, .cc, .cpp, .f90, …"
                    .into()
            }
            Self::Script(_) => "an image, or a library, must be an ELF file".into(),
            Self::BadScript(_) => "the first line of a script is `#!/path/of/interpreter`".into(),
            Self::NoScriptInterpreter(path) if path.as_os_str().as_bytes().ends_with(b"\r") => {
                "its first line ends with a carriage return; remove it: sed -i 's/\\r$//' FILE".into()
            }
            Self::NoScriptInterpreter(_) => {
                "install the interpreter, or correct the first line of the script".into()
            }
            Self::NestedScripts => "name a program in the first line of the last one".into(),
            Self::Truncated { .. } | Self::Header(_) | Self::Segment { .. } => {
                "build or copy the file again; `readelf -lW FILE` shows its segments".into()
            }
            Self::Bits32(_) => "build it without -m32 (or -mx32)".into(),
            Self::Architecture(_) => "build it for x86-64".into(),
            Self::Type("a relocatable object file") => "link it first: cc -o PROGRAM FILE".into(),
            Self::TooLittleMemory { needed, .. } => {
                format!("give the machine more: --memory {}M", needed.div_ceil(1 << 20))
            }
            Self::NoInterpreter(path) if path.to_string_lossy().contains("musl") => {
                "install musl (Debian: apt-get install musl), or link with -static".into()
            }
            Self::Image(WrongImage::NoProgram) => {
                "`hadal pack PROGRAM -o a.hadal` puts one into an image".into()
            }
            Self::Image(_) => {
                "make it again with `hadal cc` or `hadal pack`; an image also boots without this command: \
                 qemu-system-x86_64 -m 1G -serial stdio -kernel FILE"
                    .into()
            }
            Self::Dynamic => "link it with -static (or -static-pie)".into(),
            Self::NoInterpreter(_) => "install the C library it was linked with, or link with -static".into(),
            _ => return None,
        })
    }
}

/// What matters of an ELF file that could be run or loaded.
#[derive(Debug)]
pub(crate) struct Elf {
    /// Whether the addresses in the file are fixed (`ET_EXEC`).
    pub(crate) fixed_address: bool,
    /// The program that loads it (`PT_INTERP`).
    pub(crate) interpreter: Option<PathBuf>,
    /// Address of its first instruction, as the file states it; 0 for a library.
    pub(crate) entry: u64,
    /// Bytes of memory that its segments cover.
    pub(crate) memory_bytes: u64,
    /// Its dynamic section.
    pub(crate) dynamic: Dynamic,
}

/// What the dynamic section says about other libraries.
#[derive(Debug, Default)]
pub(crate) struct Dynamic {
    /// Libraries it needs, in order.
    pub(crate) needed: Vec<OsString>,
    /// Its own name as a library.
    pub(crate) soname: Option<OsString>,
    /// Directories of `DT_RPATH`, as written.
    pub(crate) rpath: Option<OsString>,
    /// Directories of `DT_RUNPATH`, as written.
    pub(crate) runpath: Option<OsString>,
}

/// Reads and checks a program or library.
pub(crate) fn inspect(path: &Path) -> Result<Elf, ElfError> {
    let metadata = std::fs::metadata(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ElfError::NotFound { elsewhere: None },
        _ => ElfError::Unreadable(e),
    })?;
    if metadata.is_dir() {
        return Err(ElfError::Directory);
    }
    if !metadata.is_file() {
        return Err(ElfError::NotAFile);
    }
    let cache = ReadCache::new(File::open(path)?);
    parse(&cache, metadata.len())
}

/// Checks a program in memory.
pub(crate) fn inspect_bytes(bytes: &[u8]) -> Result<Elf, ElfError> {
    parse(bytes, bytes.len() as u64)
}

/// Checks an ELF file of `len` bytes.
fn parse<'data, R: ReadRef<'data>>(data: R, len: u64) -> Result<Elf, ElfError> {
    check_ident(data, len)?;
    let header =
        FileHeader64::<Endianness>::parse(data).map_err(|_| ElfError::Header("bad identification"))?;
    let endian = header.endian().map_err(|_| ElfError::Header("bad byte order"))?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err(ElfError::Architecture(machine_name(header.e_machine(endian))));
    }
    let fixed_address = match header.e_type(endian) {
        elf::ET_EXEC => true,
        elf::ET_DYN => false,
        elf::ET_REL => return Err(ElfError::Type("a relocatable object file")),
        elf::ET_CORE => return Err(ElfError::Type("a core dump")),
        _ => return Err(ElfError::Type("an ELF file of unknown type")),
    };
    if header.e_phentsize(endian) != PHDR_LEN {
        return Err(ElfError::Header("wrong size of program headers"));
    }
    let table_end = header
        .e_phoff(endian)
        .checked_add(u64::from(header.e_phnum(endian)) * u64::from(PHDR_LEN))
        .ok_or(ElfError::Header("program headers out of range"))?;
    if table_end > len {
        return Err(ElfError::Truncated { what: "its program headers", end: table_end, len });
    }
    let segments =
        header.program_headers(endian, data).map_err(|_| ElfError::Header("unreadable program headers"))?;
    let memory_bytes = check_segments(segments, endian, fixed_address, len)?;
    Ok(Elf {
        fixed_address,
        interpreter: interpreter(segments, endian, data)?,
        entry: header.e_entry(endian),
        memory_bytes,
        dynamic: dynamic(segments, endian, data)?,
    })
}

/// Tells files that are no 64-bit little-endian ELF at all by their first bytes.
fn check_ident<'data, R: ReadRef<'data>>(data: R, len: u64) -> Result<(), ElfError> {
    if len == 0 {
        return Err(ElfError::Empty);
    }
    let head = data.read_bytes_at(0, len.min(EHDR_LEN)).map_err(|()| ElfError::NotElf)?;
    if head.starts_with(b"#!") {
        let line = head.split(|b| *b == b'\n').next().unwrap_or(head);
        return Err(ElfError::Script(String::from_utf8_lossy(line).into_owned()));
    }
    if !head.starts_with(&elf::ELFMAG) {
        // The first bytes of a damaged download still say what it was meant to be.
        let is_cut_magic = len < 4 && elf::ELFMAG.starts_with(head);
        return Err(if is_cut_magic { truncated_header(len) } else { ElfError::NotElf });
    }
    let [_, _, _, _, class, byte_order, ..] = head else { return Err(truncated_header(len)) };
    let machine = head.get(18..20).map(|m| match *byte_order {
        2 => u16::from_be_bytes([m[0], m[1]]),
        _ => u16::from_le_bytes([m[0], m[1]]),
    });
    match (*class, machine.map(elf_machine)) {
        (1, Some(elf::EM_X86_64)) => Err(ElfError::Bits32("x32")),
        (1, Some(elf::EM_386)) => Err(ElfError::Bits32("i386")),
        (1, Some(elf::EM_ARM)) => Err(ElfError::Bits32("ARM")),
        (1, _) => Err(ElfError::Bits32("ELF class 32")),
        (2, Some(other)) if other != elf::EM_X86_64 => Err(ElfError::Architecture(machine_name(other))),
        (2, Some(_)) if len >= EHDR_LEN => match *byte_order {
            1 => Ok(()),
            _ => Err(ElfError::Header("bad byte order")),
        },
        (2, _) => Err(truncated_header(len)),
        _ => Err(ElfError::Header("bad class")),
    }
}

/// The type in which the `object` crate names machines.
fn elf_machine(value: u16) -> elf::Machine {
    elf::Machine(value)
}

fn truncated_header(len: u64) -> ElfError {
    ElfError::Truncated { what: "its headers", end: EHDR_LEN, len }
}

fn machine_name(machine: elf::Machine) -> String {
    let name = match machine {
        elf::EM_AARCH64 => "aarch64 (64-bit ARM)",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC64 => "64-bit PowerPC",
        elf::EM_S390 => "s390",
        elf::EM_LOONGARCH => "LoongArch",
        elf::EM_MIPS => "MIPS",
        elf::EM_SPARCV9 => "SPARC",
        elf::EM_IA_64 => "Itanium",
        elf::EM_BPF => "BPF",
        elf::EM_386 => "i386",
        other => return format!("another architecture (ELF machine {})", other.0),
    };
    name.to_owned()
}

/// Checks each `PT_LOAD`; returns the memory they cover.
fn check_segments(
    segments: &[ProgramHeader64<Endianness>],
    endian: Endianness,
    fixed_address: bool,
    len: u64,
) -> Result<u64, ElfError> {
    let mut ranges = Vec::new();
    for (index, segment) in segments.iter().enumerate().filter(|(_, s)| s.p_type(endian) == elf::PT_LOAD) {
        let address = segment.p_vaddr(endian);
        let (offset, file_len) = (segment.p_offset(endian), segment.p_filesz(endian));
        let memory_len = segment.p_memsz(endian);
        let bad = |reason| ElfError::Segment { index, address, reason };
        if file_len > memory_len {
            return Err(bad("it has more bytes in the file than in memory"));
        }
        if file_len > 0 && (address ^ offset) % PAGE != 0 {
            return Err(bad("its address and its place in the file differ within a page"));
        }
        let end = address.checked_add(memory_len).filter(|end| *end <= PROGRAM_END_ADDRESS);
        let end = end.ok_or_else(|| bad("it lies beyond the end of a program's address space"))?;
        if fixed_address && address < PROGRAM_LOWEST_ADDRESS {
            return Err(bad("the first 64 KiB are never mapped"));
        }
        match offset.checked_add(file_len) {
            Some(end) if end <= len => {}
            Some(end) => return Err(ElfError::Truncated { what: "its segments", end, len }),
            None => return Err(bad("its place in the file is out of range")),
        }
        // The kernel too passes over a segment without memory.
        if memory_len > 0 {
            ranges.push((address / PAGE * PAGE, end.next_multiple_of(PAGE)));
        }
    }
    if ranges.is_empty() {
        return Err(ElfError::Header("it has no segment to load"));
    }
    ranges.sort_unstable();
    // Segments may share pages, as they may on Linux.
    let (mut pages_end, mut covered) = (0, 0);
    for (start, end) in ranges {
        covered += end.saturating_sub(start.max(pages_end));
        pages_end = pages_end.max(end);
    }
    Ok(covered)
}

fn interpreter<'data, R: ReadRef<'data>>(
    segments: &'data [ProgramHeader64<Endianness>],
    endian: Endianness,
    data: R,
) -> Result<Option<PathBuf>, ElfError> {
    for segment in segments.iter().filter(|s| s.p_type(endian) == elf::PT_INTERP) {
        if !INTERPRETER_LEN.contains(&segment.p_filesz(endian)) {
            return Err(ElfError::Header("bad interpreter path"));
        }
        match segment.interpreter(endian, data) {
            Ok(Some([])) | Err(_) => return Err(ElfError::Header("bad interpreter path")),
            Ok(Some(path)) => return Ok(Some(PathBuf::from(OsString::from_vec(path.to_vec())))),
            Ok(None) => {}
        }
    }
    Ok(None)
}

/// Reads the dynamic section; strings out of range are left out, the loader will refuse them.
fn dynamic<'data, R: ReadRef<'data>>(
    segments: &'data [ProgramHeader64<Endianness>],
    endian: Endianness,
    data: R,
) -> Result<Dynamic, ElfError> {
    let mut found = Dynamic::default();
    let Some(segment) = segments.iter().find(|s| s.p_type(endian) == elf::PT_DYNAMIC) else {
        return Ok(found);
    };
    let entries = segment.dynamic(endian, data).map_err(|_| ElfError::Header("bad dynamic section"))?;
    let entries = entries.unwrap_or_default();
    let value = |tag| entries.iter().find(|e| e.tag(endian) == tag).map(|e| e.val(endian));
    let (Some(strings), Some(strings_len)) = (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) else {
        return Ok(found);
    };
    let Some(strings_offset) = file_offset(segments, endian, strings) else { return Ok(found) };
    let string = |offset: u64| -> Option<OsString> {
        let start = strings_offset.checked_add(offset).filter(|_| offset < strings_len)?;
        let end = strings_offset.checked_add(strings_len)?;
        let bytes = data.read_bytes_at_until(start..end, 0).ok()?;
        Some(OsString::from_vec(bytes.to_vec()))
    };
    for entry in entries.iter().take_while(|e| e.tag(endian) != elf::DT_NULL) {
        match entry.tag(endian) {
            elf::DT_NEEDED => found.needed.extend(string(entry.val(endian))),
            elf::DT_SONAME => found.soname = string(entry.val(endian)),
            elf::DT_RPATH => found.rpath = string(entry.val(endian)),
            elf::DT_RUNPATH => found.runpath = string(entry.val(endian)),
            _ => {}
        }
    }
    Ok(found)
}

/// Place in the file of a virtual address.
fn file_offset(segments: &[ProgramHeader64<Endianness>], endian: Endianness, address: u64) -> Option<u64> {
    segments.iter().filter(|s| s.p_type(endian) == elf::PT_LOAD).find_map(|s| {
        let within = address.checked_sub(s.p_vaddr(endian)).filter(|d| *d < s.p_filesz(endian))?;
        s.p_offset(endian).checked_add(within)
    })
}

impl Elf {
    /// Refuses what is a library rather than a program.
    pub(crate) fn check_program(&self) -> Result<(), ElfError> {
        if !self.fixed_address && self.interpreter.is_none() && self.entry == 0 {
            return Err(ElfError::Type("a shared library"));
        }
        Ok(())
    }

    /// Refuses a program whose segments do not fit into the machine's memory.
    pub(crate) fn check_memory(&self, machine: Bytes) -> Result<(), ElfError> {
        let needed = self.memory_bytes.saturating_add(RESERVE_BYTES);
        if needed > machine.0 {
            return Err(ElfError::TooLittleMemory { needed, has: machine.0 });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
