// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prepares a run: finds (or compiles) the program, plans the guest's file tree, checks the program's file and its
//! libraries, and writes the run configuration.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use hadal_abi::calls::CallTrace;
use hadal_abi::config::{BootAction, BootModule, Filling, Mount, ProgramSource, RunConfig};
use rustix::process::{Resource, getegid, geteuid, getgroups, getrlimit};

use crate::args::{OpenMp, Ring, RunArgs};
use crate::elf::{self, Elf, ElfError};
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::program_image::ProgramImage;
use crate::session::Boot;
use crate::values::Bytes;
use crate::view::{Found, LookupError, View, ViewRequest};
use crate::{cc, compile, languages, libraries, machine, pack, paths, qemu, script, stdio, terminal};

/// The time of day at which counting machines boot, which is the same in every run: 2026-01-01 00:00:00 UTC.
const COUNTING_STARTS_NS: i64 = 1_767_225_600 * 1_000_000_000;

/// Where the guest sees a program that was compiled for this run, when its cache directory is not visible.
const COMPILED_DIR: &str = "hadal-program";
/// And its OpenMP run-time.
const OPENMP_DIR: &str = "hadal-openmp";

/// A run, ready to start.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Its headers.
    pub(crate) elf: Elf,
    /// The guest's file tree.
    pub(crate) view: View,
    /// The kernel and what it is told.
    pub(crate) boot: Boot,
    /// The program's own file, for debuggers; of an image, a copy.
    pub(crate) symbols: PathBuf,
}

/// Prepares the run that the command line describes, on a machine with this much memory.
pub(crate) fn prepare(args: &RunArgs, memory: Bytes) -> Result<Launch, Failure> {
    let host_cwd = env::current_dir().context("the working directory is gone")?;
    let request = ViewRequest { root: args.root.as_deref(), cwd: args.cwd.as_deref(), mounts: &args.mount };
    let mut view = View::plan(&request, &host_cwd)?;
    let typed = program_name(&args.command)?;
    compile::check_flags(typed, args.cflags.as_deref())?;
    let mut environment = environment(args);
    let place = in_path(&view, typed, &host_cwd);
    let name = place.as_deref().unwrap_or(typed);
    let host_path = host_cwd.join(name);
    let image = ProgramImage::open(&host_path).map_err(|error| program_error(name, error.into()))?;
    if let Some(image) = image {
        return launch_image(args, memory, view, &host_path, &image, environment);
    }
    let file = find_program(&mut view, name, &host_cwd, args)?;
    let mut argv = args.command.clone();
    if compile::is_source(name) {
        argv[0] = file.guest.clone().into_os_string();
        if languages::Language::of(name).is_some_and(languages::Language::compiles_arguments) {
            argv.truncate(1);
        }
    }
    let (name, program) = interpreter(&mut view, name, file, &host_cwd, &mut argv)?;
    let elf = check_program(&mut view, &name, &program, memory)?;
    if args.omp == OpenMp::Native {
        if args.ring == Ring::Three {
            return Err(Failure::Usage {
                what: "--omp=native --ring 3: Hadal's OpenMP run-time calls the kernel, which ring 3 does not reach".into(),
                help: "leave one of them out; or give the program the run-time's build for Linux: `hadal sdk DIR`, then --env \
                       LD_LIBRARY_PATH=DIR/lib/openmp"
                    .into(),
            });
        }
        use_own_openmp(&mut view, &elf, &mut environment)?;
    }
    check_libraries(&mut view, &program, &elf, &environment);
    let config = configuration(args, &view, &program, argv, environment)?;
    let boot = boot(Kernel::own()?, config, args)?;
    Ok(Launch { symbols: program.host, elf, view, boot })
}

/// Prepares the run of an image: its program appears at the image's own path, whatever the guest's tree has there.
fn launch_image(
    args: &RunArgs,
    memory: Bytes,
    view: View,
    host_path: &Path,
    image: &ProgramImage,
    environment: Vec<OsString>,
) -> Result<Launch, Failure> {
    if args.ring == Ring::Three {
        return Err(Failure::Usage {
            what: "--ring 3: an image is a part of the kernel".into(),
            help: "leave the option out; `hadal cc --linux` makes a program that --ring 3 isolates".into(),
        });
    }
    if args.omp == OpenMp::Native {
        return Err(Failure::Usage {
            what: "--omp=native: an image has its OpenMP run-time inside".into(),
            help: "leave the option out; `hadal cc -fopenmp` makes images with Hadal's".into(),
        });
    }
    let name = program_name(&args.command)?;
    let host = host_path.canonicalize().context("the image is gone")?;
    let program = Found { guest: host.clone(), host };
    let wrong = |error| program_error(name, error);
    let elf = elf::inspect_bytes(image.contents().program).map_err(wrong)?;
    elf.check_memory(memory).map_err(wrong)?;
    let symbols = match args.gdb {
        Some(_) => copy_for_debugger(&program.host, image)?,
        None => program.host.clone(),
    };
    let filling = match args.first_touch || args.machine.numa > 1 {
        true => Filling::FirstTouch,
        false => Filling::Mapping,
    };
    let config = configuration(args, &view, &program, args.command.clone(), environment)?;
    let config = RunConfig { program_source: ProgramSource::Image, filling, ..config };
    let boot = boot(Kernel::of_image(image)?, config, args)?;
    Ok(Launch { elf, view, boot, symbols })
}

