// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The run configuration: what the kernel is to run and how, made by the host for every boot.
//!
//! It is the first boot module: PVH module 0 (QEMU's `-initrd`) or the first `module2` of a Multiboot2 loader. When
//! [`RunConfig::initramfs`] is set, the second module is a cpio archive (newc) with the root file system.
//!
//! On the wire: [`MAGIC`], version and length as little-endian `u32`, then that many bytes of postcard. The contents of
//! [`RunConfig::modules`] follow, each at a multiple of [`MODULE_ALIGN`]. The kernel's [symbol table](crate::symbols) may
//! stand behind. Other bytes at the end are ignored, because a loader may round a module up.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::calls::CallTrace;
use crate::terminal;

/// First bytes of an encoded configuration.
pub const MAGIC: &[u8; 8] = b"HADALCFG";

/// Version of the encoding; kernel and command must have the same one.
pub const VERSION: u32 = 8;

/// Bytes before the postcard part: magic, version, length.
pub const HEADER_LEN: usize = 16;

/// Modules start at multiples of this many bytes from the configuration's first byte.
pub const MODULE_ALIGN: usize = 4096;

/// What the machine does once it is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BootAction {
    /// Runs [`RunConfig::program`].
    RunProgram,
    /// Takes commands from standard input or the serial line; one of them runs [`RunConfig::program`], if there is one.
    Shell,
    /// Tries its paths for a moment, sends a text report of CPUs, memory zones and paths, and the latter as
    /// [`Paths`](crate::paths::Paths), on the control channel, then ends with status 0.
    ///
    /// It also executes one SSE arithmetic instruction in ring 0, because some KVM hosts cannot: the host uses this
    /// action to find out whether KVM can run programs.
    Report,
}

/// What one of the program's standard streams is on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdioKind {
    /// A terminal of this size.
    Tty {
        /// Height in character cells.
        rows: u16,
        /// Width in character cells.
        cols: u16,
    },
    /// A pipe or a socket.
    Pipe,
    /// A regular file or a block device.
    File {
        /// Access mode and `O_APPEND`, with Linux's values.
        flags: u32,
    },
    /// The null device.
    Null,
    /// Not open.
    Closed,
}

/// Where the kernel finds the program's ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramSource {
    /// In the guest's file tree.
    Tree,
    /// In the [payload](crate::image) of the kernel's own image; it appears at [`RunConfig::program`].
    Image,
}

/// When anonymous memory and the program's segments get their frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filling {
    /// At the first touch, from the zone of the CPU that touches.
    FirstTouch,
    /// When it is mapped, so that the program's steady state has no page fault. Thread stacks, `MAP_NORESERVE` and
    /// inaccessible memory stay for the first touch, and so does everything when memory is short.
    Mapping,
}

/// A module that stands behind the configuration in the same boot module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootModule {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub len: u64,
}

/// A host directory offered over 9P.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Mount tag of the virtio 9P device.
    pub tag: String,
    /// Absolute path in the guest.
    ///
    /// The host has made sure that it exists in the file system it is mounted on, except below the kernel's own
    /// `/tmp` and `/dev/shm`, where the kernel creates it.
    pub guest_path: Vec<u8>,
    /// Whether the guest may change files in it.
    pub writable: bool,
}

