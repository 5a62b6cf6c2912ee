// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the OpenMP run-time's code and data lie, which QEMU's translator makes part of what constructs cost (decision 0050,
//! `OMP_TASK_PATH` in `runtimes/openmp/core/abi.h`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use hadal_tests::case::expect_status;
use hadal_tests::machine::hadal_command;
use hadal_tests::{Hadal, TestError, run, scratch};

use crate::omp::{COMPILER_LIMIT, LIMIT, gcc, library, on_machines};
use crate::suite::Suite;

const PAGE_BYTES: u64 = 4096;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("omp/pages/data", |test| {
        let machine = || Hadal::plain().option("--omp=native");
        on_machines(test, &gcc("hot_pages").build(test)?, machine, &[(1, 3, false)])
    });
    // Place 5 is the part of `GOMP_task` that stays apart where the rest becomes part of the program.
    suite.hadal("omp/pages/tasks/gcc", |test| image(test, "gcc", &[], "012346"));
    suite.hadal("omp/pages/tasks/gcc-link-time", |test| image(test, "gcc", &["-flto=auto"], "012345"));
    suite.hadal("omp/pages/tasks/gcc-sections", |test| image(test, "gcc", &["-Wl,--gc-sections"], "012346"));
    suite.hadal("omp/pages/tasks/clang", |test| image(test, "clang", &[], "01237"));
    suite.hadal("omp/pages/tasks/library", shared);
}

/// What a task of an image goes through is in one page: the functions at these places (digits), the first at its beginning.
fn image(name: &str, compiler: &str, options: &[&str], places: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let source = "int main(void) {\n    int n = 0;\n#pragma omp parallel\n#pragma omp single\n    for (int i = 0; i < 28; i++) {\n\
                  #pragma omp task shared(n)\n#pragma omp atomic\n        n++;\n    }\n    return n;\n}\n";
    std::fs::write(directory.join("tasks.c"), source).map_err(TestError::io("tasks.c"))?;
    let mut command = Command::new(hadal_command()?);
    command.env("CC", compiler).current_dir(&directory);
    command
        .args(["cc", "-O2", "-fopenmp", "tasks.c", "-o", "tasks.hadal", "-Wl,-Map=tasks.map"])
        .args(options);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    expect_status(&Hadal::new(2).cwd(&directory).limit(LIMIT).run(&directory.join("tasks.hadal"), &[])?, 28)?;
    let map = std::fs::read_to_string(directory.join("tasks.map")).map_err(TestError::io("tasks.map"))?;
    let found = sections(&map);
    if found.keys().copied().collect::<String>() != places || !found[&'0'].start.is_multiple_of(PAGE_BYTES) {
        return Err(TestError::Wrong(format!("places {places}, place 0 at a page's beginning: {found:x?}")));
    }
    in_one_page(&found)
}

/// The same of the shared library, by the names of the functions.
fn shared(_: &str) -> Result<(), TestError> {
    const FUNCTIONS: [&str; 7] = [
        "GOMP_task",
        "__kmpc_omp_task",
        "queue_plain",
        "task_submit",
        "task_run_one",
        "run_counted",
        "notify_one",
    ];
    let file = library()?.join("libgomp.so.1");
    let listed = symbols(&file)?;
    let found: BTreeMap<&str, Range<u64>> = listed
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let start = number(words.next()?)?;
            let bytes = number(words.next()?)?;
            let name = words.nth(1)?;
            // Names of C++ are their parts, each after its length.
            let function =
                FUNCTIONS.into_iter().find(|&function| match function.starts_with(['G', '_']) {
                    true => name == function,
                    false => {
                        name.starts_with("_ZN") && name.contains(&format!("{}{function}E", function.len()))
                    }
                })?;
            Some((function, start..start + bytes))
        })
        .collect();
    if found.len() != FUNCTIONS.len() {
        return Err(TestError::Wrong(format!("not all of {FUNCTIONS:?}: {found:x?}")));
    }
    in_one_page(&found)
}

fn symbols(file: &Path) -> Result<String, TestError> {
    let mut command = Command::new("nm");
    command.args(["--print-size", "--defined-only"]).arg(file);
    let outcome = run::run(command, b"", COMPILER_LIMIT)?;
    expect_status(&outcome, 0)?;
    Ok(outcome.stdout_text())
}

/// Addresses of the sections of tasks in a linker's map, where the name has a line of its own.
fn sections(map: &str) -> BTreeMap<char, Range<u64>> {
    let lines: Vec<&str> = map.lines().collect();
    let section = |pair: &[&str]| {
        let place = pair[0].strip_prefix(" .text.sorted.omp_task.")?.chars().next()?;
        let mut numbers = pair[1].split_whitespace().map(|word| number(word.strip_prefix("0x")?));
        let (start, bytes) = (numbers.next()??, numbers.next()??);
        Some((place, start..start + bytes))
    };
    lines.windows(2).filter_map(section).collect()
}

fn number(hexadecimal: &str) -> Option<u64> {
    u64::from_str_radix(hexadecimal, 16).ok()
}

fn in_one_page<Name: std::fmt::Debug>(found: &BTreeMap<Name, Range<u64>>) -> Result<(), TestError> {
    let pages =
        |range: &Range<u64>| [range.start, range.end.max(range.start + 1) - 1].map(|at| at / PAGE_BYTES);
    let mut all = found.values().flat_map(pages);
    let first = all.next();
    match all.all(|page| Some(page) == first) {
        true => Ok(()),
        false => Err(TestError::Wrong(format!("not in one page of {PAGE_BYTES} bytes: {found:x?}"))),
    }
}