/// Writes an image's program to the cache.
fn copy_for_debugger(image_file: &Path, image: &ProgramImage) -> Result<PathBuf, Failure> {
    let mut name = image_file.file_name().unwrap_or_default().to_owned();
    name.push(".elf");
    let copy = paths::cache_dir("gdb")?.join(name);
    paths::write_atomically(&copy, image.contents().program)?;
    Ok(copy)
}

/// What the machine is started with, the modules of the command line included.
fn boot(kernel: Kernel, config: RunConfig, args: &RunArgs) -> Result<Boot, Failure> {
    let modules = pack::read_modules(&args.module)?;
    let named = |(name, content): &pack::Module| BootModule { name: name.clone(), len: content.len() as u64 };
    let config = RunConfig { modules: modules.iter().map(named).collect(), ..config };
    Ok(Boot {
        kernel,
        config,
        modules: modules.into_iter().map(|(_, content)| content).collect(),
        command_line: args.append.clone().unwrap_or_default(),
    })
}

/// The program's name on the command line.
pub(crate) fn program_name(command: &[OsString]) -> Result<&Path, Failure> {
    Ok(Path::new(command.first().context("the command line has no program")?))
}

/// Where `PATH` has a command, in the guest's tree, if the name has no slash, no source or file of the working directory is meant.
fn in_path(view: &View, name: &Path, host_cwd: &Path) -> Option<PathBuf> {
    let here = host_cwd.join(name);
    if compile::is_source(name) || here.is_file() { None } else { command_in_path(view, name, host_cwd) }
}

/// Where `PATH` has a command, in the guest's tree, if the name has no slash.
fn command_in_path(view: &View, name: &Path, host_cwd: &Path) -> Option<PathBuf> {
    if name.as_os_str().as_bytes().contains(&b'/') {
        return None;
    }
    paths::command_places(name).map(|place| host_cwd.join(place)).find(|place| match view.resolve(place) {
        Ok(found) => paths::is_executable(&found.host),
        Err(LookupError::InGuestTree(path)) => paths::is_executable(&path),
        Err(_) => false,
    })
}

/// Follows the `#!` lines of scripts to a program that is none; `argv` becomes what that program gets.
fn interpreter(
    view: &mut View,
    name: &Path,
    mut file: Found,
    host_cwd: &Path,
    argv: &mut Vec<OsString>,
) -> Result<(PathBuf, Found), Failure> {
    let mut name = name.to_path_buf();
    // What the interpreter is told: as typed, where that leads to the file from the program's working directory.
    let same_cwd = view.guest_path_of(host_cwd).is_some_and(|cwd| cwd == view.cwd);
    let mut script_path = if name.is_absolute() || same_cwd { name.clone() } else { file.guest.clone() };
    let mut depth = 0;
    while let Ok(Some(script)) = script::read(&file.host) {
        let wrong = |error| program_error(&name, error);
        let script = script.map_err(|error| wrong(error.into()))?;
        if depth == script::MOST_NESTED {
            return Err(wrong(ElfError::NestedScripts));
        }
        depth += 1;
        // What `env` would become takes its place at once, and its libraries are checked.
        let command = script.command_of_env();
        let interpreter = match &command {
            Some(command) if !command[0].as_bytes().contains(&b'/') => {
                let name = PathBuf::from(&command[0]);
                command_in_path(view, &name, host_cwd).ok_or(wrong(ElfError::NoScriptInterpreter(name)))?
            }
            Some(command) => PathBuf::from(&command[0]),
            None => script.interpreter,
        };
        let place = view.cwd.join(&interpreter);
        let next = match view.resolve(&place) {
            Ok(found) if found.host.exists() => found,
            Err(LookupError::InGuestTree(path)) if path.is_file() && view.uncover(&path) => {
                Found { guest: path.clone(), host: path }
            }
            _ => return Err(wrong(ElfError::NoScriptInterpreter(interpreter))),
        };
        check_executable(&file.host).map_err(wrong)?;
        file = next;
        argv[0] = script_path.into_os_string();
        let own = || core::iter::once(interpreter.clone().into_os_string()).chain(script.argument).collect();
        argv.splice(0..0, command.unwrap_or_else(own));
        script_path = interpreter.clone();
        name = interpreter;
    }
    Ok((name, file))
}

