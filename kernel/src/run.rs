// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a booted kernel to a running program: the configuration, devices, file systems, the process.

use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_abi::config::{BootAction, Filling, Mount, ProgramSource, RunConfig};
use hadal_abi::control::{ExitStatus, GuestMessage};
use hadal_drivers::Devices;
use hadal_hal::boot::BootInfo;
use hadal_hal::fallible;
use hadal_hal::sync::SpinLock;
use hadal_linux::credentials::Credentials;
use hadal_linux::process::{LIMIT_COUNT, Limit, Process, ProcessSetup, UNLIMITED};
use hadal_linux::{loader, machine};
use hadal_vfs::memory_file::MemoryFile;
use hadal_vfs::ninep::MountOptions;
use hadal_vfs::{Caller, Errno, Inode, MountFlags, Namespace, Owner, cpio, devfs, ninep, tmpfs};
use spin::Once;

use crate::boot_files::Files;
use crate::platform::Platform;
use crate::{
    boot_files, console, control, end, entropy, file_pages, linux, paths, profile, report, shell, stdio,
    symbols, trace, trials,
};

/// Share of the machine's memory that files in `/tmp` and `/dev/shm` may take.
const TMP_SHARE: u64 = 2;
/// Open files of a program.
const DEFAULT_FILES: Limit = Limit { soft: 1024, hard: 1 << 20 };

static CONFIG: Once<RunConfig> = Once::new();
static FAILURES: Once<(u64, u32)> = Once::new();
static FILES: Once<Files> = Once::new();
static SURROUNDINGS: Once<Surroundings> = Once::new();
static PROCESS: SpinLock<Option<&'static Process>> = SpinLock::new(None);
/// What the starting thread needs; it takes it.
static BOOT: SpinLock<Option<(Box<BootInfo>, Box<Platform>)>> = SpinLock::new(None);

/// Words on the kernel's command line that ask for the shell, or for the machine report.
const SHELL_WORD: &str = "shell";
const REPORT_WORD: &str = "report";

/// Word on the kernel's command line, `fail-alloc=SEED:RATE`, that makes so many of a million allocations of the program fail.
const FAIL_WORD: &str = "fail-alloc=";

/// What every run of the program in this boot has in common.
struct Surroundings {
    namespace: Arc<Namespace>,
    zones: usize,
}

/// The program's process, while it exists.
pub(crate) fn process() -> Option<&'static Process> {
    *PROCESS.lock()
}

/// Begins to fail allocations, if the command line says so: for tests of what happens then.
pub(crate) fn fail_allocations() {
    let Some((seed, rate)) = FAILURES.get() else { return };
    log::warn!("{rate} of a million allocations fail, from seed {seed}");
    fallible::inject(*seed, *rate);
}

/// Seed and rate from the kernel's command line.
fn failures(command_line: &str) -> Option<(u64, u32)> {
    let word = command_line.split_whitespace().find_map(|word| word.strip_prefix(FAIL_WORD))?;
    let (seed, rate) = word.split_once(':')?;
    Some((seed.parse().ok()?, rate.parse().ok()?))
}

/// Whether the person at the host wants counters at the end.
pub(crate) fn wants_stats() -> bool {
    CONFIG.get().is_some_and(|config| config.stats)
}

/// The configuration of this run.
pub(crate) fn config() -> Option<&'static RunConfig> {
    CONFIG.get()
}

/// Reads the configuration and starts the thread that does the rest.
pub(crate) fn start(info: Box<BootInfo>, platform: Box<Platform>) {
    let boot = match boot_files::find(&info) {
        Ok(boot) => boot,
        Err(why) => panic!(
            "{why}: start the kernel with `hadal run`, or from an image that `hadal cc` or `hadal image` made"
        ),
    };
    if let Some(table) = boot.symbols {
        symbols::set(table);
    }
    let config = boot.config;
    if let Err(wrong) = console::set_filter(&config.log_filter) {
        log::warn!("{wrong}");
    }
    log::info!("{}", paths::in_words());
    if config.realtime_ns != 0 {
        hadal_time::set_realtime(config.realtime_ns);
    }
    if config.host_cores != 0 {
        hadal_sched::set_cores(config.host_cores as usize);
    }
    if let Some(failures) = failures(info.command_line) {
        FAILURES.call_once(|| failures);
    }
    CONFIG.call_once(|| config);
    FILES.call_once(|| boot.files);
    hadal_hrt::module::set(boot.modules, CString::new(info.command_line).unwrap_or_default());
    *BOOT.lock() = Some((info, platform));
    match hadal_sched::create(first_thread, 0, None) {
        Ok(thread) => thread.start(),
        Err(error) => panic!("no thread to start the program with: {error:?}"),
    }
}

