// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmarks: what each is, how it is measured, in which modes and on how many CPUs.

use anyhow::{Result, bail};

use crate::results::Mode;

/// What measures a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    /// A program of `programs/`, by its name without ending.
    Program(&'static str),
    /// QEMU with a plugin that counts instructions from the kernel's entry on.
    BootPath,
    /// A clock on the host, from command to exit.
    BootTime,
    /// What `examples/heat` says of itself.
    Heat,
}

/// The machines of parallel mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// As many CPUs as the host has, at least two.
    Host,
    /// The same, split into two NUMA zones.
    HostZones,
    /// One, two and so on up to eight CPUs.
    Steps,
    /// Eight CPUs, which may be more than the host has.
    Eight,
}

/// CPUs of the machines of [`Machine::Steps`].
const STEPS: [u32; 4] = [1, 2, 4, 8];

/// Shape of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) cpus: u32,
    pub(crate) zones: u32,
}

impl Machine {
    /// The machines to boot, for a host with so many cores.
    pub(crate) fn shapes(self, host_cores: u32) -> Vec<Shape> {
        let one_zone = |cpus| Shape { cpus, zones: 1 };
        let host = host_cores.max(2);
        match self {
            Self::Host => vec![one_zone(host)],
            Self::HostZones => vec![Shape { cpus: host, zones: 2 }],
            Self::Steps => STEPS.map(one_zone).into(),
            Self::Eight => vec![one_zone(8)],
        }
    }
}

/// One benchmark. Its figure has its name, or, for a family, its name with `_` and a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) how: How,
    /// Whether it counts instructions.
    path: bool,
    /// Where it measures time, if it does.
    parallel: Option<Machine>,
    pub(crate) what: &'static str,
}

impl Benchmark {
    /// The machines on which it runs in a mode.
    pub(crate) fn shapes(&self, mode: Mode, host_cores: u32) -> Vec<Shape> {
        let one = Shape { cpus: 1, zones: 1 };
        match (mode, self.how) {
            (Mode::Path, _) if !self.path => Vec::new(),
            // The one path on which other CPUs have a part.
            (Mode::Path, How::BootPath) => Machine::Steps.shapes(host_cores),
            (Mode::Path, _) => vec![one],
            (Mode::Parallel, _) => self.parallel.map_or_else(Vec::new, |machine| machine.shapes(host_cores)),
        }
    }

    fn modes(&self) -> &'static str {
        match (self.path, self.parallel) {
            (true, Some(_)) => "path parallel",
            (true, None) => "path",
            (false, _) => "parallel",
        }
    }

    /// Whether a figure is this benchmark's.
    pub(crate) fn owns(&self, figure: &str) -> bool {
        figure.strip_prefix(self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }

    fn is_meant(&self, word: &str) -> bool {
        self.name == word || self.name.split('.').next() == Some(word) || self.owns(word)
    }
}

const fn both(name: &'static str, program: &'static str, machine: Machine, what: &'static str) -> Benchmark {
    Benchmark { name, how: How::Program(program), path: true, parallel: Some(machine), what }
}

const fn time(name: &'static str, program: &'static str, machine: Machine, what: &'static str) -> Benchmark {
    Benchmark { name, how: How::Program(program), path: false, parallel: Some(machine), what }
}

use Machine::{Eight, Host, HostZones, Steps};

