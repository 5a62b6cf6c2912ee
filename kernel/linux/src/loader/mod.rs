// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a file to the first instruction of a program.
//!
//! [`start`] makes the process and its first thread; everything else happens on that thread's kernel stack, where files may
//! be waited for and program memory may fault: `image` reads the ELF headers, `map` places the segments, `stack` builds
//! what the program finds on its stack, `shared_pages` is the vDSO.

mod image;
mod map;
mod shared_pages;
mod stack;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hadal_hal::sync::SpinLock;
use hadal_hal::threads::context;
use hadal_hal::trap::{self, TrapFrame};
use hadal_mem::frames;
use hadal_mem::space::{KernelMmu, Layout, ProgramSpace, SpaceError};
use hadal_vfs::{Access, FileKind, Follow, OpenFile, OpenFlags};

pub use image::{HEAD_LEN, Image, ImageError};

use crate::Errno;
use crate::machine;
use crate::process::{Process, ProcessSetup};
use crate::task::{NAME_LEN, Task};

/// Why a program did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The file cannot be opened.
    Open(Vec<u8>, Errno),
    /// It is a directory or a device.
    NotAFile(Vec<u8>),
    /// It cannot be read.
    Read(Vec<u8>, Errno),
    /// Its ELF headers cannot be used.
    Image(Vec<u8>, ImageError),
    /// The interpreter that it names cannot be opened.
    Interpreter(Vec<u8>, Errno),
    /// Its segments do not fit.
    Map(Vec<u8>, SpaceError),
    /// Arguments and environment do not fit on the stack.
    TooManyArguments,
    /// There is no memory for the first thread.
    NoMemory,
}

/// Shows a path to a person.
struct Path<'a>(&'a [u8]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&alloc::string::String::from_utf8_lossy(self.0))
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(path, error) => {
                write!(
                    f,
                    "{}: cannot be opened in the guest ({error}): is it below --root or a --mount?",
                    Path(path)
                )
            }
            Self::NotAFile(path) => write!(f, "{}: not a regular file", Path(path)),
            Self::Read(path, error) => write!(f, "{}: cannot be read ({error})", Path(path)),
            Self::Image(path, error) => write!(f, "{}: {error}", Path(path)),
            Self::Interpreter(path, error) => write!(
                f,
                "the interpreter {} cannot be opened ({error}): install the C library that the program was linked with, or \
                 link it with -static",
                Path(path)
            ),
            Self::Map(path, SpaceError::NoMemory) => {
                write!(
                    f,
                    "{}: too little memory for the program's segments: use a larger --memory",
                    Path(path)
                )
            }
            Self::Map(path, error) => write!(f, "{}: its segments cannot be mapped ({error:?})", Path(path)),
            Self::TooManyArguments => {
                f.write_str("arguments and environment are larger than a quarter of the stack")
            }
            Self::NoMemory => f.write_str("no memory for the program's first thread: use a larger --memory"),
        }
    }
}

/// The process whose first thread is being started.
static STARTING: SpinLock<Option<&'static Process>> = SpinLock::new(None);

/// Makes a process and starts its first thread. How that went is told to [`machine::Machine::cannot_start`], or by the
/// program. Not inline: a caller has enough on its kernel stack.
#[inline(never)]
pub fn start(setup: Box<ProcessSetup>) -> Result<&'static Process, StartError> {
    let mmu = KernelMmu::new().map_err(|_| StartError::NoMemory)?;
    let space = ProgramSpace::new(mmu, frames::global(), Layout::default());
    let process = Process::new(setup, space);
    let thread = hadal_sched::create(first_thread, 0, None).map_err(|_| StartError::NoMemory)?;
    if !thread.context().set_program(process.space.switchable(), 0, false) {
        hadal_sched::discard(thread);
        return Err(StartError::NoMemory);
    }
    let task = Task::of(thread);
    task.prepare(process, None);
    task.set_name(name(process));
    if task.publish().is_err() {
        hadal_sched::discard(thread);
        return Err(StartError::NoMemory);
    }
    *STARTING.lock() = Some(process);
    thread.start();
    Ok(process)
}

