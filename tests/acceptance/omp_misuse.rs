// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that end inside of OpenMP regions, use locks that they have not initialised, unload what uses OpenMP, or want a
//! device: what they end with, in the run-time's three builds.

use std::path::Path;
use std::process::Command;

use hadal_tests::case::{expect_status, expect_texts};
use hadal_tests::machine::arguments;
use hadal_tests::{Hadal, Outcome, TestError, run, scratch};

use crate::omp::{COMPILER_LIMIT, LIMIT, clang, gcc, library};
use crate::suite::Suite;

/// A case of `misuse_ends.c`: the status, and what standard error has.
struct End {
    case: &'static str,
    status: i32,
    says: &'static [&'static str],
    /// Whether programs in the kernel's address space can do it.
    anywhere: bool,
}

const fn end(case: &'static str, status: i32) -> End {
    End { case, status, says: &[], anywhere: true }
}

const ABORTED: i32 = 128 + 6;
const FAULTED: i32 = 128 + 11;

const ENDS: &[End] = &[
    end("exit", 3),
    end("exit_in_worker", 3),
    end("exit_in_task", 3),
    end("exit_in_critical", 3),
    end("return", 0),
    end("abort", ABORTED),
    end("quick_exit", 3),
    end("thread_exit", 3),
    end("main_thread_goes", 3),
    // One machine runs one program.
    End { case: "fork", status: 3, says: &[], anywhere: false },
    end("signals", 3),
    end("fault", FAULTED),
    end("jump_within", 3),
    end("jump_out", 3),
    end("jump_out_team", 3),
    end("overflow", FAULTED),
    End {
        case: "uninitialised",
        status: 1,
        says: &["OMP: Error: a lock is used that is not initialised"],
        anywhere: true,
    },
];

pub(crate) fn register(suite: &mut Suite) {
    for (compiler, program) in [("gcc", gcc("misuse_ends")), ("clang", clang("misuse_ends"))] {
        suite.hadal(format!("omp/misuse/linux/{compiler}"), move |test| {
            let (file, library) = (program.build(test)?, library()?);
            for end in ENDS {
                // The shell makes a status of a signal, as `hadal run` does.
                let mut command = Command::new("sh");
                command.arg("-c").arg("ulimit -c 0; \"$0\" \"$1\"; exit $?").arg(&file).arg(end.case);
                command.env("LD_LIBRARY_PATH", &library);
                check(end, &run::run(command, b"", LIMIT)?)?;
            }
            Ok(())
        });
        suite.hadal(format!("omp/misuse/native/{compiler}"), move |test| {
            on_machine(test, &program.build(test)?, &|| Hadal::new(2).option("--omp=native"))
        });
        suite.hadal(format!("omp/misuse/image/{compiler}"), move |test| {
            on_machine(test, &program.image(test)?, &|| Hadal::new(2))
        });
    }
    suite.hadal("omp/misuse/library", unloaded);
    suite.hadal("omp/misuse/loaded-later", loaded_later);
    suite.hadal("omp/misuse/mandatory", mandatory);
}

fn check(end: &End, outcome: &Outcome) -> Result<(), TestError> {
    expect_status(outcome, end.status)?;
    expect_texts(outcome, end.says)
}

fn on_machine(test: &str, program: &Path, machine: &dyn Fn() -> Hadal) -> Result<(), TestError> {
    let directory = scratch::empty_directory(&format!("{test}-run"))?;
    ENDS.iter().filter(|end| end.anywhere).try_for_each(|end| {
        check(end, &machine().cwd(&directory).limit(LIMIT).run(program, &arguments(&[end.case]))?)
    })
}

/// The run-time stays when the library that has brought it in goes.
fn unloaded(test: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(test)?;
    let source = scratch::workspace().join("tests/programs/openmp/misuse_library.c");
    let (program, shared) = (directory.join("program"), directory.join("libwork.so"));
    let mut command = Command::new("gcc");
    command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).arg(&source).arg("-o").arg(&program);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    let mut command = Command::new("gcc");
    command.args(["-O2", "-fopenmp", "-DLIBRARY", "-shared", "-fPIC"]).arg(&source).arg("-o").arg(&shared);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    let mut command = Command::new(&program);
    command.arg(&shared).env("LD_LIBRARY_PATH", library()?);
    expect_status(&run::run(command, b"", LIMIT)?, 0)
}

/// The run-time comes behind libraries whose data each thread has in a place of its own.
fn loaded_later(test: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(test)?;
    let source = scratch::workspace().join("tests/programs/openmp/loaded_later.cpp");
    let build = |name: &str, options: &[&str]| {
        let mut command = Command::new("g++");
        command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(options).arg(&source);
        command.arg("-o").arg(directory.join(name));
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)
    };
    build("program", &[])?;
    build("libdata.so", &["-DDATA", "-shared", "-fPIC"])?;
    build("libwork.so", &["-DWORK", "-fopenmp", "-shared", "-fPIC"])?;
    let program = directory.join("program");
    let libraries = ["./libdata.so", "./libwork.so"];
    let mut command = Command::new(&program);
    command.args(libraries).current_dir(&directory).env("LD_LIBRARY_PATH", library()?);
    expect_status(&run::run(command, b"", LIMIT)?, 0)?;
    for cpus in [1, 2] {
        let machine = Hadal::new(cpus).option("--omp=native").cwd(&directory).limit(LIMIT);
        expect_status(&machine.run(&program, &arguments(&libraries))?, 0)?;
    }
    Ok(())
}

/// A host that the program asks for by name is no missing device.
fn mandatory(test: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(test)?;
    let (source, file) = (directory.join("target.c"), directory.join("target"));
    let text = "#include <omp.h>\nint main(int argc, char **argv) {\n    int ran = 0;\n#pragma omp target if (argc > 9)\n    \
        ran++;\n#pragma omp target device(omp_get_initial_device()) map(ran)\n    ran++;\n    if (argv[1][0] == 'd') {\n\
        #pragma omp target map(ran)\n        ran++;\n    }\n    return ran > 0 ? 0 : 1;\n}\n";
    std::fs::write(&source, text).map_err(TestError::io("target.c"))?;
    let mut command = Command::new("gcc");
    command.args(["-O2", "-fopenmp"]).arg(&source).arg("-o").arg(&file);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    for (argument, status) in [("host", 0), ("default", 1)] {
        let mut command = Command::new(&file);
        command.arg(argument).env("LD_LIBRARY_PATH", library()?).env("OMP_TARGET_OFFLOAD", "mandatory");
        expect_status(&run::run(command, b"", LIMIT)?, status)?;
    }
    Ok(())
}
