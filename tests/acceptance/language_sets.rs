// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The test sets of NESL's compiler and of the run-times of VCODE and NDPC, on Linux and on the kernel.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use hadal_nesl::Session;
use hadal_tests::case::{difference, expect_status, expect_stdout, wrong};
use hadal_tests::machine::{Permit, arguments, hadal, hadal_command};
use hadal_tests::{Hadal, TestError, run, scratch};

use crate::languages::{COMPILER_LIMIT, tree, write};
use crate::suite::Suite;

const SET_LIMIT: Duration = Duration::from_secs(600);
/// Ends the answer to a request (`runtimes/vcode/serve.cpp`).
const END: char = '\x1e';

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("languages/nesl-programs/linux", |_| nesl_programs(None, &[]));
    for cpus in [1, 2, 4, 8] {
        suite.hadal(format!("languages/nesl-programs/{cpus}cpus"), move |_| nesl_programs(Some(cpus), &[]));
    }
    suite.hadal("languages/nesl-programs/numa", |_| nesl_programs(Some(4), &["--numa", "4"]));
    suite.hadal("languages/nesl-64cpus", nesl_on_64_cpus);
    suite.hadal("languages/vcode-set", |_| vcode_set("30"));
    suite.hadal_in_all("languages/vcode-set-long", |_| vcode_set("150"));
    suite.hadal("languages/ndpc-set", ndpc_set);
}

fn read(file: &Path) -> Result<String, TestError> {
    fs::read_to_string(file).map_err(TestError::io(file.display().to_string()))
}

/// Headers, libraries and the interpreter, as `hadal sdk` writes them: once for all tests.
fn sdk() -> Result<PathBuf, TestError> {
    static SDK: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = SDK.get_or_init(|| {
        let make = || -> Result<PathBuf, TestError> {
            let dir = scratch::empty_directory("languages/sdk")?;
            expect_status(&hadal(&["sdk", &dir.to_string_lossy()], &dir, COMPILER_LIMIT)?, 0)?;
            Ok(dir)
        };
        make().map_err(|error| error.to_string())
    });
    made.clone().map_err(TestError::Wrong)
}

/// All programs of the compiler's test set in one process of the interpreter, on a machine with so many CPUs or on Linux.
fn nesl_programs(cpus: Option<u32>, options: &[&str]) -> Result<(), TestError> {
    let interpreter = sdk()?.join("bin/vcode");
    let set = tree("compilers/nesl/tests/programs");
    let entries = fs::read_dir(&set).map_err(TestError::io(set.display().to_string()))?;
    let mut programs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    programs.retain(|path| path.extension() == Some(OsStr::new("nesl")));
    programs.sort();
    let library = Session::new();
    let mut requests = String::new();
    for path in &programs {
        let mut session = library.clone();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let forms = session.load(&name, &read(path)?).forms();
        let text = session.compile_program(&forms).map_err(TestError::Wrong)?;
        let _ = write!(requests, "run {} > -\n{text}", text.len());
    }
    let outcome = match cpus {
        None => run::run(serving(&interpreter), requests.as_bytes(), SET_LIMIT)?,
        Some(cpus) => {
            let hadal = options.iter().fold(Hadal::new(cpus), |hadal, option| hadal.option(option));
            hadal.limit(SET_LIMIT).stdin(requests.as_bytes()).run(&interpreter, &arguments(&["--serve"]))?
        }
    };
    let text = outcome.stdout_text();
    // Each answer ends with the byte and a line with the status.
    let mut answers = text.split(END);
    let mut answer = answers.next().unwrap_or_default().to_owned();
    for path in &programs {
        let Some(rest) = answers.next() else {
            return Err(wrong(&format!("no answer to {}", path.display()), &outcome));
        };
        let expected = read(&path.with_extension("out"))?;
        // What is printed on the console comes last in the expected text, and is not part of the answer.
        if !expected.trim_end().starts_with(answer.trim_end()) {
            let difference = difference(expected.as_bytes(), answer.as_bytes());
            return Err(wrong(&format!("{}:\n{difference}", path.display()), &outcome));
        }
        answer = rest.split_once('\n').map_or("", |(_, next)| next).to_owned();
    }
    expect_status(&outcome, 0)
}

fn serving(interpreter: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command.arg("--serve");
    command
}

