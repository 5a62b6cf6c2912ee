// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An installed command: copied to a directory that nobody may write to, away from the source tree, and used by somebody who is
//! not root. Everything that it builds goes to the cache.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_in_order, expect_status, expect_stdout, expect_texts};
use hadal_tests::machine::{Permit, hadal_command};
use hadal_tests::{Outcome, TestError, run};
use tempfile::TempDir;

use crate::suite::Suite;

/// The library is 86 files, each a call of a compiler, on a machine that may be doing other things.
const LIMIT: Duration = Duration::from_secs(600);
/// Whose rights the command has where the tests are root's.
const NOBODY: u32 = 65534;
const COMMANDS: [&str; 4] = ["hadal", "hadal-cc", "hadal-cxx", "hadal-fc"];

const C: &str = "#include <stdio.h>\nint main(void) { puts(\"from C\"); return 3; }\n";
const CXX: &str = "#include <iostream>\nint main() { std::cout << \"from C++\" << std::endl; return 3; }\n";
const FORTRAN: &str = "program p\nprint '(a)', 'from Fortran'\ncall exit(3)\nend program\n";
const HRT: &str = "#include <hadal/hrt.h>\n#include <stdio.h>\n\
                   int main(void) { printf(\"%d\\n\", hrt_cpu_count() > 0); return 3; }\n";

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("install/machines", machines);
    suite.hadal_slow("install/compilers", compilers);
    suite.hadal("install/without-home", without_home);
}

/// The command in a prefix of its own, a directory to work in, and a home.
struct Install {
    place: TempDir,
}

impl Install {
    fn new() -> Result<Self, TestError> {
        let failed = TestError::io("cannot install the command");
        Self::make().map_err(failed)
    }

    fn make() -> std::io::Result<Self> {
        let command = hadal_command().map_err(std::io::Error::other)?;
        // Not below the build directory: others need not be able to read that.
        let install = Self { place: tempfile::tempdir()? };
        fs::set_permissions(install.place.path(), Permissions::from_mode(0o755))?;
        let bin = install.bin();
        fs::create_dir_all(&bin)?;
        for name in COMMANDS {
            fs::copy(command.with_file_name(name), bin.join(name))?;
            fs::set_permissions(bin.join(name), Permissions::from_mode(0o555))?;
        }
        symlink("hadal-cxx", bin.join("hadal-c++"))?;
        for (dir, mode) in [("prefix", 0o555), ("prefix/bin", 0o555), ("work", 0o755), ("home", 0o755)] {
            let dir = install.place.path().join(dir);
            fs::create_dir_all(&dir)?;
            if mode == 0o755 && is_root() {
                chown(&dir, Some(NOBODY), Some(NOBODY))?;
            }
            fs::set_permissions(&dir, Permissions::from_mode(mode))?;
        }
        for (name, text) in [("a.c", C), ("b.cc", CXX), ("c.f90", FORTRAN), ("h.c", HRT)] {
            fs::write(install.work().join(name), text)?;
        }
        Ok(install)
    }

    fn bin(&self) -> PathBuf {
        self.place.path().join("prefix/bin")
    }

    fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// A line of this installation, as a user who may write to the working directory and the home only.
    fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.bin().join(name));
        command.args(args).current_dir(self.work()).env_clear();
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.bin().display()));
        command.env("HOME", self.place.path().join("home"));
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn run(&self, line: &[&str]) -> Result<Outcome, TestError> {
        self.run_with("hadal", line, b"")
    }

    fn run_with(&self, name: &str, args: &[&str], input: &[u8]) -> Result<Outcome, TestError> {
        let _permit = Permit::one();
        run::run(self.command(name, args), input, LIMIT)
    }
}

