// SPDX-License-Identifier: Apache-2.0 OR MIT
//! OpenMP tools that are loaded from libraries (`OMP_TOOL_LIBRARIES`).

use std::path::{Path, PathBuf};
use std::process::Command;

use hadal_tests::case::{expect_in_order, expect_status, expect_texts};
use hadal_tests::machine::hadal_command;
use hadal_tests::{Hadal, Outcome, TestError, run, scratch};

use crate::omp::{COMPILER_LIMIT, Checked, LIMIT, clang, gcc, library};
use crate::suite::Suite;

pub(crate) fn register(suite: &mut Suite) {
    for program in [gcc("tool_program"), clang("tool_program")] {
        suite.hadal(format!("omp/tool-libraries/{}", program.compiler), move |test| libraries(test, program));
    }
}

/// A library that is not there, one whose tool does not want to be one, and the tool: what all write comes in order, though
/// the library of an image has a C library of its own.
fn libraries(name: &str, program: Checked) -> Result<(), TestError> {
    let directory = scratch::empty_directory(&format!("{name}-tools"))?;
    let (refuses, tool) = (build(&directory, "refuses.so", "0")?, build(&directory, "tool.so", "1")?);
    let list = format!("{}:{}:{}", directory.join("absent.so").display(), refuses.display(), tool.display());
    let expected = [
        "Search for OMP tool in current address space... Failed",
        "absent.so... Failed: ",
        "start_tool in ",
        "refuses.so... asked by Hadal OpenMP run-time of 202111\nFound but not using",
        "tool.so... asked by Hadal OpenMP run-time of 202111\nSuccess",
        "the tool begins with 7 on device 0\n",
        "region 1 had 2 members\nregion 2 had 2 members\n",
        "the tool ends with 7 after 2 regions\n",
    ];
    let expect = |outcome: Outcome| {
        expect_status(&outcome, 0)?;
        expect_in_order(&outcome, &expected)
    };
    let dynamic = program.build(name)?;
    let mut command = Command::new(&dynamic);
    command.env("LD_LIBRARY_PATH", library()?);
    command.env("OMP_TOOL_LIBRARIES", &list).env("OMP_TOOL_VERBOSE_INIT", "stdout");
    expect(run::run(command, b"", LIMIT)?)?;

    let machine = Hadal::new(2).cwd(&directory).limit(LIMIT);
    let machine = machine.env("OMP_TOOL_LIBRARIES", &list).env("OMP_TOOL_VERBOSE_INIT", "stdout");
    expect(machine.clone().option("--omp=native").run(&dynamic, &[])?)?;

    let image = directory.join("image.hadal");
    let mut command = Command::new(hadal_command()?);
    command.env("CC", program.compiler).args(["cc", "--openmp-tools"]);
    program.add_options(&mut command, &image);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    expect(machine.run(&image, &[])?)?;

    let outcome = machine.run(&program.image(&format!("{name}-without"))?, &[])?;
    expect_status(&outcome, 0)?;
    expect_texts(&outcome, &["OMP_TOOL_LIBRARIES has no effect", "--openmp-tools"])
}

fn build(directory: &Path, name: &str, answers: &str) -> Result<PathBuf, TestError> {
    let source = scratch::workspace().join("tests/programs/openmp/tool_library.c");
    let output = directory.join(name);
    let mut command = Command::new("gcc");
    command.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]).arg(format!("-DANSWERS={answers}"));
    command.arg(source).arg("-o").arg(&output);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    Ok(output)
}
