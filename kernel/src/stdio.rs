// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program's standard streams, as files: output goes to the control channel at once, input is asked for when the
//! program reads.

mod host_file;
mod terminal;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_abi::config::{BootAction, RunConfig, StdioKind};
use hadal_abi::control::{GuestMessage, OutputStream};
use hadal_hal::sync::SpinLock;
use hadal_sync::{WaitMode, WaitQueue};
use hadal_vfs::{
    Blocking, Caller, Errno, File, FileKind, Inode, InodeId, IoctlArgument, Location, Metadata, Namespace,
    OpenFile, OpenFlags, Owner, PollEvents, Result, SetAttr, StatFs, Timespec, make_dev,
};

use crate::control;

use host_file::HostFile;
pub(crate) use host_file::answered;

/// Which stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Input,
    Output(OutputStream),
}

/// One of the three streams.
struct Stream {
    role: Role,
    kind: StdioKind,
    opened: Timespec,
}

/// Input that the host has sent.
struct Input {
    bytes: VecDeque<u8>,
    /// A request is on its way.
    asked: bool,
    end: bool,
}

static INPUT: SpinLock<Input> = SpinLock::new(Input { bytes: VecDeque::new(), asked: false, end: false });
static INPUT_WAITERS: WaitQueue = WaitQueue::new();

/// Most bytes that are asked for at a time.
const REQUEST_BYTES: u32 = 64 << 10;

/// Takes an answer of the host: bytes, or none at the end of input.
pub(crate) fn supply(bytes: Vec<u8>) {
    let mut input = INPUT.lock();
    input.asked = false;
    input.end |= bytes.is_empty();
    input.bytes.extend(bytes);
    drop(input);
    INPUT_WAITERS.wake_all();
}

/// Takes input that nobody need have asked for. Returns false, and takes nothing, when too much of it waits to be read.
pub(crate) fn supply_ahead(bytes: Vec<u8>) -> bool {
    if INPUT.lock().bytes.len() + bytes.len() > REQUEST_BYTES as usize {
        return false;
    }
    supply(bytes);
    true
}

/// Whether somebody waits for input.
pub(crate) fn is_awaited() -> bool {
    INPUT.lock().asked
}

/// Asks the host for input unless there is some, or an answer is due.
fn ask() {
    if INPUT.lock().bytes.is_empty() {
        ask_for_more(&GuestMessage::StdinRequest { max_len: REQUEST_BYTES });
    }
}

/// Asks the host for input unless an answer is due; then that is the input.
fn ask_for_more(request: &GuestMessage) {
    let mut input = INPUT.lock();
    if input.asked || input.end {
        return;
    }
    input.asked = true;
    drop(input);
    if control::is_open() {
        control::send(request);
    } else if !crate::terminal::open() {
        supply(Vec::new());
    }
}

/// Waits for a line of input; `None` at the end. A line that is longer than any command comes in pieces. For the shell, while
/// no program reads; from a person it asks for a command, which the host lets them edit.
pub(crate) fn read_line(is_from_person: bool) -> Option<Vec<u8>> {
    let request = match is_from_person {
        true => GuestMessage::CommandRequest,
        false => GuestMessage::StdinRequest { max_len: REQUEST_BYTES },
    };
    let line = INPUT_WAITERS.wait_until(None, WaitMode::Uninterruptible, || {
        let mut input = INPUT.lock();
        let len = input.bytes.iter().position(|&byte| byte == b'\n');
        let is_full = input.bytes.len() >= REQUEST_BYTES as usize;
        if len.is_none() && !input.end && !is_full {
            drop(input);
            ask_for_more(&request);
            return None;
        }
        let last = len.is_none() && input.bytes.is_empty();
        let mut line: Vec<u8> = match len {
            Some(len) => input.bytes.drain(..=len).collect(),
            None => input.bytes.drain(..).collect(),
        };
        line.pop_if(|byte| *byte == b'\n');
        Some((!last).then_some(line))
    });
    line.unwrap_or(None)
}

