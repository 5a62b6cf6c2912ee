// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traces and profiles: `--trace`, `--profile`, `--stats`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use hadal_abi::status;
use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::picture::Picture;
use hadal_tests::programs::{
    CALLERS, DEADLOCK, EVENTS, FAULT, HOT, MACHINE_CHECK, MANY_MAPPINGS, MARKS, SLOW_TABLE,
};
use hadal_tests::{Hadal, Outcome, TestError, Way, scratch};

use crate::suite::Suite;

/// What [`EVENTS`] does: threads, rounds of each, calls in a round.
const WORKERS: usize = 4;
const ROUNDS: usize = 10;
const CALLS: usize = 25;

pub(crate) fn register(suite: &mut Suite) {
    for cpus in [1, 2, 4, 8] {
        suite.hadal(format!("observe/trace/{cpus}cpus"), move |name| trace(name, cpus));
    }
    suite.compare("observe/marks", &MARKS, Way::GccDynamic, 2, |case| case);
    suite.hadal("observe/trace/marks", trace_of_marks);
    suite.hadal("observe/trace/counting", trace_while_counting);
    suite.hadal("observe/trace/overwritten", trace_overwritten);
    suite.hadal("observe/trace/fault", trace_of_a_fault);
    suite.hadal("observe/trace/time-limit", trace_of_a_deadlock);
    suite.hadal("observe/trace/panic", trace_of_a_panic);
    suite.hadal("observe/trace/bad-file", bad_file);
    suite.hadal("observe/profile/two-functions", profile_two_functions);
    suite.hadal("observe/profile/counting", profile_while_counting);
    suite.hadal("observe/profile/start", profile_of_the_start);
    suite.hadal("observe/profile/kernel", profile_kernel);
    suite.hadal("observe/profile/ring3", |name| {
        let directory = scratch::empty_directory(name)?;
        let hadal = Hadal::new(2).with("--ring", "3");
        let (outcome, stacks) = profiled(&directory, hadal, &CALLERS.build(Way::GccDynamic)?, &["120"])?;
        expect_callers(&outcome, &stacks)
    });
    suite.hadal("observe/profile/source", profile_source);
    for way in [Way::GccDynamic, Way::GccStatic, Way::GccNoPie, Way::ClangDynamic] {
        suite
            .hadal(format!("observe/profile/callers/{}", way.name()), move |name| profile_callers(name, way));
    }
    suite.hadal("observe/profile/callers/library", profile_library);
    for way in [Way::GccDynamic, Way::GccStatic] {
        suite.hadal(format!("observe/profile/slow-table/{}", way.name()), move |name| {
            profile_with_slow_table(name, way)
        });
    }
    suite.hadal("observe/profile/many-mappings", profile_with_many_mappings);
}

/// A run of [`EVENTS`] with its trace in this file.
fn traced(directory: &Path, hadal: Hadal) -> Result<(Outcome, Picture), TestError> {
    let file = directory.join("trace.json");
    let hadal = hadal.cwd(directory).with("--trace", &file);
    let outcome = hadal.run(&EVENTS.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "1 handled\n")?;
    Ok((outcome, Picture::read(&file)?))
}

fn trace(name: &str, cpus: u32) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (outcome, picture) = traced(&directory, Hadal::new(cpus))?;
    picture.check(cpus.into())?;
    expect_everything(&outcome, &picture)?;
    if cpus > 1 && picture.slices("reschedule").next().is_none() {
        return Err(wrong("no interrupt between CPUs", &outcome));
    }
    Ok(())
}