/// All benchmarks, in the order of every table.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "boot.entry_to_main",
        how: How::BootPath,
        path: true,
        parallel: None,
        what: "instructions of all CPUs from the kernel's entry to the program's first one",
    },
    Benchmark {
        name: "boot.time",
        how: How::BootTime,
        path: false,
        parallel: Some(Steps),
        what: "a dynamic hello, from the command to its end",
    },
    Benchmark {
        name: "openmp.heat",
        how: How::Heat,
        path: false,
        parallel: Some(Host),
        what: "1000 steps of examples/heat on all CPUs: what it computes, not how it starts",
    },
    both("syscall.getppid", "syscall", Host, "the shortest system call: ring 0 on Hadal, ring 3 on Linux"),
    both("thread.create", "thread", Host, "create a thread that may use libc; Linux: pthread_create"),
    both("thread.create_bare", "thread", Host, "create a thread without libc's part"),
    both("thread.create_tls", "thread", Host, "what libc's part adds to creating and joining"),
    both("thread.create_join", "thread", Host, "create a thread with an empty function and join it"),
    both("thread.create_join_bare", "thread", Host, "the same without libc's part"),
    both(
        "thread.fork_join",
        "thread",
        Host,
        "fork the calling function and join the child; Linux: create and join",
    ),
    both("thread.sequence", "thread", Host, "create N threads, join them all: per thread"),
    both(
        "thread.yield",
        "thread",
        Host,
        "one switch between two threads of a CPU, caller-saved registers lost",
    ),
    both("thread.yield_fpu", "thread", Host, "one switch that keeps every register; Linux: sched_yield"),
    both("sync.spin", "sync", Host, "lock and unlock a free spin lock; Linux: pthread_spin_lock"),
    both("sync.ticket", "sync", Host, "lock and unlock a free ticket lock; the same source on Linux"),
    both("sync.mcs", "sync", Host, "lock and unlock a free MCS lock; the same source on Linux"),
    both("sync.mutex", "sync", Host, "lock and unlock a free mutex; Linux: pthread_mutex_lock"),
    time("sync.spin_contended", "sync", Host, "a turn in a spin lock that all CPUs want"),
    time("sync.ticket_contended", "sync", Host, "a turn in a ticket lock that all CPUs want"),
    time("sync.mcs_contended", "sync", Host, "a turn in an MCS lock that all CPUs want"),
    time("sync.mutex_contended", "sync", Host, "a turn in a mutex that all CPUs want"),
    both("event.ipi", "event", Host, "raw IPI to its handler: the limit; Linux: a signal"),
    time(
        "event.polled",
        "event",
        Host,
        "a store to a line that another CPU polls: the limit without interrupts",
    ),
    time(
        "event.memory_wait",
        "event",
        Host,
        "the same by hrt_memory_wait: MWAIT where there is one, else polling",
    ),
    both(
        "event.notify",
        "event",
        Host,
        "active message to its action, each CPU in turn; Linux: a signal to a thread",
    ),
    both("event.condvar_wake", "event", Host, "signal to the woken thread, without kick; Linux: pthreads"),
    both("event.condvar_wake_kick", "event", Host, "signal to the woken thread, with kick; Linux: pthreads"),
    time(
        "event.condvar_halted",
        "event",
        Host,
        "the same for a thread that has slept for 300 us, so that its CPU has halted; Linux: pthreads",
    ),
    time(
        "event.forwarded_syscall",
        "event",
        Host,
        "a system call that another CPU does, by active message, and back",
    ),
    time("event.broadcast_last", "broadcast", Eight, "condition variable to 7 CPUs: until the last goes on"),
    time(
        "event.broadcast_spread",
        "broadcast",
        Eight,
        "condition variable to 7 CPUs: from the first to the last",
    ),
    time("event.message_last", "broadcast", Eight, "active message to 7 CPUs: until the last has it"),
    time("event.message_spread", "broadcast", Eight, "active message to 7 CPUs: from the first to the last"),
    both("task.submit", "task", Host, "submit a task and wait for its end on the own CPU"),
    time("task.steal", "task", Host, "submit a task until another CPU begins it"),
    both("fiber.switch", "fiber", Host, "one switch between two fibers of a thread"),
    both("fiber.create_join", "fiber", Host, "create a fiber with an empty function and join it"),
    time("barrier.central", "barrier", Steps, "a barrier with one counter; Linux: pthread_barrier_wait"),
    time("barrier.dissemination", "barrier", Steps, "a dissemination barrier; Linux: pthread_barrier_wait"),
    time("barrier.tree", "barrier", Steps, "a barrier by topology; Linux: pthread_barrier_wait"),
    time("timer.accuracy", "timer", Host, "how late a one-shot timer fires; Linux: clock_nanosleep"),
    time("timer.jitter", "timer", Host, "how much that differs from one shot to the next"),
    both("memory.page_touch", "memory", Host, "map 2 MiB of anonymous memory and touch it, per 4 KiB"),
    both("memory.alloc", "memory", Host, "64 bytes by hrt_alloc; Linux: malloc"),
    both("memory.free", "memory", Host, "and back"),
    both("memory.alloc_page", "memory", Host, "4 KiB by hrt_alloc; Linux: malloc"),
    both("memory.free_page", "memory", Host, "and back"),
    time("memory.pair_all", "memory", Host, "64 bytes taken and given back while all CPUs do so"),
    time("memory.alloc_scaling", "memory", Host, "that in parts of its cost while no other CPU does"),
    time("memory.alloc_local", "memory", HostZones, "4 KiB from the own zone"),
    time("memory.alloc_remote", "memory", HostZones, "4 KiB from another zone"),
    time(
        "noise.fixed_work",
        "noise",
        Host,
        "a quantum of computing on all CPUs: what others take shows in its tail",
    ),
];