/// The end of input on a terminal is over once it has been seen: for the shell, after a program.
pub(crate) fn reopen() {
    if !control::is_open() {
        INPUT.lock().end = false;
    }
}

/// Whether input comes from a person.
pub(crate) fn is_terminal(config: Option<&RunConfig>) -> bool {
    config.is_some_and(|config| matches!(config.stdio[0], StdioKind::Tty { .. }))
}

impl Stream {
    fn is_terminal(&self) -> bool {
        matches!(self.kind, StdioKind::Tty { .. })
    }
}

/// Device number of the file system that the streams are in: an anonymous one.
const DEVICE: u64 = make_dev(0, 13);

impl Inode for Stream {
    fn identity(&self) -> InodeId {
        let ino = match self.role {
            Role::Input => 1,
            Role::Output(OutputStream::Stderr) => 3,
            Role::Output(_) => 2,
        };
        InodeId { dev: DEVICE, ino }
    }

    fn kind(&self) -> FileKind {
        match self.kind {
            StdioKind::Tty { .. } | StdioKind::Null => FileKind::CharDevice,
            StdioKind::Pipe | StdioKind::File { .. } | StdioKind::Closed => FileKind::Fifo,
        }
    }

    fn metadata(&self) -> Result<Metadata> {
        let rdev = match self.kind {
            StdioKind::Tty { .. } => make_dev(136, 0),
            StdioKind::Null => make_dev(1, 3),
            _ => 0,
        };
        let mode = self.kind().mode_bits() | 0o620;
        let blksize = if self.is_terminal() { 1024 } else { 4096 };
        Ok(Metadata {
            rdev,
            blksize,
            ..Metadata::without_storage(self.identity(), mode, Owner::default(), self.opened)
        })
    }

    fn set_attr(&self, _: &SetAttr) -> Result<()> {
        Err(Errno::EPERM)
    }

    fn open(self: Arc<Self>, _: OpenFlags) -> Result<Arc<dyn File>> {
        Ok(self)
    }

    fn statfs(&self) -> Result<StatFs> {
        Err(Errno::ENOSYS)
    }
}

impl File for Stream {
    fn read(&self, buffer: &mut [u8], blocking: Blocking) -> Result<usize> {
        if self.role != Role::Input {
            return Err(Errno::EBADF);
        }
        let mut take = || {
            ask();
            let mut input = INPUT.lock();
            if input.bytes.is_empty() {
                return input.end.then_some(0);
            }
            let len = buffer.len().min(input.bytes.len());
            for (to, from) in buffer.iter_mut().zip(input.bytes.drain(..len)) {
                *to = from;
            }
            Some(len)
        };
        if blocking == Blocking::Never {
            return take().ok_or(Errno::EAGAIN);
        }
        Ok(INPUT_WAITERS.wait_until(None, WaitMode::Interruptible, take)?)
    }

    fn write(&self, data: &[u8], _: Blocking) -> Result<usize> {
        match self.role {
            Role::Input => Err(Errno::EBADF),
            Role::Output(_) if self.kind == StdioKind::Null => Ok(data.len()),
            Role::Output(stream) => Ok(control::output(stream, data)),
        }
    }

    fn poll(&self) -> PollEvents {
        if self.role != Role::Input {
            return PollEvents::WRITABLE;
        }
        ask();
        let input = INPUT.lock();
        if !input.bytes.is_empty() {
            PollEvents::READABLE
        } else if input.end {
            PollEvents::HANG_UP | PollEvents::READABLE
        } else {
            PollEvents::empty()
        }
    }

    fn wait_queues(&self) -> [Option<&WaitQueue>; 2] {
        [(self.role == Role::Input).then_some(&INPUT_WAITERS), None]
    }

    fn is_pollable(&self) -> bool {
        matches!(self.kind, StdioKind::Tty { .. } | StdioKind::Pipe)
    }

