// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a file to the first instruction of a program.
//!
//! [`start`] makes the process and its first thread; everything else happens on that thread's kernel stack, where files may
//! be waited for and program memory may fault: [`prepare`] opens what is needed and follows the first lines of scripts,
//! `image` reads the ELF headers; [`load`] places the segments (`map`), `stack` builds what the program finds on its stack,
//! `shared_pages` is the vDSO. `execve` does the same on the calling thread.

mod image;
mod map;
mod shared_pages;
mod stack;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hadal_abi::script;
use hadal_hal::memory::fallible::{MakeRoom, OutOfMemory};
use hadal_hal::sync::SpinLock;
use hadal_hal::threads::context::{self, program_gs};
use hadal_hal::trap::{self, TrapFrame, ring};
use hadal_mem::space::SpaceError;
use hadal_vfs::{Access, FileKind, Follow, Location, OpenFile, OpenFlags};

pub use image::{HEAD_LEN, Image, ImageError};

use crate::Errno;
use crate::family;
use crate::machine;
use crate::process::{Process, ProcessSetup};
use crate::program::Program;
use crate::task::{NAME_LEN, Task};
use crate::tty;

pub(crate) use stack::text_limit;

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
    /// The interpreter's ELF headers cannot be used.
    InterpreterImage(Vec<u8>, ImageError),
    /// Its segments do not fit.
    Map(Vec<u8>, SpaceError),
    /// Arguments and environment do not fit on the stack.
    TooManyArguments,
    /// There is no memory for the first thread, or for what its stack begins with.
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
            Self::Image(path, error) | Self::InterpreterImage(path, error) => {
                write!(f, "{}: {error}", Path(path))
            }
            Self::Interpreter(path, error) => write!(
                f,
                "the interpreter {} cannot be opened ({error}): install the C library that the program was linked with, or \
                 link it with -static",
                Path(path)
            ),
            Self::Map(path, SpaceError::NoMemory) => {
                write!(
                    f,
                    "{}: too little memory for the program's segments: use a larger --memory, or raise the limits of \
                     `ulimit -d` and `ulimit -v`",
                    Path(path)
                )
            }
            Self::Map(path, error) => write!(f, "{}: its segments cannot be mapped ({error:?})", Path(path)),
            Self::TooManyArguments => {
                f.write_str("arguments and environment are larger than a quarter of the stack, or than 6 MiB")
            }
            Self::NoMemory => f.write_str(
                "no memory for the program's first thread or its arguments: use a larger --memory",
            ),
        }
    }
}

impl From<OutOfMemory> for StartError {
    fn from(_: OutOfMemory) -> Self {
        Self::NoMemory
    }
}

impl StartError {
    /// What `execve` says.
    pub(crate) fn errno(&self) -> Errno {
        match self {
            Self::Open(_, error) | Self::Read(_, error) | Self::Interpreter(_, error) => *error,
            Self::NotAFile(_) => Errno::EACCES,
            Self::Image(..) => Errno::ENOEXEC,
            Self::InterpreterImage(..) => Errno::ELIBBAD,
            Self::TooManyArguments => Errno::E2BIG,
            Self::Map(..) | Self::NoMemory => Errno::ENOMEM,
        }
    }
}

/// The process whose first thread is being started.
static STARTING: SpinLock<Option<&'static Process>> = SpinLock::new(None);

/// Makes a process and starts its first thread. How that went is told to [`machine::Machine::cannot_start`], or by the
/// program. Not inline: a caller has enough on its kernel stack.
#[inline(never)]
pub fn start(setup: ProcessSetup) -> Result<&'static Process, StartError> {
    let process = Process::new(setup).map_err(|_| StartError::NoMemory)?;
    let thread = hadal_sched::create(first_thread, 0, None).map_err(|_| StartError::NoMemory)?;
    if !thread.context().set_program(process.space().switchable(), 0, false) {
        hadal_sched::discard(thread);
        return Err(StartError::NoMemory);
    }
    let task = Task::of(thread);
    task.prepare(process, None);
    task.set_name(thread_name(&process.program().name));
    if task.publish().is_err() {
        hadal_sched::discard(thread);
        return Err(StartError::NoMemory);
    }
    family::begin_first(process);
    tty::console::give(process);
    *STARTING.lock() = Some(process);
    thread.start();
    Ok(process)
}

/// The name of the first thread of a program that was started by this path: the file name.
pub(crate) fn thread_name(path: &[u8]) -> [u8; NAME_LEN] {
    let mut name = [0; NAME_LEN];
    let file_name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(b"");
    let len = file_name.len().min(NAME_LEN - 1);
    name[..len].copy_from_slice(&file_name[..len]);
    name
}

fn first_thread(_: usize) -> ! {
    let process = STARTING.lock().take().expect("a process is being started");
    match load_first(process) {
        Ok(frame) => trap::enter_program(|| frame),
        Err(error) => {
            machine::get().cannot_start(&error);
            Task::current().exit()
        }
    }
}

fn load_first(process: &Process) -> Result<TrapFrame, StartError> {
    let program = process.program();
    let place =
        find(process, &program.name).map_err(|error| StartError::Open(program.name.clone(), error))?;
    load(process, prepare(process, place, program)?)
}

fn find(process: &Process, path: &[u8]) -> crate::Result<Location> {
    process.namespace.resolve(&process.caller(), &process.cwd(), path, Follow::Yes)
}

/// A program whose files are open and can be loaded.
pub(crate) struct Prepared {
    file: ElfFile,
    interpreter: Option<ElfFile>,
    program: Arc<Program>,
}