/// The benchmarks that the words mean, all when there are none, in the order of the list.
pub(crate) fn select(words: &[String]) -> Result<Vec<&'static Benchmark>> {
    for word in words {
        if !BENCHMARKS.iter().any(|benchmark| benchmark.is_meant(word)) {
            bail!("{word}: no benchmark and no group of this name; `hadal bench list` shows them");
        }
    }
    let wanted =
        |benchmark: &&Benchmark| words.is_empty() || words.iter().any(|word| benchmark.is_meant(word));
    Ok(BENCHMARKS.iter().filter(wanted).collect())
}

/// Place of a figure in tables: that of its benchmark.
pub(crate) fn rank(figure: &str) -> usize {
    // Of two benchmarks, one named as the beginning of the other, the longer name owns the figure.
    let owners = BENCHMARKS.iter().enumerate().filter(|(_, benchmark)| benchmark.owns(figure));
    owners.max_by_key(|(_, benchmark)| benchmark.name.len()).map_or(BENCHMARKS.len(), |(index, _)| index)
}

/// What a figure is, in a sentence.
pub(crate) fn describe(figure: &str) -> &'static str {
    BENCHMARKS.get(rank(figure)).map_or("", |benchmark| benchmark.what)
}

/// The list for people.
pub(crate) fn table(words: &[String]) -> Result<String> {
    let chosen = select(words)?;
    let width = chosen.iter().map(|benchmark| benchmark.name.len()).max().unwrap_or(0);
    let line = |benchmark: &&Benchmark| {
        format!("{:width$}  {:13}  {}\n", benchmark.name, benchmark.modes(), benchmark.what)
    };
    let head = format!("{:width$}  {:13}  what\n", "name", "modes");
    Ok(head + &chosen.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_have_a_group() {
        for (index, benchmark) in BENCHMARKS.iter().enumerate() {
            assert_eq!(benchmark.name.split('.').count(), 2, "{}", benchmark.name);
            assert_eq!(rank(benchmark.name), index, "{}", benchmark.name);
            assert!(!benchmark.what.is_empty() && !benchmark.modes().is_empty());
        }
    }

    #[test]
    fn words_mean_names_groups_and_members_of_families() {
        let names = |word: &str| {
            let chosen = select(&[word.to_owned()]).unwrap();
            chosen.iter().map(|benchmark| benchmark.name).collect::<Vec<_>>()
        };
        assert_eq!(names("syscall"), ["syscall.getppid"]);
        assert_eq!(names("syscall.getppid"), ["syscall.getppid"]);
        assert!(select(&["syscall.getpp".to_owned()]).is_err());
        assert_eq!(select(&[]).unwrap().len(), BENCHMARKS.len());
        assert!(table(&[]).unwrap().contains("ring 3 on Linux"));
    }

    #[test]
    fn path_runs_on_one_cpu_and_parallel_on_the_hosts() {
        let benchmark = both("a.b", "c", Host, "d");
        assert_eq!(benchmark.shapes(Mode::Path, 16), [Shape { cpus: 1, zones: 1 }]);
        assert_eq!(benchmark.shapes(Mode::Parallel, 16), [Shape { cpus: 16, zones: 1 }]);
        assert_eq!(time("a.b", "c", Eight, "d").shapes(Mode::Path, 2), []);
        assert_eq!(time("a.b", "c", Steps, "d").shapes(Mode::Parallel, 2).len(), STEPS.len());
        assert_eq!(time("a.b", "c", HostZones, "d").shapes(Mode::Parallel, 1), [Shape { cpus: 2, zones: 2 }]);
    }
}