/// The trace holds all that the program does.
fn expect_everything(outcome: &Outcome, picture: &Picture) -> Result<(), TestError> {
    let lost = picture.fact("lost records");
    let count = |name: &str| picture.slices(name).count();
    let expected = [
        ("records are lost", lost != Some(0)),
        ("calls are missing", count("getppid") != WORKERS * ROUNDS * CALLS),
        ("sleeps are missing", count("clock_nanosleep") != WORKERS * ROUNDS),
        ("threads are missing", count("clone3") != WORKERS || picture.instants("create thread") < WORKERS),
        ("ends are missing", picture.instants("exit") < WORKERS),
        ("no page fault", count("page fault") == 0),
        ("no timer", count("timer") == 0),
        ("no time-out", picture.instants("timer calls") > 0),
        ("no signal", picture.instants("SIGUSR1") != 1),
        ("no waiting thread", count("waiting") < WORKERS * ROUNDS),
    ];
    if let Some((what, _)) = expected.iter().find(|(_, wrong)| *wrong) {
        return Err(wrong(what, outcome));
    }
    // Devices, threads of the kernel and the first thread have names, from the beginning.
    let is_number =
        |name: &str| name.contains("0x") || name == "kernel thread" || name == "loader::first_thread";
    if let Some(name) = picture.run_by_cpus().chain(picture.row_names()).find(|name| is_number(name)) {
        return Err(wrong(&format!("a name that means nothing: {name}"), outcome));
    }
    if !picture.run_by_cpus().any(|name| name.starts_with("virtio")) {
        return Err(wrong("no interrupt of a virtio device", outcome));
    }
    for worker in 0..WORKERS {
        let label = format!("worker {worker} ");
        if !picture.row_names().any(|name| name.starts_with(&label)) {
            return Err(wrong(&format!("no row of {label}"), outcome));
        }
    }
    Ok(())
}

/// On a machine that counts instructions time is exact, and two traces are the same.
fn trace_while_counting(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (outcome, picture) = traced(&directory, Hadal::plain().option("--icount"))?;
    picture.check(1)?;
    expect_everything(&outcome, &picture)
}

/// A small buffer keeps the newest records, and says how many it has lost.
fn trace_overwritten(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let file = directory.join("trace.json");
    let hadal = Hadal::new(2).cwd(&directory).with("--trace", &file).with("--trace-buffer", "64K");
    let outcome = hadal.run(&HOT.build(Way::GccDynamic)?, &arguments(&["0", "20000"]))?;
    expect_status(&outcome, 0)?;
    expect_texts(&outcome, &["overwritten", "--trace-buffer"])?;
    let picture = Picture::read(&file)?;
    picture.check(2)?;
    let lost = picture.fact("lost records").unwrap_or(0);
    // Each call makes two records, and a buffer holds 2048.
    if lost < 2 * 20_000 - 2048 || picture.instants("older records are lost") == 0 {
        return Err(wrong(&format!("{lost} lost records"), &outcome));
    }
    // The last thing that the program does is still there.
    match picture.slices("exit_group").count() {
        1 => Ok(()),
        other => Err(wrong(&format!("{other} calls of exit_group"), &outcome)),
    }
}

fn trace_of_marks(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let file = directory.join("trace.json");
    let hadal = Hadal::new(2).cwd(&directory).with("--trace", &file);
    let outcome = hadal.run(&MARKS.build(Way::GccStatic)?, &[])?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "marked\n")?;
    let picture = Picture::read(&file)?;
    picture.check(2)?;
    for (text, times) in
        [("three times", 3), ("sixteen bytes 16", 1), ("from a thread", 1), ("from a handler", 2)]
    {
        if picture.instants(text) != times {
            return Err(wrong(&format!("{} marks \"{text}\"", picture.instants(text)), &outcome));
        }
    }
    Ok(())
}

fn trace_of_a_fault(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let file = directory.join("trace.json");
    let hadal = Hadal::new(2).cwd(&directory).with("--trace", &file);
    let outcome = hadal.run(&FAULT.build(Way::GccDynamic)?, &arguments(&["null"]))?;
    expect_status(&outcome, 128 + 11)?;
    let picture = Picture::read(&file)?;
    picture.check(2)?;
    match picture.instants("SIGSEGV") {
        1 => Ok(()),
        other => Err(wrong(&format!("{other} times SIGSEGV in the trace"), &outcome)),
    }
}

