// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal cc` and its relatives: program images, made by each compiler, run by the command and by QEMU alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_tests::case::{expect_in_order, expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::{Permit, arguments, hadal, hadal_command};
use hadal_tests::run::{self, Running};
use hadal_tests::{Hadal, Outcome, TestError, scratch};

use crate::suite::Suite;

/// A compiler, perhaps with Hadal's library to compile first.
const COMPILER_LIMIT: Duration = Duration::from_secs(120);
/// A boot without a command, and a short program.
const BARE_LIMIT: Duration = Duration::from_secs(60);
/// Status of QEMU when the kernel has turned the machine off.
pub(crate) const POWERED_OFF: i32 = 0;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("cc/everything", everything);
    suite.hadal("cc/static-pie", static_pie);
    suite.hadal("cc/c++", cxx);
    for cpus in [1, 4] {
        suite.hadal(format!("cc/fortran/{cpus}"), move |name| fortran(name, cpus));
    }
    for cpus in [1, 2, 4, 8] {
        suite.hadal(format!("cc/openmp/{cpus}"), move |name| openmp(name, cpus, 1));
    }
    suite.hadal("cc/openmp/numa", |name| openmp(name, 4, 2));
    suite.hadal("cc/all-of-libc", all_of_libc);
    suite.hadal("cc/objects", objects);
    suite.hadal("cc/default-name", default_name);
    suite.hadal("cc/executed", executed);
    suite.hadal("cc/response-file", response_file);
    suite.hadal("cc/own-commands", own_commands);
    suite.hadal("cc/called-by-itself", called_by_itself);
    suite.hadal("cc/linux", linux);
    suite.hadal("cc/sdk", sdk);
    suite.hadal("cc/wrong-lines", wrong_lines);
    suite.hadal("cc/parallel-first-use", parallel_first_use);
    suite.hadal("cc/large-bss", large_bss);
    suite.hadal("cc/no-faults", no_faults);
    suite.hadal("cc/fault-report", fault_report);
    suite.hadal("cc/modules", modules);
    suite.hadal("cc/bare", bare);
    for cpus in ["1", "2"] {
        suite.hadal(format!("cc/bare-interrupted/{cpus}"), move |name| bare_interrupted(name, cpus));
    }
    suite.hadal("cc/bare-stays", bare_stays);
    suite.hadal("cc/bad-images", bad_images);
    suite.hadal("cc/iso", iso);
}

/// A test program's source.
fn source(name: &str) -> String {
    scratch::workspace().join("tests/programs/cc").join(name).to_string_lossy().into_owned()
}

/// Runs `hadal` with these arguments and settings of the environment.
fn tool(args: &[&str], cwd: &Path, env: &[(&str, &Path)]) -> Result<Outcome, TestError> {
    let mut command = Command::new(hadal_command()?);
    command.args(args).current_dir(cwd).envs(env.iter().copied());
    run::run(command, b"", COMPILER_LIMIT)
}

/// Compiles a source to an image in the directory.
pub(crate) fn image(
    directory: &Path,
    compiler: &str,
    options: &[&str],
    program: &str,
) -> Result<PathBuf, TestError> {
    let output = directory.join("program.hadal");
    let (from, to) = (source(program), output.to_string_lossy());
    let line: Vec<&str> = [&[compiler, "-O1", "-g", &from, "-o", &to], options].concat();
    expect_status(&tool(&line, directory, &[])?, 0)?;
    Ok(output)
}

fn run_image(image: &Path, cpus: u32) -> Result<Outcome, TestError> {
    Hadal::new(cpus).run(image, &[])
}

fn everything(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "everything.c")?;
    let outcome = Hadal::new(2)
        .env("SETTING", "two words")
        .stdin(b"one\ntwo\n")
        .cwd(&directory)
        .run(&image, &arguments(&["--cpus", "a b"]))?;
    expect_status(&outcome, 43)?;
    expect_stdout(
        &outcome,
        "exe program.hadal\nargument --cpus\nargument a b\nsetting two words\ninput one\ninput two\n",
    )?;
    expect_texts(&outcome, &["to standard error"])?;
    match fs::read_to_string(directory.join("written")) {
        Ok(text) if text == "by the program\n" => Ok(()),
        other => Err(wrong(&format!("the file that the program wrote: {other:?}"), &outcome)),
    }
}

