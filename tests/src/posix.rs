// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The Open POSIX test suite as `hadal-posix` sees it: which tests there are, what they are built into, what becomes of them.

pub mod machine;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::error::TestError;
use crate::run::{Outcome, run};
use crate::scratch;

/// A compiler, perhaps with Hadal's library to compile first.
const COMPILER_LIMIT: Duration = Duration::from_secs(180);

/// Where tests are compared with Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Place {
    /// Made into an image: the pthread and semaphore groups.
    Image,
    /// The program for Linux under `hadal run`: everything but what is for the compiler only, and stress.
    Run,
}

/// Functions that make another process or become another program. [`Verdict::NeedsProcess`] is decided by them.
pub const PROCESS_CALLS: [&str; 15] = [
    "fork",
    "_Fork",
    "vfork",
    "clone",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "fexecve",
];

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Passes on Linux and on Hadal.
    Passes,
    /// Passes on Linux and in a machine of its own, but not after others in the same machine.
    PassesAlone,
    /// Passes on Linux and not on Hadal.
    Fails,
    /// Calls one of [`PROCESS_CALLS`]: an image has no second process.
    NeedsProcess,
    /// Does not pass on Linux: unsupported, unresolved, untested, or wrong.
    NotOnLinux,
    /// Is for the compiler only: has no main function, or does not compile.
    NoProgram,
}

impl Verdict {
    /// Those that there are in a place, in the order in which they are told.
    #[must_use]
    pub fn all(place: Place) -> [Self; 5] {
        let special = match place {
            Place::Image => Self::NeedsProcess,
            Place::Run => Self::PassesAlone,
        };
        [Self::Passes, special, Self::Fails, Self::NotOnLinux, Self::NoProgram]
    }

    /// What a number of tests with this verdict do.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Passes => "pass on Linux and on Hadal",
            Self::PassesAlone => "pass on Linux and in a machine of their own only",
            Self::Fails => "pass on Linux and not on Hadal",
            Self::NeedsProcess => "use a second process",
            Self::NotOnLinux => "do not pass on Linux",
            Self::NoProgram => "are not there to be run",
        }
    }
}