impl Drop for Install {
    fn drop(&mut self) {
        // The directory cannot be emptied without this by those who are not root.
        for dir in [self.place.path().join("prefix"), self.bin()] {
            let _ = fs::set_permissions(dir, Permissions::from_mode(0o755));
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Ends with 3 after these words.
fn expect_three(outcome: &Outcome, text: &str) -> Result<(), TestError> {
    expect_status(outcome, 3)?;
    expect_stdout(outcome, text)
}

/// Sources as programs, images and results of the benchmark, one after the other: they share the library that the first of
/// them compiles.
fn compilers(_: &str) -> Result<(), TestError> {
    let install = Install::new()?;
    programs(&install)?;
    images(&install)?;
    disc(&install)?;
    bench(&install)
}

fn programs(install: &Install) -> Result<(), TestError> {
    expect_stdout(&install.run(&["run", "--cpus", "2", "/bin/echo", "a", "b"])?, "a b\n")?;
    expect_three(&install.run(&["run", "a.c"])?, "from C\n")?;
    expect_three(&install.run(&["run", "b.cc"])?, "from C++\n")?;
    expect_three(&install.run(&["run", "c.f90"])?, "from Fortran\n")?;
    expect_three(&install.run(&["run", "h.c"])?, "1\n")
}

fn images(install: &Install) -> Result<(), TestError> {
    for (compiler, source, text) in [
        ("hadal-cc", "a.c", "from C\n"),
        ("hadal-cc", "h.c", "1\n"),
        ("hadal-c++", "b.cc", "from C++\n"),
        ("hadal-cxx", "b.cc", "from C++\n"),
        ("hadal-fc", "c.f90", "from Fortran\n"),
    ] {
        expect_status(&install.run_with(compiler, &["-O1", source, "-o", "program.hadal"], b"")?, 0)?;
        expect_three(&install.run(&["run", "--cpus", "1", "program.hadal"])?, text)?;
    }
    expect_status(&install.run(&["cc", "--linux", "-static", "h.c", "-o", "h"])?, 0)?;
    expect_status(&install.run(&["pack", "h", "-o", "packed.hadal"])?, 0)?;
    expect_three(&install.run(&["run", "--cpus", "1", "packed.hadal"])?, "1\n")?;
    expect_status(&install.run(&["sdk", "sdk"])?, 0)?;
    let toolchain = fs::read_to_string(install.work().join("sdk/hadal-toolchain.cmake"))
        .map_err(TestError::io("the toolchain file"))?;
    match toolchain.contains(&format!("\"{}\"", install.bin().join("hadal-cc").display())) {
        true => Ok(()),
        false => Err(TestError::Wrong(format!("the installed compiler is not named:\n{toolchain}"))),
    }
}

fn machines(_: &str) -> Result<(), TestError> {
    let install = Install::new()?;
    expect_in_order(&install.run(&["machine", "--cpus", "2"])?, &["2 CPUs"])?;
    let shell = install.run_with("hadal", &["shell", "--cpus", "1"], b"cpus\nhalt\n")?;
    expect_status(&shell, 0)?;
    expect_in_order(&shell, &["Hadal's shell", "interrupts"])?;
    let doctor = install.run(&["doctor"])?;
    expect_status(&doctor, 0)?;
    expect_in_order(&doctor, &["ok       run"])?;
    for shell in ["bash", "zsh", "fish"] {
        let completions = install.run(&["completions", shell])?;
        expect_status(&completions, 0)?;
        expect_in_order(&completions, &["hadal", "strace"])?;
    }
    let help = install.run(&["--help"])?;
    expect_status(&help, 0)?;
    expect_in_order(&help, &["Examples:"])?;
    expect_status(&install.run(&["ps"])?, 0)?;
    let line = install.run(&["run", "--dry-run", "/bin/true"])?;
    expect_status(&line, 0)?;
    expect_in_order(&line, &["qemu-system-x86_64"])?;
    // The one command that is for developers.
    let tests = install.run(&["test"])?;
    expect_status(&tests, i32::from(status::CANNOT_START))?;
    expect_texts(&tests, &["no source tree of Hadal here", "checkout"])
}

fn disc(install: &Install) -> Result<(), TestError> {
    expect_status(&install.run(&["image", "--iso", "a.iso", "/bin/echo", "from the disc"])?, 0)?;
    let iso = install.work().join("a.iso");
    match iso.metadata() {
        Ok(metadata) if metadata.len() > 0 => Ok(()),
        other => Err(TestError::Wrong(format!("{}: {other:?}", iso.display()))),
    }
}

/// Programs, the plugin that counts and their images are made from what the command carries.
fn bench(install: &Install) -> Result<(), TestError> {
    expect_status(&install.run(&["bench", "list"])?, 0)?;
    let outcome = install.run(&["bench", "run", "--mode", "path", "--peer", "none", "syscall.getppid"])?;
    expect_status(&outcome, 0)?;
    expect_in_order(&outcome, &["syscall.getppid", "instructions"])
}

/// Without a home the cache is a private directory for temporary files; with one that cannot be written, programs run all the
/// same, and what needs the cache says how to name another.
fn without_home(_: &str) -> Result<(), TestError> {
    let install = Install::new()?;
    let temporary = install.work().join("tmp");
    fs::create_dir(&temporary).map_err(TestError::io("tmp"))?;
    fs::set_permissions(&temporary, Permissions::from_mode(0o1777)).map_err(TestError::io("tmp"))?;
    let start = |args: &[&str], home: Option<&Path>| {
        let mut command = install.command("hadal", args);
        command.env_remove("HOME").env("TMPDIR", &temporary);
        if let Some(home) = home {
            command.env("HOME", home);
        }
        let _permit = Permit::one();
        run::run(command, b"", LIMIT)
    };
    expect_three(&start(&["run", "a.c"], None)?, "from C\n")?;
    let made = fs::read_dir(&temporary).map_err(TestError::io("tmp"))?.flatten();
    let private = made.filter(|entry| entry.file_name().to_string_lossy().starts_with("hadal-cache-"));
    let modes: Vec<u32> = private
        .flat_map(|entry| entry.metadata())
        .map(|metadata| metadata.permissions().mode() & 0o777)
        .collect();
    if modes != [0o700] {
        return Err(TestError::Wrong(format!("modes of directories for the cache: {modes:?}")));
    }
    let read_only = install.bin();
    expect_stdout(&start(&["run", "/bin/echo", "x"], Some(&read_only))?, "x\n")?;
    let refused = start(&["run", "a.c"], Some(&read_only))?;
    expect_status(&refused, i32::from(status::CANNOT_START))?;
    expect_texts(&refused, &["cannot use the cache directory", "XDG_CACHE_HOME="])
}
