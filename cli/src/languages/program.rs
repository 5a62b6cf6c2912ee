// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program of a data-parallel language for both places: part of the kernel under `hadal run`, a Linux program elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Language;
use super::object::Unit;
use crate::cc;
use crate::cc::runtimes::{Built, Runtime};
use crate::compile;
use crate::failure::Failure;
use crate::paths;

/// Translates a source, and compiles and links what came of it unless the cache has that program; returns its path.
pub(crate) fn of_source(
    language: Language,
    source: &Path,
    arguments: &[OsString],
) -> Result<PathBuf, Failure> {
    let unit = Unit::translate(language, source, arguments)?;
    let runtime = unit.language.runtime().build()?;
    let stem = source.file_stem().unwrap_or(OsStr::new("program"));
    in_cache(&runtime, stem, unit.text(), |dir| Ok(vec![unit.object(&runtime, dir, stem)?]))
}

/// The interpreter of VCODE by itself, which takes the program's text from a file or a pipe.
pub(crate) fn interpreter() -> Result<PathBuf, Failure> {
    in_cache(&Runtime::Vcode.build()?, OsStr::new("vcode"), "", |_| Ok(Vec::new()))
}

/// Files of these languages for other build systems, with their places below the SDK's directory.
pub(crate) fn for_sdk() -> Result<Vec<(PathBuf, PathBuf)>, Failure> {
    let (vcode, ndpc) = (Runtime::Vcode.build()?, Runtime::Ndpc.build()?);
    let mut files = vec![
        (interpreter()?, PathBuf::from("bin/vcode")),
        (vcode.library(), PathBuf::from("lib/libvcode.a")),
        (ndpc.library(), PathBuf::from("lib/libndpc.a")),
    ];
    let headers = ndpc.include().join("ndpc");
    for entry in fs::read_dir(&headers).with_context(|| headers.display().to_string())? {
        let entry = entry.context("cannot read the cache")?;
        files.push((entry.path(), Path::new("include/ndpc").join(entry.file_name())));
    }
    Ok(files)
}

/// The program `stem` in the cache's directory for this text, linked from the objects that `compile` makes if it is not there.
fn in_cache(
    runtime: &Built,
    stem: &OsStr,
    text: &str,
    compile: impl FnOnce(&Path) -> Result<Vec<PathBuf>, Failure>,
) -> Result<PathBuf, Failure> {
    let sdk = cc::sdk::Sdk::find()?;
    let (library, hrt) = (runtime.library(), sdk.lib());
    let [library_name, hrt_name] = [&library, &hrt].map(|path| path.as_os_str().as_bytes());
    let number = paths::content_hash(&[library_name, hrt_name, stem.as_bytes(), text.as_bytes()]);
    let cache = compile::programs_dir()?;
    let dir = cache.join(format!("{number:016x}"));
    let program = dir.join(stem);
    if program.is_file() {
        // Keeps the entry from being removed as unused.
        let _ = fs::File::open(&dir).and_then(|dir| dir.set_modified(std::time::SystemTime::now()));
        return Ok(program);
    }
    fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    // Built beside its place, so that a run at the same time never sees half a program.
    let scratch = tempfile::tempdir_in(&dir).with_context(|| dir.display().to_string())?;
    let objects = compile(scratch.path())?;
    let built = scratch.path().join("linked");
    let mut command = cc::command(&cc::compiler(compile::Language::Cpp)?);
    command.args(objects).arg(library).args(sdk.library("libhrt-linux.a")).args(["-pthread", "-lm", "-o"]);
    command.arg(&built);
    cc::run_tool(command, &program.display().to_string())?;
    fs::rename(&built, &program).with_context(|| program.display().to_string())?;
    Ok(program)
}