fn static_pie(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    for option in ["-static-pie", "-pie"] {
        let image = image(&directory, "cc", &[option, "-fPIE"], "everything.c")?;
        let outcome = Hadal::new(1).cwd(&directory).run(&image, &[])?;
        expect_status(&outcome, 41)?;
    }
    Ok(())
}

fn cxx(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "c++", &["-std=c++20", "-pthread"], "library.cc")?;
    let outcome = run_image(&image, 2)?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "left inner\nleft outer\ncaught thrown\n50 61 72 83 5\n")?;
    // The language that is named holds for sources, not for the libraries behind them.
    for option in ["-x", "-xc++"] {
        let options: &[&str] = if option == "-x" { &["-x", "c++"] } else { &[option] };
        let output = directory.join("named.hadal");
        let (from, to) = (source("library.cc"), output.to_string_lossy());
        let line = [&["c++", "-std=c++20", "-pthread"], options, &[&from, "-o", &to]].concat();
        expect_status(&tool(&line, &directory, &[])?, 0)?;
    }
    Ok(())
}

fn fortran(name: &str, cpus: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    for options in [&["-fopenmp"][..], &[]] {
        let image = image(&directory, "fc", options, "sum.f90")?;
        let outcome = run_image(&image, cpus)?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "sum   21097.4559\n")?;
    }
    Ok(())
}

fn openmp(name: &str, cpus: u32, zones: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    for threads in ["--pthread=hadal", "--pthread=system"] {
        let image = image(&directory, "cc", &["-fopenmp", threads, "-lm"], "team.c")?;
        let outcome = Hadal::new(cpus).with("--numa", zones.to_string()).run(&image, &[])?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, &format!("members {cpus} of {cpus}, right\n"))?;
    }
    Ok(())
}

/// Every function of libc goes with Hadal's threads: libc calls some by names of its own, whose files must not come along.
fn all_of_libc(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let script = r#"nm -g --defined-only "$(cc -print-file-name=libc.a)" | awk '
        NF == 3 && $2 ~ /[TWi]/ && $3 !~ /^_/ && !seen[$3]++ {
            printf "extern char f%d[] __asm__(\"%s\");\n", count, $3
            table = table "f" count++ ", "
        }
        END { print "void *volatile table[] = {" table "};\nint main(void) { return sizeof table < 8 * 1000; }" }'"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let outcome = run::run(command, b"", BARE_LIMIT)?;
    fs::write(directory.join("all.c"), &outcome.stdout).map_err(TestError::io("all.c"))?;
    let linked = tool(&["cc", "-pthread", "all.c", "-o", "all.hadal"], &directory, &[])?;
    expect_status(&linked, 0)?;
    expect_status(&run_image(&directory.join("all.hadal"), 2)?, 0)
}

fn objects(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    for part in ["part_main", "part_value"] {
        let made = tool(&["cc", "-c", &source(&format!("{part}.c"))], &directory, &[])?;
        expect_status(&made, 0)?;
        if !directory.join(part).with_extension("o").is_file() {
            return Err(wrong(&format!("no {part}.o was written"), &made));
        }
    }
    expect_status(&tool(&["cc", "part_main.o", "part_value.o", "-o", "parts"], &directory, &[])?, 0)?;
    expect_stdout(&run_image(&directory.join("parts"), 1)?, "parts 21\n")?;
    // The other ways to stop before linking.
    for stop in ["-S", "-E", "-M", "-fsyntax-only"] {
        expect_status(&tool(&["cc", stop, &source("part_value.c"), "-o", "stopped"], &directory, &[])?, 0)?;
    }
    Ok(())
}

fn default_name(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    expect_status(&tool(&["cc", &source("everything.c")], &directory, &[])?, 0)?;
    let image = directory.join("a.out");
    expect_status(&Hadal::new(1).cwd(&directory).run(&image, &[])?, 41)?;
    // What is no regular file is written to, as by any compiler, and not replaced.
    let pipe = directory.join("pipe");
    expect_status(&run::run(on(Command::new("mkfifo"), &pipe), b"", BARE_LIMIT)?, 0)?;
    let reader = Running::start(on(Command::new("cat"), &pipe), b"")?;
    expect_status(&tool(&["cc", &source("everything.c"), "-o", "pipe"], &directory, &[])?, 0)?;
    let read = reader.finish(BARE_LIMIT)?.stdout;
    match read.starts_with(b"\x7fELF") && !pipe.is_file() {
        true => Ok(()),
        false => Err(TestError::Wrong(format!("{} bytes came through the pipe", read.len()))),
    }
}

