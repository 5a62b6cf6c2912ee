// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal run --profile NAME`: names the functions in the guest's samples and writes them as folded stacks
//! (`NAME.folded`) and as a flame graph (`NAME.svg`).
//!
//! [`fold`] makes stacks of samples, with function names that [`code`] finds in ELF files; the picture is inferno's.

mod code;
mod fold;

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hadal_abi::symbols::SymbolTable;
use inferno::flamegraph::{self, Options, Palette, color};

use self::fold::Folded;
pub(crate) use self::fold::Samples;
use crate::failure::Failure;

/// What a graph must have to be read: less is no picture.
const NO_SAMPLES: &str =
    "hadal: the profile is empty: the program did not start, or ended at once (--profile-hz)";

/// The files that the profile goes to, opened before the run.
#[derive(Debug)]
pub(crate) struct ProfileFiles {
    folded: (PathBuf, File),
    graph: (PathBuf, File),
}

impl ProfileFiles {
    /// Opens the files for writing: those of this name, which may end with `.svg`.
    pub(crate) fn create(name: &Path) -> Result<Self, Failure> {
        let bytes = name.as_os_str().as_bytes();
        let stem = bytes.strip_suffix(b".svg").unwrap_or(bytes);
        let open = |suffix: &str| {
            let path = PathBuf::from(OsString::from_vec([stem, suffix.as_bytes()].concat()));
            File::create(&path).map(|file| (path.clone(), file)).map_err(|error| {
                Failure::setup(
                    format!("--profile {}: {error}", path.display()),
                    "name a file in a directory that you may write to",
                )
            })
        };
        Ok(Self { folded: open(".folded")?, graph: open(".svg")? })
    }

    /// Writes the samples of a run of `program` on the kernel with these symbols, and says so. `read` gives the content of
    /// a file of the guest.
    pub(crate) fn write(
        self,
        samples: &Samples,
        program: &str,
        symbols: &[u8],
        read: impl FnMut(&str) -> Vec<u8>,
    ) -> Result<()> {
        let folded = fold::fold(samples, SymbolTable::find_in(symbols), read);
        let (path, file) = &self.folded;
        write_folded(file, &folded).with_context(|| format!("cannot write {}", path.display()))?;
        if folded.is_empty() {
            eprintln!("{NO_SAMPLES}");
            return Ok(());
        }
        let summary = summary(samples);
        let (path, file) = &self.graph;
        draw(file, &folded, program, &summary).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("hadal: {} and {}: {summary}", path.display(), self.folded.0.display());
        Ok(())
    }
}

fn write_folded(file: &File, folded: &Folded) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    for (stack, count) in folded {
        writeln!(out, "{stack} {count}")?;
    }
    out.flush()
}

fn draw(file: &File, folded: &Folded, program: &str, summary: &str) -> Result<()> {
    let mut options = Options::default();
    options.title = program.to_owned();
    options.subtitle = Some(summary.to_owned());
    // Kernel frames in a colour of their own.
    options.colors = Palette::Multi(color::MultiPalette::Java);
    options.deterministic = true;
    let lines: Vec<String> = folded.iter().map(|(stack, count)| format!("{stack} {count}")).collect();
    let mut out = BufWriter::new(file);
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut out)?;
    out.flush()?;
    Ok(())
}

/// How many samples there are, and of what.
fn summary(samples: &Samples) -> String {
    let Some(head) = &samples.head else { return "incomplete".into() };
    let sum = |of: fn(&hadal_abi::profile::CpuSamples) -> u64| head.cpus.iter().map(of).sum::<u64>();
    let (taken, idle, lost) = (sum(|cpu| cpu.taken), sum(|cpu| cpu.idle), sum(|cpu| cpu.lost));
    let cpus = match head.cpus.len() {
        1 => "1 CPU".to_owned(),
        many => format!("{many} CPUs"),
    };
    let mut text = format!("{} samples of {cpus} at {} Hz, {idle} more while idle", taken - idle, head.hz);
    if lost > 0 {
        text += &format!(", {lost} lost for want of room");
    }
    text
}
