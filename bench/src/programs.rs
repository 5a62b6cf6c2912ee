// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs that are run on both sides, built from `examples/` and `bench/programs/` by the system's
//! compiler, and the files that a dynamic program needs in a file system of its own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::host;

/// A program on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) file: PathBuf,
    pub(crate) args: Vec<String>,
}

impl Program {
    /// Compiles a source of the repository.
    pub(crate) fn compile(name: &str, source: &str, flags: &[&str]) -> Result<Self> {
        fs::create_dir_all(host::work_dir()).context("cannot make the directory for programs")?;
        let file = host::work_dir().join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-o"]).arg(&file).arg(host::repository().join(source)).args(flags);
        host::run_tool(&mut compiler, "install gcc and libc6-dev")?;
        Ok(Self { file, args: Vec::new() })
    }

    /// Adds arguments.
    pub(crate) fn with_args(mut self, args: impl IntoIterator<Item = String>) -> Self {
        self.args.extend(args);
        self
    }

    /// The program and its arguments.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let args = self.args.iter().map(OsString::from);
        std::iter::once(self.file.clone().into_os_string()).chain(args).collect()
    }

    /// The interpreter and the libraries of a dynamic program, as the loader names them.
    pub(crate) fn libraries(&self) -> Result<Vec<PathBuf>> {
        let text = host::run_tool(Command::new("ldd").arg(&self.file), "install libc-bin")?;
        let found: Vec<PathBuf> = text.lines().filter_map(library_path).map(Path::to_path_buf).collect();
        ensure!(!found.is_empty(), "{} is not a dynamic program", self.file.display());
        Ok(found)
    }
}

/// The file in a line of ldd: `libc.so.6 => /lib/libc.so.6 (0x...)` or `/lib64/ld.so (0x...)`.
fn library_path(line: &str) -> Option<&Path> {
    let target = line.split_once("=>").map_or(line, |(_, target)| target);
    let path = Path::new(target.split_whitespace().next()?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ldd() {
        let path = |line| library_path(line).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(path("\tlinux-vdso.so.1 (0x7ff)"), None);
        assert_eq!(path("\tlibc.so.6 => /lib/libc.so.6 (0x7f)").as_deref(), Some("/lib/libc.so.6"));
        assert_eq!(path("\t/lib64/ld.so.2 (0x7f)").as_deref(), Some("/lib64/ld.so.2"));
    }
}
