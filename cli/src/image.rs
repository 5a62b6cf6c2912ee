// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal image`: a bootable ISO for BIOS and UEFI, made by `grub-mkrescue`.
//!
//! GRUB loads the kernel by Multiboot2 with two modules: the run configuration, and a cpio archive with the program,
//! its interpreter and its libraries as root file system. A program image is loaded in the kernel's place. Further
//! modules are the program's, for `hrt_module()`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, anyhow};
use hadal_abi::config::{BootAction, Filling, ProgramSource, RunConfig, StdioKind};
use hadal_initramfs::{Archive, MAX_FILE_LEN};

use crate::args::ImageArgs;
use crate::elf::{self, Elf, ElfError};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::libraries::Libraries;
use crate::pack::Module;
use crate::plain_qemu::{self, Medium};
use crate::program_image::ProgramImage;
use crate::progress::Progress;
use crate::view::{View, ViewRequest};
use crate::{compile, launch, libraries, pack, paths};

/// Directories of every image: for temporary files, and where the kernel shows trees of its own.
const MOUNT_POINTS: [&str; 4] = ["dev", "proc", "sys", "tmp"];

/// Libraries that the C library loads by itself when a thread ends early.
const LOADED_BY_LIBC: &str = "libgcc_s.so.1";

/// The loader's script: the kernel, its configuration, its root file system, then modules with their names.
///
/// The video drivers give the kernel a screen; under UEFI there is no text mode to fall back to.
fn grub_config(modules: &[Module], command_line: &str) -> String {
    let line =
        |(index, (name, _)): (usize, &Module)| format!("module2 /boot/{} {name}\n", module_file(index));
    let named: String = modules.iter().enumerate().map(line).collect();
    let words: String = command_line.split_whitespace().map(|word| format!(" '{word}'")).collect();
    format!(
        "set timeout=0\ninsmod all_video\nmultiboot2 /boot/hadal-kernel.elf{words}\nmodule2 /boot/run-config\n\
         module2 /boot/root.cpio\n{named}boot\n"
    )
}

/// Name of a module's file; its own name is in the loader's script.
fn module_file(index: usize) -> String {
    format!("module-{index}")
}

/// What `grub-mkrescue` needs: the file or command that shows it is there, and its Debian package.
pub(crate) const TOOLS: [(&str, &str); 5] = [
    ("grub-mkrescue", "grub-common"),
    ("xorriso", "xorriso"),
    ("mformat", "mtools"),
    ("/usr/lib/grub/i386-pc", "grub-pc-bin"),
    ("/usr/lib/grub/x86_64-efi", "grub-efi-amd64-bin"),
];

/// Whether a command (or, for an absolute path, a file) is there.
pub(crate) fn is_present(tool: &str) -> bool {
    if tool.starts_with('/') { Path::new(tool).exists() } else { paths::find_command(tool).is_some() }
}

/// Makes the image.
pub(crate) fn make(args: &ImageArgs) -> Result<u8, Failure> {
    require_tools()?;
    let name = launch::program_name(&args.command)?;
    compile::check_flags(name, args.cflags.as_deref())?;
    let host_cwd = std::env::current_dir().context("the working directory is gone")?;
    let wrong = |error| Failure::Program { path: name.into(), error };
    let mut archive = Archive::default();
    for dir in MOUNT_POINTS {
        archive.directory(Path::new(dir))?;
    }
    let packed = ProgramImage::open(name).map_err(|error| wrong(error.into()))?;
    let (kernel, mut config) = match &packed {
        Some(image) => (Kernel::of_image(image)?, image_configuration(args, name)),
        None => (Kernel::own()?, add_program(&mut archive, args, name)?),
    };
    for file in &args.add {
        let (from, to) = split_added(file, &host_cwd);
        add_file(&mut archive, &to, &from)?;
    }
    let modules = pack::read_modules(&args.module)?;
    config.initramfs = true;
    let command_line = args.append.as_deref().unwrap_or_default();
    if command_line.contains(['\'', '"', '\\', '\n']) {
        return Err(Failure::Usage {
            what: "--append: GRUB changes quotes, backslashes and ends of lines on the kernel's command line"
                .into(),
            help: "use other words, or put the text into a file: --module NAME=FILE".into(),
        });
    }
    let script = grub_config(&modules, command_line);
    let files = [
        ("hadal-kernel.elf", &*kernel.elf),
        ("run-config", &kernel.boot_module(&config, &[])),
        ("root.cpio", &archive.finish()?),
        ("grub/grub.cfg", script.as_bytes()),
    ];
    write_iso(&args.iso, &files, &modules)?;
    let size = args.iso.metadata().map_or(0, |m| m.len());
    eprintln!("hadal: wrote {} ({})", args.iso.display(), crate::values::Bytes(size));
    eprintln!("  to boot it: {}", plain_qemu::line(Medium::Disc, &args.iso));
    Ok(0)
}