fn trace_of_a_deadlock(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let file = directory.join("trace.json");
    let hadal =
        Hadal::new(2).cwd(&directory).with("--trace", &file).with("--timeout", "10").without_timeout();
    let outcome = hadal.run(&DEADLOCK.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, status::TIMEOUT.into())?;
    let picture = Picture::read(&file)?;
    picture.check(2)?;
    let waits_for_ever = picture.slices("waiting").any(|slice| slice.args["in"] == "futex");
    if waits_for_ever { Ok(()) } else { Err(wrong("no thread waits", &outcome)) }
}

/// A kernel that has failed sends what it has.
fn trace_of_a_panic(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let file = directory.join("trace.json");
    let hadal = Hadal::new(2).cwd(&directory).with("--trace", &file);
    let outcome = hadal.run(&MACHINE_CHECK.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, status::KERNEL_PANIC.into())?;
    expect_texts(&outcome, &["machine check"])?;
    let picture = Picture::read(&file)?;
    picture.check(2)?;
    match picture.slices("getppid").count() {
        1000 => Ok(()),
        other => Err(wrong(&format!("{other} calls in the trace"), &outcome)),
    }
}

/// A file that cannot be written is an error before the program runs.
fn bad_file(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let missing = directory.join("missing/out");
    for option in ["--trace", "--profile"] {
        let hadal = Hadal::new(1).cwd(&directory).with(option, &missing);
        let outcome = hadal.run(&HOT.build(Way::GccDynamic)?, &[])?;
        expect_status(&outcome, status::CANNOT_START.into())?;
        expect_stdout(&outcome, "")?;
        expect_texts(&outcome, &[option, "No such file"])?;
    }
    let hadal = Hadal::new(2)
        .cwd(&directory)
        .with("--memory", "256M")
        .with("--trace", "t")
        .with("--trace-buffer", "512M");
    let outcome = hadal.run(&HOT.build(Way::GccDynamic)?, &[])?;
    expect_status(&outcome, status::CANNOT_START.into())?;
    expect_texts(&outcome, &["--trace-buffer", "--memory"])
}

/// Samples of a run of [`HOT`] by stack.
fn profiled(
    directory: &Path,
    hadal: Hadal,
    program: &Path,
    args: &[&str],
) -> Result<(Outcome, HashMap<String, u64>), TestError> {
    let name = directory.join("profile.svg");
    let outcome = hadal.cwd(directory).with("--profile", &name).run(program, &arguments(args))?;
    expect_status(&outcome, 0)?;
    expect_stdout(&outcome, "done\n")?;
    expect_texts(&outcome, &["profile.svg", "profile.folded", "samples"])?;
    let picture = read(&name)?;
    if !(picture.contains("<svg") && picture.trim_end().ends_with("</svg>")) {
        return Err(wrong("the flame graph is no SVG", &outcome));
    }
    let folded = read(&directory.join("profile.folded"))?;
    let line = |line: &str| {
        let (stack, count) = line.rsplit_once(' ')?;
        Some((stack.to_owned(), count.parse().ok()?))
    };
    let stacks: Option<HashMap<String, u64>> = folded.lines().map(line).collect();
    let stacks = stacks.ok_or_else(|| wrong(&format!("not folded stacks:\n{folded}"), &outcome))?;
    Ok((outcome, stacks))
}

fn read(path: &Path) -> Result<String, TestError> {
    fs::read_to_string(path).map_err(TestError::io(format!("cannot read {}", path.display())))
}

/// Samples below a function, the frames on the way to it given.
fn below(stacks: &HashMap<String, u64>, frames: &str) -> u64 {
    stacks.iter().filter(|(stack, _)| stack.contains(frames)).map(|(_, count)| count).sum()
}

/// Expects three times as many samples in one function as in the other, with their frames.
fn expect_three_to_one(outcome: &Outcome, stacks: &HashMap<String, u64>) -> Result<(), TestError> {
    let long = below(stacks, ";main;hot_long;spin");
    let short = below(stacks, ";main;hot_short;spin");
    // Chance moves some samples; the order and the size are not in doubt.
    if short >= 10 && (2 * short..4 * short).contains(&long) {
        return Ok(());
    }
    Err(wrong(&format!("{long} and {short} samples instead of three to one: {stacks:#?}"), outcome))
}

