// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the `hadal` command against a QEMU that this very file plays: it speaks the control channel and behaves, or
//! misbehaves, as the test says. So every way in which a machine can end is tested without a kernel.
//!
//! Started with `FAKE_QEMU` in the environment, the binary is the fake; otherwise it is the test driver.

mod fake;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fake::driver::{self, PROGRAM, assert_fails, hadal, run, text};
use hadal_abi::status;

fn main() -> ExitCode {
    driver::main(&[
        ("status_is_the_programs", status_is_the_programs),
        ("streams_are_separate_and_binary_clean", streams_are_separate_and_binary_clean),
        ("input_is_read_when_asked", input_is_read_when_asked),
        ("configuration_reaches_the_kernel", configuration_reaches_the_kernel),
        ("interrupt_is_forwarded", interrupt_is_forwarded),
        ("second_interrupt_ends_the_machine", second_interrupt_ends_the_machine),
        ("closed_output_ends_the_program", closed_output_ends_the_program),
        ("kernel_panic_is_reported", kernel_panic_is_reported),
        ("panic_of_a_stuck_kernel_is_reported", panic_of_a_stuck_kernel_is_reported),
        ("kernel_failure_is_reported", kernel_failure_is_reported),
        ("lost_machines_are_errors", lost_machines_are_errors),
        ("damaged_channel_is_an_error", damaged_channel_is_an_error),
        ("qemu_that_fails_is_quoted", qemu_that_fails_is_quoted),
        ("missing_qemu_names_the_remedy", missing_qemu_names_the_remedy),
        ("time_limit_lists_threads", time_limit_lists_threads),
        ("time_limit_of_a_hung_kernel", time_limit_of_a_hung_kernel),
        ("killed_command_leaves_no_machine", killed_command_leaves_no_machine),
        ("counters_are_printed", counters_are_printed),
        ("counters_are_json", counters_are_json),
        ("calls_are_counted_or_chosen", calls_are_counted_or_chosen),
        ("trace_is_written_however_the_run_ends", trace_is_written_however_the_run_ends),
        ("files_are_opened_before_the_run", files_are_opened_before_the_run),
        ("log_goes_where_it_was_asked", log_goes_where_it_was_asked),
        ("bad_programs_are_clear_errors", bad_programs_are_clear_errors),
        ("bad_options_are_usage_errors", bad_options_are_usage_errors),
        ("source_files_are_compiled", source_files_are_compiled),
        ("broken_source_is_an_error", broken_source_is_an_error),
        ("dry_run_prints_the_line", dry_run_prints_the_line),
        ("machine_report_goes_to_standard_output", machine_report_goes_to_standard_output),
        ("another_root_is_the_whole_tree", another_root_is_the_whole_tree),
        ("missing_library_is_a_warning", missing_library_is_a_warning),
        ("image_names_missing_tools", image_names_missing_tools),
        ("image_holds_kernel_and_program", image_holds_kernel_and_program),
        ("completions_name_the_options", completions_name_the_options),
    ])
}

