// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The file system of the Linux guest: busybox, the programs with their libraries, and an init that runs one after the
//! other and turns the machine off.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hadal_initramfs::Archive;

use crate::toolchain::Program;

const EXECUTABLE: u32 = 0o755;
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

/// Mounts that a program may expect (libomp wants `/dev/shm`), and the standard streams of `hadal run`.
const MOUNTS: &str = "\
b=/bin/busybox
$b mkdir -p /proc /sys /dev /tmp
$b mount -t proc none /proc
$b mount -t sysfs none /sys
$b mount -t devtmpfs none /dev
$b mkdir -p /dev/shm
$b mount -t tmpfs none /dev/shm
$b mount -t tmpfs none /tmp
";

/// Builds the archive. All programs find the setting, a `NAME=value`, in their environment.
pub(crate) fn build(
    busybox: &Path,
    init: Init,
    setting: Option<&str>,
    programs: &[Program],
) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.file(Path::new("bin/busybox"), EXECUTABLE, &read(busybox)?)?;
    for program in programs {
        archive.file(&guest_path(program)?, EXECUTABLE, &read(&program.file)?)?;
        for library in program.libraries()? {
            archive.file(&library, EXECUTABLE, &read(&library)?)?;
        }
    }
    archive.file(Path::new("init"), EXECUTABLE, init_script(init, setting, programs)?.as_bytes())?;
    archive.finish()
}

/// Where the guest sees a program, without the first slash.
fn guest_path(program: &Program) -> Result<PathBuf> {
    Ok(Path::new("programs").join(program.file.file_name().context("a program has a name")?))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn init_script(init: Init, setting: Option<&str>, programs: &[Program]) -> Result<String> {
    // The kernel has given init its console as all three standard streams.
    let mut script = "#!/bin/busybox sh\n".to_owned();
    if init == Init::Mounts {
        script.push_str(MOUNTS);
    }
    if let Some(setting) = setting {
        let setting = shlex::try_quote(setting).context("a NUL in a variable")?;
        script.push_str(&format!("export {setting}\n"));
    }
    for program in programs {
        let path = format!("/{}", guest_path(program)?.display());
        let words = std::iter::once(path.as_str()).chain(program.args.iter().map(String::as_str));
        let line = shlex::try_join(words).context("a NUL in an argument")?;
        for (name, value) in &program.env {
            script.push_str(&format!("{name}={} ", shlex::try_quote(value).context("a NUL in a variable")?));
        }
        script.push_str(&format!("{line}\necho {STATUS_MARK} $?\n"));
    }
    Ok(script + "exec /bin/busybox poweroff -f\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_runs_the_programs_in_turn() {
        let program =
            Program { file: "/x/thread".into(), args: vec!["path".into(), "a b".into()], env: Vec::new() };
        let script = init_script(Init::Mounts, Some("A=b c"), &[program.clone(), program.clone()]).unwrap();
        assert_eq!(
            script.matches("/programs/thread path 'a b'\necho hadal-bench-status $?\n").count(),
            2,
            "{script}"
        );
        assert!(script.contains("mount -t proc") && script.ends_with("poweroff -f\n"));
        assert!(script.contains("\nexport 'A=b c'\n"), "{script}");
        let env = vec![("OMP_PLACES".into(), "{0}".into()), ("B".into(), "1".into())];
        let script = init_script(Init::Mounts, None, &[Program { env, ..program }]).unwrap();
        assert!(script.contains("\nOMP_PLACES='{0}' B=1 /programs/thread path"), "{script}");
        assert!(!init_script(Init::Bare, None, &[]).unwrap().contains("mount"));
    }
}