/// Linux executes an image by the command that made it, or by one in PATH.
fn executed(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "everything.c")?;
    let run = |image: &Path, path: &Path| {
        let mut command = Command::new(image);
        command.args(["one", "two words"]).current_dir(&directory).env("PATH", path);
        command.env("HADAL_CPUS", "2").env("SETTING", "two words");
        let _permit = Permit::one();
        run::run(command, b"one\ntwo\n", BARE_LIMIT)
    };
    let tools = path_of("qemu-system-x86_64")?;
    let by_maker = run(&image, &tools)?;
    expect_status(&by_maker, 43)?;
    // An image from elsewhere: its command is not there.
    let mut content = fs::read(&image).map_err(TestError::io("the image is gone"))?;
    let maker = hadal_command()?;
    let maker = maker.as_os_str().as_encoded_bytes();
    let at = content.windows(maker.len()).position(|window| window == maker);
    let at = at.ok_or_else(|| TestError::Wrong("the image does not name its command".into()))?;
    content[at] = b'X';
    fs::write(&image, content).map_err(TestError::io("cannot change the image"))?;
    let lost = run(&image, &tools)?;
    expect_status(&lost, 127)?;
    expect_texts(&lost, &["is a program image of Hadal, and there is no hadal command in PATH to run it"])?;
    let commands = directory.join("commands");
    fs::create_dir(&commands).map_err(TestError::io("cannot make a directory"))?;
    symlink(hadal_command()?, commands.join("hadal")).map_err(TestError::io("cannot make a link"))?;
    let path = format!("{}:{}", commands.display(), tools.display());
    let by_path = run(&image, Path::new(&path))?;
    expect_status(&by_path, 43)?;
    expect_stdout(&by_path, &by_maker.stdout_text())?;
    // As `make install-strip` does.
    let stripped = run::run(on(Command::new("strip"), &image), b"", BARE_LIMIT)?;
    expect_status(&stripped, 0)?;
    if !stripped.stderr.is_empty() {
        return Err(wrong("strip says something", &stripped));
    }
    expect_stdout(&run(&image, Path::new(&path))?, &by_maker.stdout_text())
}

/// The directory of a command.
fn path_of(command: &str) -> Result<PathBuf, TestError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directory = std::env::split_paths(&path).find(|directory| directory.join(command).is_file());
    directory.ok_or_else(|| TestError::Wrong(format!("{command} is not in PATH")))
}

/// A command on one file.
fn on(mut command: Command, file: &Path) -> Command {
    command.arg(file);
    command
}

fn response_file(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let line = format!("-O1 '{}' -o \"from file.hadal\"", source("everything.c"));
    fs::write(directory.join("line"), line).map_err(TestError::io("cannot write the response file"))?;
    expect_status(&tool(&["cc", "@line"], &directory, &[])?, 0)?;
    expect_status(&Hadal::new(1).cwd(&directory).run(&directory.join("from file.hadal"), &[])?, 41)
}

/// The commands under names of their own; `CC=hadal-cc` in the environment is no endless circle.
fn own_commands(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let hadal = hadal_command()?;
    for (command, program) in
        [("hadal-cc", "everything.c"), ("hadal-c++", "library.cc"), ("hadal-fc", "sum.f90")]
    {
        let mut compiler = Command::new(hadal.with_file_name(command));
        compiler.args([&source(program), "-o", "own.hadal"]).current_dir(&directory);
        compiler.env("CC", "hadal-cc").env("CXX", hadal.with_file_name("hadal-c++")).env("FC", "hadal-fc");
        expect_status(&run::run(compiler, b"", COMPILER_LIMIT)?, 0)?;
        if !directory.join("own.hadal").is_file() {
            return Err(TestError::Wrong(format!("{command} wrote no image")));
        }
    }
    // Under a name that nobody knows, too.
    let other = directory.join("other");
    symlink(&hadal, &other).map_err(TestError::io("other"))?;
    let mut compiler = Command::new(&other);
    compiler.args(["cc", &source("everything.c"), "-o", "other.hadal"]).current_dir(&directory);
    compiler.env("CC", format!("{} cc", other.display()));
    expect_status(&run::run(compiler, b"", COMPILER_LIMIT)?, 0)
}

