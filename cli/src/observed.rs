// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a machine sends of its inside, and what that becomes: the files of the trace (`--trace`) and the profile
//! (`--profile`), and the counters (`--stats`, `--strace=count`).

use std::fs;
use std::path::Path;

use anyhow::Result;
use hadal_abi::calls::CallCount;
use hadal_abi::control::Stats;

use crate::args::{RunArgs, StatsChoice};
use crate::channel::Recorded;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::profile::{ProfileFiles, Samples};
use crate::program_image::ProgramImage;
use crate::stats::{self, StatsFile};
use crate::strace;
use crate::trace::{Recording, TraceFile};
use crate::view::View;

/// Everything that has arrived.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    recording: Recording,
    samples: Samples,
    stats: Option<Stats>,
    calls: Option<Vec<CallCount>>,
}

impl Observed {
    /// Keeps a part; returns whether it makes sense.
    pub(crate) fn add(&mut self, part: Recorded) -> bool {
        match part {
            Recorded::TraceStart(head) => self.recording.head = Some(head),
            Recorded::TraceNames(names) => self.recording.names.extend(names),
            Recorded::TraceRecords(piece) => return self.recording.add_piece(&piece),
            Recorded::Stats(stats) => self.stats = Some(stats),
            Recorded::CallCounts(counts) => self.calls = Some(counts),
            Recorded::ProfileHead(head) => self.samples.head = Some(head),
            Recorded::ProfileMappings(mappings) => self.samples.mappings.extend(mappings),
            Recorded::Samples(piece) => match hadal_abi::profile::words(&piece) {
                Some(words) => self.samples.pieces.push(words),
                None => return false,
            },
        }
        true
    }
}

/// What names need after the run.
struct Facts {
    /// The program's name, for people.
    program: String,
    /// Names of the kernel's functions.
    symbols: Vec<u8>,
}

/// The files that were asked for.
pub(crate) struct Files {
    trace: Option<TraceFile>,
    profile: Option<ProfileFiles>,
    stats: Option<StatsFile>,
    /// How counters are printed.
    printed_stats: Option<StatsChoice>,
    facts: Facts,
}

impl Files {
    /// Opens the files, so that one that cannot be written is known before the run.
    pub(crate) fn create(args: &RunArgs, launch: &Launch) -> Result<Self, Failure> {
        let name = launch.boot.config.argv.first().map_or(&b"?"[..], |name| name);
        let last = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
        let facts = Facts {
            program: String::from_utf8_lossy(last).into_owned(),
            symbols: launch.boot.kernel.symbols().to_vec(),
        };
        Ok(Self {
            trace: args.trace.as_deref().map(TraceFile::create).transpose()?,
            profile: args.profile.as_deref().map(ProfileFiles::create).transpose()?,
            stats: args.stats_file.as_deref().map(StatsFile::create).transpose()?,
            printed_stats: args.stats,
            facts,
        })
    }

    /// Prints the counters and writes the files; the guest's files are in `view`.
    pub(crate) fn write(self, observed: Observed, view: &mut View) -> Result<()> {
        let Facts { program, symbols } = &self.facts;
        if let Some(counts) = &observed.calls {
            eprint!("{}", strace::table(counts));
        }
        if let (Some(stats), Some(choice)) = (&observed.stats, self.printed_stats) {
            eprint!("{}", stats::text(stats, choice)?);
        }
        if let Some(file) = self.stats {
            file.write(observed.stats.as_ref())?;
        }
        if let Some(file) = self.trace {
            file.write(observed.recording, program, symbols)?;
        }
        if let Some(files) = self.profile {
            files.write(&observed.samples, program, symbols, |path| content(view, Path::new(path)))?;
        }
        Ok(())
    }
}

/// Largest file that is read for the names in it. A program can map one that takes no room on any disk.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// The ELF file that the guest has at a path: of a program image, the program. Empty if there is none.
fn content(view: &mut View, path: &Path) -> Vec<u8> {
    // An image's program appears at the path that the image has on the host.
    elf_file(&view.resolve(path).map_or_else(|_| path.to_path_buf(), |found| found.host))
}

fn elf_file(host: &Path) -> Vec<u8> {
    // In the place of what the guest has below /tmp, the host may have a pipe, which would be waited for.
    if !fs::metadata(host).is_ok_and(|file| file.is_file() && file.len() <= MAX_FILE_BYTES) {
        return Vec::new();
    }
    match ProgramImage::open(host) {
        Ok(Some(image)) => image.contents().program.to_vec(),
        _ => fs::read(host).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_files_of_a_reasonable_size_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let [pipe, huge, small] = ["pipe", "huge", "small"].map(|name| directory.path().join(name));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
        fs::write(&small, "small").unwrap();
        assert_eq!([&pipe, &huge, &small].map(|file| elf_file(file)), [&b""[..], b"", b"small"]);
    }
}
