// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the command says when something is wrong, word for word: each message names the cause and the remedy.

mod fake;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, ExitCode, Output};

use fake::driver::{self, PROGRAM, hadal, run, text};

fn main() -> ExitCode {
    driver::main(&[
        ("programs_that_a_shell_would_not_execute", programs_that_a_shell_would_not_execute),
        ("mistyped_options_suggest_the_nearest", mistyped_options_suggest_the_nearest),
        ("flags_without_a_source", flags_without_a_source),
        ("memory_that_the_host_does_not_have", memory_that_the_host_does_not_have),
        ("memory_with_a_fraction", memory_with_a_fraction),
        ("kvm_that_does_not_run_the_machine", kvm_that_does_not_run_the_machine),
        ("commands_that_are_not_qemu", commands_that_are_not_qemu),
        ("few_open_files", few_open_files),
        ("cache_that_cannot_be_used", cache_that_cannot_be_used),
        ("preloaded_libraries_are_the_programs", preloaded_libraries_are_the_programs),
        ("input_below_tmp", input_below_tmp),
        ("sources_with_hrt_are_compiled", sources_with_hrt_are_compiled),
    ])
}

/// The status and all of standard error.
#[track_caller]
fn assert_says(output: &Output, status: i32, message: &str) {
    assert_eq!(text(&output.stderr), message);
    assert_eq!(output.status.code(), Some(status));
}

/// As in a shell: 126 for what may not be executed, 127 for what is not there.
fn programs_that_a_shell_would_not_execute() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &[u8], mode: u32| {
        let file = dir.path().join(name);
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    };
    let program = fs::read(PROGRAM).unwrap();
    put("program", &program, 0o644);
    put("script", b"#!/bin/sh\n", 0o640);
    let (plain, script) = ("./program", "script");
    for (name, status, message) in [
        (plain, 126, "is not executable (its mode is 0644)\n  help: make it executable: chmod +x FILE\n"),
        (script, 126, "is not executable (its mode is 0640)\n  help: make it executable: chmod +x FILE\n"),
        (
            "..",
            126,
            "is a directory, not a program\n  help: PROGRAM is an x86-64 Linux executable, or a source file ending \
             in .c, .cc, .cpp, .f90, …\n",
        ),
        (
            "/no/such/program",
            127,
            "no such file\n  help: PROGRAM is a path, a file of the working directory, or a command found in PATH\n",
        ),
        (
            "none.c",
            127,
            "no such file\n  help: PROGRAM is a path, a file of the working directory, or a command found in PATH\n",
        ),
    ] {
        let output = hadal("exit 0", &["run", name]).current_dir(dir.path()).output().unwrap();
        assert_says(&output, status, &format!("hadal: {name}: {message}"));
    }
}

fn mistyped_options_suggest_the_nearest() {
    assert_says(
        &run("exit 0", &["--memry", "1G", PROGRAM]),
        2,
        "error: unexpected argument '--memry' found\n\n  \
         tip: a similar argument exists: '--memory'\n  \
         tip: to pass '--memry' as a value, use '-- --memry'\n\n\
         Usage: hadal run --memory <SIZE> <PROGRAM> [ARGS]...\n\n\
         For more information, try '--help'.\n",
    );
}

fn flags_without_a_source() {
    let expected = "hadal: --cflags is for sources in C, C++ and Fortran, and /bin/true is none\n  \
                    help: leave out --cflags, or name the source (.c, .cc, .cpp, .f90, …)\n";
    assert_says(&run("exit 0", &["--cflags", "-O3", PROGRAM]), 2, expected);
}

fn memory_that_the_host_does_not_have() {
    let said = "qemu: cannot set up guest memory 'pc.ram': Cannot allocate memory\n";
    let output = run(&format!("refuse:{said}"), &["--memory", "2T", PROGRAM]);
    let stderr = text(&output.stderr);
    let (first, rest) = stderr.split_once('\n').unwrap();
    let amounts = first.strip_prefix("hadal: this host cannot give the machine 2 TiB of memory: it has ");
    let (total, free) = amounts.unwrap().split_once(", ").unwrap();
    assert!(total.ends_with(" GiB") && free.ends_with(" GiB of them free"), "{stderr}");
    assert_eq!(rest, format!("  help: ask for less with --memory\n  QEMU said:\n    {said}"));
    assert_eq!(output.status.code(), Some(120));
}

fn memory_with_a_fraction() {
    let output = hadal("", &["run", "--dry-run", "--memory", "1.5G", PROGRAM]).output().unwrap();
    assert!(text(&output.stdout).contains(" -m 1536M "), "{}", text(&output.stdout));
    assert_says(
        &run("exit 0", &["--memory", "much", PROGRAM]),
        2,
        "error: invalid value 'much' for '--memory <SIZE>': expected a size such as 512M, 1.5G or 4G (a number \
         without a unit counts MiB)\n\nFor more information, try '--help'.\n",
    );
}

fn kvm_that_does_not_run_the_machine() {
    if fs::File::options().read(true).write(true).open("/dev/kvm").is_err() {
        eprintln!("skipped: no KVM on this machine");
        return;
    }
    let said =
        "qemu: error: failed to set MSR 0x10a to 0x4\\nqemu: kvm.c:3: set: Assertion `ret == n' failed.\\n";
    assert_says(
        &run(&format!("refuse:{said}"), &["--accel", "kvm", PROGRAM]),
        120,
        "hadal: KVM does not run the machine on this host: failed to set MSR 0x10a to 0x4\n  \
         help: --accel tcg works without KVM\n  \
         QEMU said:\n    \
         qemu: error: failed to set MSR 0x10a to 0x4\n    \
         qemu: kvm.c:3: set: Assertion `ret == n' failed.\n",
    );
}

