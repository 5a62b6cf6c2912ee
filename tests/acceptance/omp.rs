// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hadal's OpenMP run-time in its three builds: in images, in the place of the compilers' own under `hadal run
//! --omp=native`, and the same shared library on Linux.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hadal_tests::case::{expect_status, expect_stdout, expect_texts, wrong};
use hadal_tests::machine::{Permit, arguments, hadal, hadal_command};
use hadal_tests::{Hadal, Outcome, TestError, run, scratch};

use crate::suite::Suite;

pub(crate) const LIMIT: Duration = Duration::from_secs(90);
/// The first time the run-time is compiled, too.
pub(crate) const COMPILER_LIMIT: Duration = Duration::from_secs(240);
/// Sizes of teams on Linux: alone, as many as cores, and more.
const TEAMS: [u32; 4] = [1, 2, 4, 8];
/// Processors of machines, threads of the teams there, and whether constructs can be cancelled, for which barriers differ.
const MACHINES: [(u32, u32, bool); 3] = [(1, 3, false), (2, 2, true), (4, 8, false)];
/// The same under `--omp=native`.
const MACHINES_OF_NATIVE: [(u32, u32, bool); 2] = [(2, 2, true), WITHOUT_CANCELLATION];
/// Of images with `hadal test --all` only.
const WITHOUT_CANCELLATION: (u32, u32, bool) = (2, 2, false);

/// A program that checks itself.
#[derive(Clone, Copy)]
pub(crate) struct Checked {
    /// Of its source file, without the ending.
    pub(crate) name: &'static str,
    ending: &'static str,
    pub(crate) compiler: &'static str,
}

pub(crate) const fn gcc(name: &'static str) -> Checked {
    Checked { name, ending: "c", compiler: "gcc" }
}

pub(crate) const fn clang(name: &'static str) -> Checked {
    Checked { name, ending: "c", compiler: "clang" }
}

/// One of each compiler's interface, and those of the routines by both.
pub(crate) const PROGRAMS: &[Checked] = &[
    gcc("api_affinity"),
    gcc("api_device"),
    gcc("api_inherit"),
    gcc("api_locks"),
    gcc("api_memory"),
    gcc("api_settings"),
    clang("api_affinity"),
    clang("api_inherit"),
    clang("api_locks"),
    clang("api_memory"),
    clang("api_settings"),
    gcc("gomp_cancel"),
    gcc("gomp_loops"),
    gcc("gomp_old"),
    gcc("gomp_reductions"),
    gcc("gomp_sync"),
    gcc("gomp_target"),
    gcc("gomp_tasks"),
    gcc("join_tasks"),
    gcc("loop_steps"),
    clang("loop_steps"),
    gcc("primary_first"),
    gcc("thread_turnover"),
    clang("thread_turnover"),
    gcc("undeferred_event"),
    clang("undeferred_event"),
    gcc("misuse_memory"),
    clang("misuse_memory"),
    gcc("misuse_numbers"),
    clang("misuse_numbers"),
    gcc("misuse_threads"),
    clang("misuse_threads"),
    gcc("thread_limit"),
    clang("thread_limit"),
    clang("join_tasks"),
    gcc("ompt_events"),
    clang("ompt_events"),
    gcc("ompt_work"),
    clang("ompt_work"),
    clang("kmpc_calls"),
    clang("kmpc_cancel"),
    clang("kmpc_dispatch"),
    clang("kmpc_doacross"),
    clang("kmpc_others"),
    clang("kmpc_parallel"),
    clang("kmpc_regrouped"),
    clang("kmpc_static"),
    clang("kmpc_sync"),
    clang("kmpc_taskloop"),
    clang("kmpc_tasks"),
    clang("kmpc_teams"),
    Checked { name: "kmpc_objects", ending: "cpp", compiler: "clang++" },
    Checked { name: "kmpc_objects", ending: "cpp", compiler: "g++" },
    Checked { name: "kmpc_threadprivate", ending: "cpp", compiler: "clang++" },
];

/// Programs of which parts of the run-time become part, with `-flto`.
const INLINED: &[Checked] = &[
    gcc("api_locks"),
    gcc("gomp_cancel"),
    gcc("gomp_loops"),
    gcc("gomp_sync"),
    gcc("gomp_tasks"),
    gcc("ompt_events"),
    gcc("ompt_work"),
    Checked { name: "kmpc_objects", ending: "cpp", compiler: "g++" },
];

/// The NAS parallel benchmarks of `bench/programs/nas`, and their sources.
const NAS: [(&str, &[&str]); 8] = [
    ("ep", &["ep.c", "nas.c"]),
    ("cg", &["cg.c", "nas.c"]),
    ("is", &["is.c", "nas.c"]),
    ("mg", &["mg.c", "nas.c"]),
    ("ft", &["ft.c", "nas.c"]),
    ("bt", &["bt.c", "bt_solve.c", "cfd.c", "cfd_rhs.c", "cfd_lines.c", "cfd_main.c", "nas.c"]),
    ("sp", &["sp.c", "sp_solve.c", "cfd.c", "cfd_rhs.c", "cfd_lines.c", "cfd_main.c", "nas.c"]),
    ("lu", &["lu.c", "lu_rows.c", "lu_sweep.c", "cfd.c", "cfd_rhs.c", "cfd_main.c", "nas.c"]),
];

