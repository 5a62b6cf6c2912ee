// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a booted kernel to a running program: the configuration, devices, the process.

use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_abi::calls::CallOutput;
use hadal_abi::config::{BootAction, Filling, RunConfig};
use hadal_abi::control::{ExitStatus, GuestMessage};
use hadal_drivers::Devices;
use hadal_hal::boot::BootInfo;
use hadal_hal::cpu::{self, hold};
use hadal_hal::devices::pit;
use hadal_hal::memory::fallible::{self, OutOfMemory};
use hadal_hal::sync::SpinLock;
use hadal_hal::trap;
use hadal_linux::credentials::Credentials;
use hadal_linux::process::{LIMIT_COUNT, Limit, Process, ProcessSetup, RecordSetup, UNLIMITED};
use hadal_linux::program::Program;
use hadal_linux::{family, loader, machine, strace, traps};
use hadal_vfs::Namespace;
use spin::Once;

use crate::boot_files::{Boot, Files};
use crate::platform::Platform;
use crate::{
    boot_files, console, control, end, entropy, file_tree, linux, paths, profile, report, shell, stdio,
    symbols, terminal, trace, trials,
};

/// Bytes of a program's message queues, as on Linux.
const DEFAULT_QUEUES: Limit = Limit { soft: 819_200, hard: 819_200 };
/// Open files of a program.
const DEFAULT_FILES: Limit = Limit { soft: 1024, hard: 1 << 20 };

static CONFIG: Once<RunConfig> = Once::new();
static STAYS_ON: AtomicBool = AtomicBool::new(false);
static FAILURES: Once<(u64, u32)> = Once::new();
static FILES: Once<Files> = Once::new();
static SURROUNDINGS: Once<Surroundings> = Once::new();
static PROCESS: SpinLock<Option<&'static Process>> = SpinLock::new(None);
/// What the starting thread needs; it takes it.
static BOOT: SpinLock<Option<(Box<BootInfo>, Box<Platform>)>> = SpinLock::new(None);

/// Words on the kernel's command line that ask for the shell, for the machine report, or for a machine that is not turned
/// off at the end: its display can still be read then.
const SHELL_WORD: &str = "shell";
const REPORT_WORD: &str = "report";
const STAY_WORD: &str = "stay";

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

fn has_word(info: &BootInfo, wanted: &str) -> bool {
    info.command_line.split_whitespace().any(|word| word == wanted)
}

