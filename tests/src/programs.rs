// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The test programs and the ways to build them. A built program is kept until a source or the command changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

use crate::error::TestError;
use crate::libhrt::{self, Library};
use crate::scratch;

/// Compiler and kind of executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// gcc, position-independent, with the shared libraries of the system: the default of most distributions.
    GccDynamic,
    /// gcc, fixed addresses, without shared libraries.
    GccStatic,
    /// gcc, position-independent, without shared libraries.
    GccStaticPie,
    /// gcc, fixed addresses, with shared libraries.
    GccNoPie,
    /// clang, which brings libomp in place of libgomp.
    ClangDynamic,
    /// gfortran with shared libraries.
    Gfortran,
    /// g++ with shared libraries.
    Gxx,
    /// g++ without shared libraries.
    GxxStatic,
    /// gcc against musl, without shared libraries.
    MuslStatic,
}

const DEBIAN_GCC: &str = "sudo apt-get install gcc libc6-dev";

impl Way {
    /// Short name, for tests and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GccDynamic => "gcc-dynamic",
            Self::GccStatic => "gcc-static",
            Self::GccStaticPie => "gcc-static-pie",
            Self::GccNoPie => "gcc-no-pie",
            Self::ClangDynamic => "clang-libomp",
            Self::Gfortran => "gfortran",
            Self::Gxx => "gxx",
            Self::GxxStatic => "gxx-static",
            Self::MuslStatic => "musl-static",
        }
    }

    fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Self::GccDynamic | Self::GccStatic | Self::GccStaticPie | Self::GccNoPie => ("gcc", DEBIAN_GCC),
            Self::ClangDynamic => ("clang", "sudo apt-get install clang libomp-dev"),
            Self::Gfortran => ("gfortran", "sudo apt-get install gfortran"),
            Self::Gxx | Self::GxxStatic => ("g++", "sudo apt-get install g++"),
            Self::MuslStatic => ("musl-gcc", "sudo apt-get install musl-tools"),
        }
    }

    /// The compiler of the same family and C library for C.
    pub(crate) fn c_compiler(self) -> &'static str {
        match self {
            Self::ClangDynamic => "clang",
            Self::MuslStatic => "musl-gcc",
            _ => "gcc",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::GccDynamic => &["-fPIE", "-pie"],
            Self::GccStatic | Self::MuslStatic => &["-static"],
            Self::GccStaticPie => &["-static-pie"],
            Self::GccNoPie => &["-fno-pie", "-no-pie"],
            Self::ClangDynamic | Self::Gfortran => &[],
            Self::Gxx => &["-std=c++20"],
            Self::GxxStatic => &["-std=c++20", "-static"],
        }
    }
}

/// A program of `programs/`.
#[derive(Debug)]
pub struct Program {
    /// Name of the executable.
    pub name: &'static str,
    /// Its source files; headers beside them and in `common/` count too when something changed.
    pub sources: &'static [&'static str],
    /// Flags beside those of the [`Way`]. `-lhrt` and `-lhrt-linux` link with libhrt and find its header.
    pub flags: &'static [&'static str],
}

/// Where `hadal/hrt.h` is.
const HRT_INCLUDE: &str = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../kernel/hrt/include");
/// Flags of every program. Warnings are errors: a test program must not be the one at fault.
const COMMON_FLAGS: &[&str] = &["-g", "-Wall", "-Wextra", "-Werror"];

static BUILDING: Mutex<()> = Mutex::new(());

impl Program {
    /// The path of the executable, after building it when it is missing or old.
    pub fn build(&self, way: Way) -> Result<PathBuf, TestError> {
        let _one_at_a_time = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let directory = scratch::programs().join(way.name());
        let output = directory.join(self.name);
        let library = self.library().map(|library| library.build(way)).transpose()?;
        let command = self.command(way, &directory, &output, library.as_deref());
        let line = format!("{command:?}");
        let record = directory.join(format!("{}.command", self.name));
        if fs::read_to_string(&record).is_ok_and(|old| old == line)
            && self.is_fresh(&output, library.as_deref())
        {
            return Ok(output);
        }
        fs::create_dir_all(directory.join("modules"))
            .map_err(TestError::io(format!("cannot make {}", directory.display())))?;
        self.compile(command, way, &line)?;
        fs::write(&record, &line).map_err(TestError::io(format!("cannot write {}", record.display())))?;
        Ok(output)
    }

