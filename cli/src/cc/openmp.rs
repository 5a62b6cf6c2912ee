// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hadal's OpenMP run-time, which the command carries as sources: static for program images, and as shared libraries in the
//! place of gcc's and LLVM's for dynamic programs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;

use super::library::{self, Compilation};
use super::sdk;
use crate::compile::Language;
use crate::failure::Failure;
use crate::progress::Progress;

/// How the sources are compiled. Exceptions never pass through the run-time, and it uses nothing of the C++ library.
const FLAGS: [&str; 11] = [
    "-std=c++20",
    "-O2",
    "-g",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-c",
];

/// What makes the compiler keep its own form of the code, from which it can inline into the program (GCC manual, "Optimize
/// Options"). The machine's code is there, too: `ar` lists the symbols of nothing else. The macro tells the sources that
/// they are compiled for this (core/abi.h).
const LINK_TIME_FLAGS: [&str; 3] = ["-flto", "-ffat-lto-objects", "-DHADAL_OMP_LINK_TIME"];

/// Where the sources have the entry points that gcc's code calls.
const ENTRY_FOLDERS: [&str; 2] = ["openmp/gomp", "openmp/api"];

/// What libhrt is compiled with beside its own flags: a shared library must not offer its symbols to the program.
const HIDDEN: &str = "-fvisibility=hidden";

/// The shared library begins at a multiple of 512 KiB, and so do its data, behind those that become read-only. What it needs all
/// the time is then on pages 0x7f, 0 and 0x2d of 128, whatever is mapped before it; the data of a small program are on pages
/// 0x57 to 0x5b, with its heap right above. The TLB that QEMU's translator emulates has one entry for all pages whose numbers end
/// in the same bits (eight, where few pages are in use): two that a loop needs take it from each other, for 20 ns each time.
const PLACE: &str = "-Wl,-z,noseparate-code,-z,max-page-size=0x80000";

/// The function of the library that searches other libraries for a tool; an image that asks for it can load them.
pub(super) const SEARCH_LIBRARIES: &str = "hadal_omp_search_libraries";

/// Names under which compilers link the library, the first being the file.
const STATIC_NAMES: [&str; 3] = ["libgomp.a", "libomp.a", "libiomp5.a"];
const SHARED_NAMES: [&str; 3] = ["libgomp.so.1", "libomp.so.5", "libiomp5.so"];

/// What marks functions that may become part of a program, in the sources (core/abi.h).
const INLINED: &str = "OMP_INLINED";

/// All entry points of gcc's code, those that may become part of the program in the compiler's own form. Calls that gcc makes of
/// directives are not in the symbol table of that form, so the linker has to take these files whole: it would ask for some when
/// the others are compiled already, without what these need of them.
const ENTRIES: &str = "libgomp-entries.a";

/// The static library of an image.
pub(super) struct StaticLibrary {
    dir: PathBuf,
    /// The directory of [`ENTRIES`], for a program that is optimised together with the run-time.
    entries: Option<PathBuf>,
}

impl StaticLibrary {
    /// For a program that is linked by `compiler`, with link-time optimisation or not.
    pub(super) fn new(compiler: &[OsString], link_time: bool) -> Result<Self, Failure> {
        // Clang's form of the code is another one, which its linkers need a plugin for.
        let is_inlined = link_time && is_gcc(compiler);
        let dir = static_dir()?;
        Ok(Self { dir, entries: is_inlined.then(|| entries_dir(compiler)).transpose()? })
    }

    /// The arguments of the link. The compiler asks for its own run-time by name, and finds this one.
    pub(super) fn link_args(&self) -> Vec<OsString> {
        let mut args = vec!["-L".into(), self.dir.clone().into()];
        if let Some(dir) = &self.entries {
            let entries = dir.join(ENTRIES).into();
            args.extend(["-Wl,--whole-archive".into(), entries, "-Wl,--no-whole-archive".into()]);
        }
        args.push(self.dir.join(STATIC_NAMES[0]).into());
        args
    }
}

/// The directory with the static library, under the names by which compilers ask for it. It needs libhrt.
fn static_dir() -> Result<PathBuf, Failure> {
    let compiler = super::compiler(Language::Cpp)?;
    library::in_cache("openmp", sdk::identity(&compiler, &[&FLAGS]), |dir| {
        let objects = compile(&compiler, &FLAGS, &sources(), &dir.join("objects/openmp"), dir)?;
        library::archive(&objects, &dir.join(STATIC_NAMES[0]))?;
        finish(dir, &STATIC_NAMES)
    })
}

