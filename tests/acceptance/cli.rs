// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 2: options, streams and signals of the `hadal` command.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::{arguments, hadal};
use hadal_tests::programs::{CWD, EXIT_SPIN, HELLO, LIBM, STREAMS, WAIT};
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};
use rustix::process::Signal;

use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    streams(suite);
    suite.compare("cli/working-directory", &CWD, Way::GccDynamic, 1, |case| {
        case.args(&["/etc/hostname", "none"])
    });
    suite.hadal("cli/cwd-option", cwd_option);
    suite.hadal("cli/mount", mount);
    suite.hadal("cli/root", root);
    suite.hadal("cli/environment-passes", environment_passes);
    suite.hadal("cli/translated", translated);
    suite.hadal("cli/translated-results", translated_results);
    suite.hadal("cli/strace", strace);
    suite.hadal("cli/stats", stats);
    suite.hadal("cli/log-file", log_file);
    suite.hadal("cli/dry-run", dry_run);
    suite.hadal("cli/interrupt-handled", interrupt_handled);
    suite.hadal("cli/interrupt-default", interrupt_default);
    suite.hadal("cli/help-and-doctor", help_and_doctor);
    suite.hadal("cli/doctor-report", doctor_report);
    for (source, arguments) in
        [("heat/heat.c", &["64", "50"][..]), ("hello/hello.c", &[]), ("pi/pi.f90", &[])]
    {
        suite.hadal(format!("cli/source/{source}"), move |name| example(name, source, arguments));
    }
}

fn streams(suite: &mut Suite) {
    let every_byte: Vec<u8> = (0..1 << 20).map(|i: u32| (i ^ i >> 8 ^ i >> 16).to_le_bytes()[0]).collect();
    suite.compare("cli/streams/echo-1-mib", &STREAMS, Way::GccDynamic, 2, |case| {
        case.args(&["echo"]).stdin(&every_byte)
    });
    suite.compare("cli/streams/empty-input", &STREAMS, Way::GccDynamic, 2, |case| case.args(&["echo"]));
    suite.compare("cli/streams/bytes", &STREAMS, Way::GccStatic, 1, |case| case.args(&["bytes"]));
    suite.compare("cli/streams/both", &STREAMS, Way::GccDynamic, 2, |case| case.args(&["both", "2000"]));
    suite.compare("cli/streams/kinds", &STREAMS, Way::GccDynamic, 1, |case| case.args(&["kinds"]));
    suite.compare("cli/streams/closed", &STREAMS, Way::GccDynamic, 1, |case| case.args(&["closed"]));
    suite.compare("cli/arguments", &STREAMS, Way::GccDynamic, 1, |case| {
        case.args(&[
            "args",
            "",
            "two words",
            "--cpus",
            "tab\tnew\nline",
            "caf\u{e9}",
            "\"quoted\" $HOME `x` \\",
        ])
        .env("TEST_EMPTY", "")
        .env("TEST_EQUALS", "a=b=c")
        .env("TEST_ODD", "\u{1}\t\n\"'$\\ \u{20ac}")
    });
    suite.compare("cli/streams/odd-bytes", &STREAMS, Way::GccDynamic, 1, |case| {
        let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\xfe\x80");
        case.args(&["args"]).args(&[odd]).env("TEST_BYTES", odd)
    });
}

fn hello(hadal: &Hadal) -> Result<Outcome, TestError> {
    let outcome = hadal.run(&HELLO.build(Way::GccDynamic)?, &arguments(&["5"]))?;
    expect_status(&outcome, 5)?;
    expect_stdout(&outcome, "hello\n")?;
    Ok(outcome)
}

fn write(path: &Path, text: &str) -> Result<(), TestError> {
    fs::write(path, text).map_err(TestError::io(format!("cannot write {}", path.display())))
}

