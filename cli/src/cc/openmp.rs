// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hadal's OpenMP run-time, which the command carries as sources: static for program images, and as shared libraries in the
//! place of gcc's and LLVM's for dynamic programs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

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

/// What libhrt is compiled with beside its own flags: a shared library must not offer its symbols to the program.
const HIDDEN: &str = "-fvisibility=hidden";

/// The function of the library that searches other libraries for a tool; an image that asks for it can load them.
pub(super) const SEARCH_LIBRARIES: &str = "hadal_omp_search_libraries";

/// Names under which compilers link the library, the first being the file.
const STATIC_NAMES: [&str; 3] = ["libgomp.a", "libomp.a", "libiomp5.a"];
const SHARED_NAMES: [&str; 3] = ["libgomp.so.1", "libomp.so.5", "libiomp5.so"];

/// The directory with the static library, under the names by which compilers ask for it. It needs libhrt.
pub(crate) fn static_dir() -> Result<PathBuf, Failure> {
    let compiler = super::compiler(Language::Cpp)?;
    library::in_cache("openmp", sdk::identity(&compiler, &[&FLAGS]), |dir| {
        let objects = compile(&compiler, dir)?;
        library::archive(&objects, &dir.join(STATIC_NAMES[0]))?;
        finish(dir, &STATIC_NAMES)
    })
}

/// The directory with the shared library, under the names by which programs ask for it.
pub(crate) fn shared_dir() -> Result<PathBuf, Failure> {
    let compiler = super::compiler(Language::Cpp)?;
    let c_compiler = super::compiler(Language::C)?;
    let identity = sdk::identity(&compiler, &[&FLAGS, &["shared", HIDDEN]])
        ^ sdk::identity(&c_compiler, &[&sdk::FLAGS]).rotate_left(1);
    library::in_cache("openmp-shared", identity, |dir| {
        let mut objects = compile(&compiler, dir)?;
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

/// Compiles the run-time's own sources below `dir`.
fn compile(compiler: &[std::ffi::OsString], dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    sdk::write_files(dir, |path| path.starts_with("include") || path.starts_with("openmp"))?;
    let sources = sdk::sources(|path| path.starts_with("openmp") && !path.starts_with("openmp/model"));
    let compilation = Compilation { compiler, flags: &FLAGS, include: &["include", "openmp"], dir };
    compilation.run(&sources, &dir.join("objects/openmp"), &mut Progress::new(sources.len()))
}

/// Leaves only the library, under all its names: links to one file, which the dynamic linker loads once.
fn finish(dir: &Path, names: &[&str]) -> Result<(), Failure> {
    for other in &names[1..] {
        symlink(names[0], dir.join(other)).context("cannot write to the cache")?;
    }
    fs::remove_dir_all(dir.join("objects")).context("cannot write to the cache")?;
    Ok(())
}
