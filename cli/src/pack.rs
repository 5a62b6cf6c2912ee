// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal pack`: an image of a static program that some build system has linked. `hadal cc` ends here, too.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hadal_abi::config::{BootAction, Filling, ProgramSource, RunConfig, StdioKind};
use hadal_abi::image::Contents;

use crate::args::PackArgs;
use crate::elf::{self, Elf, ElfError};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::program_image::ProgramImage;

/// Where the program of an image that boots by itself appears.
const BIN: &str = "/bin";

/// A module: its name and its content.
pub(crate) type Module = (String, Vec<u8>);

/// What an image does when it boots without a command.
#[derive(Debug, Default)]
pub(crate) struct Defaults<'a> {
    /// The program's arguments, without its name.
    pub(crate) args: &'a [OsString],
    /// Additions to its environment, which starts with PATH and HOME.
    pub(crate) env: &'a [OsString],
    /// Log levels; empty is warnings.
    pub(crate) log: &'a [String],
}

/// `hadal pack`.
pub(crate) fn run(args: &PackArgs) -> Result<u8, Failure> {
    let modules = read_modules(&args.module)?;
    let defaults = Defaults { args: &args.args, env: &args.env, log: &args.log };
    make(&args.program, &args.output, modules, &defaults)?;
    Ok(0)
}

/// Makes an image of a linked program.
pub(crate) fn make(
    program: &Path,
    output: &Path,
    modules: Vec<Module>,
    defaults: &Defaults<'_>,
) -> Result<(), Failure> {
    let wrong = |error| Failure::Program { path: program.into(), error };
    let content = fs::read(program).map_err(|error| wrong(error.into()))?;
    check(&content).map_err(wrong)?;
    let kernel = Kernel::own()?;
    let name = output.file_name().unwrap_or(OsStr::new("program"));
    let config = kernel.boot_module(&configuration(name, defaults), &[]);
    let modules = modules.iter().map(|(name, content)| (name.clone(), content.as_slice())).collect();
    let contents = Contents { program: &content, config: &config, modules };
    let mut image = ProgramImage::pack(&kernel.elf, &contents)
        .map_err(|error| Failure::setup(format!("no image can be made: {error}"), pack_help()))?;
    if let Some(command) = own_command() {
        image.set_command(&command);
    }
    write(output, image.bytes()).with_context(|| format!("cannot write {}", output.display()))?;
    Ok(())
}

/// The `hadal` command: this process, or its neighbour when this is `hadal-cc` or one of its kind.
fn own_command() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let command = own.with_file_name("hadal");
    command.is_file().then_some(command)
}

fn pack_help() -> String {
    match std::env::var_os("HADAL_KERNEL") {
        Some(file) => format!("HADAL_KERNEL={} may be an older kernel", Path::new(&file).display()),
        None => {
            "leave out large modules; `hadal run --module` and files of the host are read when it runs".into()
        }
    }
}

/// Refuses what cannot run without a dynamic linker.
fn check(program: &[u8]) -> Result<Elf, ElfError> {
    let elf = elf::inspect_bytes(program)?;
    elf.check_program()?;
    if elf.interpreter.is_some() || !elf.dynamic.needed.is_empty() {
        return Err(ElfError::Dynamic);
    }
    Ok(elf)
}

/// What an image does by itself: it runs its program on the console, with nothing else in its file system.
fn configuration(name: &OsStr, defaults: &Defaults<'_>) -> RunConfig {
    let program = Path::new(BIN).join(name).into_os_string();
    let mut argv = vec![program.clone()];
    argv.extend_from_slice(defaults.args);
    let mut env = vec![OsString::from("PATH=/bin"), OsString::from("HOME=/")];
    env.extend_from_slice(defaults.env);
    RunConfig {
        on_boot: BootAction::RunProgram,
        program: program.into_vec(),
        program_source: ProgramSource::Image,
        filling: Filling::Mapping,
        argv: argv.into_iter().map(OsString::into_vec).collect(),
        env: env.into_iter().map(OsString::into_vec).collect(),
        stdio: [StdioKind::Tty { rows: 25, cols: 80 }; 3],
        log_filter: if defaults.log.is_empty() { "warn".into() } else { defaults.log.join(",") },
        ..RunConfig::report()
    }
}

/// Reads the files of `NAME=FILE` options.
pub(crate) fn read_modules(options: &[OsString]) -> Result<Vec<Module>, Failure> {
    options.iter().map(|option| read_module(option)).collect()
}

fn read_module(option: &OsStr) -> Result<Module, Failure> {
    let bytes = option.as_bytes();
    let parts = bytes.iter().position(|byte| *byte == b'=').filter(|at| *at > 0);
    let name = parts.and_then(|at| str::from_utf8(&bytes[..at]).ok());
    let (Some(at), Some(name)) = (parts, name) else {
        return Err(Failure::Usage {
            what: format!("--module {}: not NAME=FILE", Path::new(option).display()),
            help: "for example --module mesh=data/mesh.bin".into(),
        });
    };
    let file = Path::new(OsStr::from_bytes(&bytes[at + 1..]));
    let content = fs::read(file).map_err(|e| {
        Failure::setup(format!("--module {}: {e}", file.display()), "name a file that can be read")
    })?;
    Ok((name.to_owned(), content))
}

/// Writes the image: a regular file appears whole or not at all, anything else (such as /dev/null) is written to.
fn write(output: &Path, content: &[u8]) -> anyhow::Result<()> {
    // A link stays a link.
    let target = output.canonicalize().unwrap_or_else(|_| output.to_path_buf());
    if target.exists() && !target.is_file() {
        return Ok(fs::write(&target, content)?);
    }
    let dir = match target.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    // Executable, as what any linker writes. The mask of the process applies.
    let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o777)).tempfile_in(dir)?;
    file.write_all(content)?;
    file.persist(&target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_need_a_name_and_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a=b");
        fs::write(&file, "x").unwrap();
        let option = OsString::from(format!("data={}", file.display()));
        assert_eq!(read_module(&option).unwrap(), ("data".to_owned(), b"x".to_vec()));
        for wrong in ["data", "=file", "data=/no/such/file"] {
            assert!(read_module(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_are_replaced_and_links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.hadal");
        write(&file, b"one").unwrap();
        write(&file, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"three").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"three");
    }

    #[test]
    fn only_static_programs_fit() {
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(matches!(check(&own), Err(ElfError::Dynamic)));
    }
}