/// Everything the kernel needs to know about one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunConfig {
    /// What to do after boot.
    pub on_boot: BootAction,
    /// Guest path of the ELF file, absolute, without symbolic links.
    pub program: Vec<u8>,
    /// Where that file is.
    pub program_source: ProgramSource,
    /// Whether programs run in ring 3, where neither the kernel nor other processes are in reach.
    pub isolated: bool,
    /// When memory is filled.
    pub filling: Filling,
    /// Modules behind this configuration, in order.
    pub modules: Vec<BootModule>,
    /// Arguments, the program's name as the user typed it first.
    pub argv: Vec<Vec<u8>>,
    /// Environment, `NAME=VALUE` each.
    pub env: Vec<Vec<u8>>,
    /// Working directory, an absolute guest path.
    pub cwd: Vec<u8>,
    /// 9P file systems, a parent before those mounted below it. Empty for an initramfs.
    pub mounts: Vec<Mount>,
    /// Whether the root file system is the second boot module, a cpio archive (newc).
    pub initramfs: bool,
    /// File mode creation mask.
    pub umask: u32,
    /// User, real and effective.
    pub uid: u32,
    /// Group, real and effective.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
    /// Standard input, output and error.
    pub stdio: [StdioKind; 3],
    /// Settings of the terminal that the first of them is that is one; `None`: nobody answers for a terminal.
    pub terminal: Option<terminal::Settings>,
    /// Log levels, such as `info,mem=debug`: a level for all, then exceptions by module.
    pub log_filter: String,
    /// The trace of system calls, if there is one.
    pub strace: Option<CallTrace>,
    /// Whether to send counters at the end.
    pub stats: bool,
    /// Whether the machine's time is the number of instructions executed (one CPU). It then stands still while the host
    /// works, so that every run is the same.
    pub counts_instructions: bool,
    /// Bytes of each CPU's trace buffer; 0 means: no trace.
    pub trace_buffer_bytes: u64,
    /// Samples of each CPU per second for the profile; 0 means: no profile.
    pub profile_hz: u32,
    /// Host name as `uname` gives it.
    pub hostname: String,
    /// Host clock at launch in nanoseconds since 1970; 0 means: read the machine's own clock.
    pub realtime_ns: i64,
    /// Seed of the kernel's random numbers.
    pub random_seed: [u8; 32],
    /// Soft limit of the main thread's stack; `u64::MAX` is no limit.
    pub rlimit_stack_bytes: u64,
    /// Cores of the host that the machine's CPUs run on; 0 means: at least as many as there are CPUs.
    pub host_cores: u32,
}

impl RunConfig {
    /// A configuration that boots, reports and ends, with every other field at its plainest value.
    pub fn report() -> Self {
        Self {
            on_boot: BootAction::Report,
            program: Vec::new(),
            program_source: ProgramSource::Tree,
            isolated: false,
            filling: Filling::FirstTouch,
            modules: Vec::new(),
            argv: Vec::new(),
            env: Vec::new(),
            cwd: b"/".to_vec(),
            mounts: Vec::new(),
            initramfs: false,
            umask: 0o022,
            uid: 0,
            gid: 0,
            groups: Vec::new(),
            stdio: [StdioKind::Null, StdioKind::Pipe, StdioKind::Pipe],
            terminal: None,
            log_filter: String::from("warn"),
            strace: None,
            stats: false,
            counts_instructions: false,
            trace_buffer_bytes: 0,
            profile_hz: 0,
            hostname: String::from("hadal"),
            realtime_ns: 0,
            random_seed: [0; 32],
            rlimit_stack_bytes: 8 << 20,
            host_cores: 0,
        }
    }
}

/// Why bytes are not a run configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The magic is missing.
    NotAConfig,
    /// It was written by another version of the command (the version found).
    Version(u32),
    /// The bytes end before the length they announce.
    Truncated,
    /// The postcard part is damaged.
    Damaged,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAConfig => write!(f, "the boot module is not a hadal run configuration"),
            Self::Version(found) => {
                write!(f, "run configuration of version {found}, this kernel reads version {VERSION}")
            }
            Self::Truncated => write!(f, "the run configuration is cut short"),
            Self::Damaged => write!(f, "the run configuration is damaged"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Encodes a configuration as a boot module.
pub fn encode(config: &RunConfig) -> Vec<u8> {
    // Serialising plain owned data into a growing vector has no failing path; the length of a module fits u32
    // because argument lists are bounded far below.
    let body = postcard::to_allocvec(config).unwrap_or_default();
    let mut out = Vec::with_capacity(HEADER_LEN + body.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&body);
    out
}

/// Encodes a configuration with the modules that it names, in their order.
pub fn encode_with_modules(config: &RunConfig, modules: &[&[u8]]) -> Vec<u8> {
    let mut out = encode(config);
    for module in modules {
        out.resize(out.len().next_multiple_of(MODULE_ALIGN), 0);
        out.extend_from_slice(module);
    }
    out
}

/// A decoded boot module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The configuration.
    pub config: RunConfig,
    /// Contents of [`RunConfig::modules`].
    pub modules: Vec<&'a [u8]>,
    /// What stands behind: the kernel's symbols, if any.
    pub rest: &'a [u8],
}

