// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal cc`, `hadal c++` and `hadal fc`: the system's compilers, making program images.
//!
//! [`line`] reads the command line, [`sdk`] has headers and libraries. A line that does not link is the compiler's own,
//! with one more include directory. A line that links is a static link to a scratch file, which then goes into an image
//! with the kernel. The status is the compiler's when it fails.

mod library;
mod line;
mod messages;
pub(crate) mod openmp;
mod response_file;
pub(crate) mod runtimes;
pub(crate) mod sdk;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;
use clap::CommandFactory;

use crate::args::Cli;
use crate::compile::{self, Language};
use crate::failure::Failure;
use crate::languages::{self, object::Replaced};
use crate::pack;
use crate::plain_qemu::{self, Medium};
use line::{Line, Pthread, Question, Stage};
use openmp::StaticLibrary;
use runtimes::Built;
use sdk::Sdk;

/// Name of the image or the Linux program when the line gives none.
const DEFAULT_OUTPUT: &str = "a.out";

/// Commands of ours that must not be taken for the compiler: `CC=hadal-cc ./configure` sets the variable for us, too.
const OWN_COMMANDS: [&str; 5] = ["hadal", "hadal-cc", "hadal-c++", "hadal-cxx", "hadal-fc"];

/// Functions that libgfortran.a refers to weakly. A static link leaves those out that nothing else needs, and libgfortran
/// then calls address 0 once another library brings a part of them (gcc bug 58909 is the same for C++).
const WEAK_IN_LIBGFORTRAN: [&str; 14] = [
    "pthread_cond_broadcast",
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_cond_wait",
    "pthread_create",
    "pthread_getspecific",
    "pthread_join",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_mutex_destroy",
    "pthread_mutex_init",
    "pthread_mutex_trylock",
    "pthread_self",
    "pthread_setspecific",
];

/// The language of a subcommand's name.
pub(crate) fn language(subcommand: &OsStr) -> Option<Language> {
    match subcommand.to_str()? {
        "cc" => Some(Language::C),
        "c++" => Some(Language::Cpp),
        "fc" => Some(Language::Fortran),
        _ => None,
    }
}

/// Set for each compiler that this command calls: one that calls this command again does not go on for ever.
const CALLED_BY_US: &str = "HADAL_CALLS_COMPILER";

/// A call of the compiler, without arguments of its own yet.
pub(crate) fn command(compiler: &[OsString]) -> Command {
    let mut command = Command::new(&compiler[0]);
    command.args(&compiler[1..]).env(CALLED_BY_US, "1");
    command
}

/// Runs a compiler on a file that this command has made: that it fails is not the user's fault.
pub(crate) fn run_tool(command: Command, what: &str) -> Result<(), Failure> {
    library::run(command, what)
}

/// The compiler may be a script that calls this command, which would then call it.
fn check_caller(language: Language) -> Result<(), Failure> {
    if env::var_os(CALLED_BY_US).is_none() {
        return Ok(());
    }
    let variable = language.variable();
    let named = env::var_os(variable).unwrap_or_default();
    Err(Failure::setup(
        format!(
            "hadal was called by the compiler that it calls ({variable}={})",
            Path::new(&named).display()
        ),
        format!(
            "in the script that calls hadal, let {variable} name the compiler itself: {variable}={} exec hadal ...",
            language.usual_compiler()
        ),
    ))
}

/// Runs the compiler; returns the status with which the command ends.
pub(crate) fn run(language: Language, args: Vec<OsString>) -> Result<u8, Failure> {
    check_caller(language)?;
    link_cxx();
    let mut line = Line::read(args)?;
    line.fortran |= language == Language::Fortran;
    let replaced = match line.stage {
        Stage::Program => languages::object::replace_sources(&mut line.args)?,
        Stage::Objects | Stage::Query => Replaced::default(),
    };
    // The run-times of the data-parallel languages need the library of C++.
    let language = if replaced.runtimes.is_empty() { language } else { Language::Cpp };
    line.runtimes = replaced.runtimes.iter().map(Built::library).collect();
    match line.question {
        Some(Question::Help) => return print_help(language),
        Some(Question::Paths) => return print_paths(),
        None => {}
    }
    let compiler = compiler(language)?;
    if line.stage == Stage::Query {
        // Only what is asked for: a question about versions must not wait for a library to be compiled.
        return call(&compiler, &line, |_| {});
    }
    let sdk = Sdk::find()?;
    match (line.stage, line.for_linux) {
        (Stage::Program, false) => make_image(&compiler, &line, &sdk),
        (Stage::Program, true) => call(&compiler, &line, |command| {
            add_libraries(command, &line, &sdk, None);
            command.arg("-o").arg(line.output.as_deref().unwrap_or(OsStr::new(DEFAULT_OUTPUT)));
        }),
        _ => call(&compiler, &line, |command| {
            command.arg("-isystem").arg(sdk.include());
        }),
    }
}