/// A compiler that is a script which calls the command: `make CC=script` sets the variable for the command, too.
fn called_by_itself(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let script = directory.join("mycc");
    let text = format!("#!/bin/sh\nexec {} cc \"$@\"\n", hadal_command()?.display());
    fs::write(&script, text).map_err(TestError::io("mycc"))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&script, executable).map_err(TestError::io("mycc"))?;
    let outcome = tool(&["cc", "-c", &source("everything.c")], &directory, &[("CC", &script)])?;
    if outcome.status == 0 {
        return Err(wrong("a compiler that calls hadal compiled", &outcome));
    }
    expect_texts(
        &outcome,
        &["hadal was called by the compiler that it calls", "let CC name the compiler itself"],
    )
}

fn linux(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    expect_status(&tool(&["cc", "--linux", &source("modules.c"), "-o", "program"], &directory, &[])?, 0)?;
    let program = directory.join("program");
    fs::write(directory.join("data"), "abc").map_err(TestError::io("cannot write the module"))?;
    let mut command = Command::new(&program);
    command.env("HRT_MODULES", "one=data").env("HRT_COMMAND_LINE", "of Linux").current_dir(&directory);
    let expected = |line: &str| format!("module one, 3 bytes, sum 96354\ncommand line '{line}'\n");
    expect_stdout(&run::run(command, b"", BARE_LIMIT)?, &expected("of Linux"))?;
    let data = format!("one={}", directory.join("data").display());
    let run = Hadal::new(1).with("--module", data).with("--append", "of Hadal");
    expect_stdout(&run.run(&program, &[])?, &expected("of Hadal"))
}

fn sdk(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    expect_status(&tool(&["sdk", "sdk"], &directory, &[])?, 0)?;
    for file in ["include/hadal/hrt.h", "lib/libhrt.a", "lib/libhrt-linux.a", "lib/pkgconfig/hadal-hrt.pc"] {
        if !directory.join("sdk").join(file).is_file() {
            return Err(TestError::Wrong(format!("the SDK has no {file}")));
        }
    }
    // What any build system does with it: compile and link as for Linux, then pack.
    let mut compiler = Command::new("gcc");
    compiler.args(["-Isdk/include", &source("modules.c"), "-static", "-o", "linked", "sdk/lib/libhrt.a"]);
    compiler.current_dir(&directory);
    expect_status(&run::run(compiler, b"", COMPILER_LIMIT)?, 0)?;
    expect_status(&tool(&["pack", "linked", "-o", "packed.hadal"], &directory, &[])?, 0)?;
    expect_stdout(&run_image(&directory.join("packed.hadal"), 1)?, "command line ''\n")
}