/// A test of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posix {
    /// Such as `pthread_create/1-1`.
    pub name: String,
    source: PathBuf,
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, TestError> {
    let entries =
        fs::read_dir(directory).map_err(TestError::io(format!("cannot read {}", directory.display())))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Finds the sources below a directory.
fn find(directory: &Path, sources: &mut Vec<PathBuf>) -> Result<(), TestError> {
    for path in list(directory)? {
        if path.is_dir() {
            find(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "c") {
            sources.push(path);
        }
    }
    Ok(())
}

/// The tests of the suite in `suite` that are run in a place, in order. Those of interfaces are named without their folders.
pub fn tests(suite: &Path, place: Place) -> Result<Vec<Posix>, TestError> {
    let interfaces = suite.join("conformance/interfaces");
    let mut sources = Vec::new();
    for group in list(&interfaces)? {
        let name = group.file_name().unwrap_or_default().to_string_lossy();
        let in_image = name.starts_with("pthread_") || name.starts_with("sem_");
        if group.is_dir() && (in_image || place == Place::Run) {
            find(&group, &mut sources)?;
        }
    }
    if place == Place::Run {
        find(&suite.join("conformance/behavior"), &mut sources)?;
        find(&suite.join("functional"), &mut sources)?;
    }
    let mut found: Vec<Posix> = sources
        .into_iter()
        .map(|source| {
            let from = [&interfaces, &suite.join("conformance"), suite];
            let relative = from.iter().find_map(|from| source.strip_prefix(from).ok()).unwrap_or(&source);
            Posix { name: relative.with_extension("").to_string_lossy().into_owned(), source }
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Where a test's programs are built and kept for the next time.
#[derive(Debug)]
pub struct Build<'a> {
    test: &'a Posix,
    suite: &'a Path,
    directory: PathBuf,
}

impl<'a> Build<'a> {
    /// In a directory of its own below `kept`.
    pub fn new(test: &'a Posix, suite: &'a Path, kept: &Path) -> Result<Self, TestError> {
        let directory = kept.join(test.name.replace('/', "-"));
        fs::create_dir_all(&directory)
            .map_err(TestError::io(format!("cannot make the directory {}", directory.display())))?;
        Ok(Self { test, suite, directory })
    }

    /// The test's name as that of a file.
    #[must_use]
    pub fn name(&self) -> String {
        self.test.name.replace('/', "-")
    }

    /// Throws away what was kept.
    pub fn forget(&self) -> Result<(), TestError> {
        scratch::make_empty(&self.directory)
    }

    /// A file of this test's directory.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The test as an object file; `None` if it does not compile.
    pub fn object(&self) -> Result<Option<PathBuf>, TestError> {
        let object = self.file("object.o");
        if is_newer(&object, [self.test.source.as_path()]) {
            return Ok(Some(object));
        }
        let mut compiler = Command::new("gcc");
        compiler.args(self.options()).arg("-c").arg(&self.test.source).arg("-o").arg(&object);
        let outcome = run(compiler, b"", COMPILER_LIMIT)?;
        Ok((outcome.status == 0).then_some(object))
    }

    /// Links the object for Linux, once.
    pub fn program(&self, object: &Path) -> Result<Option<PathBuf>, TestError> {
        let program = self.file("program");
        if is_newer(&program, [object]) {
            return Ok(Some(program));
        }
        let mut compiler = Command::new("gcc");
        compiler.args(self.options()).arg(object).args(self.others()).arg("-o").arg(&program);
        compiler.args(["-pthread", "-lrt"]);
        let outcome = run(compiler, b"", COMPILER_LIMIT)?;
        Ok((outcome.status == 0).then_some(program))
    }

    /// Compiles the test to `image` with `hadal cc` and `options`, unless it is newer than its source and what `after` lists.
    pub fn image(
        &self,
        hadal: &Path,
        options: &[String],
        image: &str,
        after: &[&Path],
    ) -> Result<Result<PathBuf, Outcome>, TestError> {
        let image = self.file(image);
        let before = [self.test.source.as_path(), hadal].into_iter().chain(after.iter().copied());
        if is_newer(&image, before) {
            return Ok(Ok(image));
        }
        let mut compiler = Command::new(hadal);
        compiler.arg("cc").args(options).args(self.options()).arg(&self.test.source).args(self.others());
        compiler.arg("-o").arg(&image).args(["-pthread", "-lrt"]);
        let outcome = run(compiler, b"", COMPILER_LIMIT)?;
        Ok(if outcome.status == 0 { Ok(image) } else { Err(outcome) })
    }

    fn options(&self) -> Vec<String> {
        let mut options = ["-std=gnu99", "-w", "-D_POSIX_C_SOURCE=200809L", "-D_XOPEN_SOURCE=700"]
            .map(String::from)
            .to_vec();
        options.push(format!("-I{}", self.suite.join("include").display()));
        options
    }

    fn others(&self) -> [PathBuf; 1] {
        [self.suite.join("lib/common.c")]
    }
}

/// Whether a file exists and is at least as new as others that exist.
pub fn is_newer<'a>(file: &Path, others: impl IntoIterator<Item = &'a Path>) -> bool {
    let time = |file: &Path| -> Option<SystemTime> { fs::metadata(file).ok()?.modified().ok() };
    time(file).is_some_and(|own| others.into_iter().all(|other| time(other).is_none_or(|time| time <= own)))
}

/// What an object file says of a test before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbols {
    /// It has the function that the suite's main function calls.
    pub is_test: bool,
    /// It refers to one of [`PROCESS_CALLS`].
    pub needs_process: bool,
}

impl Symbols {
    /// Of an object file, by `nm`.
    pub fn of(object: &Path) -> Result<Self, TestError> {
        let mut nm = Command::new("nm");
        nm.arg("-P").arg(object);
        Ok(Self::parse(&run(nm, b"", COMPILER_LIMIT)?.stdout_text()))
    }

    fn parse(listing: &str) -> Self {
        let mut symbols = Self { is_test: false, needs_process: false };
        for line in listing.lines() {
            let mut words = line.split_ascii_whitespace();
            match (words.next(), words.next()) {
                (Some("test_main"), Some("T")) => symbols.is_test = true,
                (Some(name), Some("U")) => symbols.needs_process |= PROCESS_CALLS.contains(&name),
                _ => {}
            }
        }
        symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_tell_what_a_test_needs() {
        let plain = "main U\ntest_main T 0 1c\nforked t 20 4\npthread_create U\n";
        assert_eq!(Symbols::parse(plain), Symbols { is_test: true, needs_process: false });
        let forks = "test_main T 0 1c\nfork U\n";
        assert_eq!(Symbols::parse(forks), Symbols { is_test: true, needs_process: true });
        assert_eq!(Symbols::parse("fork T 0 1\n"), Symbols { is_test: false, needs_process: false });
    }
}