fn cwd_option(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let below = directory.join("below");
    scratch::make_empty(&below)?;
    write(&below.join("file"), "from below\n")?;
    let hadal = Hadal::new(1).cwd(&directory).with("--cwd", &below);
    let outcome = hadal.run(&CWD.build(Way::GccDynamic)?, &arguments(&["file"]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &format!("working directory {}\nfile: from below\n", below.display()))
}

fn mount(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let shown = directory.join("shown");
    scratch::make_empty(&shown)?;
    write(&shown.join("file"), "from the host\n")?;
    let mut option = shown.clone().into_os_string();
    option.push(":/mnt");
    let hadal = Hadal::new(1).cwd(&directory).with("--mount", option);
    let outcome = hadal.run(&CWD.build(Way::GccDynamic)?, &arguments(&["/mnt/file"]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, &format!("working directory {}\n/mnt/file: from the host\n", directory.display()))
}

/// A directory as the root of all files: a static program in it needs nothing else.
fn root(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = CWD.build(Way::GccStatic)?;
    fs::copy(&program, directory.join("program")).map_err(TestError::io("cannot copy the program"))?;
    write(&directory.join("file"), "inside\n")?;
    let hadal = Hadal::new(1).cwd(Path::new("/")).with("--root", &directory).with("--cwd", "/");
    let outcome = hadal.run(Path::new("/program"), &arguments(&["/file", "/etc/hostname"]))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "working directory /\n/file: inside\n/etc/hostname: No such file or directory\n")
}

/// Without --clear-env the program has the environment of the command.
fn environment_passes(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = STREAMS.build(Way::GccDynamic)?;
    let mut command = std::process::Command::new(hadal_tests::machine::hadal_command()?);
    command.args(["run", "--cpus", "1", "--env", "TEST_B=two"]).arg(program).arg("args");
    command.env("TEST_A", "1").env("TEST_B", "1").current_dir(directory);
    let outcome = hadal_tests::run::run(command, b"", Duration::from_secs(60))?;
    expect_stdout(&outcome, "variable 8 54 45 53 54 5f 41 3d 31\nvariable 10 54 45 53 54 5f 42 3d 74 77 6f\n")
}

/// Where QEMU translates, glibc copies with 128 bits unless the user says otherwise, and string instructions do not claim to be fast.
fn translated(name: &str) -> Result<(), TestError> {
    const OURS: &str = "glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load\n0\n";
    const SCRIPT: &str = "echo ${GLIBC_TUNABLES-unset}; grep -c -w -e erms -e fsrm /proc/cpuinfo";
    let directory = scratch::empty_directory(name)?;
    let cases: [(&[&str], Option<&str>, &str); 5] = [
        (&["--accel=tcg"], None, OURS),
        (&["--accel=tcg"], Some(""), "\n0\n"),
        (&["--accel=tcg", "--env=GLIBC_TUNABLES=a"], Some("b"), "a\n0\n"),
        (&["--accel=tcg", "--clear-env"], None, "unset\n0\n"),
        (&["--icount"], None, "unset\n0\n"),
    ];
    for (options, own, expected) in cases {
        let mut command = std::process::Command::new(hadal_tests::machine::hadal_command()?);
        command.arg("run").args(options).args(["--timeout", "60", "/bin/sh", "-c", SCRIPT]);
        command.current_dir(&directory).env_remove("GLIBC_TUNABLES");
        command.envs(own.map(|own| ("GLIBC_TUNABLES", own)));
        expect_stdout(&hadal_tests::run::run(command, b"", Duration::from_secs(90))?, expected)?;
    }
    Ok(())
}

/// How glibc copies there changes nothing in what its mathematical library returns.
fn translated_results(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = LIBM.build(Way::GccDynamic)?;
    let output = |options: &[&str]| {
        let mut command = std::process::Command::new(hadal_tests::machine::hadal_command()?);
        command.args(["run", "--accel=tcg", "--timeout=60"]).args(options).arg(&program);
        command.current_dir(&directory).env_remove("GLIBC_TUNABLES");
        let outcome = hadal_tests::run::run(command, b"", Duration::from_secs(90))?;
        expect_status(&outcome, 0)?;
        Ok(outcome)
    };
    let without = output(&["--clear-env"])?;
    if without.stdout_text().lines().count() < 9 {
        return Err(wrong("checksums are missing", &without));
    }
    expect_stdout(&output(&[])?, &without.stdout_text())
}

fn strace(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = hello(&Hadal::new(1).cwd(&directory).option("--strace"))?;
    expect_texts(&outcome, &["openat(", "mmap(", "write(1, ", "exit_group(5", "libc.so.6"])
}

fn stats(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = hello(&Hadal::new(2).cwd(&directory).option("--stats"))?;
    expect_texts(&outcome, &["system calls", "interrupts", "ipi", "switch", "page", "memory"])
}

fn log_file(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let log = directory.join("kernel.log");
    let outcome = hello(&Hadal::new(2).cwd(&directory).with("--log-file", &log).with("--log", "debug"))?;
    let length = fs::metadata(&log).map_err(TestError::io("the log file is missing"))?.len();
    if length == 0 {
        return Err(wrong("the log file is empty", &outcome));
    }
    if outcome.stderr.is_empty() { Ok(()) } else { Err(wrong("the log is on standard error too", &outcome)) }
}

fn dry_run(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(3).cwd(&directory).option("--dry-run");
    let outcome = hadal.run(&HELLO.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    let line = outcome.stdout_text();
    if line.contains("qemu-system-x86_64") && line.contains("-smp") {
        return Ok(());
    }
    Err(wrong("the QEMU command line is not on standard output", &outcome))
}

fn interrupt_handled(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(2).cwd(&directory);
    let (_permit, running) = hadal.start(&WAIT.build(Way::GccDynamic)?, &[])?;
    running.wait_for_output("waiting\n", Duration::from_secs(60))?;
    running.signal_group(Signal::INT);
    let outcome = running.finish(Duration::from_secs(20))?;
    expect_status(&outcome, 3)?;
    expect_stdout(&outcome, "waiting\nsignal 2\n")
}

fn interrupt_default(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = Hadal::new(2).cwd(&directory);
    let (_permit, running) =
        hadal.start(&EXIT_SPIN.build(Way::GccDynamic)?, &arguments(&["1", "forever"]))?;
    running.wait_for_output("threads spin\n", Duration::from_secs(60))?;
    running.signal_group(Signal::INT);
    let outcome = running.finish(Duration::from_secs(20))?;
    expect_status(&outcome, 130)
}

fn help_and_doctor(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let limit = Duration::from_secs(60);
    for (arguments, texts) in [
        (&["--help"][..], &["run", "image", "doctor", "test"][..]),
        (&["run", "--help"], &["--cpus", "--memory", "--numa", "--mount", "--strace", "--gdb", "Examples"]),
        (&["image", "--help"], &["--iso", "Examples"]),
        (&["doctor"], &["qemu"]),
        (&["completions", "bash"], &["hadal"]),
        (&["completions", "zsh"], &["#compdef hadal"]),
    ] {
        let outcome = hadal(arguments, &directory, limit)?;
        expect_status(&outcome, 0)?;
        let text = outcome.stdout_text();
        if let Some(missing) = texts.iter().find(|part| !text.to_lowercase().contains(&part.to_lowercase())) {
            return Err(wrong(
                &format!("`hadal {}` does not mention {missing}", arguments.join(" ")),
                &outcome,
            ));
        }
    }
    Ok(())
}

/// The report for those who have no such machine: for people and as JSON, and of a kernel that has tried its paths.
fn doctor_report(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let outcome = hadal(&["doctor", "--report", "report.txt"], &directory, Duration::from_secs(180))?;
    expect_status(&outcome, 0)?;
    let file = std::fs::read_to_string(directory.join("report.txt"))
        .map_err(TestError::io("cannot read the report"))?;
    let Some((words, json)) = file.split_once("-- the same as JSON --\n") else {
        return Err(TestError::Wrong(format!("the report has no second part\n{file}")));
    };
    if words.trim_end() != outcome.stdout_text().trim_end() {
        return Err(wrong("the part for people is not what was printed", &outcome));
    }
    let report: serde_json::Value = serde_json::from_str(json)
        .map_err(|error| TestError::Wrong(format!("the second part is not JSON: {error}\n{json}")))?;
    let empty = Vec::new();
    let runs = report["runs"].as_array().unwrap_or(&empty);
    let Some(run) = runs.iter().find(|run| run["accelerator"] == "TCG") else {
        return Err(TestError::Wrong(format!("no run under TCG\n{json}")));
    };
    let paths = run["machine"]["paths"].as_array().unwrap_or(&empty);
    for (part, choice) in [
        ("interrupt controller", "xAPIC"),
        ("timer", "APIC timer, one-shot"),
        ("clock", "TSC, "),
        ("idle", "HLT"),
        ("vector state", "XSAVE: x87, SSE, AVX"),
    ] {
        let found = paths.iter().any(|path| {
            path["part"] == part
                && path["choice"].as_str().is_some_and(|text| text.starts_with(choice))
                && path["trial"]["passed"].as_str().is_some_and(|text| text.contains(" visits)"))
        });
        if !found {
            return Err(TestError::Wrong(format!("{part} is not {choice}, tried and passed\n{json}")));
        }
    }
    let of_tables = paths.iter().find(|path| path["part"] == "page tables");
    if !of_tables
        .is_some_and(|path| path["trial"]["passed"].as_str().is_some_and(|text| text.contains(" turns")))
    {
        return Err(TestError::Wrong(format!("two page tables were not tried, or it failed\n{json}")));
    }
    let leaves = run["machine"]["cpuid"].as_array().unwrap_or(&empty);
    if run["passed"] != true || !leaves.iter().any(|leaf| leaf["leaf"] == 7) {
        return Err(TestError::Wrong(format!("the run has not passed, or lacks CPUID leaf 7\n{json}")));
    }
    Ok(())
}

/// An example from its source prints what the system's compiler makes of it, but for the time it took.
fn example(name: &str, source: &str, program_arguments: &[&str]) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let source = scratch::workspace().join("examples").join(source);
    let compiler =
        if source.extension().is_some_and(|extension| extension == "f90") { "gfortran" } else { "gcc" };
    let native = directory.join("native");
    let mut compile = std::process::Command::new(compiler);
    compile.args(["-O2", "-fopenmp"]).arg(&source).arg("-lm").arg("-o").arg(&native);
    expect_status(&hadal_tests::run::run(compile, b"", Duration::from_secs(60))?, 0)?;
    let mut linux = std::process::Command::new(&native);
    linux.args(program_arguments).env("OMP_NUM_THREADS", "2");
    let linux = hadal_tests::run::run(linux, b"", Duration::from_secs(60))?;
    // The command needs the path to find the compiler, and its own environment is not that of the program.
    let hadal = Hadal::new(2).cwd(&directory).env("OMP_NUM_THREADS", "2").limit(Duration::from_secs(90));
    let outcome = hadal.run(&source, &arguments(program_arguments))?;
    expect_status(&outcome, 0)?;
    let without_time = |text: String| -> String {
        text.lines().filter(|line| !line.starts_with("time ")).map(|line| format!("{line}\n")).collect()
    };
    let expected = without_time(linux.stdout_text());
    let actual = Outcome { stdout: without_time(outcome.stdout_text()).into_bytes(), ..outcome };
    expect_stdout(&actual, &expected)
}
