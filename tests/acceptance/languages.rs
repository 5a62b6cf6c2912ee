// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NESL, VCODE and NDPC: sources as programs in both places, images, the prompt.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hadal_tests::case::{expect_in_order, expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::{Permit, hadal_command};
use hadal_tests::run::{self, Running};
use hadal_tests::{Hadal, Outcome, TestError, scratch};
use rustix::process::Signal;

use crate::suite::Suite;

/// The run-times are compiled on first use.
pub(crate) const COMPILER_LIMIT: Duration = Duration::from_secs(280);
const PROMPT_LIMIT: Duration = Duration::from_secs(20);
const PROMPT: &str = "nesl> ";
/// Status of a source that is wrong.
const REJECTED: i32 = hadal_abi::status::COMPILE as i32;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("languages/nesl-run", nesl_run);
    suite.hadal("languages/nesl-arguments", nesl_arguments);
    suite.hadal("languages/nesl-wrong", nesl_wrong);
    suite.hadal("languages/nesl-fails", nesl_fails);
    suite.hadal("languages/nesl-prompt", |name| nesl_prompt(name, false));
    suite.hadal_in_all("languages/nesl-prompt-empty-cache", |name| nesl_prompt(name, true));
    suite.hadal("languages/nesl-typed-ahead", nesl_typed_ahead);
    suite.hadal("languages/nesl-interrupted", nesl_interrupted);
    suite.hadal("languages/nesl-piped", nesl_piped);
    suite.hadal("languages/nesl-emit", nesl_emit);
    suite.hadal("languages/vcode-run", vcode_run);
    suite.hadal("languages/ndpc-run", ndpc_run);
    suite.hadal("languages/ndpc-arguments", ndpc_arguments);
    suite.hadal("languages/ndpc-serial", ndpc_serial);
    suite.hadal("languages/images", images);
    suite.hadal("languages/memory", memory);
}

pub(crate) fn tree(path: &str) -> PathBuf {
    scratch::workspace().join(path)
}

/// A directory with a source.
fn with_source(name: &str, file: &str, text: &str) -> Result<PathBuf, TestError> {
    let dir = scratch::empty_directory(name)?;
    write(&dir, file, text)?;
    Ok(dir)
}

pub(crate) fn write(dir: &Path, file: &str, text: &str) -> Result<(), TestError> {
    fs::write(dir.join(file), text).map_err(TestError::io(format!("writing {file}")))
}

/// Runs `hadal` without an option of a machine.
fn tool(dir: &Path, line: &[&str], stdin: &[u8]) -> Result<Outcome, TestError> {
    let mut command = Command::new(hadal_command()?);
    command.args(line).current_dir(dir);
    let _permit = Permit::one();
    run::run(command, stdin, COMPILER_LIMIT)
}

const QUICKSORT: &str = "examples/nesl/quicksort.nesl";
const SORTED: &str = "it = [-9, -9, -8, -3, 0, 5, 8, 14, 17, 19] : [int]\n";

fn nesl_run(name: &str) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    for cpus in [1, 4] {
        let outcome = Hadal::new(cpus).limit(COMPILER_LIMIT).cwd(&dir).run(&tree(QUICKSORT), &[])?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, SORTED)?;
    }
    let source = tree(QUICKSORT);
    let outcome = tool(&dir, &["run", "--place", "linux", &source.to_string_lossy()], b"")?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, SORTED)
}

fn nesl_arguments(name: &str) -> Result<(), TestError> {
    let text = "function main(s, n) = {x * n : x in s};\n";
    let dir = with_source(name, "main.nesl", text)?;
    let run = |line: &[&str]| tool(&dir, &[&["run", "--place", "linux"], line].concat(), b"");
    let outcome = run(&["main.nesl", "[1, 2, 3]", "-5"])?;
    expect_stdout(&outcome, "it = [-5, -10, -15] : [int]\n")?;
    let outcome = run(&["main.nesl", "[1, 2, 3]", "0.5"])?;
    expect_status(&outcome, REJECTED)?;
    let outcome = run(&["--memory", "64M", "main.nesl", "[1]", "2"])?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["--memory is about a machine"])?;
    write(&dir, "none.nesl", "1 + 1;\n")?;
    let outcome = run(&["none.nesl", "7"])?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["none.nesl: has no function main"])
}

