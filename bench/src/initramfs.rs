// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file system of the Linux guest: busybox, the programs with their libraries, and an init that runs one after the
//! other and turns the machine off.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cpio::newc::{Builder, trailer};

use crate::toolchain::Program;

const DIRECTORY: u32 = 0o040_755;
const EXECUTABLE: u32 = 0o100_755;
/// Comes before the a program's exit status in the guest's output.
pub(crate) const STATUS_MARK: &str = "hadal-bench-status";

/// What init does before the first program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Init {
    /// Nothing: for the time that booting takes.
    Bare,
    /// Mounts what programs look at.
    Mounts,
}

/// Mounts that a program may expect, and the standard streams of `hadal run`.
const MOUNTS: &str = "\
b=/bin/busybox
$b mkdir -p /proc /sys /dev /tmp
$b mount -t proc none /proc
$b mount -t sysfs none /sys
$b mount -t devtmpfs none /dev
$b mount -t tmpfs none /tmp
";

/// Builds the archive.
pub(crate) fn build(busybox: &Path, init: Init, programs: &[Program]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.file(Path::new("bin/busybox"), &read(busybox)?)?;
    for program in programs {
        archive.file(&guest_path(program)?, &read(&program.file)?)?;
        for library in program.libraries()? {
            let name = library.strip_prefix("/").unwrap_or(&library).to_path_buf();
            archive.file(&name, &read(&library)?)?;
        }
    }
    archive.file(Path::new("init"), init_script(init, programs)?.as_bytes())?;
    archive.finish()
}

/// Where the guest sees a program, without the first slash.
fn guest_path(program: &Program) -> Result<PathBuf> {
    Ok(Path::new("programs").join(program.file.file_name().context("a program has a name")?))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn init_script(init: Init, programs: &[Program]) -> Result<String> {
    // The kernel has given init its console as all three standard streams.
    let mut script = "#!/bin/busybox sh\n".to_owned();
    if init == Init::Mounts {
        script.push_str(MOUNTS);
    }
    for program in programs {
        let path = format!("/{}", guest_path(program)?.display());
        let words = std::iter::once(path.as_str()).chain(program.args.iter().map(String::as_str));
        let line = shlex::try_join(words).context("a NUL in an argument")?;
        script.push_str(&format!("{line}\necho {STATUS_MARK} $?\n"));
    }
    Ok(script + "exec /bin/busybox poweroff -f\n")
}

#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<PathBuf>,
    files: BTreeSet<PathBuf>,
    entries: u32,
}

impl Archive {
    /// Adds a file, once.
    fn file(&mut self, name: &Path, content: &[u8]) -> Result<()> {
        if !self.files.insert(name.to_path_buf()) {
            return Ok(());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_runs_the_programs_in_turn() {
        let program = Program { file: "/x/thread".into(), args: vec!["path".into(), "a b".into()] };
        let script = init_script(Init::Mounts, &[program.clone(), program]).unwrap();
        assert_eq!(
            script.matches("/programs/thread path 'a b'\necho hadal-bench-status $?\n").count(),
            2,
            "{script}"
        );
        assert!(script.contains("mount -t proc") && script.ends_with("poweroff -f\n"));
        assert!(!init_script(Init::Bare, &[]).unwrap().contains("mount"));
    }
}