/// Puts a program with its libraries into the archive, and says how to run it.
fn add_program(archive: &mut Archive, args: &ImageArgs, name: &Path) -> Result<RunConfig, Failure> {
    let program = match compile::is_source(name) {
        true => compile::compile(name, args.cflags.as_deref(), &args.command[1..])?,
        false => name.to_path_buf(),
    };
    let elf = elf::inspect(&program)
        .and_then(|elf| elf.check_program().map(|()| elf))
        .map_err(|error| Failure::Program { path: name.into(), error })?;
    let host = program.canonicalize().with_context(|| name.display().to_string())?;
    // Every library is looked for as on this machine, where nothing is hidden by the guest's own trees.
    let view = View::plan(&ViewRequest::default(), Path::new("/"))?;
    let guest = Path::new("/bin").join(host.file_name().unwrap_or_default());
    add_file(archive, &guest, &host)?;
    let libraries = add_libraries(archive, &view, name, &host, &elf)?;
    Ok(configuration(args, &guest, &libraries))
}

/// How to run the program that is in the kernel's own image.
fn image_configuration(args: &ImageArgs, name: &Path) -> RunConfig {
    let guest = Path::new("/bin").join(name.file_name().unwrap_or_default());
    RunConfig {
        program_source: ProgramSource::Image,
        filling: Filling::Mapping,
        ..configuration(args, &guest, &Libraries::default())
    }
}