fn profile_two_functions(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = HOT.build(Way::GccDynamic)?;
    let (outcome, stacks) = profiled(&directory, Hadal::new(2), &program, &["40"])?;
    expect_three_to_one(&outcome, &stacks)
}

/// Instructions are time here: the ratio is nearly exact.
fn profile_while_counting(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = HOT.build(Way::GccStatic)?;
    let hadal = Hadal::plain().option("--icount").with("--profile-hz", "5000");
    let (outcome, stacks) = profiled(&directory, hadal, &program, &["2"])?;
    expect_three_to_one(&outcome, &stacks)
}

/// Samples come while the first threads are made: at each rate at other moments.
fn profile_of_the_start(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = HOT.build(Way::GccStatic)?;
    for hz in (1000..=10000).step_by(1000) {
        let hadal = Hadal::plain().option("--icount").with("--profile-hz", hz.to_string());
        profiled(&directory, hadal, &program, &["1"])?;
    }
    Ok(())
}

fn profile_kernel(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = HOT.build(Way::GccDynamic)?;
    let (outcome, stacks) = profiled(&directory, Hadal::new(1), &program, &["0", "1500000"])?;
    let kernel = below(&stacks, "_[k]");
    let called = below(&stacks, "hadal_linux::traps::system_call_[k]");
    if kernel >= 10 && called >= 5 {
        return Ok(());
    }
    Err(wrong(&format!("{kernel} samples in the kernel, {called} in system calls: {stacks:#?}"), &outcome))
}

/// A source is compiled with frame pointers.
fn profile_source(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/observe/hot.c");
    let (outcome, stacks) = profiled(&directory, Hadal::new(2).env("PATH", "/bin"), &source, &["40"])?;
    expect_three_to_one(&outcome, &stacks)
}

/// Where [`CALLERS`] spends its time: what the thread began with, the functions that follow, what the kernel or a library
/// may have put in between.
const CHAINS: [(&str, &[&str]); 7] = [
    ("main", &["sorted", "compare", "spin"]),
    ("main", &["aligned", "spin"]),
    ("main", &["signaled", "handler", "spin"]),
    ("main", &["begins_and_ends"]),
    ("main", &["begins_and_ends", "saves", "least"]),
    ("main", &["in_the_kernel", "hadal_linux::traps::system_call_[k]"]),
    ("work", &["sorted", "compare", "spin"]),
];

/// Whether these functions are in a stack, in this order.
fn leads(stack: &str, chain: &[&str]) -> bool {
    let mut frames = stack.split(';');
    chain.iter().all(|function| frames.any(|frame| frame == *function))
}

/// Every function of the program has its callers, up to the one that the thread began with, in code without frame pointers.
fn profile_callers(name: &str, way: Way) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (outcome, stacks) = profiled(&directory, Hadal::new(2), &CALLERS.build(way)?, &["120"])?;
    expect_callers(&outcome, &stacks)
}

fn expect_callers(outcome: &Outcome, stacks: &HashMap<String, u64>) -> Result<(), TestError> {
    for (first, chain) in CHAINS {
        let whole = [&[first], chain].concat();
        if !stacks.keys().any(|stack| leads(stack, &whole)) {
            return Err(wrong(&format!("no {whole:?} in {stacks:#?}"), outcome));
        }
    }
    let begins_wrong = |stack: &&String| {
        let mut functions =
            CHAINS.iter().flat_map(|(_, chain)| *chain).filter(|name| !name.ends_with("_[k]"));
        let of_program = functions.any(|function| leads(stack, &[function]));
        let is_lost = stack.contains("[unknown]") || stack.starts_with("kernel;");
        of_program && !is_lost && !leads(stack, &["main"]) && !leads(stack, &["work"])
    };
    if let Some(stack) = stacks.keys().find(begins_wrong) {
        return Err(wrong(&format!("a stack does not begin where its thread does: {stack}"), outcome));
    }
    // The kernel may be interrupted while it changes a thread's registers, for a signal or at the thread's start.
    let (lost, all) = (below(stacks, "[unknown]"), below(stacks, ""));
    if lost * 100 > all {
        return Err(wrong(&format!("{lost} of {all} samples lead nowhere: {stacks:#?}"), outcome));
    }
    Ok(())
}