/// The name of a program's first thread: the program's file name.
pub(crate) fn name(process: &Process) -> [u8; NAME_LEN] {
    let mut name = [0; NAME_LEN];
    let file_name = process.executable.rsplit(|&byte| byte == b'/').next().unwrap_or(b"");
    let len = file_name.len().min(NAME_LEN - 1);
    name[..len].copy_from_slice(&file_name[..len]);
    name
}

fn first_thread(_: usize) -> ! {
    let process = STARTING.lock().take().expect("a process is being started");
    match load(process) {
        Ok(frame) => trap::enter_program(|| frame),
        Err(error) => {
            machine::get().cannot_start(&error);
            Task::current().exit()
        }
    }
}

/// An ELF file, open and parsed.
struct ElfFile {
    file: Arc<OpenFile>,
    path: Vec<u8>,
    image: Image,
}

impl ElfFile {
    fn open(
        process: &Process,
        path: &[u8],
        refuse: fn(Vec<u8>, Errno) -> StartError,
    ) -> Result<Self, StartError> {
        let path = path.to_vec();
        let caller = process.caller();
        let start = process.cwd();
        let place = process.namespace.resolve(&caller, &start, &path, Follow::Yes);
        let place = place.map_err(|error| refuse(path.clone(), error))?;
        if place.inode().kind() != FileKind::Regular {
            return Err(StartError::NotAFile(path));
        }
        let allowed = process.namespace.access_at(&caller, &place, Access::EXECUTE);
        allowed.map_err(|error| refuse(path.clone(), error))?;
        let file = process.namespace.open_at(&caller, place, OpenFlags::empty());
        let file = file.map_err(|error| refuse(path.clone(), error))?;
        let unreadable = |error| StartError::Read(path.clone(), error);
        let len = file.metadata().map_err(unreadable)?.size;
        let mut head = alloc::vec![0; HEAD_LEN.min(len as usize).min(4096)];
        let mut read = file.read_at(0, &mut head).map_err(unreadable)?;
        let mut image = Image::parse(&head[..read], len);
        if image == Err(ImageError::Truncated) && len as usize > head.len() {
            head.resize(HEAD_LEN.min(len as usize), 0);
            read = file.read_at(0, &mut head).map_err(unreadable)?;
            image = Image::parse(&head[..read], len);
        }
        let image = image.map_err(|error| StartError::Image(path.clone(), error))?;
        Ok(Self { file, path, image })
    }

    fn interpreter(&self) -> Result<Option<Vec<u8>>, StartError> {
        let Some((offset, len)) = self.image.interpreter else { return Ok(None) };
        let mut path = alloc::vec![0; len];
        let read = self.file.read_at(offset, &mut path);
        read.map_err(|error| StartError::Read(self.path.clone(), error))?;
        Ok(Some(path))
    }
}

fn load(process: &'static Process) -> Result<TrapFrame, StartError> {
    let program = ElfFile::open(process, &process.executable, StartError::Open)?;
    let base = map::place(process, &program, map::Kind::Program)?;
    process.space.set_brk(base.end);
    let mut entry = base.entry;
    let mut interpreter_base = 0;
    if let Some(path) = program.interpreter()? {
        let interpreter = ElfFile::open(process, &path, StartError::Interpreter)?;
        let placed = map::place(process, &interpreter, map::Kind::Interpreter)?;
        entry = placed.entry;
        interpreter_base = placed.start;
    }
    let vdso = shared_pages::map(process).map_err(|error| StartError::Map(b"[vdso]".to_vec(), error))?;
    let start = stack::Start {
        entry: base.entry,
        interpreter_base,
        headers: program.image.headers_address.map(|address| address + base.bias),
        header_count: program.image.header_count,
        vdso,
        executable_stack: program.image.executable_stack,
    };
    let rsp = stack::build(process, &start)?;
    context::set_fs_base(0);
    machine::get().code_mapped(process);
    machine::get().program_starts(entry, base.bias);
    Ok(TrapFrame::program(entry as u64, rsp as u64))
}
