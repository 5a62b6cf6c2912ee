// SPDX-License-Identifier: Apache-2.0 OR MIT
//! libhrt for the test programs, built by the convention in `runtimes/hrt/README.md` with the compiler of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::error::TestError;
use crate::programs::Way;
use crate::scratch;

const FLAGS: &[&str] = &["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC"];

/// One of the libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// For the kernel only.
    Kernel,
    /// For the kernel and for Linux.
    Linux,
}

impl Library {
    /// The library that a flag of a program asks for.
    #[must_use]
    pub fn of_flag(flag: &str) -> Option<Self> {
        match flag {
            "-lhrt" => Some(Self::Kernel),
            "-lhrt-linux" => Some(Self::Linux),
            _ => None,
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Kernel => "libhrt.a",
            Self::Linux => "libhrt-linux.a",
        }
    }

    fn folders(self) -> [&'static str; 3] {
        match self {
            Self::Kernel => [".", "sync", "kernel"],
            Self::Linux => [".", "sync", "linux"],
        }
    }

    /// The archive for programs built in `way`, after building it when it is missing or old.
    pub fn build(self, way: Way) -> Result<PathBuf, TestError> {
        let compiler = way.c_compiler();
        let directory = scratch::programs().join("libhrt").join(compiler);
        let archive = directory.join(self.file());
        let (sources, headers) = self.sources()?;
        let built = changed(&archive);
        if built.is_some() && sources.iter().chain(&headers).all(|path| changed(path) < built) {
            return Ok(archive);
        }
        let objects = directory.join(self.file().trim_end_matches(".a"));
        scratch::make_empty(&objects)?;
        let mut names = Vec::new();
        for source in &sources {
            let name = objects.join(format!("{}.o", names.len()));
            let mut command = Command::new(compiler);
            command.args(FLAGS).arg("-I").arg(include()).arg("-c").arg(source).arg("-o").arg(&name);
            run(command)?;
            names.push(name);
        }
        let _ = fs::remove_file(&archive);
        let mut command = Command::new("ar");
        command.arg("rcs").arg(&archive).args(&names);
        run(command)?;
        Ok(archive)
    }

    /// What is compiled, and what that includes.
    fn sources(self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), TestError> {
        let root = scratch::workspace().join("runtimes/hrt");
        let mut sources = Vec::new();
        let mut headers = Vec::new();
        for folder in self.folders() {
            for path in files(&root.join(folder))? {
                match path.extension().and_then(|extension| extension.to_str()) {
                    Some("c" | "S") => sources.push(path),
                    Some("h") => headers.push(path),
                    _ => {}
                }
            }
        }
        headers.extend(files(&include().join("hadal/hrt"))?);
        headers.extend(files(&include().join("hadal/hrt/layout"))?);
        sources.sort();
        Ok((sources, headers))
    }
}

/// Where `hadal/hrt.h` is.
#[must_use]
pub fn include() -> PathBuf {
    scratch::workspace().join("kernel/hrt/include")
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, TestError> {
    let what = format!("cannot list {}", directory.display());
    let entries = fs::read_dir(directory).map_err(TestError::io(what))?;
    Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect())
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn run(mut command: Command) -> Result<(), TestError> {
    let line = format!("{command:?}");
    let output =
        command.env("LC_ALL", "C").output().map_err(TestError::io(format!("cannot start {line}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(TestError::Compile { command: line, output: String::from_utf8_lossy(&output.stderr).into_owned() })
}