/// The test set of the VCODE run-time, on Linux and on a machine: in one test, since it takes a while to make. Without
/// sharing, and with more parts than host cores: numbers between are those of the compiler's set. `chains` is how many programs of
/// random operations there are beside the fixed ones.
fn vcode_set(chains: &str) -> Result<(), TestError> {
    let mut command = Command::new(tree("runtimes/vcode/test/run"));
    command.args(["--count", chains, "--cpus", "1,4"]).arg(sdk()?.join("bin/vcode"));
    command.args(["--machine", "4"]).arg(hadal_command()?).args(["run", "--cpus", "4", "--timeout", "120"]);
    let _permit = Permit::one();
    expect_status(&run::run(command, b"", SET_LIMIT)?, 0)
}

/// Vectors so long that each of 64 CPUs gets a part in every operation. What is equal holds for any machine; the sums of
/// floats must also be those of one CPU, to the last digit.
const WIDE: &str = "n = 1100000;
x = {rand(i) : i in dist(1000000, n)};
y = {sqrt(float(i)) : i in x};
low = {i in x | i < 300000};
high = {i in x | i >= 300000};
#low + #high == n;
sum(low) + sum(high) == sum(x);
eql(plus_scan(dist(1, n)), index(n));
order = rank(x);
s = permute(x, order);
all({a <= b : a in take(s, n - 1); b in drop(s, 1)});
eql(s -> order, x);
eql((low ++ high) <- {(i, 0) : i in [0:n]}, dist(0, n));
sum({sum(part) : part in partition(x, dist(1000, 1100))}) == sum(x);
eql(rotate(rotate(x, 7), -7), x);
(sum(y), max_val(y), sum(plus_scan(y)));
";

fn nesl_on_64_cpus(name: &str) -> Result<(), TestError> {
    const CPUS: u32 = 64;
    let dir = scratch::empty_directory(name)?;
    let mut session = Session::new();
    let loaded = session.load("wide.nesl", WIDE);
    let text = session.compile_program(&loaded.forms()).map_err(TestError::Wrong)?;
    write(&dir, "wide.vcode", &text)?;
    let interpreter = sdk()?.join("bin/vcode");
    let here = arguments(&["--length", "1", "wide.vcode"]);
    let mut alone = Command::new(&interpreter);
    alone.args(["--cpus", "1"]).args(&here).current_dir(&dir);
    let one = run::run(alone, b"", SET_LIMIT)?;
    expect_status(&one, 0)?;
    let truths = one.stdout_text().matches("it = T : bool").count();
    if truths != 8 || one.stdout_text().contains("it = F") {
        return Err(wrong("not all equations hold on one CPU", &one));
    }
    let wide = Hadal::new(CPUS).limit(SET_LIMIT).cwd(&dir).run(&interpreter, &here)?;
    expect_status(&wide, 0)?;
    expect_stdout(&wide, &one.stdout_text())
}

/// A command that translates a program, as NDPC's test set wants it: it gets the files of source, C++ and header.
pub(crate) fn ndpc_translator(dir: &Path) -> Result<String, TestError> {
    let own = hadal_command()?;
    let own = own.display();
    write(
        dir,
        "translate",
        &format!(
            "#!/bin/sh\nset -e\ncd \"$(dirname \"$1\")\"\nfile=$(basename \"$1\")\n\
             {own} ndpc --emit cpp \"$file\" > \"$2\"\n{own} ndpc --emit header \"$file\" > \"$3\"\n"
        ),
    )?;
    Ok(format!("sh {}", dir.join("translate").display()))
}

/// The test set of NDPC, on Linux and on a machine: in one test, since it takes a while to build.
fn ndpc_set(name: &str) -> Result<(), TestError> {
    let (dir, sdk) = (scratch::empty_directory(name)?, sdk()?);
    let mut command = Command::new(tree("runtimes/ndpc/test/run"));
    command.arg("-t").arg(ndpc_translator(&dir)?).arg("-w").arg(dir.join("work"));
    let flags = format!("-O1 -isystem {}", sdk.join("include").display());
    command.arg("-c").arg(format!("c++ -std=c++20 {flags}")).arg("-C").arg(format!("cc {flags}"));
    command.arg("-l").arg(format!("{} -pthread", sdk.join("lib/libhrt-linux.a").display()));
    let machine = format!("{} run --cpus 4 --timeout 120", hadal_command()?.display());
    command.args(["-n", "1 2 4", "-N", "4", "-e", "-x"]).arg(machine);
    let _permit = Permit::one();
    expect_status(&run::run(command, b"", SET_LIMIT)?, 0)
}