fn nesl_wrong(name: &str) -> Result<(), TestError> {
    let dir = with_source(name, "wrong.nesl", "function g(x) = x + 2.0;\ng(1);\n")?;
    for line in [
        &["run", "wrong.nesl"][..],
        &["cc", "wrong.nesl", "-o", "wrong.hadal"],
        &["nesl", "--emit", "vcode", "wrong.nesl"],
    ] {
        let outcome = tool(&dir, line, b"")?;
        expect_status(&outcome, REJECTED)?;
        expect_texts(&outcome, &["wrong.nesl:2:", "hadal: wrong.nesl: does not compile: 1 error"])?;
    }
    let outcome = tool(&dir, &["run", "missing.nesl"], b"")?;
    expect_status(&outcome, i32::from(hadal_abi::status::NOT_FOUND))
}

/// A program that fails: the position is told, and what was done before is printed.
fn nesl_fails(name: &str) -> Result<(), TestError> {
    let dir =
        with_source(name, "fails.nesl", "a = [1, 2, 3];\nfunction third(s) = s[3];\nthird(a);\nsum(a);\n")?;
    let outcome = Hadal::new(2).limit(COMPILER_LIMIT).cwd(&dir).run(Path::new("fails.nesl"), &[])?;
    expect_status(&outcome, 1)?;
    expect_stdout(&outcome, "a = [1, 2, 3] : [int]\n")?;
    expect_texts(
        &outcome,
        &["RUNTIME ERROR: Sequence reference (a[i]) out of bounds.", "in third, fails.nesl:2:"],
    )
}

/// The prompt at a terminal: definitions, values that stay, a form over two lines, an error, and its end. With an empty
/// cache the interpreter is compiled before.
fn nesl_prompt(name: &str, has_empty_cache: bool) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    let mut command = Command::new(hadal_command()?);
    command.args(["nesl", "--cpus", "2", &tree(QUICKSORT).to_string_lossy()]).current_dir(&dir);
    command.env("TERM", "xterm");
    if has_empty_cache {
        command.env("XDG_CACHE_HOME", dir.join("cache"));
    }
    let _permit = Permit::one();
    let mut running = Running::start_on_terminal(command)?;
    running.wait_for_output(PROMPT, COMPILER_LIMIT)?;
    for (typed, answer) in [
        ("x = [3, 1, 2];\r", "x = [3, 1, 2] : [int]"),
        ("{y * y :\r y in x};\r", "it = [9, 1, 4] : [int]"),
        ("x[7];\r", "out of bounds"),
        ("quicksort(x) ++ it;\r", "it = [1, 2, 3, 9, 1, 4] : [int]"),
        ("1 + 2.0;\r", "float"),
        ("sum(x);\r", "it = 6 : int"),
    ] {
        at_prompt(&running)?;
        running.type_in(typed.as_bytes())?;
        running.wait_for_output(answer, PROMPT_LIMIT)?;
    }
    at_prompt(&running)?;
    running.type_in(b"exit;\r")?;
    let outcome = running.finish(Duration::from_secs(30))?;
    expect_status(&outcome, 1)
}

/// `hadal nesl` on a terminal, at its first prompt.
fn start_prompt(name: &str) -> Result<Running, TestError> {
    let dir = scratch::empty_directory(name)?;
    let mut command = Command::new(hadal_command()?);
    command.args(["nesl", "--cpus", "2"]).current_dir(&dir).env("TERM", "xterm");
    let running = Running::start_on_terminal(command)?;
    running.wait_for_output(PROMPT, COMPILER_LIMIT)?;
    Ok(running)
}

/// Lines that are typed while a form is evaluated are taken one after another, without another key.
fn nesl_typed_ahead(name: &str) -> Result<(), TestError> {
    let _permit = Permit::one();
    let mut running = start_prompt(name)?;
    running.type_in(b"function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);\r")?;
    running.wait_for_output("fib = fn : int -> int", PROMPT_LIMIT)?;
    at_prompt(&running)?;
    running.type_in(b"fib(28);\r")?;
    running.wait_for_output("fib(28);", PROMPT_LIMIT)?;
    // So that it is being evaluated.
    thread::sleep(Duration::from_millis(200));
    running.type_in(b"1000 + 1;\r1000 +\r 2;\r1000 + 3;\rexit;\r")?;
    let outcome = running.finish(PROMPT_LIMIT)?;
    expect_status(&outcome, 0)?;
    let answers = ["it = 317811 : int", "it = 1001 : int", "it = 1002 : int", "it = 1003 : int"];
    expect_in_order(&outcome, &answers)
}

