// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal run --trace FILE`: takes what the guest recorded and writes it in the Chrome trace format, which
//! ui.perfetto.dev and chrome://tracing show.
//!
//! [`recording`] keeps records as they arrive, [`convert`] turns them into rows ([`cpus`], [`threads`], both over
//! [`tracks`]) and arrows, with the names of [`names`]; [`json`] writes events.

mod convert;
mod cpus;
mod json;
mod names;
mod recording;
#[cfg(test)]
mod tests;
mod threads;
mod tracks;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hadal_abi::symbols::SymbolTable;

use self::names::Names;
pub(crate) use self::recording::Recording;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::values::Bytes;

/// What a trace buffer is where nothing else is asked for.
const DEFAULT_BUFFER_BYTES: u64 = 4 << 20;
/// Share of the machine's memory that all buffers may take.
const MEMORY_SHARE: u64 = 4;

/// Bytes of each CPU's trace buffer for these options on a machine; 0 without a trace.
pub(crate) fn buffer_bytes(args: &RunArgs, cpus: u32, memory: Bytes) -> Result<u64, Failure> {
    if args.trace.is_none() {
        return Ok(0);
    }
    let most = memory.0 / MEMORY_SHARE / u64::from(cpus);
    match args.trace_buffer {
        None => Ok(DEFAULT_BUFFER_BYTES.min(most)),
        Some(Bytes(bytes)) if bytes <= most => Ok(bytes),
        Some(bytes) => Err(Failure::setup(
            format!("--trace-buffer: {bytes} on each of {cpus} CPUs are more than a quarter of {memory}"),
            format!("give the machine more with --memory, or ask for {} or less", Bytes(most >> 20 << 20)),
        )),
    }
}

/// The file that the trace goes to, opened before the run.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    file: File,
}

impl TraceFile {
    /// Opens the file for writing.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            Failure::setup(
                format!("--trace {}: {error}", path.display()),
                "name a file in a directory that you may write to",
            )
        })?;
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// Writes the recording of a run of `program` on the kernel with these symbols, and says so.
    pub(crate) fn write(self, mut recording: Recording, program: &str, symbols: &[u8]) -> Result<()> {
        let names = Names::new(recording.head.as_ref(), SymbolTable::find_in(symbols));
        let out = BufWriter::with_capacity(1 << 20, &self.file);
        convert::convert(&mut recording, &names, program, out)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        eprintln!("{}", self.summary(&recording));
        Ok(())
    }

    fn summary(&self, recording: &Recording) -> String {
        let path = self.path.display();
        let made: u64 = recording.cpus.iter().map(|cpu| cpu.made).sum();
        let lost: u64 = recording.cpus.iter().map(recording::CpuRecords::lost).sum();
        if recording.head.is_none() {
            return format!("hadal: {path}: the program did not start, so the trace is empty");
        }
        if recording.cpus.is_empty() {
            return format!("hadal: {path}: the machine ended without sending its trace");
        }
        let mut text = format!("hadal: {path}: {made} records, {} CPUs", recording.cpus.len());
        if lost > 0 {
            text += &format!(", the oldest {lost} of them overwritten (--trace-buffer)");
        }
        text + "; open it at https://ui.perfetto.dev"
    }
}
