// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Building the libraries that the command carries as sources.
//!
//! What is built stays in the cache. Several commands at a time build one after another, and a directory appears there with
//! everything in it or not at all.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Context;
use rustix::fs::{FlockOperation, flock};

use crate::failure::Failure;
use crate::paths;
use crate::progress::Progress;

/// The directory of the cache with this number, built if it is not there.
pub(super) fn in_cache(
    kind: &str,
    identity: u64,
    build: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let cache = paths::cache_dir(kind)?;
    let dir = cache.join(format!("{identity:016x}"));
    if !dir.is_dir() {
        // Held until this function ends; the kernel lets go of it if the process dies.
        let lock = File::create(cache.join("lock")).context("cannot lock the cache")?;
        flock(&lock, FlockOperation::LockExclusive).context("cannot lock the cache")?;
        if !dir.is_dir() {
            let scratch = tempfile::tempdir_in(&cache).context("cannot write to the cache")?;
            build(scratch.path())?;
            let built = scratch.keep();
            fs::rename(&built, &dir).with_context(|| dir.display().to_string())?;
        }
    }
    Ok(dir)
}

/// How sources below a directory are compiled.
pub(super) struct Compilation<'a> {
    pub(super) compiler: &'a [OsString],
    pub(super) flags: &'a [&'a str],
    /// Directories of headers, below `dir`.
    pub(super) include: &'a [&'a str],
    pub(super) dir: &'a Path,
}

impl Compilation<'_> {
    /// Compiles all sources, on all cores, to files in the directory `objects`; returns these in the order of the sources.
    pub(super) fn run(
        &self,
        sources: &[&str],
        objects: &Path,
        progress: &mut Progress,
    ) -> Result<Vec<PathBuf>, Failure> {
        fs::create_dir_all(objects).context("cannot write to the cache")?;
        // Two folders may have files of the same name.
        let object = |number: usize| {
            let stem = Path::new(sources[number]).file_stem().unwrap_or_default().to_string_lossy();
            objects.join(format!("{number:03}-{stem}.o"))
        };
        let next = AtomicUsize::new(0);
        let progress = Mutex::new(progress);
        let work = || -> Result<(), Failure> {
            while let number = next.fetch_add(1, Ordering::Relaxed)
                && let Some(source) = sources.get(number)
            {
                let mut command = super::command(self.compiler);
                command.args(self.flags);
                for include in self.include {
                    command.arg("-I").arg(self.dir.join(include));
                }
                command.arg(self.dir.join(source)).arg("-o").arg(object(number));
                if let Ok(mut progress) = progress.lock() {
                    progress.step(&format!("compiles Hadal's own libraries for this compiler: {source}"));
                }
                run(command, source)?;
            }
            Ok(())
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok((0..sources.len()).map(object).collect())
    }
}

/// Makes a static library.
pub(super) fn archive(objects: &[PathBuf], library: &Path) -> Result<(), Failure> {
    let mut command = Command::new(archiver()?);
    command.arg("rcsD").arg(library).args(objects);
    run(command, &library.display().to_string())
}

fn archiver() -> Result<PathBuf, Failure> {
    let named = env::var_os("AR").filter(|name| !name.is_empty());
    let name = named.unwrap_or_else(|| "ar".into());
    paths::find_command(&name).ok_or_else(|| {
        Failure::setup(
            format!("{} not found", Path::new(&name).display()),
            "install it (Debian, Ubuntu: apt-get install binutils) or name another in AR",
        )
    })
}

/// Runs a tool whose failure is not the user's.
pub(super) fn run(mut command: Command, what: &str) -> Result<(), Failure> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| tool.clone())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Failure::setup(
        format!(
            "Hadal's own library does not build: {tool} ended with {} for {what}:\n{said}",
            output.status
        ),
        "a newer compiler may help (CC and CXX name them); gcc 10 and clang 13 are the oldest tried",
    ))
}