fn first_thread(_: usize) -> ! {
    let (info, platform) = BOOT.lock().take().expect("the boot information is kept for this thread");
    let config = config().expect("the configuration has been read");
    let windows: Vec<_> = platform.windows().collect();
    let devices = hadal_drivers::probe(&windows);
    for (address, error) in &devices.failures {
        log::warn!("device {address}: {error}");
    }
    if let Some(port) = &devices.console {
        control::open(port.clone());
    } else {
        console::attach_display(&info);
    }
    seed_random_numbers(config, &devices);
    machine::set(&linux::MACHINE);
    let wants_shell = info.command_line.split_whitespace().any(|word| word == SHELL_WORD);
    let wants_report = info.command_line.split_whitespace().any(|word| word == REPORT_WORD);
    let action = match (wants_shell, wants_report) {
        (true, _) => BootAction::Shell,
        (_, true) => BootAction::Report,
        _ => config.on_boot,
    };
    if action == BootAction::Report {
        let paths = trials::run();
        control::report(&(report::machine(&platform) + &trials::in_words(&paths)));
        control::send(&GuestMessage::Paths(paths));
        end::machine(ExitStatus::Exited(0))
    }
    let prepared = prepare(config, &info, &devices, platform.zone_count());
    let begun = match action {
        BootAction::Shell => prepared.map(|()| shell::start()),
        _ => prepared.and_then(|()| start_program(&[])).map(drop),
    };
    if let Err(why) = begun {
        end::machine(ExitStatus::CannotStart(why));
    }
    linux::refine_clock();
    hadal_sched::exit()
}

fn seed_random_numbers(config: &RunConfig, devices: &Devices) {
    let mut bytes = [0; 32];
    // The host's seed alone would do; a silent device is not waited for.
    let from_device = devices.rng.as_ref().filter(|_| config.random_seed == [0; 32]);
    if let Some(Err(error)) = from_device.map(|rng| rng.fill(&mut bytes)) {
        log::warn!("entropy device: {error:?}");
    }
    entropy::seed(config.random_seed, &bytes);
}

/// Builds what the program will see. Without a program (a shell that was given none) there is nothing to see.
fn prepare(
    config: &'static RunConfig,
    info: &BootInfo,
    devices: &Devices,
    zones: usize,
) -> Result<(), String> {
    if config.trace_buffer_bytes != 0 {
        trace::start(config.trace_buffer_bytes)?;
    }
    if config.profile_hz != 0 {
        profile::start(config.profile_hz)?;
    }
    if config.program.is_empty() {
        return Ok(());
    }
    let files = FILES.get().ok_or("the boot files have not been looked at")?;
    let namespace = Arc::new(root(config, files, devices)?);
    mount_kernel_trees(&namespace, info)?;
    mount_shares(config, devices, &namespace)?;
    mount_program(config, files, &namespace)?;
    SURROUNDINGS.call_once(|| Surroundings { namespace, zones });
    Ok(())
}

/// Starts the program: with its own arguments, or with these behind its name.
pub(crate) fn start_program(arguments: &[Vec<u8>]) -> Result<&'static Process, String> {
    let (Some(config), Some(surroundings)) = (config(), SURROUNDINGS.get()) else {
        return Err("there is no program: start with hadal shell PROGRAM".into());
    };
    let namespace = surroundings.namespace.clone();
    let start = namespace.root();
    let cwd = namespace.resolve(&Caller::KERNEL, &start, &config.cwd, hadal_vfs::Follow::Yes);
    let cwd = cwd.map_err(|error| in_words(&config.cwd, "the working directory", error))?;
    let mut argv = config.argv.clone();
    if !arguments.is_empty() {
        argv.truncate(1);
        argv.extend_from_slice(arguments);
    }
    let shell_reads_input = config.on_boot == BootAction::Shell;
    let files = stdio::files(config.stdio, shell_reads_input, DEFAULT_FILES.soft as u32, &namespace)
        .map_err(|error| format!("the standard streams: {error}"))?;
    let process = loader::start(ProcessSetup {
        namespace,
        cwd,
        umask: config.umask,
        credentials: Credentials::new(config.uid, config.gid, config.groups.clone()),
        files,
        limits: limits(config),
        executable: config.program.clone(),
        arguments: argv,
        environment: config.env.clone(),
        traced: config.strace,
        fills_at_once: config.filling == Filling::Mapping && surroundings.zones == 1,
    });
    let process = process.map_err(|error| error.to_string())?;
    *PROCESS.lock() = Some(process);
    Ok(process)
}

/// Takes back the memory of a program that has ended, so that another one can start.
pub(crate) fn forget_program(process: &'static Process) {
    *PROCESS.lock() = None;
    process.space.clear();
}

fn in_words(path: &[u8], what: &str, error: Errno) -> String {
    format!("{}: {what} cannot be used in the guest ({error})", String::from_utf8_lossy(path))
}

fn limits(config: &RunConfig) -> [Limit; LIMIT_COUNT] {
    use linux_raw_sys::general::{RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_STACK};
    let mut limits = [Limit { soft: UNLIMITED, hard: UNLIMITED }; LIMIT_COUNT];
    limits[RLIMIT_STACK as usize].soft = config.rlimit_stack_bytes;
    limits[RLIMIT_NOFILE as usize] = DEFAULT_FILES;
    limits[RLIMIT_CORE as usize].soft = 0;
    limits
}