fn wrong_lines(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = source("everything.c");
    let broken = directory.join("broken.c");
    fs::write(&broken, "int main(void) { return x; }\n").map_err(TestError::io("cannot write a source"))?;
    let broken = broken.to_string_lossy();
    type Wrong<'a> = (&'a [&'a str], &'a [(&'a str, &'a Path)], i32, &'a str);
    let cases: [Wrong<'_>; 9] = [
        (&["-shared", &program], &[], 2, "one static program"),
        (&["--pthread=mine", &program], &[], 2, "no such thread library"),
        (&[&program, "-o"], &[], 2, "-o needs a value"),
        (&["--module", "x", &program], &[], 2, "not NAME=FILE"),
        (&[&broken], &[], 1, "undeclared"),
        (&["no-such-file.c"], &[], 1, "no such file"),
        (&["-fno-such-option", &program], &[], 1, "no-such-option"),
        (&[], &[], 1, "no input files"),
        (&[&program], &[("CC", Path::new("no-such-compiler"))], 119, "no-such-compiler not found"),
    ];
    for (args, env, status, text) in cases {
        let outcome = tool(&[&["cc"], args].concat(), &directory, env)?;
        expect_status(&outcome, status)?;
        expect_texts(&outcome, &[text])?;
    }
    if directory.join("a.hadal").exists() {
        return Err(TestError::Wrong("a line that failed left an image".into()));
    }
    let version = tool(&["cc", "--version"], &directory, &[])?;
    expect_status(&version, 0)?;
    let dynamic = tool(&["pack", "/bin/ls", "-o", "ls.hadal"], &directory, &[])?;
    expect_status(&dynamic, 119)?;
    expect_texts(&dynamic, &["dynamically linked", "-static"])
}

/// Several compilers at once, none of which finds the library in the cache.
fn parallel_first_use(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let cache = directory.join("cache");
    let hadal = hadal_command()?;
    let start = |number: usize| {
        let mut command = Command::new(&hadal);
        command.args(["cc", &source("everything.c"), "-o"]).arg(format!("{number}.hadal"));
        command.current_dir(&directory).env("XDG_CACHE_HOME", &cache);
        Running::start(command, b"")
    };
    let running: Vec<Running> = (0..4).map(start).collect::<Result<_, _>>()?;
    for compiler in running {
        expect_status(&compiler.finish(COMPILER_LIMIT)?, 0)?;
    }
    let entries = fs::read_dir(cache.join("hadal/sdk")).map_err(TestError::io("cannot read the cache"))?;
    match entries.flatten().filter(|entry| entry.path().is_dir()).count() {
        1 => Ok(()),
        count => Err(TestError::Wrong(format!("the cache has {count} directories instead of 1"))),
    }
}

fn large_bss(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "large.c")?;
    let size = image.metadata().map_err(TestError::io("the image is gone"))?.len();
    if size > 16 << 20 {
        return Err(TestError::Wrong(format!("the image has {size} bytes")));
    }
    // Once with room to fill it at once, once without.
    for memory in ["3G", "1200M"] {
        let outcome = Hadal::new(1).with("--memory", memory).run(&image, &[])?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "touched 1024\n")?;
    }
    Ok(())
}

fn no_faults(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "steady.c")?;
    for (options, argument) in
        [(&[][..], "none"), (&["--first-touch"], "some"), (&["--numa", "2", "--cpus", "2"], "some")]
    {
        let run = options.iter().fold(Hadal::plain(), |run, option| run.option(option));
        let outcome = run.run(&image, &arguments(&[argument]))?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "as expected\n")?;
    }
    Ok(())
}

fn fault_report(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "fault.c")?;
    let outcome = run_image(&image, 2)?;
    expect_status(&outcome, 139)?;
    expect_texts(&outcome, &["program.hadal: Segmentation fault", "wrong_store", "caller_of_it"])
}

fn modules(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    for (file, text) in [("one", "abc"), ("two", ""), ("three", "a longer text")] {
        fs::write(directory.join(file), text).map_err(TestError::io("cannot write a module"))?;
    }
    let inside = format!("inside={}", directory.join("three").display());
    let image = image(&directory, "cc", &["--module", &inside], "modules.c")?;
    let option = |name: &str, file: &str| format!("{name}={}", directory.join(file).display());
    let outcome = Hadal::new(1)
        .with("--module", option("first", "one"))
        .with("--module", option("second", "two"))
        .with("--append", "some text")
        .run(&image, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(
        &outcome,
        "module first, 3 bytes, sum 96354\nmodule second, 0 bytes, sum 0\n\
         module inside, 13 bytes, sum 914711941\ncommand line 'some text'\n",
    )?;
    let missing = Hadal::new(1).with("--module", "x=/no/such/file").run(&image, &[])?;
    expect_status(&missing, 119)?;
    expect_texts(&missing, &["--module /no/such/file"])
}

/// QEMU without the command, as a user types it.
pub(crate) fn qemu() -> Command {
    qemu_of("q35")
}

/// The same for another kind of machine.
fn qemu_of(machine: &str) -> Command {
    let mut qemu = Command::new("qemu-system-x86_64");
    qemu.args(["-M", machine, "-cpu", "max", "-m", "1G", "-display", "none", "-serial", "stdio"]);
    qemu.args(["-no-reboot", "-monitor", "none"]);
    qemu
}

fn bare(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &["-fopenmp", "-lm"], "team.c")?;
    let _permit = Permit::one();
    // The last one has none of ACPI's fixed registers.
    for machine in ["q35", "pc", "microvm,acpi=on"] {
        let mut command = qemu_of(machine);
        command.args(["-smp", "4", "-kernel"]).arg(&image);
        let outcome = run::run(command, b"", BARE_LIMIT)?;
        expect_status(&outcome, POWERED_OFF)?;
        expect_in_order(&outcome, &["members 4 of 4, right", "the program ended with status 0"])?;
    }
    Ok(())
}