/// Ctrl-C ends an evaluation; what was defined stays, and values that went with the machine are said to be gone.
fn nesl_interrupted(name: &str) -> Result<(), TestError> {
    let _permit = Permit::one();
    let mut running = start_prompt(name)?;
    for (typed, answer) in [
        ("x = [4, 5];\r", "x = [4, 5] : [int]"),
        ("function fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);\r", "fib = fn : int -> int"),
        ("fib(44);\r", "fib(44);"),
        ("", "hadal: interrupted; another one starts"),
        ("fib(10);\r", "it = 55 : int"),
        ("sum(x);\r", "this uses a value that went with the machine"),
        ("x = [6];\r", "x = [6] : [int]"),
        ("sum(x);\r", "it = 6 : int"),
    ] {
        match typed {
            "" => {
                // So that it is being evaluated when the signal comes.
                thread::sleep(Duration::from_millis(500));
                running.signal_group(Signal::INT);
            }
            typed => {
                at_prompt(&running)?;
                running.type_in(typed.as_bytes())?;
            }
        }
        running.wait_for_output(answer, PROMPT_LIMIT)?;
    }
    at_prompt(&running)?;
    running.type_in(b"exit;\r")?;
    expect_status(&running.finish(Duration::from_secs(30))?, 1)
}

/// Waits until the last thing on the terminal is the prompt, as a person does.
fn at_prompt(running: &Running) -> Result<(), TestError> {
    let deadline = Instant::now() + PROMPT_LIMIT;
    while running.output().rsplit('\n').next().is_none_or(|line| !line.contains(PROMPT)) {
        if Instant::now() > deadline {
            return Err(TestError::Wrong(format!("no prompt after:\n{}", running.output())));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Without a terminal only answers are printed, and a form that fails does not keep the next ones from being evaluated.
fn nesl_piped(name: &str) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    for place in ["kernel", "linux"] {
        let line = ["nesl", "--place", place];
        let outcome = tool(&dir, &line, b"function sq(x) = x * x; a = [1, 2]; {sq(x) : x in a}$ a ++ [3];")?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, "a = [1, 2] : [int]\nit = [1, 4] : [int]\nit = [1, 2, 3] : [int]\n")?;
        let outcome = tool(&dir, &line, b"[1, 2]; 1 / 0; nothing; \"still\";")?;
        expect_status(&outcome, 1)?;
        expect_stdout(&outcome, "it = [1, 2] : [int]\nit = \"still\" : [char]\n")?;
        expect_texts(&outcome, &["Divide by zero.", "nothing"])?;
    }
    let outcome = tool(&dir, &["nesl", "--place", "linux", "--memory", "64M"], b"1;")?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["--memory is about a machine"])
}

/// What is emitted runs on any interpreter: here on ours, which prints the value for the comments in it.
fn nesl_emit(name: &str) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    let outcome = tool(&dir, &["nesl", "--emit", "vcode", &tree(QUICKSORT).to_string_lossy()], b"")?;
    expect_status(&outcome, 0)?;
    let text = outcome.stdout_text();
    write(&dir, "with.vcode", &text)?;
    // Without the comments it is what every interpreter sees.
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, comment)) = rest.split_once("{hadal") {
        plain.push_str(before);
        rest = comment.split_once('}').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    write(&dir, "without.vcode", &plain)?;
    for (file, expected) in
        [("with.vcode", SORTED), ("without.vcode", "[ 10 ]\n( -9 -9 -8 -3 0 5 8 14 17 19 )\n")]
    {
        let outcome = tool(&dir, &["run", "--place", "linux", file], b"")?;
        expect_stdout(&outcome, expected)?;
    }
    Ok(())
}

fn vcode_run(name: &str) -> Result<(), TestError> {
    let text = "FUNC MAIN CONST INT (1 2 3 4) CONST INT 4 MAKE_SEGDES +_SCAN INT CONST FLOAT 1.5 RET\n";
    let dir = with_source(name, "scan.vcode", text)?;
    let outcome = Hadal::new(2).limit(COMPILER_LIMIT).cwd(&dir).run(Path::new("scan.vcode"), &[])?;
    expect_stdout(&outcome, "( 0 1 3 6 )\n( 1.50000000000000e+00 )\n")?;
    write(&dir, "wrong.vcode", "FUNC MAIN CONST INT 1\nCALL NOWHERE RET\n")?;
    let outcome = Hadal::new(2).limit(COMPILER_LIMIT).cwd(&dir).run(Path::new("wrong.vcode"), &[])?;
    expect_status(&outcome, 1)?;
    expect_texts(&outcome, &["wrong.vcode:2:", "NOWHERE"])
}

const NDPC: &str = "examples/ndpc/quicksort.ndpc";

fn ndpc_run(name: &str) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    let outcome = Hadal::new(4).limit(COMPILER_LIMIT).cwd(&dir).run(&tree(NDPC), &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, SORTED)?;
    let header = tool(&dir, &["ndpc", "--emit", "header", &tree(NDPC).to_string_lossy()], b"")?;
    expect_status(&header, 0)?;
    match header.stdout_text().contains("int ndpc_quicksort(ndpc_ints *result, ndpc_ints s);") {
        true => Ok(()),
        false => Err(wrong("the header does not declare quicksort for C", &header)),
    }
}