/// Finds the program's file in the guest's tree, after compiling it if it is a source.
fn find_program(view: &mut View, name: &Path, host_cwd: &Path, args: &RunArgs) -> Result<Found, Failure> {
    if compile::is_source(name) {
        if !host_cwd.join(name).exists() {
            return Err(program_error(name, ElfError::NotFound { elsewhere: None }));
        }
        // Under the name that the user knows it by, for messages.
        let host = compile::compile(name, args.cflags.as_deref(), &args.command[1..])?;
        return Ok(match view.guest_path_of(&host) {
            Some(guest) => Found { guest, host },
            None => {
                let dir = host.parent().context("a program lies in a directory")?;
                let guest_dir = view.add_below_tmp(dir, COMPILED_DIR)?;
                Found { guest: guest_dir.join(host.file_name().unwrap_or_default()), host }
            }
        });
    }
    // A relative name is what the user's shell shows, wherever the program itself will start.
    let host_path = host_cwd.join(name);
    let guest_path = match name.is_relative() {
        true => view.guest_path_of(&host_path).unwrap_or_else(|| host_path.clone()),
        false => name.to_path_buf(),
    };
    match view.resolve(&guest_path) {
        Ok(found) => Ok(found),
        Err(LookupError::InGuestTree(path)) if path.exists() && view.uncover(&path) => {
            let path = path.canonicalize().context("the program's file is gone")?;
            Ok(Found { guest: path.clone(), host: path })
        }
        Err(LookupError::Io(e)) => Err(program_error(name, ElfError::Unreadable(e))),
        Err(_) if host_path.exists() => Err(outside_tree(name, &host_path)),
        Err(_) => {
            let elsewhere = (name.components().count() == 1).then(|| paths::find_command(name)).flatten();
            Err(program_error(name, ElfError::NotFound { elsewhere }))
        }
    }
}

fn program_error(name: &Path, error: ElfError) -> Failure {
    Failure::Program { path: name.to_path_buf(), error }
}

fn outside_tree(name: &Path, host_path: &Path) -> Failure {
    let dir = host_path.parent().unwrap_or(host_path).display();
    Failure::setup(
        format!("{}: lies outside the file tree that the program sees", name.display()),
        format!(
            "add --mount {dir}:/tmp/bin and run /tmp/bin/{}",
            Path::new(host_path.file_name().unwrap_or_default()).display()
        ),
    )
}

/// Checks the program's own file and its interpreter.
fn check_program(view: &mut View, name: &Path, program: &Found, memory: Bytes) -> Result<Elf, Failure> {
    let wrong = |error| program_error(name, error);
    let elf = elf::inspect(&program.host).map_err(wrong)?;
    elf.check_program().map_err(wrong)?;
    elf.check_memory(memory).map_err(wrong)?;
    if let Some(interpreter) = &elf.interpreter {
        let host = match view.resolve(interpreter) {
            Ok(found) => found.host,
            Err(LookupError::InGuestTree(path)) if path.is_file() && view.uncover(&path) => path,
            Err(_) => return Err(wrong(ElfError::NoInterpreter(interpreter.clone()))),
        };
        elf::inspect(&host).map_err(|error| program_error(interpreter, error))?;
    }
    check_executable(&program.host).map_err(wrong)?;
    Ok(elf)
}

/// Refuses a file that Linux would not execute. What is wrong with its content is told first, since a text file is not made
/// a program by `chmod`.
fn check_executable(host: &Path) -> Result<(), ElfError> {
    if paths::may_execute(host) {
        return Ok(());
    }
    let mode = host.metadata()?.permissions().mode() & 0o7777;
    Err(ElfError::NotExecutable { mode })
}

/// Warns of libraries that the loader will not find; it then says so itself and ends with status 127.
fn check_libraries(view: &mut View, program: &Found, elf: &Elf, environment: &[OsString]) {
    let found = libraries::find(view, &program.guest, elf, &libraries::Settings::of(environment));
    for hidden in &found.hidden {
        view.uncover(hidden);
    }
    for missing in &found.missing {
        eprintln!("{}", libraries::warning(missing));
    }
}