/// Makes `hadal-c++` beside this command if `hadal-cxx` is there and the directory may be written to.
fn link_cxx() {
    let Some(dir) = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_path_buf)) else {
        return;
    };
    let link = dir.join("hadal-c++");
    if dir.join("hadal-cxx").is_file() && !link.exists() {
        // Without it `hadal c++` and `hadal-cxx` work all the same.
        let _ = std::os::unix::fs::symlink("hadal-cxx", link);
    }
}

/// Whether a command, as a shell finds it, is this one under whatever name.
fn is_this_command(command: &Path) -> bool {
    let Ok(own) = env::current_exe().and_then(fs::canonicalize) else { return false };
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = match command.components().count() {
        1 => env::split_paths(&path).collect(),
        _ => vec![PathBuf::new()],
    };
    let mut files = directories.iter().map(|directory| directory.join(command));
    files.find_map(|file| fs::canonicalize(file).ok()).is_some_and(|file| file == own)
}

/// The compiler's command words, never one of our own commands.
pub(crate) fn compiler(language: Language) -> Result<Vec<OsString>, Failure> {
    let is_own = |words: &str| {
        let first = Path::new(words.split_whitespace().next().unwrap_or(""));
        first.file_name().is_some_and(|name| OWN_COMMANDS.iter().any(|own| name == *own))
            || is_this_command(first)
    };
    let named = env::var(language.variable()).ok().filter(|words| !is_own(words));
    compile::compiler_command(language, named.as_deref())
}

/// Runs the compiler on the line's arguments; without an addition of its own the output's name is passed on, too.
fn call(compiler: &[OsString], line: &Line, add: impl FnOnce(&mut Command)) -> Result<u8, Failure> {
    let mut command = command(compiler);
    let is_copied = line.stage == Stage::Program && line.threads && !line.for_linux;
    if is_copied && shows_colours() {
        // In front of the line's own options, which may say otherwise.
        command.arg("-fdiagnostics-color=always");
    }
    command.args(&line.args);
    if line.stage != Stage::Program
        && let Some(output) = &line.output
    {
        command.arg("-o").arg(output);
    }
    add(&mut command);
    let status = if is_copied { run_copied(command) } else { command.status() };
    let status = status.with_context(|| Path::new(&compiler[0]).display().to_string())?;
    // A compiler that a signal ended has no status.
    Ok(status.code().map_or(hadal_abi::status::COMPILE, |code| code as u8))
}