    fn ioctl(&self, request: u32, argument: &mut dyn IoctlArgument) -> Result<usize> {
        let StdioKind::Tty { rows, cols } = self.kind else { return Err(Errno::ENOTTY) };
        const TCGETS: u32 = 0x5401;
        const TCSETS: core::ops::RangeInclusive<u32> = 0x5402..=0x5404;
        const TIOCGWINSZ: u32 = 0x5413;
        const FIONREAD: u32 = 0x541b;
        match request {
            TCGETS => argument.write(&TERMIOS.map(u32::to_le_bytes).concat()).map(|()| 0),
            // The host's terminal stays in the mode that its user chose.
            _ if TCSETS.contains(&request) => Ok(0),
            TIOCGWINSZ => {
                let words = [rows, cols, 0, 0].map(u16::to_le_bytes).concat();
                argument.write(&words).map(|()| 0)
            }
            FIONREAD => {
                let waiting = INPUT.lock().bytes.len() as u32;
                argument.write(&waiting.to_le_bytes()).map(|()| 0)
            }
            _ => Err(Errno::ENOTTY),
        }
    }
}

/// `struct termios` of an ordinary terminal in line mode: input, output, control and local flags, then line discipline and
/// control characters.
const TERMIOS: [u32; 9] =
    [0x500, 0x5, 0xbf, 0x8a3b, 0x7f1c_0300, 0x0100_0415, 0x1a13_1100, 0x170f_1200, 0x0000_0016];

/// What the descriptors of files are called.
const LABELS: [&[u8]; 3] = [b"/dev/stdin", b"/dev/stdout", b"/dev/stderr"];

/// The open files that a program starts with, and their descriptors.
#[inline(never)] // A caller has enough on its stack.
pub(crate) fn files(config: &RunConfig, namespace: &Namespace) -> Result<Vec<(i32, Arc<OpenFile>)>> {
    let mut files = Vec::new();
    let shell_reads_input = config.on_boot == BootAction::Shell;
    let terminal = terminal::attach(config)?;
    let roles = [Role::Input, Role::Output(OutputStream::Stdout), Role::Output(OutputStream::Stderr)];
    for (descriptor, (role, kind)) in roles.into_iter().zip(config.stdio).enumerate() {
        let open = match kind {
            StdioKind::Closed => continue,
            StdioKind::Tty { .. } => match terminal {
                Some(path) => device(path, OpenFlags::READ_WRITE, namespace)?,
                None => stream(role, kind)?,
            },
            StdioKind::Null => null(role, namespace).or_else(|_| stream(role, kind))?,
            // The shell reads ahead, and so has its input to itself.
            StdioKind::File { flags } if control::is_open() && !(shell_reads_input && descriptor == 0) => {
                let file = Arc::new(HostFile::new(descriptor as u8));
                let flags = OpenFlags::from_bits_truncate(flags) | OpenFlags::LARGE_FILE;
                OpenFile::new(file.clone(), Location::anonymous(file, LABELS[descriptor])?, flags)?
            }
            _ => stream(role, kind)?,
        };
        files.push((descriptor as i32, open));
    }
    Ok(files)
}

fn access(role: Role) -> OpenFlags {
    if role == Role::Input { OpenFlags::read_only() } else { OpenFlags::WRITE_ONLY }
}

/// The guest's own null device.
fn null(role: Role, namespace: &Namespace) -> Result<Arc<OpenFile>> {
    device(b"/dev/null", access(role), namespace)
}

fn device(path: &[u8], flags: OpenFlags, namespace: &Namespace) -> Result<Arc<OpenFile>> {
    namespace.open(&Caller::KERNEL, &namespace.root(), path, flags | OpenFlags::NO_CTTY, 0)
}

fn stream(role: Role, kind: StdioKind) -> Result<Arc<OpenFile>> {
    let stream = Arc::new(Stream { role, kind, opened: Timespec::now() });
    let (label, flags): (&[u8], _) = match kind {
        StdioKind::Tty { .. } => (b"/dev/pts/0", OpenFlags::READ_WRITE),
        StdioKind::Null => (b"/dev/null", access(role)),
        _ => (b"pipe:[1]", access(role)),
    };
    OpenFile::new(stream.clone(), Location::anonymous(stream, label)?, flags)
}