/// Decodes a boot module; bytes behind it are ignored.
pub fn decode(bytes: &[u8]) -> Result<RunConfig, DecodeError> {
    split(bytes).map(|decoded| decoded.config)
}

/// Decodes a boot module into its parts.
pub fn split(bytes: &[u8]) -> Result<Decoded<'_>, DecodeError> {
    let (magic, rest) = bytes.split_first_chunk::<8>().ok_or(DecodeError::NotAConfig)?;
    if magic != MAGIC {
        return Err(DecodeError::NotAConfig);
    }
    let (version, rest) = rest.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    let (len, rest) = rest.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
    let body = rest.get(..u32::from_le_bytes(*len) as usize).ok_or(DecodeError::Truncated)?;
    let config: RunConfig = postcard::from_bytes(body).map_err(|_| DecodeError::Damaged)?;
    let mut end = HEADER_LEN + body.len();
    let mut modules = Vec::new();
    for module in &config.modules {
        let start = end.next_multiple_of(MODULE_ALIGN);
        let len = usize::try_from(module.len).map_err(|_| DecodeError::Truncated)?;
        let content = bytes.get(start..).and_then(|rest| rest.get(..len)).ok_or(DecodeError::Truncated)?;
        modules.push(content);
        end = start + len;
    }
    Ok(Decoded { config, modules, rest: &bytes[end..] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{CallOutput, CallSet};
    use proptest::prelude::*;

    fn sample() -> RunConfig {
        RunConfig {
            on_boot: BootAction::RunProgram,
            program: b"/srv/a.out".to_vec(),
            argv: vec![b"./a.out".to_vec(), b"\xff\xfe".to_vec()],
            env: vec![b"OMP_NUM_THREADS=4".to_vec()],
            mounts: vec![Mount { tag: "hadal0".into(), guest_path: b"/".to_vec(), writable: false }],
            stdio: [
                StdioKind::Tty { rows: 24, cols: 80 },
                StdioKind::File { flags: 0o2001 },
                StdioKind::Closed,
            ],
            groups: vec![4, 24],
            strace: Some(CallTrace { calls: CallSet::ALL, output: CallOutput::Counts, all_processes: true }),
            realtime_ns: -1,
            ..RunConfig::report()
        }
    }

    #[test]
    fn round_trip_ignores_trailing_bytes() {
        let mut bytes = encode(&sample());
        assert_eq!(decode(&bytes), Ok(sample()));
        bytes.extend_from_slice(&[7; 4096]);
        assert_eq!(decode(&bytes), Ok(sample()));
        assert_eq!(split(&bytes).unwrap().rest, [7; 4096]);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = encode(&sample());
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len} bytes were accepted");
        }
    }

    #[test]
    fn modules_come_back_in_order() {
        let module = |name: &str, len| BootModule { name: name.into(), len };
        let config =
            RunConfig { modules: vec![module("a", 3), module("b", 0), module("c", 5000)], ..sample() };
        let mut bytes = encode_with_modules(&config, &[b"abc", b"", &[9; 5000]]);
        let end = bytes.len();
        bytes.extend_from_slice(b"symbols");
        let decoded = split(&bytes).unwrap();
        assert_eq!(decoded.modules, [&b"abc"[..], b"", &[9; 5000]]);
        assert_eq!(decoded.rest, b"symbols");
        assert_eq!(decoded.modules[0].as_ptr() as usize - bytes.as_ptr() as usize, MODULE_ALIGN);
        assert_eq!(split(&bytes[..end - 1]), Err(DecodeError::Truncated));
    }

    #[test]
    fn other_versions_are_named() {
        let mut bytes = encode(&sample());
        bytes[8] = 9;
        assert_eq!(decode(&bytes), Err(DecodeError::Version(9)));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_fail(tail in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(&VERSION.to_le_bytes());
            bytes.extend_from_slice(&(tail.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&tail);
            let _ = decode(&bytes);
            let _ = decode(&tail);
        }
    }
}