/// Whether a compiler that wrote to this standard error itself would use colours (`NO_COLOR`: see no-color.org).
pub(crate) fn shows_colours() -> bool {
    let is_set = |name| env::var_os(name).filter(|value| !value.is_empty());
    std::io::stderr().is_terminal()
        && is_set("NO_COLOR").is_none()
        && is_set("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// Runs the compiler to its end; what it says goes through [`messages::copy`].
fn run_copied(mut command: Command) -> io::Result<ExitStatus> {
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let copied =
        child.stderr.take().map_or(Ok(()), |said| messages::copy(BufReader::new(said), io::stderr()));
    let status = child.wait()?;
    copied.map(|()| status)
}

/// Adds the headers and, behind everything of the program's, the libraries; `openmp` is Hadal's OpenMP run-time, if the
/// program is to have that.
fn add_libraries(command: &mut Command, line: &Line, sdk: &Sdk, openmp: Option<&StaticLibrary>) {
    command.arg("-isystem").arg(sdk.include());
    if line.no_libraries {
        return;
    }
    // `-x c++` of the program's is about its sources, not about libraries.
    command.args(["-x", "none"]);
    let core = if line.for_linux { "libhrt-linux.a" } else { "libhrt.a" };
    let pthread = "libhrt-pthread.a";
    let own_threads = line.threads && line.pthread == Pthread::Hadal && !line.for_linux;
    if let Some(library) = sdk.library(pthread).filter(|_| own_threads) {
        // A thread that ends by unwinding while exit() runs must still find its frames: the registration of static
        // programs is gone by then, the table of this option is not.
        command.arg("-Wl,--eh-frame-hdr");
        // libgomp and libstdc++, which the compiler adds behind this, must find these functions and not libc's.
        command.arg("-Wl,--whole-archive").arg(library).arg("-Wl,--no-whole-archive");
    }
    if let Some(library) = openmp {
        if line.openmp_tools {
            command.arg(format!("-Wl,-u,{}", openmp::SEARCH_LIBRARIES));
        }
        command.args(library.link_args());
    }
    command.args(&line.runtimes).args(sdk.library(core));
    if line.fortran {
        let names: String = WEAK_IN_LIBGFORTRAN.iter().map(|name| format!(",-u,{name}")).collect();
        command.arg(format!("-Wl{names}"));
    }
    if line.for_linux {
        command.arg("-pthread");
    }
}

fn make_image(compiler: &[OsString], line: &Line, sdk: &Sdk) -> Result<u8, Failure> {
    let output = PathBuf::from(line.output.clone().unwrap_or_else(|| DEFAULT_OUTPUT.into()));
    let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
    // The linker writes the name into what it reports, so it is the one that the user knows.
    let program = scratch.path().join(output.file_name().unwrap_or(OsStr::new(DEFAULT_OUTPUT)));
    let openmp = line.has_own_openmp().then(|| StaticLibrary::new(compiler, line.link_time)).transpose()?;
    let status = call(compiler, line, |command| {
        if !line.is_static {
            command.arg("-static");
        }
        add_libraries(command, line, sdk, openmp.as_ref());
        command.arg("-o").arg(&program);
    })?;
    if status == 0 {
        let modules = pack::read_modules(&line.modules)?;
        pack::make(&program, &output, modules, &pack::Defaults::default())?;
        tell_how_to_run(&output);
    }
    Ok(status)
}

/// Says how the image is run: to a person only, since build systems take what a compiler says for warnings.
fn tell_how_to_run(output: &Path) {
    if std::io::stderr().is_terminal() {
        eprintln!("hadal: wrote {0}; to run it: hadal run {0}", output.display());
        eprintln!("  or without the command: {}", plain_qemu::line(Medium::Kernel, output));
    }
}

fn print_help(language: Language) -> Result<u8, Failure> {
    let mut cli = Cli::command();
    let name = match language {
        Language::C => "cc",
        Language::Cpp => "c++",
        Language::Fortran => "fc",
    };
    cli.build();
    if let Some(command) = cli.find_subcommand_mut(name) {
        command.print_long_help().context("cannot write to standard output")?;
    }
    Ok(0)
}

fn print_paths() -> Result<u8, Failure> {
    let sdk = Sdk::find()?;
    println!("include {}", sdk.include().display());
    println!("lib {}", sdk.lib().display());
    Ok(0)
}

/// `hadal sdk DIR`: headers and libraries for other build systems.
pub(crate) fn write_sdk(dir: &Path) -> Result<u8, Failure> {
    let cannot = || format!("cannot write to {}", dir.display());
    Sdk::find()?.copy_to(dir).with_context(cannot)?;
    eprintln!("hadal: wrote {0}/include, {0}/lib and {0}/{1}", dir.display(), sdk::TOOLCHAIN_FILE);
    match openmp::copy_to(&dir.join("lib/openmp")) {
        Ok(()) => eprintln!("  and {}/lib/openmp, for LD_LIBRARY_PATH", dir.display()),
        // Who has no C++ compiler can do without.
        Err(Failure::Setup { what, .. }) => {
            eprintln!("  but no lib/openmp and nothing of NESL and NDPC: {what}");
            return Ok(0);
        }
        Err(error) => return Err(error),
    }
    for (file, to) in languages::program::for_sdk()? {
        let to = dir.join(to);
        std::fs::create_dir_all(to.parent().unwrap_or(dir)).with_context(cannot)?;
        std::fs::copy(&file, &to).with_context(cannot)?;
    }
    eprintln!("  and {0}/bin/vcode, {0}/lib/libvcode.a, {0}/lib/libndpc.a, {0}/include/ndpc", dir.display());
    Ok(0)
}