/// Ctrl-C on the serial line, for programs that do not read it.
fn bare_interrupted(name: &str, cpus: &str) -> Result<(), TestError> {
    const CTRL_C: &[u8] = b"\x03";
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "interrupted.c")?;
    let _permit = Permit::one();
    for (command_line, end) in [("", "signal 2"), ("shell", "ended by signal 2")] {
        let mut command = qemu();
        command.args(["-smp", cpus, "-append", command_line, "-kernel"]).arg(&image);
        let mut running = Running::start_typed(command)?;
        if command_line == "shell" {
            running.wait_for_output("hadal> ", BARE_LIMIT)?;
            running.type_in(b"run by-itself\r")?;
        }
        running.wait_for_output("running", BARE_LIMIT)?;
        running.type_in(CTRL_C)?;
        running.wait_for_output(end, BARE_LIMIT)?;
        if command_line == "shell" {
            running.type_in(b"halt\r")?;
        }
        expect_status(&running.finish(BARE_LIMIT)?, POWERED_OFF)?;
    }
    Ok(())
}

/// The word `stay` keeps the machine on, for its display.
fn bare_stays(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &["-fopenmp", "-lm"], "team.c")?;
    let _permit = Permit::one();
    let mut command = qemu();
    command.args(["-append", "stay", "-kernel"]).arg(&image);
    let running = Running::start(command, b"")?;
    running.wait_for_output("the machine stays on", BARE_LIMIT)?;
    match running.finish(Duration::from_secs(3)) {
        Err(TestError::Hung { .. }) => Ok(()),
        Err(other) => Err(other),
        Ok(outcome) => Err(wrong("the machine was turned off", &outcome)),
    }
}

fn bad_images(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let image = image(&directory, "cc", &[], "everything.c")?;
    let content = fs::read(&image).map_err(TestError::io("the image is gone"))?;
    let magic = content.windows(8).rposition(|window| window == b"HADALIMG");
    let payload = magic.ok_or_else(|| TestError::Wrong("the image has no payload".into()))?;
    let changed = |at: usize, value: u8| {
        let mut changed = content.clone();
        changed[at] = value;
        changed
    };
    for (wrong_content, text) in [
        (content[..content.len() - 1].to_vec(), "cut short"),
        (content[..payload].to_vec(), "cut short"),
        (content[..payload / 2].to_vec(), "hadal:"),
        (changed(payload, b'X'), "without a program"),
        (changed(payload + 16, 9), "image format 9"),
        (changed(payload + 20, 99), "another version of hadal"),
        (changed(payload + 33, 0xff), "damaged"),
    ] {
        let file = directory.join("wrong");
        fs::write(&file, wrong_content).map_err(TestError::io("cannot write an image"))?;
        let outcome = Hadal::new(1).run(&file, &[])?;
        expect_status(&outcome, 119)?;
        expect_texts(&outcome, &[text])?;
    }
    Ok(())
}

/// GRUB loads an image in the kernel's place, with modules of its own.
fn iso(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    image(&directory, "cc", &[], "modules.c")?;
    fs::write(directory.join("data"), "abc").map_err(TestError::io("cannot write a module"))?;
    let append = "the words $of grub;";
    let line = ["image", "--iso", "a.iso", "--module", "by-grub=data", "--append", append, "program.hadal"];
    expect_status(&hadal(&line, &directory, COMPILER_LIMIT)?, 0)?;
    let _permit = Permit::one();
    let mut command = qemu();
    command.arg("-cdrom").arg(directory.join("a.iso"));
    let outcome = run::run(command, b"", Duration::from_secs(150))?;
    expect_status(&outcome, POWERED_OFF)?;
    expect_in_order(
        &outcome,
        &["module by-grub, 3 bytes, sum 96354", append, "the program ended with status 0"],
    )
}