/// The root file system: a share of the host, the archive that came with the image, or empty memory around a program.
fn root(config: &RunConfig, files: &Files, devices: &Devices) -> Result<Namespace, String> {
    let in_memory = |root, source| Namespace::new(root, MountFlags::empty(), "tmpfs", source);
    if config.initramfs {
        let archive = files.archive.ok_or("the image has no file system module")?;
        let root = tmp(0o755)?;
        cpio::unpack(archive, &root).map_err(|error| format!("the image's file system: {error:?}"))?;
        return Ok(in_memory(root, "initramfs"));
    }
    match config.mounts.first() {
        None if config.program_source == ProgramSource::Image => Ok(in_memory(tmp(0o755)?, "image")),
        Some(mount) if mount.guest_path == b"/" => {
            let root = share(config, devices, mount)?;
            Ok(Namespace::new(root, flags(mount), "9p", &mount.tag))
        }
        _ => Err(String::from("the run configuration names no root file system")),
    }
}

fn flags(mount: &Mount) -> MountFlags {
    if mount.writable { MountFlags::empty() } else { MountFlags::READ_ONLY }
}

fn share(config: &RunConfig, devices: &Devices, mount: &Mount) -> Result<Arc<dyn Inode>, String> {
    let transport = devices
        .ninep_by_tag(&mount.tag)
        .ok_or_else(|| format!("the machine has no 9P device with tag '{}'", mount.tag))?;
    let options = MountOptions {
        tree: Vec::new(),
        uid: config.uid,
        read_only: !mount.writable,
        pages: file_pages::cache(),
    };
    ninep::mount(transport, &options).map_err(|error| format!("9P share '{}': {error}", mount.tag))
}

fn mount_shares(config: &RunConfig, devices: &Devices, namespace: &Namespace) -> Result<(), String> {
    for mount in config.mounts.iter().filter(|mount| mount.guest_path != b"/") {
        let root = share(config, devices, mount)?;
        make_directory(namespace, &mount.guest_path);
        namespace
            .mount(&mount.guest_path, root, flags(mount), "9p", &mount.tag)
            .map_err(|error| in_words(&mount.guest_path, "a share of the host", error))?;
    }
    Ok(())
}

/// Shows the program of an image at its path, whatever else is there.
fn mount_program(config: &RunConfig, files: &Files, namespace: &Namespace) -> Result<(), String> {
    if config.program_source != ProgramSource::Image {
        return Ok(());
    }
    let content = files.program.ok_or("the kernel's image holds no program")?;
    let owner = Owner { uid: config.uid, gid: config.gid };
    let file = MemoryFile::create(content, 0o555, owner);
    if let Some(end) = config.program.iter().rposition(|&byte| byte == b'/').filter(|&end| end > 0) {
        make_directory(namespace, &config.program[..end]);
    }
    namespace
        .mount(&config.program, file, MountFlags::READ_ONLY, "image", "image")
        .map_err(|error| in_words(&config.program, "the image's program", error))
}

/// Makes a directory and those above it where that can be: in the kernel's own trees.
fn make_directory(namespace: &Namespace, path: &[u8]) {
    let root = namespace.root();
    for (at, _) in
        path.iter().enumerate().skip(1).filter(|&(_, &byte)| byte == b'/').chain([(path.len(), &0)])
    {
        // An error here shows when something is mounted on the path.
        let _ = namespace.mkdir(&Caller::KERNEL, &root, &path[..at], 0o755);
    }
}

fn tmp(mode: u32) -> Result<Arc<dyn Inode>, String> {
    let frames = hadal_mem::frames::global();
    let limit = frames.stats().total_bytes / TMP_SHARE;
    tmpfs::TmpFs::create(frames, limit, mode, Owner::default())
        .map_err(|error| format!("a file system in memory: {error}"))
}

/// `/proc`, `/sys`, `/dev`, `/dev/shm` and `/tmp`.
fn mount_kernel_trees(namespace: &Namespace, info: &BootInfo) -> Result<(), String> {
    let (proc, sys) = hadal_linux::kernelfs::build(info.command_line);
    let dev = devfs::create(Arc::new(|buffer: &mut [u8]| entropy::fill(buffer)), None);
    type Tree = (&'static [u8], Arc<dyn Inode>, MountFlags, &'static str);
    let trees: [Tree; 5] = [
        (b"/proc", proc, MountFlags::empty(), "proc"),
        (b"/sys", sys, MountFlags::READ_ONLY, "sysfs"),
        (b"/dev", dev, MountFlags::empty(), "devtmpfs"),
        (b"/dev/shm", tmp(0o1777)?, MountFlags::empty(), "tmpfs"),
        (b"/tmp", tmp(0o1777)?, MountFlags::empty(), "tmpfs"),
    ];
    for (path, root, flags, kind) in trees {
        make_directory(namespace, path);
        namespace.mount(path, root, flags, kind, kind).map_err(|error| {
            in_words(path, "a tree of the kernel", error)
                + ": the root file system (--root) needs such a directory"
        })?;
    }
    Ok(())
}