/// The directory with [`ENTRIES`]. Only the version of a compiler that has written its form of the code can read it, so the compiler
/// that links compiles it, whatever its language: drivers of gcc compile C++ by the file's name.
fn entries_dir(compiler: &[OsString]) -> Result<PathBuf, Failure> {
    let inlined_flags = [&FLAGS[..], &LINK_TIME_FLAGS].concat();
    library::in_cache("openmp-entries", sdk::identity(compiler, &[&inlined_flags]), |dir| {
        let is_entry =
            |source: &&str| ENTRY_FOLDERS.iter().any(|folder| Path::new(source).starts_with(folder));
        let is_inlined = |source: &&str| sdk::text(source).is_some_and(|text| text.contains(INLINED));
        let (inlined, others): (Vec<_>, Vec<_>) =
            sources().into_iter().filter(is_entry).partition(is_inlined);
        let mut objects = compile(compiler, &inlined_flags, &inlined, &dir.join("objects/inlined"), dir)?;
        objects.extend(compile(compiler, &FLAGS, &others, &dir.join("objects/others"), dir)?);
        library::archive(&objects, &dir.join(ENTRIES))?;
        finish(dir, &[ENTRIES])
    })
}

/// Whether a compiler is gcc, not clang, which also says that it is.
fn is_gcc(compiler: &[OsString]) -> bool {
    let mut command = super::command(compiler);
    command.args(["-dM", "-E", "-x", "c", "/dev/null"]).stderr(Stdio::null());
    command.output().is_ok_and(|output| {
        let macros = String::from_utf8_lossy(&output.stdout);
        macros.contains("#define __GNUC__ ") && !macros.contains("#define __clang__ ")
    })
}

/// The directory with the shared library, under the names by which programs ask for it.
pub(crate) fn shared_dir() -> Result<PathBuf, Failure> {
    let compiler = super::compiler(Language::Cpp)?;
    let c_compiler = super::compiler(Language::C)?;
    let identity = sdk::identity(&compiler, &[&FLAGS, &["shared", HIDDEN, PLACE]])
        ^ sdk::identity(&c_compiler, &[&sdk::FLAGS]).rotate_left(1);
    library::in_cache("openmp-shared", identity, |dir| {
        let mut objects = compile(&compiler, &FLAGS, &sources(), &dir.join("objects/openmp"), dir)?;
        sdk::write_files(dir, |path| path.starts_with("src"))?;
        let sources =
            sdk::sources(|path| path.to_str().is_some_and(|path| sdk::is_of(path, &["", "sync", "linux"])));
        let flags = [&sdk::FLAGS[..], &[HIDDEN]].concat();
        let hrt = Compilation { compiler: &c_compiler, flags: &flags, include: &["include"], dir };
        objects.extend(hrt.run(&sources, &dir.join("objects/hrt"), &mut Progress::new(sources.len()))?);
        let mut command = super::command(&c_compiler);
        command.arg("-shared").arg("-pthread");
        // Its threads are in its code as long as the process lives: it must not go with the library that has
        // brought it in.
        command.arg(format!("-Wl,-soname,{},-z,defs,-z,nodelete", SHARED_NAMES[0]));
        command.arg(format!("-Wl,--version-script={}", dir.join("openmp/versions.map").display()));
        command.arg(PLACE);
        command.args(&objects).arg("-o").arg(dir.join(SHARED_NAMES[0]));
        library::run(command, SHARED_NAMES[0])?;
        finish(dir, &SHARED_NAMES)
    })
}

/// Copies the shared library to a directory, under all its names.
pub(super) fn copy_to(to: &Path) -> Result<(), Failure> {
    let from = shared_dir()?;
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let library = to.join(SHARED_NAMES[0]);
    fs::copy(from.join(SHARED_NAMES[0]), &library).with_context(|| library.display().to_string())?;
    for other in &SHARED_NAMES[1..] {
        let link = to.join(other);
        fs::remove_file(&link).ok();
        symlink(SHARED_NAMES[0], &link).with_context(|| link.display().to_string())?;
    }
    Ok(())
}

/// The run-time's own sources.
fn sources() -> Vec<&'static str> {
    sdk::sources(|path| path.starts_with("openmp") && !path.starts_with("openmp/model"))
}

/// Compiles sources of its, which are written below `dir`, to files in the directory `objects`.
fn compile(
    compiler: &[OsString],
    flags: &[&str],
    sources: &[&str],
    objects: &Path,
    dir: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    sdk::write_files(dir, |path| path.starts_with("include") || path.starts_with("openmp"))?;
    let compilation = Compilation { compiler, flags, include: &["include", "openmp"], dir };
    compilation.run(sources, objects, &mut Progress::new(sources.len()))
}

/// Leaves only the library, under all its names: links to one file, which the dynamic linker loads once.
fn finish(dir: &Path, names: &[&str]) -> Result<(), Failure> {
    for other in &names[1..] {
        symlink(names[0], dir.join(other)).context("cannot write to the cache")?;
    }
    fs::remove_dir_all(dir.join("objects")).context("cannot write to the cache")?;
    Ok(())
}