fn status_is_the_programs() {
    let output = run("exit 7", &[PROGRAM]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(run("signal 11", &[PROGRAM]).status.code(), Some(139));
}

fn streams_are_separate_and_binary_clean() {
    let output = run("binary", &[PROGRAM]);
    assert_eq!(output.status.code(), Some(0));
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    for round in 0..fake::BINARY_ROUNDS {
        stdout.extend(fake::binary_piece(round));
        stderr.extend(fake::binary_piece(round + 1));
    }
    assert!(output.stdout == stdout, "standard output differs");
    assert!(output.stderr == stderr, "standard error differs");
}

fn input_is_read_when_asked() {
    let mut child = hadal("echo", &["run", PROGRAM]).stdin(Stdio::piped()).spawn().unwrap();
    let input: Vec<u8> = (0..300_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = input.clone();
    let writer = thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == input, "{} of {} bytes came back", output.stdout.len(), input.len());
    assert_eq!(output.status.code(), Some(0));
}

fn configuration_reaches_the_kernel() {
    let cwd = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
    let output = hadal(
        "config",
        &["run", "--env", "A=1", "--env=HOME=/h", "--log", "mem=debug", PROGRAM, "--cpus", "x y"],
    )
    .current_dir(&cwd)
    .output()
    .unwrap();
    let stdout = text(&output.stdout);
    for line in [
        "arg /bin/true",
        "arg --cpus",
        "arg x y",
        "env A=1",
        "env HOME=/h",
        "mount hadal0 / ro",
        &format!("mount hadal1 {} rw", cwd.display()),
        &format!("cwd {}", cwd.display()),
        "log mem=debug",
        "stdin Null",
        "stdout Pipe",
        "clock ok",
    ] {
        assert!(stdout.lines().any(|l| l == line), "{line:?} is not in:\n{stdout}{}", text(&output.stderr));
    }
    assert_eq!(stdout.lines().filter(|l| l.starts_with("env HOME=")).count(), 1);
}

/// Waits until the fake has said that it is up.
fn wait_for_output(child: &mut Child) {
    let mut byte = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn interrupt_is_forwarded() {
    let mut child = hadal("end on signal", &["run", PROGRAM]).spawn().unwrap();
    wait_for_output(&mut child);
    send(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut child = hadal("end on signal", &["run", PROGRAM]).spawn().unwrap();
    wait_for_output(&mut child);
    send(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

fn second_interrupt_ends_the_machine() {
    let mut child = hadal("ignore signals", &["run", PROGRAM]).spawn().unwrap();
    wait_for_output(&mut child);
    send(&child, "INT");
    thread::sleep(Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "the first interrupt is the program's");
    send(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

fn closed_output_ends_the_program() {
    let mut child = hadal("endless output", &["run", PROGRAM]).spawn().unwrap();
    wait_for_output(&mut child);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
}

fn kernel_panic_is_reported() {
    let output = run("panic", &[PROGRAM]);
    assert_fails(
        &output,
        status::KERNEL_PANIC,
        &["hadal: the kernel panicked", "page fault in the idle loop", "rip"],
    );
}

fn panic_of_a_stuck_kernel_is_reported() {
    let output = run("panic and hang", &[PROGRAM]);
    assert_fails(&output, status::KERNEL_PANIC, &["page fault in the idle loop"]);
}

fn kernel_failure_is_reported() {
    assert_fails(&run("kernel failure", &[PROGRAM]), status::KERNEL_PANIC, &["no memory for CPU 3"]);
    assert_fails(&run("cannot start", &[PROGRAM]), status::CANNOT_START, &["address 0x400000 is taken"]);
}

fn lost_machines_are_errors() {
    assert_fails(&run("die", &[PROGRAM]), status::LOST, &["status 1", "last words"]);
    assert_fails(&run("reset", &[PROGRAM]), status::LOST, &["triple fault"]);
    assert_fails(&run("silent end", &[PROGRAM]), status::LOST, &["without a word"]);
}

fn damaged_channel_is_an_error() {
    assert_fails(&run("garbage", &[PROGRAM]), status::LOST, &["control channel is damaged"]);
}

fn qemu_that_fails_is_quoted() {
    assert_fails(&run("refuse:qemu: no such option\\n", &[PROGRAM]), status::QEMU, &["qemu: no such option"]);
}

fn missing_qemu_names_the_remedy() {
    let output = run("", &["--qemu", "no-such-qemu", PROGRAM]);
    assert_fails(&output, status::QEMU, &["no-such-qemu", "apt-get install qemu-system-x86"]);
}

fn time_limit_lists_threads() {
    let output = run("list threads when asked", &["--timeout", "200ms", PROGRAM]);
    assert_fails(&output, status::TIMEOUT, &["time limit of 0.2 s passed", "thread 1 waits in futex"]);
}

fn time_limit_of_a_hung_kernel() {
    let started = Instant::now();
    let output = run("hang", &["--timeout", "200ms", PROGRAM]);
    assert_fails(&output, status::TIMEOUT, &["did not answer", "booting"]);
    assert!(started.elapsed() < Duration::from_secs(10));
}

fn killed_command_leaves_no_machine() {
    let mut child = hadal("print pid and hang", &["run", PROGRAM]).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    let machine = Path::new("/proc").join(line.trim());
    assert!(machine.exists(), "{line:?} is not a process");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let deadline = Instant::now() + Duration::from_secs(5);
    let is_running = || fs::read_to_string(machine.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(Instant::now() < deadline, "the machine outlived the command");
        thread::sleep(Duration::from_millis(5));
    }
}

fn counters_are_printed() {
    let output = run("stats", &["--stats", PROGRAM]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("  system calls  42\n"), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("CPU 1"), "{}", text(&output.stderr));
    let output = run("stats", &["--stats=cpu", PROGRAM]);
    assert!(text(&output.stderr).contains("  system calls     40      2\n"), "{}", text(&output.stderr));
}

fn counters_are_json() {
    let expected = "{\"format\":1,\"counters\":{\"system calls\":{\"total\":42,\"by_cpu\":[40,2]}}}\n";
    let output = run("stats", &["--stats=json", PROGRAM]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), expected));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stats.json");
    let option = format!("--stats-file={}", file.display());
    let output = run("stats", &[&option, PROGRAM]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    // They are there however the run ends, if the kernel could send them.
    let output = run("stats and panic", &[&option, "--stats", PROGRAM]);
    assert_fails(&output, status::KERNEL_PANIC, &["  system calls  42\n"]);
    assert!(fs::read_to_string(&file).unwrap().contains("{\"total\":42}"));
    let output = run("exit 0", &["--stats-file", "/no/such/directory/file", PROGRAM]);
    assert_fails(&output, status::CANNOT_START, &["--stats-file /no/such/directory/file"]);
    let output = run("panic", &[&option, PROGRAM]);
    assert_fails(&output, status::KERNEL_PANIC, &["the machine ended without sending its counters"]);
}

fn calls_are_counted_or_chosen() {
    let output = run("call counts", &["--strace=count", PROGRAM]);
    assert_fails(
        &output,
        3,
        &["100.00    0.000001           0         4         1 read\n", "         1           exit_group\n"],
    );
    for (list, wrong, parts) in [
        ("opnat", "opnat", ["no system call opnat", "is openat meant?"]),
        ("%fil", "%fil", ["no class of system calls %fil", "is %file meant?"]),
        ("read,!write", "read,!write", ["stands before the whole list", "!read,write"]),
    ] {
        let output = run("exit 0", &[&format!("--strace={list}"), PROGRAM]);
        assert_fails(&output, status::USAGE, &[&format!("invalid value '{wrong}'")]);
        assert_fails(&output, status::USAGE, &parts);
    }
    let config = run("config", &["--strace=!read,%signal,count", PROGRAM]);
    assert!(
        text(&config.stdout).lines().any(|line| line == "traced Counts: 1 but not 0, not 13"),
        "{config:?}"
    );
}

fn trace_is_written_however_the_run_ends() {
    for (behaviour, status) in [("trace", 0), ("trace and panic", status::KERNEL_PANIC)] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("trace.json");
        let output = run(behaviour, &["--trace", file.to_str().unwrap(), PROGRAM]);
        assert_eq!(output.status.code(), Some(status.into()), "{}", text(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let events = json["traceEvents"].as_array().unwrap();
        assert!(events.iter().any(|event| event["name"] == "hello"), "{json}");
        assert_eq!(json["otherData"]["lost records"], 2);
        assert!(text(&output.stderr).contains("3 records"), "{}", text(&output.stderr));
    }
    let output = run("damaged trace", &["--trace", "/dev/null", PROGRAM]);
    assert_eq!(output.status.code(), Some(status::LOST.into()), "{}", text(&output.stderr));
}

fn files_are_opened_before_the_run() {
    for option in ["--trace", "--profile"] {
        let output = run("exit 3", &[option, "/no/such/directory/file", PROGRAM]);
        assert_eq!(output.status.code(), Some(status::CANNOT_START.into()));
        let message = text(&output.stderr);
        assert!(message.contains(option) && message.contains("help:"), "{message}");
    }
    let dir = tempfile::tempdir().unwrap();
    let name = dir.path().join("empty.svg");
    let output = run("exit 3", &["--profile", name.to_str().unwrap(), PROGRAM]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("the profile is empty"), "{}", text(&output.stderr));
    assert!(dir.path().join("empty.folded").is_file());
}

fn log_goes_where_it_was_asked() {
    let output = run("exit 0", &["--log", "info", PROGRAM]);
    assert!(text(&output.stderr).contains("booting"), "{}", text(&output.stderr));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log");
    let output = run("exit 0", &["--log-file", file.to_str().unwrap(), PROGRAM]);
    assert_eq!(text(&output.stderr), "");
    assert!(fs::read_to_string(&file).unwrap().contains("booting"));
}

fn bad_programs_are_clear_errors() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &[u8]| {
        let file = dir.path().join(name);
        fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let whole = fs::read(PROGRAM).unwrap();
    let mut arm = whole.clone();
    arm[18] = 183;
    let mut bits32 = whole.clone();
    (bits32[4], bits32[18]) = (1, 3);
    let mut lost_interpreter = whole.clone();
    let at = lost_interpreter.windows(6).position(|w| w == b"/lib64").expect("a dynamic program");
    lost_interpreter[at..at + 6].copy_from_slice(b"/lob64");
    for (file, part) in [
        (put("empty", b""), "is empty"),
        (put("text", b"hello\n"), "is not an ELF program"),
        (put("script", b"#!/no/such/sh\n"), "interpreter /no/such/sh was not found"),
        (put("cut", &whole[..whole.len() / 4]), "truncated"),
        (put("arm", &arm), "aarch64"),
        (put("bits32", &bits32), "32-bit program (i386)"),
        (put("interpreter", &lost_interpreter), "interpreter /lob64/ld-linux-x86-64.so.2 was not found"),
        ("/proc/version".to_owned(), "outside the file tree"),
    ] {
        let output = run("exit 0", &[&file]);
        assert_fails(&output, status::CANNOT_START, &[part, &file]);
        assert_eq!(output.stdout, b"");
    }
}

fn bad_options_are_usage_errors() {
    for (args, part) in [
        (&["--cpus", "0"][..], "1 to 255"),
        (&["--cpus", "256"], "1 to 255"),
        (&["--memory", "1M"], "at least 64 MiB"),
        (&["--mount", "x"], "HOST:GUEST"),
        (&["--timeout", "soon"], "expected a time"),
    ] {
        assert_fails(&run("exit 0", &[args, &[PROGRAM]].concat()), status::USAGE, &[part]);
    }
    assert_fails(&run("exit 0", &["--no-such-option", PROGRAM]), status::USAGE, &["unexpected argument"]);
    assert_fails(
        &run("exit 0", &["--cpus", "2", "--numa", "3", PROGRAM]),
        status::CANNOT_START,
        &["more nodes than CPUs"],
    );
}

fn compiler_is_missing() -> bool {
    let is_missing = Command::new("cc").arg("--version").output().is_err();
    if is_missing {
        eprintln!("skipped: no C compiler on this machine");
    }
    is_missing
}

fn source_files_are_compiled() {
    if compiler_is_missing() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("my prog.c");
    fs::write(&source, "#include \"n.h\"\nint main(void) { return N; }\n").unwrap();
    fs::write(dir.path().join("n.h"), "#define N 1\n").unwrap();
    let program = || {
        let output = hadal("config", &["run", "--cflags", "-DX='a b' -O1", source.to_str().unwrap(), "arg"])
            .env("XDG_CACHE_HOME", dir.path().join("cache"))
            .output()
            .unwrap();
        let stdout = text(&output.stdout);
        assert!(stdout.contains("\narg arg\n"), "{stdout}{}", text(&output.stderr));
        // The cache lies below /tmp, which is the guest's own, so the guest sees the program elsewhere.
        assert!(stdout.contains("program /tmp/hadal-program/my prog\n"), "{stdout}");
        let programs = dir.path().join("cache/hadal/programs");
        let entry = fs::read_dir(programs).unwrap().next().unwrap().unwrap();
        let program = entry.path().join("my prog");
        let written = fs::metadata(&program).unwrap().modified().unwrap();
        (Command::new(&program).status().unwrap().code(), written)
    };
    let first = program();
    assert_eq!(first.0, Some(1));
    assert_eq!(program(), first, "the second run compiled again");
    fs::write(dir.path().join("n.h"), "#define N 12\n").unwrap();
    assert_eq!(program().0, Some(12), "a changed header was not noticed");
}

fn broken_source_is_an_error() {
    if compiler_is_missing() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("broken.c");
    fs::write(&source, "int main(void) { return }\n").unwrap();
    let output = run("exit 0", &[source.to_str().unwrap()]);
    assert_fails(&output, status::COMPILE, &["broken.c: does not compile", "error:"]);
}

fn dry_run_prints_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let output = hadal("exit 1", &["run", "--dry-run", "--cpus", "3", "--memory", "1G", PROGRAM])
        .env("XDG_CACHE_HOME", dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let line = text(&output.stdout);
    assert_eq!(line.lines().count(), 1);
    for part in ["-smp 3,", "-m 1024M", "mount_tag=hadal0", "-kernel ", "stdio,id=serial"] {
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
    let module = line.split_whitespace().skip_while(|word| *word != "-initrd").nth(1).unwrap();
    assert!(Path::new(module).is_file() && Path::new(module).starts_with(dir.path()), "{line}");
}

fn machine_report_goes_to_standard_output() {
    let output = hadal("report", &["machine", "--cpus", "4"]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "4 CPUs\n"));
}

fn completions_name_the_options() {
    for (shell, option) in [("bash", "--numa"), ("zsh", "--numa"), ("fish", "-l numa ")] {
        let output = hadal("", &["completions", shell]).output().unwrap();
        assert!(text(&output.stdout).contains(option), "{shell}");
        let check = Command::new(shell).arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let Ok(mut check) = check else {
            eprintln!("skipped: no {shell} on this machine to read its completions");
            continue;
        };
        check.stdin.take().unwrap().write_all(&output.stdout).unwrap();
        let checked = check.wait_with_output().unwrap();
        assert!(checked.status.success(), "{shell}: {}", text(&checked.stderr));
    }
}

fn another_root_is_the_whole_tree() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    fs::create_dir(dir.path().join("bin")).unwrap();
    // A program without interpreter needs nothing else in its tree.
    let mut program = fs::read(PROGRAM).unwrap();
    let headers = 64 + usize::from(program[56]) * 56;
    for at in (64..headers).step_by(56).filter(|at| program[*at] == 3).collect::<Vec<_>>() {
        program[at] = 0;
    }
    fs::write(dir.path().join("bin/p"), program).unwrap();
    fs::set_permissions(dir.path().join("bin/p"), fs::Permissions::from_mode(0o755)).unwrap();
    let output = hadal("config", &["run", "--root", root, "/bin/p"]).current_dir("/usr").output().unwrap();
    let stdout = text(&output.stdout);
    for line in ["program /bin/p", "mount hadal0 / ro", "cwd /"] {
        assert!(stdout.lines().any(|l| l == line), "{line:?} is not in:\n{stdout}{}", text(&output.stderr));
    }
    assert_fails(
        &run("exit 0", &["--root", root, PROGRAM]),
        status::CANNOT_START,
        &["outside the file tree", "--mount"],
    );
}

fn missing_library_is_a_warning() {
    if compiler_is_missing() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("l.c"), "int f(void) { return 0; }\n").unwrap();
    fs::write(dir.path().join("m.c"), "int f(void); int main(void) { return f(); }\n").unwrap();
    let cc = |args: &[&str]| {
        assert!(Command::new("cc").args(args).current_dir(dir.path()).status().unwrap().success())
    };
    cc(&["-shared", "-fPIC", "-o", "libgone.so", "l.c"]);
    cc(&["-o", "m", "m.c", "libgone.so", "-Wl,-rpath,$ORIGIN"]);
    let run_it = || hadal("exit 3", &["run", "./m"]).current_dir(dir.path()).output().unwrap();
    let whole = run_it();
    assert_eq!((whole.status.code(), text(&whole.stderr).as_str()), (Some(3), ""));
    fs::remove_file(dir.path().join("libgone.so")).unwrap();
    let warned = run_it();
    assert_eq!(warned.status.code(), Some(3));
    let stderr = text(&warned.stderr);
    assert!(
        stderr.contains("hadal: warning: ") && stderr.contains("library libgone.so was not found"),
        "{stderr}"
    );
}

fn image_names_missing_tools() {
    let output =
        hadal("", &["image", "--iso", "/dev/null", PROGRAM]).env("PATH", "/no/such/dir").output().unwrap();
    assert_fails(
        &output,
        status::CANNOT_START,
        &["grub-mkrescue", "apt-get install grub-common xorriso mtools"],
    );
}

fn image_holds_kernel_and_program() {
    if ["grub-mkrescue", "xorriso", "mformat"]
        .iter()
        .any(|tool| Command::new(tool).arg("--version").output().is_err())
    {
        eprintln!("skipped: no tools for images on this machine");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let iso = dir.path().join("out.iso");
    let output =
        hadal("", &["image", "--iso", iso.to_str().unwrap(), "--env", "MARK=123", PROGRAM]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let image = fs::read(&iso).unwrap();
    let contains = |part: &[u8]| image.windows(part.len()).any(|window| window == part);
    for part in
        [&b"HADALCFG"[..], b"MARK=123", b"bin/true\0", b"multiboot2 /boot/hadal-kernel.elf", b"libc.so.6\0"]
    {
        assert!(contains(part), "{} is not in the image", String::from_utf8_lossy(part));
    }
}
