// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The headers of `hadal/hrt.h` and its library, which the command carries as sources.
//!
//! They are compiled once for each compiler, into the cache. Which source belongs to which library is said in
//! `runtimes/hrt/README.md`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::library::{self, Compilation};
use crate::compile::{self, Language};
use crate::failure::Failure;
use crate::paths;
use crate::progress::Progress;

/// Path below the SDK's directory and content of each file: `include/hadal/hrt.h`, `src/bind.c`, …
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

/// How the sources are compiled; with -fPIC they serve static and static position-independent programs alike.
pub(super) const FLAGS: [&str; 9] = [
    "-std=gnu11",
    "-O2",
    "-g",
    "-fPIC",
    "-fexceptions",
    "-fasynchronous-unwind-tables",
    "-Wall",
    "-Wextra",
    "-c",
];

/// The libraries and the directories below `src` that go into each.
const LIBRARIES: [(&str, &[&str]); 3] = [
    ("libhrt.a", &["", "sync", "kernel"]),
    ("libhrt-linux.a", &["", "sync", "linux"]),
    ("libhrt-pthread.a", &["pthread"]),
];

/// A directory with `include` and `lib`.
#[derive(Clone, Debug)]
pub(crate) struct Sdk {
    dir: PathBuf,
}

impl Sdk {
    /// Finds the SDK for the C compiler of the environment in the cache, or builds it.
    pub(crate) fn find() -> Result<Self, Failure> {
        let compiler = super::compiler(Language::C)?;
        let dir = library::in_cache("sdk", identity(&compiler, &[&FLAGS]), |dir| build(&compiler, dir))?;
        Ok(Self { dir })
    }

    /// Where `hadal/hrt.h` is found.
    pub(crate) fn include(&self) -> PathBuf {
        self.dir.join("include")
    }

    /// Where the libraries are.
    pub(crate) fn lib(&self) -> PathBuf {
        self.dir.join("lib")
    }

    /// A library, if this version has it.
    pub(crate) fn library(&self, name: &str) -> Option<PathBuf> {
        Some(self.lib().join(name)).filter(|file| file.is_file())
    }

    /// Copies headers and libraries to a directory, with files by which pkg-config finds them.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<()> {
        let to = std::path::absolute(to)?;
        for part in ["include", "lib"] {
            copy_tree(&self.dir.join(part), &to.join(part))?;
        }
        let packages = to.join("lib/pkgconfig");
        fs::create_dir_all(&packages)?;
        for (name, what, library, others) in [
            ("hadal-hrt", "Hadal's run-time interface, for programs of an image", "-lhrt", ""),
            ("hadal-hrt-linux", "Hadal's run-time interface, for Linux", "-lhrt-linux", " -pthread"),
        ] {
            let text = format!(
                "prefix={}\n\nName: {name}\nDescription: {what}\nVersion: {}\nCflags: -I${{prefix}}/include\n\
                 Libs: -L${{prefix}}/lib {library}{others}\n",
                to.display(),
                env!("CARGO_PKG_VERSION")
            );
            fs::write(packages.join(format!("{name}.pc")), text)?;
        }
        Ok(fs::write(to.join(TOOLCHAIN_FILE), cmake_toolchain())?)
    }
}

/// Name of the file that makes CMake use the compilers.
pub(crate) const TOOLCHAIN_FILE: &str = "hadal-toolchain.cmake";