fn require_tools() -> Result<(), Failure> {
    let missing: Vec<_> = TOOLS.iter().filter(|(tool, _)| !is_present(tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let tools: Vec<_> = missing.iter().map(|(tool, _)| *tool).collect();
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    Err(Failure::setup(
        format!("an image needs {}, which this machine lacks", tools.join(", ")),
        format!("Debian, Ubuntu: apt-get install {}", packages.join(" ")),
    ))
}

fn add_file(archive: &mut Archive, guest: &Path, host: &Path) -> Result<(), Failure> {
    let read = |host: &Path| -> anyhow::Result<(u32, Vec<u8>)> {
        let metadata = fs::metadata(host)?;
        if metadata.len() > MAX_FILE_LEN {
            return Err(anyhow!("larger than an image can hold (4 GiB)"));
        }
        Ok((metadata.permissions().mode(), fs::read(host)?))
    };
    let (mode, content) = read(host).with_context(|| host.display().to_string())?;
    Ok(archive.file(guest, mode, &content)?)
}

/// Adds the interpreter and every library, each where the loader will look for it.
fn add_libraries(
    archive: &mut Archive,
    view: &View,
    name: &Path,
    program: &Path,
    elf: &Elf,
) -> Result<Libraries, Failure> {
    let Some(interpreter) = &elf.interpreter else { return Ok(Libraries::default()) };
    let wrong = |error| Failure::Program { path: name.into(), error };
    let found = view.resolve(interpreter).map_err(|_| wrong(ElfError::NoInterpreter(interpreter.clone())))?;
    add_file(archive, interpreter, &found.host)?;
    // What this shell preloads is no part of the program.
    let dirs = std::env::vars_os().filter(|(name, _)| name == "LD_LIBRARY_PATH");
    let settings: Vec<OsString> = dirs.map(|(name, value)| launch::setting(&name, &value)).collect();
    let libraries = libraries::find(view, program, elf, &libraries::Settings::of(&settings));
    if let Some(missing) = libraries.missing.first() {
        return Err(Failure::setup(
            format!(
                "{}: library {} was not found",
                missing.needed_by.display(),
                Path::new(&missing.name).display()
            ),
            "install it, or name its directory in LD_LIBRARY_PATH",
        ));
    }
    for library in &libraries.found {
        add_file(archive, &library.guest, &library.host)?;
        let extra = library.guest.with_file_name(LOADED_BY_LIBC);
        if library.guest.file_name() == Some(OsStr::new("libc.so.6"))
            && let Ok(found) = view.resolve(&extra)
        {
            add_file(archive, &extra, &found.host)?;
        }
    }
    Ok(libraries)
}

/// `HOST[:GUEST]`: the file and its absolute place in the image.
fn split_added(text: &OsStr, host_cwd: &Path) -> (PathBuf, PathBuf) {
    let bytes = text.as_bytes();
    let colon = bytes.windows(2).rposition(|pair| pair == b":/");
    let path = |bytes: &[u8]| host_cwd.join(OsStr::from_bytes(bytes));
    match colon {
        Some(at) => (path(&bytes[..at]), path(&bytes[at + 1..])),
        None => (path(bytes), path(bytes)),
    }
}

fn configuration(args: &ImageArgs, program: &Path, libraries: &Libraries) -> RunConfig {
    let mut argv = args.command.clone();
    argv[0] = program.as_os_str().to_owned();
    let mut env = vec![OsString::from("PATH=/bin"), OsString::from("HOME=/")];
    if let Some(paths) = loader_path(libraries) {
        env.push(paths);
    }
    env.extend(args.env.iter().cloned());
    RunConfig {
        on_boot: BootAction::RunProgram,
        program: program.as_os_str().as_bytes().to_vec(),
        argv: argv.into_iter().map(OsString::into_vec).collect(),
        env: env.into_iter().map(OsString::into_vec).collect(),
        stdio: [StdioKind::Tty { rows: 25, cols: 80 }; 3],
        log_filter: if args.log.is_empty() { "warn".into() } else { args.log.join(",") },
        ..RunConfig::report()
    }
}

/// `LD_LIBRARY_PATH` for libraries that only this machine's loader configuration leads to, or that were found through
/// the variable itself.
fn loader_path(libraries: &Libraries) -> Option<OsString> {
    let mut dirs: Vec<&OsStr> = Vec::new();
    for library in libraries.found.iter().filter(|l| l.by_loader_config) {
        let dir = library.guest.parent()?.as_os_str();
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    if let Some(inherited) = std::env::var_os("LD_LIBRARY_PATH").filter(|paths| !paths.is_empty()) {
        let mut setting = OsString::from("LD_LIBRARY_PATH=");
        setting.push(inherited);
        dirs.iter().for_each(|dir| {
            setting.push(":");
            setting.push(dir);
        });
        return Some(setting);
    }
    (!dirs.is_empty()).then(|| {
        let mut setting = OsString::from("LD_LIBRARY_PATH=");
        setting.push(dirs.join(OsStr::new(":")));
        setting
    })
}

fn write_iso(iso: &Path, files: &[(&str, &[u8])], modules: &[Module]) -> Result<(), Failure> {
    let dir = tempfile::tempdir().context("cannot make a temporary directory")?;
    let put = |name: &str, content: &[u8]| -> anyhow::Result<()> {
        let file = dir.path().join("boot").join(name);
        fs::create_dir_all(file.parent().context("a file has a directory")?)?;
        fs::write(&file, content).with_context(|| file.display().to_string())
    };
    for (name, content) in files {
        put(name, content)?;
    }
    for (index, (_, content)) in modules.iter().enumerate() {
        put(&module_file(index), content)?;
    }
    let _progress = Progress::waiting("grub-mkrescue writes the image");
    let output = Command::new("grub-mkrescue")
        .arg("-o")
        .arg(iso)
        .arg(dir.path())
        .output()
        .context("cannot run grub-mkrescue")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(anyhow!("grub-mkrescue ended with {}:\n{said}", output.status).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_command_line_are_words_of_the_script() {
        let script = grub_config(&[("a b".into(), Vec::new())], "stay  $x;");
        assert!(script.contains("multiboot2 /boot/hadal-kernel.elf 'stay' '$x;'\n"), "{script}");
        assert!(grub_config(&[], "").contains("hadal-kernel.elf\n"));
        assert!(script.contains("module2 /boot/module-0 a b\n"), "{script}");
    }

    #[test]
    fn added_files_keep_their_path_unless_told() {
        let cwd = Path::new("/w");
        let split = |text: &str| split_added(OsStr::new(text), cwd);
        assert_eq!(split("d.bin"), ("/w/d.bin".into(), "/w/d.bin".into()));
        assert_eq!(split("d.bin:/d"), ("/w/d.bin".into(), "/d".into()));
        assert_eq!(split("a:b:/d"), ("/w/a:b".into(), "/d".into()));
    }
}
