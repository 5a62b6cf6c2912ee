// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run says about the machine's set-up when a program has failed, and that it says nothing else; runs of users who
//! may write to little.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::{Permit, arguments, hadal_command};
use hadal_tests::{Hadal, Outcome, TestError, run, scratch};

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("messages/write-outside", write_outside);
    suite.hadal("messages/write-that-linux-refuses", write_that_linux_refuses);
    suite.hadal("messages/input-below-tmp", input_below_tmp);
    suite.hadal("messages/socket", socket);
    suite.hadal("messages/source-with-hrt", source_with_hrt);
    suite.hadal("messages/read-only-install", read_only_install);
}

/// A user and group that own nothing: nobody.
const NOBODY: u32 = 65534;

/// The lines of standard error that are Hadal's.
fn own_lines(outcome: &Outcome) -> String {
    let text = outcome.stderr_text();
    text.lines().filter(|line| line.starts_with("hadal: ")).flat_map(|line| [line, "\n"]).collect()
}

fn expect_own_lines(outcome: &Outcome, expected: &str) -> Result<(), TestError> {
    if own_lines(outcome) == expected {
        Ok(())
    } else {
        Err(wrong(&format!("expected {expected:?}"), outcome))
    }
}

/// A script for bash in the directory.
fn script(directory: &Path, text: &str) -> Result<Outcome, TestError> {
    let file = directory.join("script");
    fs::write(&file, format!("#!/bin/bash\n{text}\n")).map_err(TestError::io("cannot write a script"))?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(TestError::io("script"))?;
    Hadal::new(1).cwd(directory).run(Path::new("./script"), &[])
}

fn write_outside(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = Hadal::new(1).cwd(&directory).run(Path::new("mkdir"), &arguments(&["/usr/hadal-none"]))?;
    expect_status(&outcome, 1)?;
    expect_own_lines(
        &outcome,
        "hadal: /usr/bin/mkdir: it could not write to /usr: of the host's files only the working directory is writable; \
         --mount /usr:/usr:rw adds /usr, --cwd DIR takes another one\n",
    )?;
    let outcome = Hadal::new(1)
        .cwd(&directory)
        .with("--mount", "/usr:/tmp/usr")
        .run(Path::new("mkdir"), &arguments(&["/tmp/usr/hadal-none"]))?;
    expect_own_lines(
        &outcome,
        "hadal: /usr/bin/mkdir: it could not write to /tmp/usr: /tmp/usr is mounted read-only; \
         --mount HOST:/tmp/usr:rw lets it write there\n",
    )?;
    // Not only making files: removing, moving, linking and changing attributes, too. Each fails before it does anything.
    let (file, other) = ("/usr/share/doc/bash/copyright", "/usr/share/doc/bash/other");
    let lines: [&[&str]; 7] = [
        &["rm", "-f", file],
        &["mv", file, other],
        &["ln", "-s", "x", other],
        &["ln", file, other],
        &["chmod", "600", file],
        &["touch", "-d", "2000-01-01", file],
        &["truncate", "-s", "0", file],
    ];
    for line in lines {
        let outcome = Hadal::new(1).cwd(&directory).run(Path::new(line[0]), &arguments(&line[1..]))?;
        expect_status(&outcome, 1)?;
        expect_texts(&outcome, &["could not write to /usr/share/doc/bash", "--mount /usr/share/doc/bash:"])?;
    }
    // A program that does without is not talked about, nor one that fails for what Linux would not give it either.
    expect_own_lines(&script(&directory, "echo x 2>/dev/null > /usr/hadal-none\nexit 0")?, "")?;
    expect_own_lines(&script(&directory, "[ -w /usr ] || exit 4")?, "")?;
    expect_own_lines(&script(&directory, "echo x > /no/such/directory/file\nexit 1")?, "")?;
    expect_own_lines(&script(&directory, "echo x > /sys/none\nexit 1")?, "")
}

/// What the user may not write to on the host is no matter of mounts.
fn write_that_linux_refuses(_name: &str) -> Result<(), TestError> {
    let Some(outcome) = as_nobody(&["run", "/bin/mkdir", "/usr/hadal-none"], &[])? else {
        return Ok(());
    };
    expect_status(&outcome, 1)?;
    expect_own_lines(&outcome, "")
}