/// A toolchain file: the compilers beside this command, and static libraries. Images run where they are made, so nothing is
/// said of another system.
fn cmake_toolchain() -> String {
    let compiler = |name: &str| {
        let beside = env::current_exe().ok().map(|own| own.with_file_name(name));
        let found = beside.filter(|file| file.is_file()).unwrap_or_else(|| name.into());
        found.display().to_string().replace('\\', r"\\").replace('"', r#"\""#).replace('$', r"\$")
    };
    let (c, cxx, fortran) = (compiler("hadal-cc"), compiler("hadal-cxx"), compiler("hadal-fc"));
    format!(
        "# CMake makes program images of Hadal with this file: cmake -DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN_FILE} ...\n\
         set(CMAKE_C_COMPILER \"{c}\")\nset(CMAKE_CXX_COMPILER \"{cxx}\")\nset(CMAKE_Fortran_COMPILER \"{fortran}\")\n\
         set(CMAKE_FIND_LIBRARY_SUFFIXES .a)\nset(BUILD_SHARED_LIBS OFF CACHE BOOL \"An image is one static program\")\n"
    )
}

/// A number that changes with the sources.
pub(crate) fn sources_hash() -> u64 {
    let parts: Vec<&[u8]> =
        FILES.iter().flat_map(|(path, text)| [path.as_bytes(), text.as_bytes()]).collect();
    paths::content_hash(&parts)
}

/// A number that changes with the sources, the way they are compiled, and the compiler.
pub(super) fn identity(compiler: &[OsString], flags: &[&[&str]]) -> u64 {
    let stamp = compile::file_stamp(Path::new(&compiler[0])).unwrap_or_default();
    let sources = sources_hash().to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![&sources];
    parts.extend(flags.iter().flat_map(|flags| *flags).map(|flag| flag.as_bytes()));
    parts.extend(compiler.iter().map(|word| word.as_bytes()));
    parts.push(stamp.as_bytes());
    paths::content_hash(&parts)
}

/// Writes the files and compiles the libraries below `dir`.
fn build(compiler: &[OsString], dir: &Path) -> Result<(), Failure> {
    write_files(dir, |path| path.starts_with("include") || path.starts_with("src"))?;
    let lib = dir.join("lib");
    fs::create_dir_all(&lib).context("cannot write to the cache")?;
    let sources_of = |folders: &[&str]| -> Vec<&str> {
        FILES.iter().map(|(path, _)| *path).filter(|path| is_of(path, folders)).collect()
    };
    let steps = LIBRARIES.iter().map(|(_, folders)| sources_of(folders).len()).sum();
    let mut progress = Progress::new(steps);
    for (library, folders) in LIBRARIES {
        let sources = sources_of(folders);
        if sources.is_empty() {
            continue;
        }
        let objects = Compilation { compiler, flags: &FLAGS, include: &["include"], dir }.run(
            &sources,
            &dir.join("objects").join(library),
            &mut progress,
        )?;
        library::archive(&objects, &lib.join(library))?;
    }
    fs::remove_dir_all(dir.join("objects")).ok();
    Ok(())
}

/// Writes those of the files that are wanted below a directory.
pub(super) fn write_files(dir: &Path, wanted: impl Fn(&Path) -> bool) -> Result<(), Failure> {
    for (path, text) in FILES.iter().filter(|(path, _)| wanted(Path::new(path))) {
        let file = dir.join(path);
        let parent = file.parent().context("a file has a directory")?;
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// The sources among the files that are wanted.
pub(super) fn sources(wanted: impl Fn(&Path) -> bool) -> Vec<&'static str> {
    let is_source = |path: &&str| {
        let path = Path::new(path);
        path.extension().is_some_and(|ending| ["c", "cpp", "S"].iter().any(|one| ending == *one))
            && wanted(path)
    };
    FILES.iter().map(|(path, _)| *path).filter(is_source).collect()
}

/// The text of a file.
pub(super) fn text(path: &str) -> Option<&'static str> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == path)?;
    Some(text)
}

/// Whether a source lies in one of these folders.
pub(super) fn is_of(path: &str, folders: &[&str]) -> bool {
    let path = Path::new(path);
    let is_source = path.extension().is_some_and(|ending| ending == "c" || ending == "S");
    let folder = path.strip_prefix("src").ok().and_then(Path::parent);
    is_source && folder.is_some_and(|folder| folders.iter().any(|one| folder == Path::new(one)))
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_tree(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), &target).with_context(|| target.display().to_string())?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_carried_along() {
        assert!(
            FILES.iter().any(|(path, text)| *path == "include/hadal/hrt.h" && text.contains("HADAL_HRT_H"))
        );
        for header in ["base.h", "layout/base.h"] {
            assert!(FILES.iter().any(|(path, _)| path.strip_prefix("include/hadal/hrt/") == Some(header)));
        }
    }

    #[test]
    fn sources_belong_to_libraries_by_folder() {
        assert!(
            is_of("src/bind.c", &[""])
                && is_of("src/switch.S", &[""])
                && is_of("src/sync/mutex.c", &["sync"])
        );
        assert!(!is_of("src/linux/table.c", &["", "kernel"]));
        assert!(!is_of("src/internal.h", &[""]) && !is_of("include/hadal/hrt.h", &[""]));
    }
}