/// Whether the machine is left on when it has ended.
pub(crate) fn stays_on() -> bool {
    STAYS_ON.load(Ordering::Relaxed)
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

/// Reads the configuration, and finds the other files that came with the kernel.
#[inline(never)] // The caller's frame has room for a pointer.
pub(crate) fn find_files(info: &BootInfo) -> Box<Boot> {
    match boot_files::find(info) {
        Ok(boot) => Box::new(boot),
        Err(why) => panic!(
            "{why}: start the kernel with `hadal run`, or from an image that `hadal cc` or `hadal image` made"
        ),
    }
}

/// Obeys the configuration and starts the thread that does the rest.
pub(crate) fn start(boot: Box<Boot>, info: Box<BootInfo>, platform: Box<Platform>) {
    let Boot { config, symbols, files, modules } = *boot;
    if let Some(table) = symbols {
        symbols::set(table);
    }
    if let Err(wrong) = console::set_filter(&config.log_filter) {
        log::warn!("{wrong}");
    }
    log::info!("{}", paths::in_words());
    set_wall_clock(config.realtime_ns);
    if config.host_cores != 0 {
        hadal_sched::set_cores(config.host_cores as usize);
    }
    if let Some(failures) = failures(info.command_line) {
        FAILURES.call_once(|| failures);
    }
    STAYS_ON.store(has_word(&info, STAY_WORD), Ordering::Relaxed);
    CONFIG.call_once(|| config);
    FILES.call_once(|| files);
    hadal_hrt::module::set(modules, CString::new(info.command_line).unwrap_or_default());
    *BOOT.lock() = Some((info, platform));
    match hadal_sched::create(first_thread, 0, None) {
        Ok(thread) => thread.start(),
        Err(error) => panic!("no thread to start the program with: {error:?}"),
    }
}

/// Sets the wall clock to what the configuration says, if it does. How long the real-time clock takes to answer depends on
/// the host's time.
fn set_wall_clock(realtime_ns: i64) {
    if realtime_ns != 0 {
        hadal_time::set_realtime(realtime_ns);
    } else if !hadal_time::set_realtime_from_rtc() {
        log::warn!("the real-time clock does not answer: CLOCK_REALTIME starts at 1970");
    }
}

fn first_thread(_: usize) -> ! {
    let (info, platform) = BOOT.lock().take().expect("the boot information is kept for this thread");
    let config = config().expect("the configuration has been read");
    if config.counts_instructions {
        hold::begin();
        // The clock of a machine that stands still would jump to its next interrupt.
        pit::stop_channel_0();
    }
    let windows: Vec<_> = platform.windows().collect();
    let low_memory_end =
        info.memory().map(|range| range.end).filter(|&end| end <= 1 << 32).max().unwrap_or(0);
    let devices = hadal_drivers::probe(&windows, low_memory_end);
    for (address, error) in &devices.failures {
        log::warn!("device {address}: {error}");
    }
    if let Some(port) = &devices.console {
        control::open(port.clone());
    } else {
        console::attach_display(&info);
        terminal::open();
    }
    seed_random_numbers(config, &devices);
    machine::set(&linux::MACHINE);
    let action = match (has_word(&info, SHELL_WORD), has_word(&info, REPORT_WORD)) {
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
    if cpu::is_translated() && !config.counts_instructions {
        hadal_sched::serve_translator(|| hadal_mem::frames::global().used_bytes());
    }
    if cpu::count() > 1 && !config.counts_instructions {
        hadal_mem::frames::global().wake_to_prezero(hadal_sched::nudge_idle);
        hadal_sched::use_idle_time(|stop| hadal_mem::frames::global().prezero(stop));
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
    if !config.program.is_empty() {
        let files = FILES.get().ok_or("the boot files have not been looked at")?;
        let namespace = Arc::new(file_tree::build(config, files, info, devices)?);
        SURROUNDINGS.call_once(|| Surroundings { namespace, zones });
    }
    if config.counts_instructions {
        hadal_time::start_over(config.realtime_ns);
    }
    if config.trace_buffer_bytes != 0 {
        trace::start(config.trace_buffer_bytes)?;
    }
    if config.profile_hz != 0 {
        profile::start(config.profile_hz)?;
    }
    if let Some(watched) = config.strace {
        trap::set_system_call(traps::watched_system_call);
        if watched.output == CallOutput::Counts {
            strace::counts::start().map_err(|OutOfMemory| "no memory to count system calls".to_string())?;
        }
    }
    Ok(())
}

/// Starts the program: with its own arguments, or with these behind its name.
pub(crate) fn start_program(arguments: &[Vec<u8>]) -> Result<&'static Process, String> {
    let (Some(config), Some(surroundings)) = (config(), SURROUNDINGS.get()) else {
        return Err("there is no program: start with hadal shell PROGRAM".into());
    };
    let process =
        loader::start(setup(config, surroundings, arguments)?).map_err(|error| error.to_string())?;
    *PROCESS.lock() = Some(process);
    Ok(process)
}

/// What the program begins with. Not inline: it is put together on the stack, which `start_program` hands on.
#[inline(never)]
fn setup(
    config: &'static RunConfig,
    surroundings: &Surroundings,
    arguments: &[Vec<u8>],
) -> Result<ProcessSetup, String> {
    let namespace = surroundings.namespace.clone();
    let cwd = file_tree::working_directory(config, &namespace)?;
    let mut argv = config.argv.clone();
    if !arguments.is_empty() {
        argv.truncate(1);
        argv.extend_from_slice(arguments);
    }
    let files = stdio::files(config, &namespace).map_err(|error| format!("the standard streams: {error}"))?;
    let record = RecordSetup {
        namespace,
        credentials: Credentials::new(config.uid, config.gid, config.groups.clone()),
        limits: limits(config),
        program: Program {
            executable: config.program.clone(),
            name: config.program.clone(),
            arguments: argv,
            environment: config.env.clone(),
        },
        call_trace: config.strace,
        fills_at_once: config.filling == Filling::Mapping && surroundings.zones == 1,
    };
    Ok(ProcessSetup { record, cwd, umask: config.umask, files })
}

/// Takes back the memory of a program that has ended, so that another one can start.
pub(crate) fn forget_program(process: &'static Process) {
    *PROCESS.lock() = None;
    family::forget_first(process);
}

fn limits(config: &RunConfig) -> [Limit; LIMIT_COUNT] {
    use linux_raw_sys::general::{RLIMIT_CORE, RLIMIT_MSGQUEUE, RLIMIT_NOFILE, RLIMIT_STACK};
    let mut limits = [Limit { soft: UNLIMITED, hard: UNLIMITED }; LIMIT_COUNT];
    limits[RLIMIT_STACK as usize].soft = config.rlimit_stack_bytes;
    limits[RLIMIT_NOFILE as usize] = DEFAULT_FILES;
    limits[RLIMIT_CORE as usize].soft = 0;
    limits[RLIMIT_MSGQUEUE as usize] = DEFAULT_QUEUES;
    limits
}