fn input_below_tmp(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let input = tempfile::tempdir_in("/tmp").map_err(TestError::io("no directory below /tmp"))?;
    let file = input.path().join("input");
    fs::write(&file, "content").map_err(TestError::io("cannot write below /tmp"))?;
    let cat = |hadal: Hadal| hadal.run(Path::new("cat"), &[file.clone().into_os_string()]);
    let outcome = cat(Hadal::new(1).cwd(&directory))?;
    expect_status(&outcome, 1)?;
    let dir = input.path().display();
    expect_texts(
        &outcome,
        &[
            "No such file or directory",
            &format!(
                "hadal: the program did not see {dir}/input of this host: its /tmp is its own, in memory\n"
            ),
            &format!("  help: --mount {dir}:{dir} shows it the host's {dir}\n"),
        ],
    )?;
    let outcome = cat(Hadal::new(1).cwd(&directory).with("--mount", format!("{dir}:{dir}")))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "content")
}

fn socket(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = script(&directory, "exec 3<>/dev/tcp/127.0.0.1/9")?;
    expect_own_lines(
        &outcome,
        "hadal: /usr/bin/bash: it got no socket of domain AF_INET: there is no network, only sockets of AF_UNIX between \
         programs of the machine; run it on Linux\n",
    )?;
    // The C library asks a daemon for the owner's name, and does without.
    let outcome = Hadal::new(1).cwd(&directory).run(Path::new("ls"), &arguments(&["-ld", ".", "none"]))?;
    expect_status(&outcome, 2)?;
    expect_own_lines(&outcome, "")
}

fn source_with_hrt(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let text = "#include <hadal/hrt.h>\n#include <stdio.h>\nint main(void) { printf(\"%u\\n\", hrt_cpu_count()); }\n";
    fs::write(directory.join("count.c"), text).map_err(TestError::io("cannot write a source"))?;
    let outcome = Hadal::new(3).cwd(&directory).run(Path::new("count.c"), &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "3\n")
}

/// Runs the command as nobody, from a directory in which nobody may write; `None` without the right to do so.
fn as_nobody(args: &[&str], variables: &[(&str, &Path)]) -> Result<Option<Outcome>, TestError> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become nobody");
        return Ok(None);
    }
    // The tree may lie where nobody cannot even look.
    let install = tempfile::tempdir_in("/tmp").map_err(TestError::io("no directory below /tmp"))?;
    let command = install.path().join("hadal");
    fs::copy(hadal_command()?, &command).map_err(TestError::io("cannot copy the command"))?;
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    open(&command, 0o555).and_then(|()| open(install.path(), 0o555)).map_err(TestError::io("install"))?;
    let mut nobody = Command::new(command);
    nobody.args(args).uid(NOBODY).gid(NOBODY).current_dir(install.path());
    nobody.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/").env("HADAL_ACCEL", "tcg");
    nobody.envs(variables.iter().map(|&(name, value)| (name, value)));
    let _place = Permit::one();
    run::run(nobody, b"", Duration::from_secs(120)).map(Some)
}

/// Without a home and with the command in a directory that cannot be written to, only a source needs a place of its own.
fn read_only_install(_name: &str) -> Result<(), TestError> {
    let Some(outcome) = as_nobody(&["run", "echo", "hello"], &[])? else { return Ok(()) };
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "hello\n")?;
    let sources = tempfile::tempdir_in("/tmp").map_err(TestError::io("no directory below /tmp"))?;
    let (source, cache) = (sources.path().join("hello.c"), sources.path().join("cache"));
    let text = "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 4; }\n";
    let made = fs::write(&source, text).and_then(|()| fs::create_dir(&cache));
    made.and_then(|()| chown(&cache, Some(NOBODY), Some(NOBODY)))
        .and_then(|()| fs::set_permissions(sources.path(), fs::Permissions::from_mode(0o755)))
        .map_err(TestError::io("cannot prepare a source"))?;
    let source = source.display().to_string();
    let Some(outcome) = as_nobody(&["run", &source], &[])? else { return Ok(()) };
    expect_status(&outcome, 119)?;
    expect_texts(
        &outcome,
        &["hadal: cannot use the cache directory /.cache/hadal/programs: Permission denied"],
    )?;
    let Some(outcome) = as_nobody(&["run", &source], &[("XDG_CACHE_HOME", &cache)])? else {
        return Ok(());
    };
    expect_status(&outcome, 4)?;
    expect_stdout(&outcome, "compiled\n")
}
