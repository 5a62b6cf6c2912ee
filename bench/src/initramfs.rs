// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file system of the Linux guest: busybox, one program with its libraries, and an init that runs it
//! and turns the machine off.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cpio::newc::{Builder, trailer};

use crate::programs::Program;

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
/// Where the guest sees the program.
const GUEST_PROGRAM: &str = "program";
/// Comes before the program's exit status in the guest's output.
pub(crate) const STATUS_MARK: &str = "hadal-bench-status";

/// Builds the archive.
pub(crate) fn build(busybox: &Path, program: &Program) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.file(Path::new("bin/busybox"), &read(busybox)?)?;
    archive.file(Path::new(GUEST_PROGRAM), &read(&program.file)?)?;
    for library in program.libraries()? {
        let name = library.strip_prefix("/").unwrap_or(&library).to_path_buf();
        archive.file(&name, &read(&library)?)?;
    }
    archive.file(Path::new("init"), init_script(program)?.as_bytes())?;
    archive.finish()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn init_script(program: &Program) -> Result<String> {
    let args = shlex::try_join(program.args.iter().map(String::as_str)).context("a NUL in an argument")?;
    // The kernel has given init its console as all three standard streams.
    Ok(format!(
        "#!/bin/busybox sh\n/{GUEST_PROGRAM} {args}\necho {STATUS_MARK} $?\nexec /bin/busybox poweroff -f\n"
    ))
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<PathBuf>,
    entries: u32,
}

impl Archive {
    fn file(&mut self, name: &Path, content: &[u8]) -> Result<()> {
        let mut above: Vec<&Path> = name.ancestors().skip(1).filter(|path| *path != Path::new("")).collect();
        above.reverse();
        for directory in above {
            if self.directories.insert(directory.to_path_buf()) {
                self.entry(directory, DIRECTORY, &[])?;
            }
        }
        self.entry(name, EXECUTABLE, content)
    }

    fn entry(&mut self, name: &Path, mode: u32, content: &[u8]) -> Result<()> {
        let name = name.to_str().context("a file name that is not UTF-8")?;
        self.entries += 1;
        let size = u32::try_from(content.len()).with_context(|| format!("{name} is too large"))?;
        let mut writer =
            Builder::new(name).ino(self.entries).mode(mode).nlink(1).write(&mut self.bytes, size);
        std::io::Write::write_all(&mut writer, content).context("cannot fill the archive")?;
        writer.finish().context("cannot end an entry of the archive")?;
        Ok(())
    }

    fn finish(self) -> Result<Vec<u8>> {
        ensure!(self.entries > 0, "an archive without files");
        trailer(self.bytes).context("cannot end the archive")
    }
}
