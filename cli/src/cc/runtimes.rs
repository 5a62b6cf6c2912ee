// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The run-times in C++ that programs of the data-parallel languages are linked with. The command carries their sources;
//! each is compiled once for each compiler, into the cache.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::library::{self, Compilation};
use super::sdk;
use crate::compile::Language;
use crate::failure::Failure;
use crate::progress::Progress;

/// How a run-time is compiled, and the programs that are translated to C++ for it: these throw what fails.
pub(crate) const FLAGS: [&str; 7] =
    ["-std=c++20", "-O3", "-g", "-fPIC", "-fno-rtti", "-fno-threadsafe-statics", "-Wall"];

/// A run-time by the name of its folder in `runtimes/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// The interpreter of VCODE, with its `main`.
    Vcode,
    /// Fork and join of NDPC.
    Ndpc,
}

/// A run-time that is ready to be linked.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    dir: PathBuf,
    runtime: Runtime,
}

impl Built {
    /// The static library. It needs libhrt behind it.
    pub(crate) fn library(&self) -> PathBuf {
        self.dir.join(self.runtime.library())
    }

    /// Where its headers are found.
    pub(crate) fn include(&self) -> PathBuf {
        self.dir.join(self.runtime.folder()).join("include")
    }
}

impl Runtime {
    /// Where [`sdk`] has its files.
    fn folder(self) -> &'static str {
        match self {
            Self::Vcode => "vcode",
            Self::Ndpc => "ndpc",
        }
    }

    fn library(self) -> &'static str {
        match self {
            Self::Vcode => "libvcode.a",
            Self::Ndpc => "libndpc.a",
        }
    }

    /// Flags of its own.
    fn more_flags(self) -> &'static [&'static str] {
        match self {
            Self::Vcode => &["-fno-exceptions"],
            Self::Ndpc => &[],
        }
    }

    /// Finds it in the cache, or builds it.
    pub(crate) fn build(self) -> Result<Built, Failure> {
        let compiler = super::compiler(Language::Cpp)?;
        let identity = sdk::identity(&compiler, &[&FLAGS, self.more_flags(), &[self.folder()]]);
        let dir = library::in_cache("runtimes", identity, |dir| {
            let objects = self.compile(&compiler, dir)?;
            library::archive(&objects, &dir.join(self.library()))?;
            Ok(fs::remove_dir_all(dir.join("objects")).context("cannot write to the cache")?)
        })?;
        Ok(Built { dir, runtime: self })
    }

    fn compile(self, compiler: &[OsString], dir: &Path) -> Result<Vec<PathBuf>, Failure> {
        let folder = Path::new(self.folder());
        let is_own = |path: &Path| path.starts_with(folder) && !path.starts_with(folder.join("test"));
        sdk::write_files(dir, |path| path.starts_with("include") || is_own(path))?;
        let sources = sdk::sources(is_own);
        let flags = [&FLAGS[..], self.more_flags(), &["-c"]].concat();
        let own_headers = format!("{}/include", self.folder());
        let include = ["include", self.folder(), &own_headers];
        Compilation { compiler, flags: &flags, include: &include, dir }.run(
            &sources,
            &dir.join("objects"),
            &mut Progress::new(sources.len()),
        )
    }
}
