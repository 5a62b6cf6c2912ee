// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scripts, commands found in `PATH`, and what Debian's programs do with epoll and sockets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_same, expect_status, expect_stdout, expect_texts};
use hadal_tests::machine::arguments;
use hadal_tests::{Hadal, TestError, run, scratch};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("scripts/lines", lines);
    suite.hadal("scripts/refused", refused);
    suite.hadal("scripts/path", in_path);
    suite.hadal("scripts/bash-reads-no-startup-file", startup_file);
}

/// Writes a script that may be executed.
fn write(directory: &Path, name: &str, text: &str) -> Result<(), TestError> {
    let file = directory.join(name);
    fs::write(&file, text).map_err(TestError::io(format!("cannot write {name}")))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(TestError::io(name.to_owned()))
}

/// Scripts get the arguments that Linux gives them.
fn lines(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let mut texts = vec![
        ("plain", "#!/bin/sh\necho \"$0\" \"$@\"; exit 3\n".to_owned()),
        ("argument", "#! \t/bin/echo  one  two\t \nignored\n".to_owned()),
        ("env", "#!/usr/bin/env sh\necho \"$0\" \"$@\"\n".to_owned()),
        ("env-split", "#!/usr/bin/env -S sh -e  -u\necho \"$0\" \"$@\" $-\n".to_owned()),
        ("env-sets", "#!/usr/bin/env -S A=b sh -e\necho \"$0\" \"$A\" \"$@\" $-\n".to_owned()),
        ("no-newline", "#!/bin/echo".to_owned()),
        ("nested-1", "#!/bin/echo innermost\n".to_owned()),
    ];
    let names: Vec<String> = (1..=6).map(|depth| format!("nested-{depth}")).collect();
    for depth in 2..=5 {
        texts.push((&names[depth - 1], format!("#!./nested-{} {depth}\n", depth - 1)));
    }
    for (script, text) in &texts {
        write(&directory, script, text)?;
        let path = format!("./{script}");
        let mut native = Command::new(&path);
        native.args(["a", "", "b c"]).current_dir(&directory);
        let on_linux = run::run(native, b"", LIMIT)?;
        let on_hadal = Hadal::new(1).cwd(&directory).run(Path::new(&path), &arguments(&["a", "", "b c"]))?;
        expect_same(&on_linux, &on_hadal, true)?;
    }
    Ok(())
}

/// What Linux does not run is named.
fn refused(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    write(&directory, "1", "#!/bin/echo\n")?;
    for depth in 2..=6 {
        write(&directory, &depth.to_string(), &format!("#!./{}\n", depth - 1))?;
    }
    write(&directory, "windows", "#!/bin/sh\r\necho\r\n")?;
    write(&directory, "none", "#!/no/such/interpreter\n")?;
    write(&directory, "nameless", "#! \n/bin/sh\n")?;
    for (script, text) in [
        ("6", "more than 5 in a chain"),
        ("windows", "carriage return"),
        ("none", "interpreter /no/such/interpreter was not found"),
        ("nameless", "names no interpreter"),
    ] {
        let outcome = Hadal::new(1).cwd(&directory).run(&Path::new(".").join(script), &[])?;
        expect_status(&outcome, status::CANNOT_START.into())?;
        expect_texts(&outcome, &[text])?;
    }
    write(&directory, "env-none", "#!/usr/bin/env no-such-command\n")?;
    let outcome = Hadal::new(1).cwd(&directory).run(Path::new("./env-none"), &[])?;
    expect_status(&outcome, status::CANNOT_START.into())?;
    expect_texts(&outcome, &["interpreter no-such-command was not found"])
}

/// A name without a slash is a file of the working directory, or else a command.
fn in_path(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    write(&directory, "here", "#!/bin/echo here\n")?;
    let hadal = Hadal::new(1).cwd(&directory);
    let outcome = hadal.run(Path::new("echo"), &arguments(&["found"]))?;
    expect_stdout(&outcome, "found\n")?;
    let outcome = hadal.run(Path::new("here"), &[])?;
    expect_stdout(&outcome, "here here\n")?;
    write(&directory, "echo", "#!/bin/sh\nexec 2>&1\necho mine\n")?;
    let outcome = hadal.run(Path::new("echo"), &arguments(&["found"]))?;
    expect_stdout(&outcome, "mine\n")?;
    let outcome = hadal.run(Path::new("no-such-command"), &[])?;
    expect_status(&outcome, status::NOT_FOUND.into())
}

/// bash reads its startup file if standard input is a socket, which it finds out by `getpeername`.
fn startup_file(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    write(&directory, ".bashrc", "echo startup file\n")?;
    let hadal = Hadal::new(1).cwd(&directory).env("HOME", &directory);
    let outcome = hadal.run(Path::new("/bin/bash"), &arguments(&["-c", "echo done"]))?;
    expect_stdout(&outcome, "done\n")
}
