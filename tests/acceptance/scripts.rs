// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scripts, commands found in `PATH`, and what Debian's programs do with epoll and sockets.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_same, expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::{Hadal, TestError, run, scratch};

use crate::suite::Suite;

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("scripts/lines", lines);
    suite.hadal("scripts/refused", refused);
    suite.hadal("scripts/path", in_path);
    for cpus in [1, 2, 4] {
        suite.hadal(format!("scripts/processes/{cpus}cpus"), move |name| processes(name, cpus));
    }
    suite.hadal("scripts/awaited-by-pipe", awaited_by_pipe);
    suite.hadal("scripts/out-of-memory", out_of_memory);
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

/// What shells do with processes.
const PROCESSES: &str = r#"#!/bin/bash
cd "$(dirname "$0")"
for i in 1 2 3 4 5; do echo "line $i" | sed 's/line/row/'; done | sort -r | head -3
[ "$(date +%Y)" -ge 2026 ] && echo the year is known
(exit 4); echo "a subshell ended with $?"
sleep 0.05 & wait $!; echo "a job ended with $?"
(exit 9) & old=$!; for n in $(seq 40); do /bin/true; done; wait $old; echo "an old job ended with $?"
for n in 1 2 3; do (sleep 0.$((n + 2)); exit $n) & done; for job in $(jobs -p); do wait $job; echo "waited: $?"; done
cat <<EOF | tr a-z A-Z | wc -c
here is a document
EOF
trap 'echo got TERM' TERM; kill -TERM $$; echo goes on
sh -c 'kill -KILL $$'; echo "killed: $?"
seq 1 100 | xargs -n 10 echo | tail -1
find . -name '*.txt' -exec cat {} + | sort
printf 'a b
c d
' | while read -r one two; do echo "$two $one"; done
diff <(seq 3) <(seq 4); echo "differs: $?"
coproc cat; echo through a coprocess >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
exec {COPROC[1]}>&-; wait
f() { [ "$1" -eq 0 ] && return; echo "$(f $(($1 - 1)))$1"; }; f 12
yes | head -2000 | md5sum
{ echo out; echo err >&2; } 2>&1 | sort
timeout 0.1 sleep 5; echo "timed out: $?"
nice -n 1 env A=b sh -c 'echo $A'
awk 'BEGIN { while (("seq 3" | getline x) > 0) s += x; print s; system("exit 5") }'
perl -e 'if (!(my $p = fork())) { exit 3 } wait; print $? >> 8, " ", `echo back`;'
sleep 100 & exit 6
"#;

/// A script with jobs, pipelines, subshells and traps does what it does on Linux; the job that it leaves behind is ended.
fn processes(name: &str, cpus: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    write(&directory, "script", PROCESSES)?;
    for (file, text) in [("one.txt", "one\n"), ("two.txt", "two\n")] {
        fs::write(directory.join(file), text).map_err(TestError::io(file.to_owned()))?;
    }
    let mut native = Command::new("./script");
    native.current_dir(&directory);
    let on_linux = run::run(native, b"", LIMIT)?;
    let on_hadal = Hadal::new(cpus).cwd(&directory).run(Path::new("./script"), &[])?;
    expect_same(&on_linux, &on_hadal, false)?;
    expect_texts(&on_hadal, &["1 process that the program had left behind was ended with it"])
}

/// Nothing is said of a process of whose end the program knows, though it still gives its memory back.
fn awaited_by_pipe(name: &str) -> Result<(), TestError> {
    const SCRIPT: &str = r#"#!/usr/bin/perl
use POSIX;
pipe R, W;
if (!fork) {
    if (!fork) { $much = "x" x (3e8 + $$); POSIX::_exit(0) }
    POSIX::_exit(0);
}
wait;
close W;
sysread R, $end, 1;
POSIX::_exit(3);
"#;
    let directory = scratch::empty_directory(name)?;
    write(&directory, "script", SCRIPT)?;
    let hadal = Hadal::new(2).with("--memory", "1G").cwd(&directory);
    let outcome = hadal.run(Path::new("./script"), &[])?;
    expect_status(&outcome, 3)?;
    if outcome.stderr.is_empty() { Ok(()) } else { Err(wrong("something is said", &outcome)) }
}

/// Of several processes only those end that touch memory when none is left, and the report names them.
fn out_of_memory(name: &str) -> Result<(), TestError> {
    const SCRIPT: &str = "#!/bin/bash
perl -e '$x = \"a\" x 300_000_000' & wait $!; echo \"perl: $?\"
echo goes on
";
    let directory = scratch::empty_directory(name)?;
    write(&directory, "script", SCRIPT)?;
    let hadal = Hadal::new(2).with("--memory", "128M").cwd(&directory);
    let outcome = hadal.run(Path::new("./script"), &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "perl: 137\ngoes on\n")?;
    expect_texts(&outcome, &["hadal: perl (process ", ", one of 2): out of memory", "largest processes"])
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