pub(crate) fn register(suite: &mut Suite) {
    for &program in PROGRAMS {
        let Checked { name, compiler, .. } = program;
        suite.hadal(format!("omp/linux/{name}/{compiler}"), move |test| {
            let (file, library) = (program.build(test)?, library()?);
            TEAMS.iter().map(|&team| (team, "true")).chain([(2, "false")]).try_for_each(
                |(team, cancellation)| {
                    let mut command = Command::new(&file);
                    command.env("LD_LIBRARY_PATH", &library).env("OMP_NUM_THREADS", team.to_string());
                    command.env("OMP_CANCELLATION", cancellation);
                    let _permit = Permit::alone();
                    expect_status(&run::run(command, b"", LIMIT)?, 0)
                },
            )
        });
        suite.hadal(format!("omp/native/{name}/{compiler}"), move |test| {
            let file = program.build(test)?;
            let machine = || Hadal::plain().option("--omp=native");
            on_machines(test, &file, machine, &MACHINES_OF_NATIVE)
        });
        suite.hadal(format!("omp/image/{name}/{compiler}"), move |test| {
            on_machines(test, &program.image(test)?, Hadal::plain, &MACHINES)
        });
        suite.hadal_in_all(format!("omp/image/{name}/{compiler}/without-cancellation"), move |test| {
            on_machines(test, &program.image(test)?, Hadal::plain, &[WITHOUT_CANCELLATION])
        });
    }
    for &program in INLINED {
        suite.hadal(format!("omp/inlined/{}", program.name), move |test| {
            let image = program.image_with(test, &["-flto=auto"])?;
            on_machines(test, &image, Hadal::plain, &MACHINES[1..])
        });
        suite.hadal_in_all(format!("omp/inlined/{}/without-cancellation", program.name), move |test| {
            let image = program.image_with(test, &["-flto=auto"])?;
            on_machines(test, &image, Hadal::plain, &[WITHOUT_CANCELLATION])
        });
    }
    suite.hadal("omp/link-time", link_time);
    for (name, sources) in NAS {
        for compiler in ["gcc", "clang"] {
            suite.hadal(format!("omp/nas/{name}/{compiler}"), move |test| nas(test, sources, compiler));
        }
    }
    suite.hadal("omp/options", options);
}

pub(crate) fn on_machines(
    test: &str,
    program: &Path,
    machine: impl Fn() -> Hadal,
    sizes: &[(u32, u32, bool)],
) -> Result<(), TestError> {
    let directory = scratch::empty_directory(&format!("{test}-run"))?;
    sizes.iter().try_for_each(|(cpus, team, cancellation)| {
        // Threads that spin for each other need the host's cores.
        let machine = machine().with("--cpus", cpus.to_string()).alone().cwd(&directory).limit(LIMIT);
        let machine = machine
            .env("OMP_NUM_THREADS", team.to_string())
            .env("OMP_CANCELLATION", cancellation.to_string());
        expect_status(&machine.run(program, &[])?, 0)
    })
}

impl Checked {
    fn source(self) -> PathBuf {
        scratch::workspace().join("tests/programs/openmp").join(self.name).with_extension(self.ending)
    }

    /// Options of both ways to compile it.
    pub(crate) fn add_options(self, command: &mut Command, output: &Path) {
        let programs = scratch::workspace().join("tests/programs");
        command.args(["-O2", "-g", "-fopenmp", "-Wall", "-Wextra", "-Werror"]);
        // What compilers say of code that they have made of directives themselves.
        command.arg(if self.compiler == "gcc" { "-Wno-maybe-uninitialized" } else { "-Wno-sign-compare" });
        command.arg("-I").arg(programs);
        command.arg(self.source()).arg("-o").arg(output);
    }

    /// As a dynamic program, in a directory of the test's. Entry points that this compiler's own run-time lacks are found in
    /// Hadal's.
    pub(crate) fn build(self, test: &str) -> Result<PathBuf, TestError> {
        let directory = scratch::empty_directory(test)?;
        let output = directory.join(self.name);
        let mut command = Command::new(self.compiler);
        self.add_options(&mut command, &output);
        command.arg(library()?.join("libgomp.so.1")).arg("-lm");
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
        Ok(output)
    }

    pub(crate) fn image(self, test: &str) -> Result<PathBuf, TestError> {
        self.image_with(test, &[])
    }

    /// With more options.
    fn image_with(self, test: &str, options: &[&str]) -> Result<PathBuf, TestError> {
        let directory = scratch::empty_directory(test)?;
        let output = directory.join(self.name).with_extension("hadal");
        let (subcommand, variable) = match self.ending {
            "cpp" => ("c++", "CXX"),
            _ => ("cc", "CC"),
        };
        let mut command = Command::new(hadal_command()?);
        command.env(variable, self.compiler).arg(subcommand).args(options);
        self.add_options(&mut command, &output);
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
        Ok(output)
    }
}