/// A variable of an environment.
pub(crate) fn setting(name: &OsStr, value: &OsStr) -> OsString {
    let mut setting = name.to_owned();
    setting.push("=");
    setting.push(value);
    setting
}

/// Whether an environment of `NAME=value`s has a variable.
pub(crate) fn is_set(environment: &[Vec<u8>], name: &str) -> bool {
    let names = |setting: &Vec<u8>| {
        setting.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'='))
    };
    environment.iter().any(names)
}

/// The program's environment: this process's, with the settings of the command line.
pub(crate) fn environment(args: &RunArgs) -> Vec<OsString> {
    let inherited = env::vars_os().filter(|_| !args.clear_env).map(|(name, value)| setting(&name, &value));
    let mut all: Vec<OsString> = inherited.collect();
    for new in &args.env {
        let name_len = new.as_bytes().iter().position(|b| *b == b'=').unwrap_or(new.len()) + 1;
        let name = &new.as_bytes()[..name_len];
        match all.iter_mut().find(|old| old.as_bytes().starts_with(name)) {
            Some(old) => old.clone_from(new),
            None => all.push(new.clone()),
        }
    }
    all
}

/// Has the program's dynamic linker find Hadal's OpenMP run-time in the place of the compilers' own.
fn use_own_openmp(view: &mut View, elf: &Elf, environment: &mut Vec<OsString>) -> Result<(), Failure> {
    if elf.interpreter.is_none() {
        return Err(Failure::Usage {
            what: "--omp=native: the program is static, its OpenMP run-time is inside".into(),
            help: "link it dynamically, or make an image with `hadal cc -fopenmp`".into(),
        });
    }
    let host = cc::openmp::shared_dir()?;
    let guest = match view.guest_path_of(&host) {
        Some(guest) => guest,
        None => view.add_below_tmp(&host, OPENMP_DIR)?,
    };
    let name = b"LD_LIBRARY_PATH=";
    match environment.iter_mut().find(|setting| setting.as_bytes().starts_with(name)) {
        Some(setting) => {
            let others = setting.as_bytes()[name.len()..].to_vec();
            *setting = OsString::from_vec([name, guest.as_os_str().as_bytes(), b":", &others[..]].concat());
        }
        None => environment.push(OsString::from_vec([name, guest.as_os_str().as_bytes()].concat())),
    }
    Ok(())
}

fn configuration(
    args: &RunArgs,
    view: &View,
    program: &Found,
    argv: Vec<OsString>,
    environment: Vec<OsString>,
) -> Result<RunConfig, Failure> {
    let mounts = view.mounts().iter().enumerate().map(|(index, mount)| Mount {
        tag: qemu::mount_tag(index),
        guest_path: bytes(&mount.guest),
        writable: mount.writable,
    });
    // A counting machine is the same in every run; its random numbers are too. Zeros would mean: seed yourself.
    let mut random_seed = [1; 32];
    if !args.machine.icount {
        rustix::rand::getrandom(&mut random_seed, rustix::rand::GetRandomFlags::empty())
            .context("cannot get random numbers")?;
    }
    let realtime_ns = match args.machine.icount {
        true => COUNTING_STARTS_NS,
        false => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64,
    };
    Ok(RunConfig {
        on_boot: BootAction::RunProgram,
        program: bytes(&program.guest),
        program_source: ProgramSource::Tree,
        isolated: args.ring == Ring::Three,
        filling: Filling::FirstTouch,
        modules: Vec::new(),
        argv: argv.into_iter().map(OsString::into_vec).collect(),
        env: environment.into_iter().map(OsString::into_vec).collect(),
        cwd: bytes(&view.cwd),
        mounts: mounts.collect(),
        initramfs: false,
        umask: file_mask(),
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
        groups: getgroups().unwrap_or_default().into_iter().map(|group| group.as_raw()).collect(),
        stdio: stdio::kinds(),
        terminal: terminal::settings(),
        log_filter: machine::log_filter(&args.observe),
        strace: args.strace.map(|trace| CallTrace { all_processes: args.follow_forks, ..trace }),
        stats: args.stats.is_some() || args.stats_file.is_some(),
        counts_instructions: args.machine.icount && args.machine.cpus() == 1,
        trace_buffer_bytes: 0,
        profile_hz: 0,
        hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        realtime_ns,
        random_seed,
        rlimit_stack_bytes: getrlimit(Resource::Stack).current.unwrap_or(u64::MAX),
        host_cores: machine::cores(&args.machine),
    })
}

fn bytes(path: &Path) -> Vec<u8> {
    PathBuf::from(path).into_os_string().into_vec()
}

/// This process's file mode creation mask, without changing it as `umask` would.
fn file_mask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}