/// `main` applied to the arguments: in a machine, by the same program on Linux, and in an image.
fn ndpc_arguments(name: &str) -> Result<(), TestError> {
    let text = "function main(s, x, word) : ([int], float, [char]) -> ([float], [char]) =\n  \
                {float(n) * x : n in s}, word;\n1 + 1;\n";
    let dir = with_source(name, "main.ndpc", text)?;
    let arguments = ["[3, -1]", "-0.5", "two words"];
    let answer = "it = 2 : int\nit = [-1.5, 0.5], \"two words\" : [float], [char]\n";
    let in_machine = |program: &str, arguments: &[&str]| {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Hadal::new(2).limit(COMPILER_LIMIT).cwd(&dir).run(Path::new(program), &arguments)
    };
    let outcome = in_machine("main.ndpc", &arguments)?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, answer)?;
    let outcome = tool(&dir, &[&["run", "--place", "linux", "main.ndpc"], &arguments[..]].concat(), b"")?;
    expect_stdout(&outcome, answer)?;
    expect_status(&tool(&dir, &["cc", "main.ndpc", "-o", "main.hadal"], b"")?, 0)?;
    expect_stdout(&in_machine("main.hadal", &arguments)?, answer)?;
    expect_stdout(&in_machine("main.hadal", &[])?, "it = 2 : int\n")?;
    let outcome = in_machine("main.hadal", &["[3, x]", "1", ""])?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["argument '[3, x]' for s : [int]: an int is expected at 'x]'"])?;
    let outcome = in_machine("main.hadal", &["[3]"])?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["main takes 3 arguments: s : [int], x : float, word : [char]"])
}

/// The serial elision has no clones.
fn ndpc_serial(name: &str) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    let source = tree(NDPC).to_string_lossy().into_owned();
    for (line, has_clones) in [
        (&["ndpc", "--emit", "cpp", &source][..], true),
        (&["ndpc", "--emit", "cpp", "--serial", &source], false),
    ] {
        let outcome = tool(&dir, line, b"")?;
        expect_status(&outcome, 0)?;
        if outcome.stdout_text().contains("ndpc::Mode auto mode") != has_clones {
            return Err(wrong("clones where there should be none, or none", &outcome));
        }
    }
    Ok(())
}

/// Images of each language, run by the command.
fn images(name: &str) -> Result<(), TestError> {
    let dir = scratch::empty_directory(name)?;
    for source in [QUICKSORT, NDPC] {
        let source = tree(source);
        let outcome = tool(&dir, &["cc", &source.to_string_lossy(), "-o", "sort.hadal"], b"")?;
        expect_status(&outcome, 0)?;
        let outcome = Hadal::new(2).cwd(&dir).run(Path::new("sort.hadal"), &[])?;
        expect_status(&outcome, 0)?;
        expect_stdout(&outcome, SORTED)?;
    }
    Ok(())
}

/// On a machine of 64 MiB a vector that does not fit is an error of the program, with a message.
fn memory(name: &str) -> Result<(), TestError> {
    let text = "function grow(s) = grow(s ++ s);\nsum(index(1000));\ngrow([1]);\n";
    let dir = with_source(name, "grow.nesl", text)?;
    let hadal = Hadal::new(1).with("--memory", "64M").limit(COMPILER_LIMIT).cwd(&dir);
    let outcome = hadal.run(Path::new("grow.nesl"), &[])?;
    expect_status(&outcome, 1)?;
    expect_stdout(&outcome, "it = 499500 : int\n")?;
    expect_texts(&outcome, &["out of memory", "grow"])?;
    let line = ["nesl", "--cpus", "1", "--memory", "64M", "grow.nesl"];
    let outcome = tool(&dir, &line, b"sum(index(10));")?;
    expect_status(&outcome, 1)?;
    expect_stdout(&outcome, "it = 499500 : int\nit = 45 : int\n")?;
    expect_texts(&outcome, &["out of memory", "grow"])?;
    // Many short sequences, of which each CPU keeps some for the next.
    let text = "function row(i, n) = {(rem(i * 31 + k, n), float(k)) : k in [0:rem(i, 31)]};\n\
                let r = {row(i, 400000) : i in [0:400000]} in #r;\n";
    write(&dir, "rows.ndpc", text)?;
    [1, 64].into_iter().try_for_each(|cpus| {
        let hadal = Hadal::new(cpus).with("--memory", "64M").limit(COMPILER_LIMIT).cwd(&dir);
        let outcome = hadal.run(Path::new("rows.ndpc"), &[])?;
        expect_status(&outcome, 1)?;
        expect_texts(&outcome, &["ut of memory", "row"])
    })
}
