// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal ps`, `hadal stop` and `hadal stacks` with runs on the fake QEMU, each test in a run-time directory of its own.

mod fake;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output};
use std::time::{Duration, Instant};

use fake::driver::{self, PROGRAM, assert_fails, hadal, text};

fn main() -> ExitCode {
    driver::main(&[
        ("runs_are_listed", runs_are_listed),
        ("odd_names_are_one_line", odd_names_are_one_line),
        ("stop_is_a_signal", stop_is_a_signal),
        ("stop_needs_a_name_among_several", stop_needs_a_name_among_several),
        ("stop_takes_names_and_all", stop_takes_names_and_all),
        ("stop_ends_a_program_that_ignores_it", stop_ends_a_program_that_ignores_it),
        ("stop_kill_is_at_once", stop_kill_is_at_once),
        ("stop_of_nothing_is_no_success", stop_of_nothing_is_no_success),
        ("stacks_are_listed_and_the_run_goes_on", stacks_are_listed_and_the_run_goes_on),
        ("stacks_of_a_kernel_that_says_nothing", stacks_of_a_kernel_that_says_nothing),
        ("stop_before_the_kernel_is_up", stop_before_the_kernel_is_up),
        ("killed_runs_are_forgotten", killed_runs_are_forgotten),
        ("suspended_runs_hold_nobody_up", suspended_runs_hold_nobody_up),
        ("a_run_that_cannot_be_listed_runs", a_run_that_cannot_be_listed_runs),
        ("long_paths_are_no_problem", long_paths_are_no_problem),
        ("without_home_and_runtime_directory", without_home_and_runtime_directory),
    ])
}

/// A user's run-time directory.
struct User(tempfile::TempDir);

impl User {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The directory with the sockets.
    fn runs(&self) -> PathBuf {
        self.0.path().join("hadal")
    }

    /// A run of [`PROGRAM`] that has said that it is up, if it says anything.
    fn run(&self, behaviour: &str, args: &[&str]) -> Run {
        let command =
            hadal(behaviour, &[&["run", "--cpus", "3", "--memory", "256M", PROGRAM], args].concat());
        self.start(command, behaviour != "hang")
    }

    fn start(&self, mut command: Command, speaks: bool) -> Run {
        let mut child = command.env("XDG_RUNTIME_DIR", self.0.path()).spawn().unwrap();
        if speaks {
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        }
        let socket = self.runs().join(format!("{}.sock", child.id()));
        wait_until(|| socket.exists());
        Run(child)
    }

    fn ask(&self, args: &[&str]) -> Output {
        hadal("exit 0", args).env("XDG_RUNTIME_DIR", self.0.path()).output().unwrap()
    }
}

/// A run; ended when dropped.
struct Run(Child);

impl Run {
    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The status with which it ended, and its standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let status = self.0.wait().unwrap().code();
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut self.0.stderr.take().unwrap(), &mut stderr).unwrap();
        (status, stderr)
    }

    fn is_live(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn send(&self, signal: &str) {
        assert!(Command::new("kill").args(["-s", signal, &self.pid()]).status().unwrap().success());
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "it never came to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn assert_succeeds(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn none_listed(user: &User) {
    let output = user.ask(&["ps"]);
    assert_eq!(assert_succeeds(&output), "");
    let expected = format!("hadal: no live run is listed in {}\n", user.runs().display());
    assert_eq!(text(&output.stderr), expected);
}

fn runs_are_listed() {
    let user = User::new();
    none_listed(&user);
    let (first, second) = (user.run("end on signal", &["500"]), user.run("end on signal", &["x y"]));
    let table = assert_succeeds(&user.ask(&["ps"]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].trim_start().starts_with("PID  ELAPSED  CPUS"), "{table}");
    for (run, command) in [(&first, "/bin/true 500"), (&second, "/bin/true \"x y\"")] {
        let line = lines.iter().find(|line| line.trim_start().starts_with(&run.pid())).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[2..6], ["3", "256", "MiB", "TCG"], "{line}");
        assert!(words[1].starts_with("00:") && words[6].starts_with("00:"), "{line}");
        assert!(line.ends_with(command), "{line}");
    }
    let mode = user.runs().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
    first.send("TERM");
    assert_eq!(first.end().0, Some(143));
    let table = assert_succeeds(&user.ask(&["ps"]));
    assert_eq!(table.lines().count(), 2, "{table}");
}