fn commands_that_are_not_qemu() {
    let help = "  help: name qemu-system-x86_64 with --qemu or HADAL_QEMU, or leave both out\n";
    let what = "/bin/true: is not QEMU (it does not answer --version as QEMU does)";
    assert_says(&run("", &["--qemu", "/bin/true", PROGRAM]), 120, &format!("hadal: {what}\n{help}"));
    let output = run("refuse:qemu: unsupported machine type\\n", &[PROGRAM]);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("has no machine of type q35; it is QEMU for another processor\n"), "{stderr}");
    assert!(stderr.contains(help), "{stderr}");
    let output = run("", &["--qemu", "/etc/passwd", PROGRAM]);
    assert!(
        text(&output.stderr).starts_with("hadal: /etc/passwd: is not an executable file, and so not QEMU\n")
    );
}

fn few_open_files() {
    let with_limits = |limits: &str| {
        let command = hadal("exit 0", &["run", PROGRAM]);
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(format!("{limits} && exec \"$@\"")).arg("sh").arg(command.get_program());
        shell
            .args(command.get_args())
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.output().unwrap()
    };
    assert_says(&with_limits("ulimit -Sn 20"), 0, "");
    assert_says(
        &with_limits("ulimit -n 20"),
        119,
        "hadal: the limit on open files is 20 (ulimit -n), and a machine needs 128\n  \
         help: raise the hard limit (ulimit -Hn): root does so in /etc/security/limits.conf, or a service's \
         LimitNOFILE=\n",
    );
}

/// As with `HOME=/` for all but root.
fn cache_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("a.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut command = hadal("exit 0", &["run", source.to_str().unwrap()]);
    let output =
        command.env_remove("XDG_CACHE_HOME").env("HOME", "/proc").env("CC", "true").output().unwrap();
    assert_says(
        &output,
        119,
        "hadal: cannot use the cache directory /proc/.cache/hadal/programs: No such file or directory (os error 2)\n  \
         help: name a directory that you may write to: XDG_CACHE_HOME=/tmp/hadal-cache (else it is .cache in HOME)\n",
    );
    // What is no source needs no cache.
    let mut command = hadal("exit 0", &["run", PROGRAM]);
    assert_says(&command.env_remove("XDG_CACHE_HOME").env("HOME", "/proc").output().unwrap(), 0, "");
}

/// A library that the caller's environment names is visible to the program, and QEMU is not made to load it.
fn preloaded_libraries_are_the_programs() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    // Any library will do.
    let libc = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"];
    let Some(libm) = libc.iter().find(|file| fs::metadata(file).is_ok()) else {
        eprintln!("skipped: no libm.so.6 on this machine");
        return;
    };
    let library = dir.path().join("preloaded.so");
    fs::copy(libm, &library).unwrap();
    for by_option in [false, true] {
        let setting = format!("LD_PRELOAD={}", library.display());
        let args = if by_option { vec!["run", "--env", &setting, PROGRAM] } else { vec!["run", PROGRAM] };
        let mut command = hadal("config", &args);
        command.current_dir("/");
        if !by_option {
            command.env("LD_PRELOAD", &library);
        }
        let output = command.output().unwrap();
        let stdout = text(&output.stdout);
        let mount = format!("{0} ro", dir.path().canonicalize().unwrap().display());
        assert!(stdout.contains(&format!("env {setting}\n")), "{stdout}{}", text(&output.stderr));
        assert!(stdout.contains(&mount), "{mount} is not in:\n{stdout}");
        assert!(stdout.contains("preloaded into QEMU: no\n"), "{stdout}");
    }
}

fn input_below_tmp() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let file = dir.path().join("input");
    fs::write(&file, "x").unwrap();
    let run = |behaviour| {
        let args = ["run", PROGRAM, file.to_str().unwrap()];
        hadal(behaviour, &args).current_dir("/").output().unwrap()
    };
    assert_says(
        &run("exit 3"),
        3,
        &format!(
            "hadal: the program did not see {0}/input of this host: its /tmp is its own, in memory\n  \
             help: --mount {0}:{0} shows it the host's {0}\n",
            dir.path().display()
        ),
    );
    assert_says(&run("exit 0"), 0, "");
}

/// A source that includes `hadal/hrt.h` becomes a Linux program with its library.
fn sources_with_hrt_are_compiled() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: no C compiler on this machine");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("own.h"), "#include <hadal/hrt.h>\n").unwrap();
    let source = dir.path().join("a.c");
    fs::write(&source, "#include \"own.h\"\nint main(void) { return hrt_cpu_count() > 0 ? 9 : 1; }\n")
        .unwrap();
    let cache = dir.path().join("cache");
    let mut command = hadal("exit 0", &["run", source.to_str().unwrap()]);
    let output = command.env("XDG_CACHE_HOME", &cache).output().unwrap();
    // A busy machine takes long enough for a line that tells how far it has come.
    let said: Vec<String> = text(&output.stderr)
        .lines()
        .filter(|line| !line.contains("] compiles "))
        .map(str::to_owned)
        .collect();
    assert_eq!((said.as_slice(), output.status.code()), ([].as_slice(), Some(0)));
    let entry = fs::read_dir(cache.join("hadal/programs")).unwrap().next().unwrap().unwrap();
    assert_eq!(Command::new(entry.path().join("a")).status().unwrap().code(), Some(9));
}