/// A callback from a library that has neither frame pointers nor symbols.
fn profile_library(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/observe");
    let library = directory.join("libcallback.so");
    let program = directory.join("calls_library");
    let gcc = |arguments: &[&std::ffi::OsStr]| {
        let output = Command::new("gcc").args(["-O2", "-fomit-frame-pointer"]).args(arguments).output();
        let output = output.map_err(TestError::io("cannot start gcc".to_owned()))?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(())
        } else {
            Err(TestError::Compile { command: "gcc".into(), output: text })
        }
    };
    gcc(&[
        "-shared".as_ref(),
        "-fPIC".as_ref(),
        "-s".as_ref(),
        sources.join("library.c").as_os_str(),
        "-o".as_ref(),
        library.as_os_str(),
    ])?;
    let mut search = std::ffi::OsString::from("-Wl,-rpath,");
    search.push(&directory);
    gcc(&[
        sources.join("calls_library.c").as_os_str(),
        library.as_os_str(),
        search.as_os_str(),
        "-o".as_ref(),
        program.as_os_str(),
    ])?;
    let (outcome, stacks) = profiled(&directory, Hadal::new(2), &program, &["100"])?;
    let of_callback: Vec<_> = stacks.keys().filter(|stack| leads(stack, &["compare"])).collect();
    let whole = ["main", "library_sort", "[libcallback.so]", "compare"];
    let is_whole = |stack: &&&String| {
        leads(stack, &whole) && stack.contains("library_sort;") && !stack.contains("[unknown]")
    };
    if of_callback.is_empty() {
        return Err(wrong(&format!("no sample in the callback: {stacks:#?}"), &outcome));
    }
    match of_callback.iter().find(|stack| !is_whole(stack)) {
        Some(stack) => Err(wrong(&format!("not {whole:?}: {stack}"), &outcome)),
        None => Ok(()),
    }
}

/// Tables that take long to read are given up, in a static program by the index, too.
fn profile_with_slow_table(name: &str, way: Way) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let (outcome, stacks) = profiled(&directory, Hadal::new(2), &SLOW_TABLE.build(way)?, &[])?;
    for function in ["read_for_ever", "evaluated_for_ever"] {
        if !stacks.keys().any(|stack| leads(stack, &[function])) {
            return Err(wrong(&format!("no {function} in {stacks:#?}"), &outcome));
        }
    }
    Ok(())
}

/// A file's tables are read for the first of its mappings that are next to each other, and for no more files than there is
/// memory for; the names of all mappings together are longer than a message.
fn profile_with_many_mappings(name: &str) -> Result<(), TestError> {
    const MAPPINGS: &str = "1500";
    let directory = scratch::empty_directory(name)?;
    let deep = [0; 4].iter().fold(directory.clone(), |path, _| path.join("d".repeat(200)));
    let file = deep.join("file");
    fs::create_dir_all(&deep).map_err(TestError::io(format!("cannot make {}", deep.display())))?;
    let program = MANY_MAPPINGS.build(Way::GccStatic)?;
    fs::copy(&program, &file).map_err(TestError::io(format!("cannot make {}", file.display())))?;
    let hadal = Hadal::new(1).with("--memory", "256M");
    let path = file.display().to_string();
    let (outcome, stacks) = profiled(&directory, hadal, &program, &[&path, MAPPINGS])?;
    if !stacks.keys().any(|stack| leads(stack, &["main", "spin"])) {
        return Err(wrong(&format!("no main, spin in {stacks:#?}"), &outcome));
    }
    Ok(())
}