fn odd_names_are_one_line() {
    let user = User::new();
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("a\n\u{1b}[2Jb \u{202e}");
    fs::copy(PROGRAM, &program).unwrap();
    let program = program.to_str().unwrap();
    let long = "z".repeat(100_000);
    let command = hadal("end on signal", &["run", program, "new\nline", "", "\u{1b}]0;title\u{7}", &long]);
    let mut run = user.start(command, true);
    let output = user.ask(&["ps"]);
    let table = assert_succeeds(&output);
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{table:?}");
    assert!(table.len() < 1000, "{table}");
    assert!(run.is_live());
    let answer = assert_succeeds(&user.ask(&["stop"]));
    assert!(answer.contains(r#" "a\n\u{1b}[2Jb \u{202e}": ended with status 143"#), "{answer}");
}

fn stop_is_a_signal() {
    let user = User::new();
    let run = user.run("end on signal", &[]);
    let pid = run.pid();
    let answer = assert_succeeds(&user.ask(&["stop", &pid]));
    assert_eq!(answer, format!("{pid} true: ended with status 143\n"));
    assert_eq!(run.end(), (Some(143), String::new()));
    assert_eq!(fs::read_dir(user.runs()).unwrap().count(), 0);
    none_listed(&user);
}

fn stop_needs_a_name_among_several() {
    let user = User::new();
    let mut runs = [user.run("end on signal", &[]), user.run("end on signal", &["2"])];
    for args in [&["stop"][..], &["stop", "--kill"], &["stacks"]] {
        let output = user.ask(args);
        assert_fails(
            &output,
            2,
            &["there are several live runs", "name one of them by its PID", &runs[1].pid()],
        );
    }
    assert_fails(&user.ask(&["stacks", "true"]), 2, &["several runs have the name true"]);
    assert!(runs.iter_mut().all(Run::is_live));
    assert_succeeds(&user.ask(&["stop", &runs[0].pid()]));
    assert!(runs[1].is_live());
    assert_succeeds(&user.ask(&["stop"]));
    for run in runs {
        assert_eq!(run.end().0, Some(143));
    }
}

fn stop_takes_names_and_all() {
    let user = User::new();
    let runs = [user.run("end on signal", &[]), user.run("ignore signals", &[])];
    let (pid, other) = (runs[0].pid(), runs[1].pid());
    // The second one is told twice and listed once.
    let answer = assert_succeeds(&user.ask(&["stop", "--grace", "300ms", "true", &other]));
    let mut lines: Vec<&str> = answer.lines().collect();
    lines.sort_unstable();
    let mut expected = [
        format!("{pid} true: ended with status 143"),
        format!("{other} true: its machine was ended, the status is 137"),
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
    let runs = [user.run("end on signal", &[]), user.run("end on signal", &[])];
    let answer = assert_succeeds(&user.ask(&["stop", "--all"]));
    assert_eq!(answer.lines().count(), 2, "{answer}");
    for run in runs {
        assert_eq!(run.end().0, Some(143));
    }
    assert_succeeds(&user.ask(&["stop", "--all"]));
}

fn stop_ends_a_program_that_ignores_it() {
    let user = User::new();
    let run = user.run("ignore signals", &[]);
    let started = Instant::now();
    let answer = assert_succeeds(&user.ask(&["stop", "--grace", "300ms"]));
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert!(answer.ends_with("true: its machine was ended, the status is 137\n"), "{answer}");
    let (status, stderr) = run.end();
    assert_eq!(status, Some(137));
    assert_eq!(stderr, "hadal: ended by hadal stop: the program did not end within 0.3 s after SIGTERM\n");
}

fn stop_kill_is_at_once() {
    let user = User::new();
    let run = user.run("ignore signals", &[]);
    assert_succeeds(&user.ask(&["stop", "--kill", "true"]));
    assert_eq!(run.end(), (Some(137), "hadal: ended by hadal stop\n".into()));
}

fn stop_of_nothing_is_no_success() {
    let user = User::new();
    assert_fails(&user.ask(&["stop"]), 1, &["no live run is listed"]);
    assert_fails(&user.ask(&["stacks"]), 1, &["no live run is listed"]);
    assert_fails(&user.ask(&["stop", "4711"]), 1, &["there is no live run 4711; hadal ps lists them"]);
    let run = user.run("end on signal", &[]);
    let output = user.ask(&["stop", "a\n", "true"]);
    assert_fails(&output, 1, &[r#"there is no live run "a\n""#]);
    assert_eq!(text(&output.stdout), format!("{} true: ended with status 143\n", run.pid()));
    assert_fails(&user.ask(&["stop", "--kill", "--grace", "1s"]), 2, &["cannot be used with"]);
}

fn stacks_are_listed_and_the_run_goes_on() {
    let user = User::new();
    let mut run = user.run("list threads when asked to go on", &[]);
    for _ in 0..2 {
        let list = assert_succeeds(&user.ask(&["stacks"]));
        assert_eq!(list, "hadal: true: 1 thread\n  thread 1 \"\\u{1b}[31mred\" waits in futex\n");
    }
    assert_eq!(assert_succeeds(&user.ask(&["stacks", &run.pid()])).lines().count(), 2);
    assert_eq!(assert_succeeds(&user.ask(&["ps", &run.pid()])).lines().count(), 2);
    assert_fails(&user.ask(&["ps", "none"]), 1, &["no live run none"]);
    assert!(run.is_live());
    assert_succeeds(&user.ask(&["stop"]));
    assert_eq!(run.end(), (Some(143), String::new()));
}

fn stacks_of_a_kernel_that_says_nothing() {
    let user = User::new();
    let booting = user.run("hang", &[]);
    assert_fails(&user.ask(&["stacks"]), 1, &["its kernel has not started yet"]);
    drop(booting);
    let mut hung = user.run("ignore signals", &[]);
    assert_fails(
        &user.ask(&["stacks", "--wait", "1.5s"]),
        1,
        &["no answer within 1.5s", "hadal stop --kill ends it"],
    );
    let pid = hung.pid().to_string();
    assert_fails(&user.ask(&["ps", &pid, "--wait", "500ms"]), 1, &["no answer within 500ms"]);
    assert_fails(&user.ask(&["ps", "--wait", "1s"]), 2, &["PID|NAME"]);
    assert!(hung.is_live());
    drop(hung);
    let idle = user.run("list no threads", &[]);
    assert_fails(&user.ask(&["stacks"]), 1, &["no program runs in it"]);
    drop(idle);
}

fn stop_before_the_kernel_is_up() {
    let user = User::new();
    let run = user.run("hang", &[]);
    assert_succeeds(&user.ask(&["stop"]));
    assert_eq!(run.end().0, Some(137));
}

fn killed_runs_are_forgotten() {
    let user = User::new();
    let run = user.run("end on signal", &[]);
    let socket = user.runs().join(format!("{}.sock", run.pid()));
    run.send("KILL");
    run.end();
    assert!(socket.exists());
    // Many of them, a run that was killed before it listened, and files that are nothing of ours.
    for pid in 4_000_000_000_u32..4_000_000_100 {
        drop(UnixListener::bind(user.runs().join(format!("{pid}.sock"))).unwrap());
    }
    fs::write(user.runs().join("4000000000.new"), "").unwrap();
    fs::write(user.runs().join("notes"), "").unwrap();
    fs::create_dir(user.runs().join("1.d")).unwrap();
    let next = user.run("end on signal", &[]);
    assert_eq!(assert_succeeds(&user.ask(&["ps"])).lines().count(), 2);
    let mut left: Vec<String> = fs::read_dir(user.runs())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable();
    let mut expected = ["1.d".to_owned(), "notes".to_owned(), format!("{}.sock", next.pid())];
    expected.sort_unstable();
    assert_eq!(left, expected);
}

fn suspended_runs_hold_nobody_up() {
    let user = User::new();
    let (run, other) = (user.run("end on signal", &[]), user.run("end on signal", &[]));
    run.send("STOP");
    // More than wait to be accepted.
    for _ in 0..3 {
        let table = assert_succeeds(&user.ask(&["ps"]));
        let line = |pid: String| table.lines().find(|line| line.trim_start().starts_with(&pid)).unwrap();
        assert!(line(run.pid()).ends_with("(does not answer: suspended?)"), "{table}");
        assert!(line(other.pid()).ends_with("/bin/true"), "{table}");
    }
    run.send("CONT");
    assert_eq!(assert_succeeds(&user.ask(&["stop", "--all"])).lines().count(), 2);
}

fn a_run_that_cannot_be_listed_runs() {
    let user = User::new();
    fs::write(user.runs(), "a file").unwrap();
    let run = |dir: &Path| {
        let output = hadal("exit 7", &["run", PROGRAM]).env("XDG_RUNTIME_DIR", dir).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(7), String::new()));
    };
    run(user.0.path());
    assert_fails(&user.ask(&["ps"]), 125, &["cannot look for live runs", user.runs().to_str().unwrap()]);
    fs::remove_file(user.runs()).unwrap();
    // Others could put a socket of their own there.
    fs::create_dir(user.runs()).unwrap();
    fs::set_permissions(user.runs(), fs::Permissions::from_mode(0o777)).unwrap();
    run(user.0.path());
    assert_eq!(fs::read_dir(user.runs()).unwrap().count(), 0);
    for args in [&["ps"][..], &["stop", "--all"], &["stacks"]] {
        assert_fails(&user.ask(args), 125, &["is open to other users (mode 777); close it with chmod 700"]);
    }
}

fn long_paths_are_no_problem() {
    let base = tempfile::tempdir().unwrap();
    let deep = base.path().join("d".repeat(120)).join("e".repeat(120));
    fs::create_dir_all(&deep).unwrap();
    let mut child = hadal("end on signal", &["run", PROGRAM]).env("XDG_RUNTIME_DIR", &deep).spawn().unwrap();
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let mut run = Run(child);
    let output = hadal("exit 0", &["stop", &run.pid()]).env("XDG_RUNTIME_DIR", &deep).output().unwrap();
    assert_succeeds(&output);
    wait_until(|| !run.is_live());
}

fn without_home_and_runtime_directory() {
    let mut command = hadal("end on signal", &["run", PROGRAM]);
    let mut child = command.env_remove("XDG_RUNTIME_DIR").env_remove("HOME").spawn().unwrap();
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let run = Run(child);
    let ask = |args: &[&str]| {
        let mut command = hadal("exit 0", args);
        assert_succeeds(&command.env_remove("XDG_RUNTIME_DIR").env_remove("HOME").output().unwrap())
    };
    let table = ask(&["ps"]);
    assert!(table.lines().any(|line| line.trim_start().starts_with(&run.pid())), "{table}");
    ask(&["stop", &run.pid()]);
    assert_eq!(run.end().0, Some(143));
}