/// The smallest class verifies itself in an image, and as a drop-in.
fn nas(test: &str, sources: &[&str], compiler: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(test)?;
    let folder = scratch::workspace().join("bench/programs/nas");
    let compile = |mut command: Command, output: &Path| {
        command.args(["-std=c11", "-O2", "-fopenmp", "-DNAS_CLASS_S"]);
        command.args(sources.iter().map(|source| folder.join(source))).arg("-lm").arg("-o").arg(output);
        expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)
    };
    let (image, dynamic) = (directory.join("nas.hadal"), directory.join("nas"));
    let mut cc = Command::new(hadal_command()?);
    cc.env("CC", compiler).arg("cc");
    compile(cc, &image)?;
    compile(Command::new(compiler), &dynamic)?;
    let machine = Hadal::new(2).cwd(&directory).limit(LIMIT);
    for (machine, program) in [(machine.clone(), &image), (machine.option("--omp=native"), &dynamic)] {
        let outcome = machine.run(program, &[])?;
        expect_status(&outcome, 0)?;
        if !outcome.stdout_text().contains("{\"name\":\"nas.") {
            return Err(wrong("no result", &outcome));
        }
    }
    Ok(())
}

/// The directory with the shared library, as `hadal sdk` writes it.
pub(crate) fn library() -> Result<PathBuf, TestError> {
    static MADE: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(directory) = &*made {
        return Ok(directory.clone());
    }
    let sdk = scratch::empty_directory("omp/sdk")?;
    let mut command = Command::new(hadal_command()?);
    command.arg("sdk").arg(&sdk);
    expect_status(&run::run(command, b"", COMPILER_LIMIT)?, 0)?;
    Ok(made.insert(sdk.join("lib/openmp")).clone())
}

/// What `--omp` and `--openmp` say when they cannot do what is asked for.
fn options(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = gcc("gomp_sync");
    let image = program.image("omp/options-image")?;
    let native = |program: &Path| -> Result<Outcome, TestError> {
        Hadal::plain().option("--omp=native").cwd(&directory).run(program, &arguments::<&str>(&[]))
    };
    let outcome = native(&image)?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["--omp=native: an image has its OpenMP run-time inside"])?;
    let fixed = directory.join("static");
    let mut command = Command::new("gcc");
    program.add_options(&mut command, &fixed);
    command.arg("-static");
    run::run(command, b"", COMPILER_LIMIT)?;
    let outcome = native(&fixed)?;
    expect_status(&outcome, 2)?;
    expect_texts(&outcome, &["--omp=native: the program is static, its OpenMP run-time is inside"])?;
    let outcome = hadal(&["cc", "--openmp=mine", "a.c"], &directory, LIMIT)?;
    expect_texts(&outcome, &["--openmp=mine: no such OpenMP library", "--openmp=hadal (the default)"])?;
    expect_stdout(&outcome, "")
}

/// With `-flto`, gcc makes the run-time part of an image's program; clang and other lines get it as a library.
fn link_time(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let source = "int main(void) {\n    int n = 0;\n#pragma omp parallel for\n    for (int i = 0; i < 8; i++) {\n\
                  #pragma omp critical\n        n += i;\n    }\n    return n;\n}\n";
    std::fs::write(directory.join("sum.c"), source).map_err(TestError::io("sum.c"))?;
    let calls = |options: &[&str]| -> Result<bool, TestError> {
        let line =
            [&["cc", "-O2", "-fopenmp", "sum.c", "-o", "sum.hadal", "-Wl,-Map=sum.map"], options].concat();
        expect_status(&hadal(&line, &directory, COMPILER_LIMIT)?, 0)?;
        expect_status(
            &Hadal::new(2).cwd(&directory).limit(LIMIT).run(&directory.join("sum.hadal"), &[])?,
            28,
        )?;
        // The linker's list of what the program holds, by name.
        let map = std::fs::read_to_string(directory.join("sum.map")).map_err(TestError::io("sum.map"))?;
        Ok(map.lines().any(|line| line.trim_end().ends_with(" GOMP_critical_start")))
    };
    for (options, is_called) in [(&[][..], true), (&["-flto=auto"], false), (&["-flto", "-fno-lto"], true)] {
        if calls(options)? != is_called {
            return Err(TestError::Wrong(format!(
                "with {options:?}, the run-time is called: {}",
                !is_called
            )));
        }
    }
    // One object with, one without.
    std::fs::write(directory.join("other.c"), "int main(void) { extern int sum(void); return sum(); }\n")
        .map_err(TestError::io("other.c"))?;
    let sum = ["cc", "-O2", "-fopenmp", "-c", "-Dmain=sum", "sum.c", "-o", "sum.o"];
    expect_status(&hadal(&sum, &directory, COMPILER_LIMIT)?, 0)?;
    let both = ["cc", "-O2", "-flto=auto", "-fopenmp", "other.c", "sum.o", "-o", "both.hadal"];
    expect_status(&hadal(&both, &directory, COMPILER_LIMIT)?, 0)?;
    expect_status(&Hadal::new(2).cwd(&directory).limit(LIMIT).run(&directory.join("both.hadal"), &[])?, 28)
}
