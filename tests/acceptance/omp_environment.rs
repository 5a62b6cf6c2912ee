// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What OpenMP's variables of the environment say, and what comes of it.

use std::process::Command;

use hadal_tests::case::{expect_status, wrong};
use hadal_tests::machine::arguments;
use hadal_tests::{Hadal, TestError, run};

use crate::omp::{Checked, LIMIT, clang, gcc, library};
use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("omp/environment", environment);
    suite.hadal("omp/messages", messages);
    suite.hadal("omp/places", places);
    for program in [gcc("priorities"), clang("priorities")] {
        suite.hadal(format!("omp/priorities/{}", program.compiler), move |test| priorities(test, program));
    }
    suite.hadal("omp/display-affinity", display_affinity);
}

/// Variables, and what the program is told of them (`tests/programs/openmp/api_environment.c`). An image of gcc's code reads
/// them when it starts, one of clang's with the first use of OpenMP, as these compilers' own run-times do.
fn environment(name: &str) -> Result<(), TestError> {
    const SETTINGS: &[(&[(&str, &str)], &str)] = &[
        (&[], "procs=4 threads=4 bind=0 places=0"),
        (&[("KMP_HW_SUBSET", "2c")], "procs=2 threads=2 places=2 processors=2 first=1"),
        (&[("KMP_HW_SUBSET", "2c@1"), ("OMP_PLACES", "threads")], "procs=2 threads=2 places=2 first=12"),
        (&[("KMP_HW_SUBSET", "9c@4")], "procs=4 threads=4 places=0"),
        (&[("KMP_HW_SUBSET", "many")], "procs=4 threads=4 places=0"),
        (&[("OMP_PLACES", "{0,1},{3}")], "places=2 processors=3 bind=1 places_of_2=1"),
        (&[("OMP_NUM_THREADS", "99999999999999999999")], "procs=4 threads=4"),
        (&[("OMP_NUM_TEAMS", "3"), ("OMP_MAX_TASK_PRIORITY", "7")], "teams=3 priority=7"),
        (
            &[("OMP_NUM_THREADS", "3,2"), ("OMP_SCHEDULE", "guided,5")],
            "team=3 inner_team=2 schedule=3 chunk=5",
        ),
    ];
    for (program, schedule, changed) in [
        (gcc("api_environment"), "schedule=2 chunk=1", "schedule=2"),
        (clang("api_environment"), "schedule=1 chunk=0", "schedule=3 chunk=6"),
    ] {
        let image = program.image(&format!("{name}-{}", program.compiler))?;
        let late = format!("OMP_SCHEDULE=guided,6 {changed}");
        let more: [(&[(&str, &str)], &str); 2] = [(&[], schedule), (&[], &late)];
        for (variables, expected) in SETTINGS.iter().chain(&more) {
            let machine = Hadal::plain().with("--cpus", "4").limit(LIMIT);
            let machine = variables.iter().fold(machine, |machine, (name, value)| machine.env(name, *value));
            let expected: Vec<&str> = expected.split(' ').collect();
            expect_status(&machine.run(&image, &arguments(&expected))?, 0)?;
        }
    }
    Ok(())
}

/// Warnings about values have the numbers of LLVM's run-time.
fn messages(name: &str) -> Result<(), TestError> {
    const MESSAGES: [(&str, &str, &str); 7] = [
        ("OMP_ALLOCATOR", "111", "OMP: Warning #42: OMP_ALLOCATOR=111 is not an allocator"),
        ("OMP_DEFAULT_DEVICE", "x", "OMP: Warning #42: OMP_DEFAULT_DEVICE=x is not a number"),
        (
            "OMP_DEFAULT_DEVICE",
            "99999999999",
            "OMP: Warning #41: OMP_DEFAULT_DEVICE=99999999999 is too large",
        ),
        ("KMP_DISP_NUM_BUFFERS", "0", "OMP: Warning #40: KMP_DISP_NUM_BUFFERS=0 is too small"),
        ("KMP_DISP_NUM_BUFFERS", "4097", "OMP: Warning #41: KMP_DISP_NUM_BUFFERS=4097 is too large"),
        ("KMP_DISP_NUM_BUFFERS", "many", "OMP: Warning #42: KMP_DISP_NUM_BUFFERS=many is not a number"),
        ("KMP_DISP_NUM_BUFFERS", "7", "OMP: Warning: KMP_DISP_NUM_BUFFERS has no effect"),
    ];
    let file = gcc("api_environment").build(name)?;
    for (variable, value, message) in MESSAGES {
        let mut command = Command::new(&file);
        command.env("LD_LIBRARY_PATH", library()?).env(variable, value);
        let outcome = run::run(command, b"", LIMIT)?;
        expect_status(&outcome, 0)?;
        if !outcome.stderr_text().lines().any(|line| line.starts_with(message)) {
            return Err(wrong(&format!("no line begins with {message:?}"), &outcome));
        }
    }
    Ok(())
}

fn places(name: &str) -> Result<(), TestError> {
    let program = clang("places");
    let (image, file) = (program.image(&format!("{name}-image"))?, program.build(&format!("{name}-native"))?);
    for cpus in ["2", "4"] {
        let machine = Hadal::plain().with("--cpus", cpus).limit(LIMIT);
        let machine = machine.env("OMP_PLACES", "threads").env("OMP_PROC_BIND", "close");
        expect_status(&machine.clone().run(&image, &[])?, 0)?;
        expect_status(&machine.option("--omp=native").run(&file, &[])?, 0)?;
    }
    Ok(())
}

fn priorities(name: &str, program: Checked) -> Result<(), TestError> {
    const MOST: (&str, &str) = ("OMP_MAX_TASK_PRIORITY", "5");
    let (image, file) = (program.image(&format!("{name}-image"))?, program.build(name)?);
    let mut command = Command::new(&file);
    command.env("LD_LIBRARY_PATH", library()?).env(MOST.0, MOST.1);
    expect_status(&run::run(command, b"", LIMIT)?, 0)?;
    for cpus in ["1", "2", "4"] {
        let machine = Hadal::plain().with("--cpus", cpus).env(MOST.0, MOST.1).limit(LIMIT);
        expect_status(&machine.clone().run(&image, &[])?, 0)?;
        expect_status(&machine.option("--omp=native").run(&file, &[])?, 0)?;
    }
    Ok(())
}

/// Lines of threads are in no particular order.
fn display_affinity(name: &str) -> Result<(), TestError> {
    let image = clang("display_affinity").image(name)?;
    let machine = Hadal::plain().with("--cpus", "2").limit(LIMIT).env("OMP_DISPLAY_AFFINITY", "true");
    let outcome = machine.env("OMP_AFFINITY_FORMAT", "%n of %N").run(&image, &[])?;
    expect_status(&outcome, 0)?;
    let text = outcome.stdout_text();
    let mut lines: Vec<&str> = text.lines().collect();
    let first_of_larger = lines.iter().position(|line| *line == "larger").unwrap_or(0) + 1;
    for range in [1..3, first_of_larger..first_of_larger + 3] {
        if let Some(part) = lines.get_mut(range) {
            part.sort_unstable();
        }
    }
    let expected = [
        "first",
        "0 of 2",
        "1 of 2",
        "the same",
        "larger",
        "0 of 3",
        "1 of 3",
        "2 of 3",
        "the same again",
        "routine",
        "level 0",
    ];
    if lines == expected { Ok(()) } else { Err(wrong("the lines are others", &outcome)) }
}