/// Opens the program at a place, and what it needs. Of a script that is its interpreter, which gets the script's path as an
/// argument.
pub(crate) fn prepare(
    process: &Process,
    mut place: Location,
    mut program: Arc<Program>,
) -> Result<Prepared, StartError> {
    let mut path = program.name.clone();
    for _ in 0..=script::MOST_NESTED {
        let opened = Opened::new(process, place, path, StartError::Open)?;
        let line = match script::parse(&opened.head) {
            None => {
                let file = opened.into_elf(StartError::Image)?;
                let interpreter = file.open_interpreter(process)?;
                Arc::make_mut(&mut program).executable = file.file.location().path().to_vec();
                return Ok(Prepared { file, interpreter, program });
            }
            Some(Err(_)) => return Err(StartError::Image(opened.path, ImageError::NotElf)),
            Some(Ok(line)) => line,
        };
        let (interpreter, argument) = (line.interpreter.to_vec(), line.argument.map(<[u8]>::to_vec));
        let of_script = Arc::make_mut(&mut program);
        of_script.arguments.make_room(2)?;
        let first = [Some(interpreter.clone()), argument, Some(opened.path)];
        of_script.arguments.splice(..of_script.arguments.len().min(1), first.into_iter().flatten());
        place = find(process, &interpreter).map_err(|error| StartError::Open(interpreter.clone(), error))?;
        path = interpreter;
    }
    Err(StartError::Open(path, Errno::ELOOP))
}

/// An error about the file with a path.
type Refusal<E> = fn(Vec<u8>, E) -> StartError;

/// A file that may be executed, and its first bytes.
struct Opened {
    file: Arc<OpenFile>,
    path: Vec<u8>,
    head: Vec<u8>,
    len: u64,
}

impl Opened {
    fn new(
        process: &Process,
        place: Location,
        path: Vec<u8>,
        refuse: Refusal<Errno>,
    ) -> Result<Self, StartError> {
        if place.inode().kind() != FileKind::Regular {
            return Err(StartError::NotAFile(path));
        }
        let caller = process.caller();
        let allowed = process.namespace.access_at(&caller, &place, Access::EXECUTE);
        allowed.map_err(|error| refuse(path.clone(), error))?;
        let file = process.namespace.open_at(&caller, place, OpenFlags::empty());
        let file = file.map_err(|error| refuse(path.clone(), error))?;
        let mut opened = Self { file, path, head: Vec::new(), len: 0 };
        opened.len = opened.file.metadata().map_err(|error| opened.unreadable(error))?.size;
        opened.read_head(4096)?;
        Ok(opened)
    }

    fn unreadable(&self, error: Errno) -> StartError {
        StartError::Read(self.path.clone(), error)
    }

    fn read_head(&mut self, most: usize) -> Result<(), StartError> {
        self.head.resize(most.min(HEAD_LEN).min(self.len as usize), 0);
        let read = self.file.read_at(0, &mut self.head).map_err(|error| self.unreadable(error))?;
        self.head.truncate(read);
        Ok(())
    }

    fn into_elf(mut self, refuse: Refusal<ImageError>) -> Result<ElfFile, StartError> {
        let mut image = Image::parse(&self.head, self.len);
        if image == Err(ImageError::Truncated) && self.len as usize > self.head.len() {
            self.read_head(HEAD_LEN)?;
            image = Image::parse(&self.head, self.len);
        }
        let image = image.map_err(|error| refuse(self.path.clone(), error))?;
        Ok(ElfFile { file: self.file, path: self.path, image })
    }
}

/// An ELF file, open and parsed.
struct ElfFile {
    file: Arc<OpenFile>,
    path: Vec<u8>,
    image: Image,
}

impl ElfFile {
    fn open_interpreter(&self, process: &Process) -> Result<Option<Self>, StartError> {
        let Some(path) = self.interpreter()? else { return Ok(None) };
        let place = find(process, &path).map_err(|error| StartError::Interpreter(path.clone(), error))?;
        let opened = Opened::new(process, place, path, StartError::Interpreter)?;
        opened.into_elf(StartError::InterpreterImage).map(Some)
    }

    fn interpreter(&self) -> Result<Option<Vec<u8>>, StartError> {
        let Some((offset, len)) = self.image.interpreter else { return Ok(None) };
        let mut path = alloc::vec![0; len];
        let read = self.file.read_at(offset, &mut path);
        read.map_err(|error| StartError::Read(self.path.clone(), error))?;
        Ok(Some(path))
    }
}

/// Fills the window, which is empty, with a program; returns its first registers. For the process's only thread.
pub(crate) fn load(process: &Process, prepared: Prepared) -> Result<TrapFrame, StartError> {
    let Prepared { file, interpreter, program } = prepared;
    process.set_program(program);
    let base = map::place(process, &file, map::Kind::Program)?;
    process.space().set_brk(base.end);
    let mut entry = base.entry;
    let mut interpreter_base = 0;
    if let Some(interpreter) = interpreter {
        let placed = map::place(process, &interpreter, map::Kind::Interpreter)?;
        entry = placed.entry;
        interpreter_base = placed.start;
    }
    let vdso = shared_pages::map(process).map_err(|error| StartError::Map(b"[vdso]".to_vec(), error))?;
    let start = stack::Start {
        entry: base.entry,
        interpreter_base,
        headers: file.image.headers_address.map(|address| address + base.bias),
        header_count: file.image.header_count,
        vdso,
        executable_stack: file.image.executable_stack,
    };
    let rsp = stack::build(process, &start)?;
    context::set_fs_base(0);
    if ring::isolates() {
        program_gs::set_base(0);
    }
    machine::get().code_mapped(process);
    machine::get().program_starts(entry, base.bias);
    Ok(TrapFrame::program(entry as u64, rsp as u64))
}
