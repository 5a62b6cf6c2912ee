// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the `hadal` command against the fake: what all files of tests share.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

/// Plays QEMU if that is what this process was started for, or else runs the tests.
pub(crate) fn main(tests: &[(&'static str, fn())]) -> ExitCode {
    if let Ok(behaviour) = std::env::var("FAKE_QEMU") {
        // A test that waits for ever fails instead: the machine goes away.
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            std::process::exit(99);
        });
        return super::play(&behaviour);
    }
    let trials = tests.iter().map(|&(name, test)| {
        Trial::test(name, move || -> Result<(), Failed> {
            test();
            Ok(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// A program that every Linux machine has.
pub(crate) const PROGRAM: &str = "/bin/true";

/// The directory with the script that stands for QEMU; it hands the inherited sockets to this binary as its streams.
fn fake_qemu() -> &'static Path {
    static SCRIPT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, script) = SCRIPT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("qemu");
        let this = std::env::current_exe().unwrap();
        let text = format!(
            "#!/bin/bash\n\
             if [ \"$1\" = --version ]; then echo 'QEMU emulator version 7.2 (fake)'; exit 0; fi\n\
             case $FAKE_QEMU in refuse:*) printf '%b' \"${{FAKE_QEMU#refuse:}}\" >&2; exit 1;; esac\n\
             for a in \"$@\"; do case $a in\n\
             socket,id=control,fd=*) c=${{a##*fd=}};; socket,id=serial,fd=*) l=${{a##*fd=}};;\n\
             esac; done\n\
             exec '{}' \"$@\" <&\"$c\" >&\"$c\" 2>&\"$l\"\n",
            this.display()
        );
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        (dir, script)
    });
    script
}

/// `hadal` with the fake QEMU in the way the test wants it.
pub(crate) fn hadal(behaviour: &str, args: &[&str]) -> Command {
    // Signals that the caller ignores, as a shell makes its background jobs do, would stay ignored.
    let mut command = Command::new("/usr/bin/env");
    command
        .args(["--default-signal=INT,QUIT,HUP,TERM", env!("CARGO_BIN_EXE_hadal")])
        .args(args)
        .env("HADAL_QEMU", fake_qemu())
        .env("HADAL_ACCEL", "tcg")
        .env("FAKE_QEMU", behaviour);
    command.env("XDG_CACHE_HOME", fake_qemu().with_file_name("cache"));
    // Runs of tests are none that the user wants to see listed.
    command.env("XDG_RUNTIME_DIR", fake_qemu().with_file_name(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(behaviour: &str, args: &[&str]) -> Output {
    hadal(behaviour, &[&["run"], args].concat()).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
pub(crate) fn assert_fails(output: &Output, status: u8, parts: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status.into()), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{part:?} is not in:\n{stderr}");
    }
}