    fn library(&self) -> Option<Library> {
        self.flags.iter().find_map(|flag| Library::of_flag(flag))
    }

    fn command(&self, way: Way, directory: &Path, output: &Path, library: Option<&Path>) -> Command {
        let mut command = Command::new(way.compiler().0);
        command.args(COMMON_FLAGS).args(way.flags());
        if !self.flags.iter().any(|flag| flag.starts_with("-O")) {
            command.arg("-O2");
        }
        if way == Way::Gfortran {
            command.arg("-J").arg(directory.join("modules"));
        }
        if let Some(library) = library {
            // The library comes behind the sources: see its README.
            command.arg("-I").arg(libhrt::include());
            command.args(self.flags.iter().filter(|flag| Library::of_flag(flag).is_none()));
            command.args(self.source_paths()).arg(library);
        } else {
            command.args(self.flags).args(self.source_paths());
        }
        command.arg("-o").arg(output).arg("-lm");
        command
    }

    fn source_paths(&self) -> Vec<PathBuf> {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
        self.sources.iter().map(|source| base.join(source)).collect()
    }

    fn compile(&self, mut command: Command, way: Way, line: &str) -> Result<(), TestError> {
        let (tool, remedy) = way.compiler();
        let output = match command.env("LC_ALL", "C").output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(TestError::Missing { tool: tool.to_owned(), remedy });
            }
            result => result.map_err(TestError::io(format!("cannot start {line}")))?,
        };
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(TestError::Compile { command: line.to_owned(), output: text })
    }

    /// True when the executable is newer than its sources and every header that they may include.
    fn is_fresh(&self, output: &Path, library: Option<&Path>) -> bool {
        let Some(built) = modified(output) else { return false };
        if library.and_then(modified).is_some_and(|changed| changed > built) {
            return false;
        }
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let common = tests.join("programs").join("common");
        let interface = tests.join("../kernel/hrt/include/hadal");
        let shared = [common, interface.join("hrt/layout"), interface.join("hrt"), interface];
        let sources = self.source_paths();
        let directories =
            sources.iter().filter_map(|source| source.parent()).chain(shared.iter().map(PathBuf::as_path));
        let files = directories.flat_map(|directory| fs::read_dir(directory).into_iter().flatten().flatten());
        files.map(|file| file.path()).filter(|path| path.is_file()).all(|path| {
            let header = path.extension().is_some_and(|extension| extension == "h");
            !(header || sources.contains(&path)) || modified(&path).is_some_and(|changed| changed < built)
        })
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

macro_rules! programs {
    ($($(#[$doc:meta])* $id:ident = $name:literal, [$($source:literal),+], [$($flag:expr),*];)+) => {
        $($(#[$doc])*
        pub static $id: Program = Program { name: $name, sources: &[$($source),+], flags: &[$($flag),*] };)+

        /// Every program, with a name to find it by.
        pub static ALL: &[&Program] = &[$(&$id),+];
    };
}

programs! {
    /// The OpenMP set in C.
    OPENMP = "openmp-set", ["openmp/set/main.c", "openmp/set/loops.c", "openmp/set/reductions.c",
        "openmp/set/tasks.c", "openmp/set/sync.c", "openmp/set/nested.c", "openmp/set/settings.c",
        "openmp/set/kernels.c"], ["-fopenmp"];
    /// OpenMP teams whose size the library chooses.
    DYNAMIC_TEAMS = "dynamic-teams", ["openmp/dynamic_teams.c"], ["-fopenmp"];
    /// OpenMP teams with more members than the host has cores.
    CROWDED = "crowded", ["openmp/crowded.c"], ["-fopenmp"];
    /// A large OpenMP team.
    MANY = "many", ["openmp/many.c"], ["-fopenmp"];
    /// The OpenMP set in Fortran.
    FORTRAN = "fortran-set", ["fortran/set.f90"], ["-fopenmp"];
    /// OpenMP in C++.
    CPP_OPENMP = "cpp-openmp", ["cpp/openmp.cpp"], ["-fopenmp"];
    /// The thread library of C++.
    CPP_THREADS = "cpp-threads", ["cpp/threads.cpp"], ["-pthread"];
    /// C++ beside threads.
    CPP_LANGUAGE = "cpp-language", ["cpp/language.cpp"], [];
    /// An exception that nobody catches.
    CPP_TERMINATE = "cpp-terminate", ["cpp/terminate.cpp"], [];
    /// The pthread set.
    PTHREAD = "pthread-set", ["pthread/set/main.c", "pthread/set/create.c", "pthread/set/mutex.c",
        "pthread/set/waiting.c", "pthread/set/cancel.c", "pthread/set/inherited.c",
        "pthread/set/fresh.c"], ["-pthread"];
    /// epoll, and timers and signals as files.
    EPOLL = "epoll", ["linux/epoll.c"], ["-pthread"];
    /// Socket calls on pairs of sockets, and on what is no socket.
    SOCKETS = "sockets", ["linux/sockets.c"], ["-pthread"];
    /// POSIX message queues.
    QUEUES = "queues", ["linux/queues/main.c", "linux/queues/common.c", "linux/queues/names.c",
        "linux/queues/messages.c", "linux/queues/waiting.c", "linux/queues/notification.c"], ["-pthread"];
    /// System V IPC.
    SYSV = "sysv", ["linux/sysv/main.c", "linux/sysv/common.c", "linux/sysv/shared_memory.c",
        "linux/sysv/semaphores.c", "linux/sysv/messages.c", "linux/sysv/listings.c"], ["-pthread"];
    /// Memory of other processes.
    OTHER_MEMORY = "other-memory", ["linux/other_memory.c"], [];
    /// What belongs to the machine, and other processes.
    HRT_PROCESSES = "hrt-processes", ["hrt/processes.c"], ["-lhrt-linux"];
    /// Calls through the table: registers, signals.
    HRT_CALLS = "hrt-calls", ["hrt/calls.c"], ["-lhrt-linux"];
    /// Threads, and every way to use them wrongly.
    HRT_THREADS = "hrt-threads", ["hrt/threads.c"], ["-lhrt-linux"];
    /// Topology and memory.
    HRT_MEMORY = "hrt-memory", ["hrt/memory.c"], ["-lhrt-linux"];
    /// Memory that runs out.
    HRT_EXHAUST = "hrt-exhaust", ["hrt/exhaust.c"], ["-lhrt-linux"];
    /// Waiting on words.
    HRT_WORDS = "hrt-words", ["hrt/words.c"], ["-lhrt-linux"];
    /// Priorities, real-time schedules, admission, groups.
    HRT_REALTIME = "hrt-realtime", ["hrt/realtime.c"], ["-pthread", HRT_INCLUDE];
    /// Events.
    HRT_EVENTS = "hrt-events", ["hrt/event_set.c"], ["-lhrt-linux"];
    /// Interrupts.
    HRT_INTERRUPTS = "hrt-interrupts", ["hrt/irq_set.c"], ["-lhrt-linux"];
    /// Timers.
    HRT_TIMERS = "hrt-timers", ["hrt/timer_set.c"], ["-lhrt-linux"];
    /// Handlers that break the rules.
    HRT_HANDLER_FAULTS = "hrt-handler-faults", ["hrt/event_fault.c"], ["-O1", "-lhrt-linux"];
    /// The synchronisation set: every object of `hadal/hrt.h`.
    HRT_SYNC = "hrt-sync", ["hrt/sync/main.c", "hrt/sync/locks.c", "hrt/sync/waits.c", "hrt/sync/barriers.c",
        "hrt/sync/misuse.c"], ["-lhrt-linux"];
    /// Threads that want one lock, each of which must get it.
    FAIRNESS = "fairness", ["pthread/fairness.c"], ["-pthread"];
    /// Calls that take long, beside another thread on the same CPU.
    LONG_CALLS = "long_calls", ["pthread/long_calls.c"], ["-pthread"];
    /// A thread that is woken while no core is left.
    HANDED = "handed", ["pthread/handed.c"], ["-pthread"];
    /// Threads that pass a turn round and wait for it actively.
    SPINNERS = "spinners", ["pthread/spinners.c"], ["-pthread"];
    /// What a pthread library does behind its functions.
    PTHREAD_LAYER = "pthread-layer", ["pthread/layer.c"], ["-pthread"];
    /// Threads that change places.
    PLACES = "places", ["pthread/places.c"], ["-pthread"];
    /// Priority inheritance.
    PRIORITY = "priority", ["pthread/priority.c"], ["-pthread"];
    /// Lists of robust locks of ending threads.
    ROBUST_LIST = "robust-list", ["pthread/robust_list.c"], ["-pthread"];
    /// The red zone under timers.
    REDZONE = "redzone", ["soundness/redzone.c", "soundness/registers.S"], ["-pthread"];
    /// Registers over system calls.
    CALLS = "calls", ["soundness/calls.c", "soundness/registers.S"], ["-pthread"];
    /// Flags over system calls, and frames of handlers that no program can have.
    FLAGS = "flags", ["soundness/flags.c"], [];
    /// System calls without a stack.
    LOST_STACK = "lost-stack", ["soundness/lost_stack.c", "soundness/registers.S"], [];
    /// Many detached threads.
    DETACHED = "detached", ["soundness/detached.c"], ["-pthread"];
    /// What preemption keeps.
    PREEMPT = "preempt", ["soundness/preempt.c", "soundness/registers.S"], ["-pthread"];
    /// Vector registers over signal handlers.
    SIGNAL_VECTORS = "signal-vectors", ["soundness/signal_vectors.c", "soundness/registers.S"], ["-pthread"];
    /// Vector state that a handler has edited.
    SIGNAL_IMAGES = "signal-images", ["soundness/signal_images.c"], ["-pthread"];
    /// Bad pointers.
    POINTERS = "pointers", ["soundness/pointers.c"], [];
    /// Affinity and CPUID.
    AFFINITY = "affinity", ["soundness/affinity.c"], [];
    /// Spinning threads and the end of the program.
    EXIT_SPIN = "exit-spin", ["soundness/exit_spin.c", "soundness/registers.S"], ["-pthread"];
    /// A thread that has turned interrupts off.
    INTERRUPTS_OFF = "interrupts-off", ["soundness/interrupts_off.c"], ["-pthread"];
    /// Whatever concerns all of many threads at once.
    CROWD = "crowd", ["soundness/crowd.c"], ["-pthread"];
    /// Memory of eight OpenMP threads.
    RESERVE = "reserve", ["soundness/reserve.c"], ["-fopenmp"];
    /// Faults.
    FAULT = "fault", ["faults/fault.c"], ["-pthread", "-O1", "-fno-omit-frame-pointer"];
    /// A fault among very many mappings.
    PIECES = "pieces", ["faults/pieces.c"], ["-O1", "-fno-omit-frame-pointer"];
    /// Jumps to where no program can be, and what only the kernel may do.
    WILD = "wild", ["faults/wild.c"], ["-O1", "-fno-omit-frame-pointer", "-fno-stack-protector"];
    /// A call of the kernel's table whose stack goes away, and flags that the kernel must not run with.
    LOST_RETURN = "lost-return", ["hrt/lost_return.c"], ["-pthread", "-O1", "-fno-omit-frame-pointer", HRT_INCLUDE];
    /// Signals at every instruction of a child's start.
    FORK_FRAMES = "fork-frames", ["hrt/fork_frames.c", "../../runtimes/hrt/fork_switch.S"], ["-O1"];
    /// `int n` with every vector that a program may not raise.
    SOFTWARE_INTERRUPTS = "software-interrupts", ["faults/software_interrupts.c"], ["-pthread"];
    /// Handlers that recover.
    RECOVER = "recover", ["faults/recover.c"], ["-pthread"];
    /// Threads that wait in known places, and threads that end all the time.
    CROWD_TO_LIST = "crowd-to-list", ["faults/crowd.c"], ["-pthread", HRT_INCLUDE];
    /// A deadlock.
    DEADLOCK = "deadlock", ["faults/deadlock.c"], ["-pthread", "-O1", "-fno-omit-frame-pointer"];
    /// Signals.
    SIGNALS = "signals", ["signals/set/main.c", "signals/set/handlers.c", "signals/set/frames.c",
        "signals/set/waiting.c", "signals/set/ignored.c"], ["-pthread"];
    /// What becomes of calls that signals interrupt.
    RESTART = "restart", ["signals/restart.c"], ["-pthread"];
    /// Calls that are made again, hit at any moment.
    SHOTS = "shots", ["signals/shots.c"], ["-pthread"];
    /// Ends of a program.
    DIE = "die", ["signals/die.c"], ["-pthread"];
    /// Mappings.
    MEMORY = "memory", ["memory/memory.c"], [];
    /// Mappings that come and go at random.
    CHURN = "churn", ["memory/churn.c"], ["-pthread"];
    /// Memory that is touched here and there while it is changed.
    GROWING = "growing", ["memory/growing.c"], ["-pthread"];
    /// Memory that idle CPUs fill with zeros.
    PREZEROED = "prezeroed", ["memory/prezeroed.c"], [];
    /// Locked memory.
    LOCKED = "locked", ["memory/locked.c"], ["-pthread"];
    /// Address space with a limit.
    LIMITED = "limited", ["memory/limited.c"], ["-pthread"];
    /// All memory.
    EXHAUST = "exhaust", ["memory/exhaust.c"], ["-pthread"];
    /// What the kernel keeps for a program.
    USE_UP = "use-up", ["exhaust/exhaust.c", "exhaust/descriptors.c", "exhaust/names.c", "exhaust/waiters.c",
        "exhaust/objects.c", "exhaust/stacks.c", "exhaust/sysv.c", "exhaust/processes.c"],
        ["-pthread"];
    /// Files and directories.
    FILES = "files", ["files/files.c"], [];
    /// Much data and many files.
    BULK = "bulk", ["files/bulk.c"], [];
    /// Appends of many descriptors.
    APPEND = "append", ["files/append.c"], ["-pthread"];
    /// Shared mappings.
    MAPPED = "mapped", ["files/mapped.c"], ["-pthread"];
    /// The times of files in memory.
    TIMES = "times", ["files/times.c"], [];
    /// What nobody can do to files in memory.
    SEALS = "seals", ["files/seals.c"], ["-pthread"];
    /// Standard streams that are files.
    FILE_STREAMS = "file_streams", ["files/streams.c"], [];
    /// Threads that fault on the same page at once.
    SAME_PAGE = "same_page", ["files/same_page.c"], ["-pthread"];
    /// Refused attempts.
    REFUSED = "refused", ["files/refused.c"], [];
    /// System information, clocks, pipes.
    SYSTEM = "system", ["linux/system/main.c", "linux/system/self.c", "linux/system/clocks.c",
        "linux/system/views.c", "linux/system/limits.c", "linux/system/pipes.c",
        "linux/system/ids.c", "linux/system/resources.c", "linux/system/cpu_limit.c"], ["-pthread"];
    /// What is said about other processes.
    OTHERS = "others", ["linux/others.c"], [];
    /// Named pipes.
    FIFOS = "fifos", ["linux/fifos.c"], [];
    /// Programs that become others.
    EXEC = "exec", ["linux/exec.c"], ["-pthread"];
    /// Processes and their children.
    PROCESSES = "processes", ["linux/processes/main.c", "linux/processes/making.c", "linux/processes/programs.c",
        "linux/processes/signals.c", "linux/processes/stopping.c", "linux/processes/descriptors.c",
        "linux/processes/memory.c", "linux/processes/files.c", "linux/processes/others.c",
        "linux/processes/advice.c", "linux/processes/reapers.c"], ["-pthread"];
    /// Pseudo-terminals.
    TERMINALS = "terminals", ["linux/terminals.c"], [];
    /// Very many processes.
    CROWDS = "crowds", ["linux/crowds.c"], [];
    /// Memory that processes have in common.
    PROCESS_MEMORY = "process-memory", ["linux/process_memory.c"], ["-pthread"];
    /// What ring 3 keeps programs from.
    HOSTILE = "hostile", ["isolation/hostile.c"], ["-Wno-array-bounds"];
    /// A fuzzer of system calls. Its workers use no thread-local storage, which calls may take away.
    FUZZ = "fuzz", ["isolation/fuzz/main.c", "isolation/fuzz/home.c", "isolation/fuzz/worker.c", "isolation/fuzz/calls.c",
        "isolation/fuzz/values.c", "isolation/fuzz/structures.c", "isolation/fuzz/signals.c",
        "isolation/fuzz/choices.c", "isolation/fuzz/steer.c", "isolation/fuzz/checks.c",
        "isolation/fuzz/random.c"], ["-fno-stack-protector"];
    /// Processes that share files, paths and signal actions.
    SHARING = "sharing", ["linux/sharing/main.c", "linux/sharing/files.c", "linux/sharing/locks.c", "linux/sharing/paths.c",
        "linux/sharing/actions.c", "linux/sharing/others.c", "linux/sharing/races.c"], [];
    /// Processes that are killed, and that make others without end.
    HARDSHIP = "hardship", ["linux/hardship.c"], ["-pthread"];
    /// Sockets that have names.
    NAMED_SOCKETS = "named-sockets", ["linux/named_sockets/main.c", "linux/named_sockets/names.c",
        "linux/named_sockets/connections.c", "linux/named_sockets/datagrams.c", "linux/named_sockets/senders.c",
        "linux/named_sockets/crowds.c"], [];
    /// Record locks of several processes.
    RECORD_LOCKS = "record-locks", ["linux/record_locks.c"], [];
    /// The three streams.
    STREAMS = "streams", ["linux/streams.c"], [];
    /// The least program.
    HELLO = "hello", ["linux/hello.c"], [];
    /// Working directory.
    CWD = "cwd", ["linux/cwd.c"], [];
    /// What functions of the mathematical library return.
    LIBM = "libm", ["linux/libm.c"], [];
    /// Waits for a signal.
    WAIT = "wait", ["linux/wait.c"], [];
    /// Something of everything that a trace shows.
    EVENTS = "events", ["observe/events.c"], ["-pthread"];
    /// What ends the kernel.
    MACHINE_CHECK = "machine-check", ["observe/machine_check.c"], [];
    /// Two functions with a known share of the time.
    HOT = "hot", ["observe/hot.c"], ["-fno-omit-frame-pointer"];
    /// Unwind tables that take long to read.
    SLOW_TABLE = "slow-table", ["observe/slow_table.c"], [];
    /// Code that is mapped in many places.
    MANY_MAPPINGS = "many-mappings", ["observe/many_mappings.c"], [];
    /// What could make two runs of a counting machine differ.
    COUNTING = "counting", ["observe/counting.c"], ["-pthread"];
    /// Chains of calls without frame pointers.
    CALLERS = "callers", ["observe/callers.c"], ["-pthread", "-fomit-frame-pointer"];
    /// Memory policies.
    POLICY = "policy", ["numa/policy.c"], ["-pthread"];
    /// Memory zones.
    ZONES = "zones", ["numa/zones.c"], [];
    /// The libhrt set: every function of the library.
    HRT_LIB = "hrt-lib", ["hrt/lib/main.c", "hrt/lib/threads.c", "hrt/lib/locals.c", "hrt/lib/schedules.c",
        "hrt/lib/forks.c", "hrt/lib/fibers.c", "hrt/lib/tasks.c", "hrt/lib/machine.c"], ["-lhrt-linux"];
    /// The same without or with more optimisation, for the frames of forking functions.
    HRT_FORK_O0 = "hrt-lib-O0", ["hrt/lib/main.c", "hrt/lib/threads.c", "hrt/lib/locals.c", "hrt/lib/schedules.c",
        "hrt/lib/forks.c", "hrt/lib/fibers.c", "hrt/lib/tasks.c", "hrt/lib/machine.c"], ["-O0", "-lhrt-linux"];
    /// The same without or with more optimisation, for the frames of forking functions.
    HRT_FORK_O1 = "hrt-lib-O1", ["hrt/lib/main.c", "hrt/lib/threads.c", "hrt/lib/locals.c", "hrt/lib/schedules.c",
        "hrt/lib/forks.c", "hrt/lib/fibers.c", "hrt/lib/tasks.c", "hrt/lib/machine.c"], ["-O1", "-lhrt-linux"];
    /// The same without or with more optimisation, for the frames of forking functions.
    HRT_FORK_O3 = "hrt-lib-O3", ["hrt/lib/main.c", "hrt/lib/threads.c", "hrt/lib/locals.c", "hrt/lib/schedules.c",
        "hrt/lib/forks.c", "hrt/lib/fibers.c", "hrt/lib/tasks.c", "hrt/lib/machine.c"], ["-O3", "-lhrt-linux"];
    /// thread_local objects and exceptions.
    HRT_CPP_OBJECTS = "hrt-cpp-objects", ["hrt/cpp/objects.cpp"], ["-lhrt-linux"];
    /// Marks in the trace.
    MARKS = "marks", ["observe/marks.c"], ["-lhrt-linux"];
    /// Many threads at once.
    HRT_MANY_THREADS = "hrt-many-threads", ["hrt/many_threads.c"], ["-lhrt-linux"];
    /// Everything in `hadal/hrt.h` at once.
    STRESS = "stress", ["stress/main.c", "stress/threads.c", "stress/places.c", "stress/locks.c", "stress/waits.c",
        "stress/groups.c", "stress/fibers.c", "stress/events.c", "stress/timers.c", "stress/memory.c",
        "stress/realtime.c"], ["-lhrt-linux"];
}
