// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs of OpenMP: what a construct costs, programs of tasks, the NAS parallel benchmarks, HPCCG and STREAM. All but NAS
//! get their figures as arguments; a program of NAS is one figure.

use clap::ValueEnum;

use super::Machine::{One, Teams, Two};
use super::{Benchmark, How, Machine, time};

/// A program of OpenMP: its name, and how to build it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Below `bench/programs`.
    pub(crate) sources: &'static [&'static str],
    /// The size of a program of NAS.
    pub(crate) class: Option<Class>,
    /// Flags besides those of every program.
    more_flags: &'static [&'static str],
}

/// Sizes of the NAS parallel benchmarks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, serde::Serialize, serde::Deserialize,
)]
#[value(rename_all = "UPPER")]
pub enum Class {
    /// For tests
    S,
    /// Small
    W,
    /// The first real size; hours under TCG
    A,
    /// Four times as large
    B,
    /// Four times as large again
    C,
}

/// Sizes unless the user says otherwise.
pub(crate) const DEFAULT_CLASSES: [Class; 2] = [Class::W, Class::A];

const SYNC: Program = simple("openmp_sync", &["openmp_sync.c"]);
const SCHED: Program = simple("openmp_sched", &["openmp_sched.c"]);
const ARRAY: Program = simple("openmp_array", &["openmp_array.c"]);
const TASK: Program = simple("openmp_task", &["openmp_task.c"]);
const TREES: Program = simple("openmp_trees", &["openmp_trees.c"]);
const HPCCG: Program = simple("hpccg", &["hpccg.c"]);
const STREAM: Program = simple("stream", &["stream.c"]);

const fn simple(name: &'static str, sources: &'static [&'static str]) -> Program {
    Program { name, sources, class: None, more_flags: &[] }
}

/// A program that is set against one in another language, whose run-time and programs are compiled with `-O3`.
pub(super) const fn by_hand(name: &'static str, sources: &'static [&'static str]) -> Program {
    Program { more_flags: &["-O3"], ..simple(name, sources) }
}

const SOLVER: [&str; 5] = ["nas/nas.c", "nas/cfd.c", "nas/cfd_rhs.c", "nas/cfd_main.c", "nas/cfd_lines.c"];

/// The NAS parallel benchmarks with their sources.
const NAS: [(&str, &[&str], &str); 8] = [
    ("ep", &["nas/ep.c", "nas/nas.c"], "pairs of Gaussian deviates: threads meet at the end only"),
    ("cg", &["nas/cg.c", "nas/nas.c"], "eigenvalue of a sparse matrix by conjugate gradients"),
    ("is", &["nas/is.c", "nas/nas.c"], "ranking of integers"),
    ("mg", &["nas/mg.c", "nas/nas.c"], "multigrid for a Poisson equation"),
    ("ft", &["nas/ft.c", "nas/nas.c"], "a partial differential equation by Fourier transforms"),
    (
        "bt",
        &["nas/bt.c", "nas/bt_solve.c", SOLVER[0], SOLVER[1], SOLVER[2], SOLVER[3], SOLVER[4]],
        "flow equations, block tridiagonal solver",
    ),
    (
        "sp",
        &["nas/sp.c", "nas/sp_solve.c", SOLVER[0], SOLVER[1], SOLVER[2], SOLVER[3], SOLVER[4]],
        "flow equations, scalar pentadiagonal solver",
    ),
    (
        "lu",
        &["nas/lu.c", "nas/lu_rows.c", "nas/lu_sweep.c", SOLVER[0], SOLVER[1], SOLVER[2], SOLVER[3]],
        "flow equations, successive over-relaxation in a pipeline of threads",
    ),
];

impl Program {
    /// Flags of the compiler besides those of every program.
    pub(crate) fn flags(&self) -> Vec<String> {
        let class = |class: Class| format!("-DNAS_CLASS_{class:?}");
        let more = self.more_flags.iter().map(|flag| (*flag).to_owned());
        self.class.map(class).into_iter().chain(["-fopenmp".to_owned()]).chain(more).collect()
    }
}

/// An overhead: instructions on one CPU, and time with a thread on each CPU.
const fn overhead(name: &'static str, program: &'static Program, what: &'static str) -> Benchmark {
    timed(name, program, Teams, what).with_path(One)
}

const fn timed(
    name: &'static str,
    program: &'static Program,
    machine: Machine,
    what: &'static str,
) -> Benchmark {
    Benchmark { how: How::OpenMp(program), ..time(name, "", machine, what) }
}

/// In the order of tables.
const CONSTRUCTS: [Benchmark; 42] = [
    overhead(
        "openmp.parallel",
        &SYNC,
        "an empty parallel region; path mode: overheads of 2 threads on 1 CPU, `_1` and `_4` of so many",
    ),
    overhead("openmp.for", &SYNC, "a static loop with its barrier, in a region"),
    overhead("openmp.parallel_for", &SYNC, "a region that is a static loop"),
    overhead("openmp.barrier", &SYNC, "a barrier"),
    overhead("openmp.single", &SYNC, "single, with its barrier"),
    overhead("openmp.copyprivate", &SYNC, "single with copyprivate of a word"),
    overhead("openmp.critical", &SYNC, "a turn in a critical section that all threads want"),
    overhead("openmp.lock", &SYNC, "set and unset a lock that all threads want"),
    overhead("openmp.lock_free", &SYNC, "set and unset a lock that nobody else wants, of each thread"),
    overhead("openmp.ordered", &SYNC, "a turn in an ordered section of a loop"),
    overhead("openmp.atomic", &SYNC, "an atomic addition to a word that all threads want"),
    overhead("openmp.reduction", &SYNC, "a region that reduces a word"),
    overhead("openmp.masked", &SYNC, "code of the primary thread alone"),
    overhead("openmp.static1", &SCHED, "schedule(static,1): per chunk and thread"),
    overhead("openmp.static8", &SCHED, "schedule(static,8): per chunk and thread"),
    overhead("openmp.dynamic1", &SCHED, "schedule(dynamic,1): per chunk and thread"),
    overhead(
        "openmp.dynamic8",
        &SCHED,
        "schedule(dynamic,8): per chunk and thread; path mode: chunks beyond the first, without `dynamic_loop`",
    ),
    overhead(
        "openmp.guided",
        &SCHED,
        "schedule(guided): per chunk and thread, with the standard's number of chunks; path mode: chunks beyond the first, \
         without `guided_loop`",
    ),
    overhead("openmp.guided8", &SCHED, "schedule(guided,8): the same"),
    overhead("openmp.dynamic_loop", &SCHED, "a dynamic loop with one chunk for each thread, and its barrier"),
    overhead("openmp.guided_loop", &SCHED, "a guided loop with one chunk for each thread, and its barrier"),
    overhead("openmp.private", &ARRAY, "a region with a private array of N doubles"),
    overhead("openmp.firstprivate", &ARRAY, "the same with firstprivate: a copy for each thread"),
    overhead("openmp.copyin", &ARRAY, "the same with copyin of a threadprivate array"),
    overhead("openmp.copyprivate_array", &ARRAY, "single with copyprivate of a private array of N doubles"),
    overhead("openmp.task_spawn", &TASK, "spawn and execute an empty task; every thread does so"),
    overhead("openmp.task_master", &TASK, "the same by one thread for all"),
    overhead("openmp.task_if0", &TASK, "the same with if(0)"),
    overhead("openmp.taskwait", &TASK, "a task and taskwait; every thread does so"),
    overhead("openmp.taskgroup", &TASK, "a taskgroup with one task; every thread does so"),
    overhead("openmp.taskloop", &TASK, "taskloop of one thread, grainsize(1): per task"),
    overhead("openmp.task_nested", &TASK, "a task with a child that it waits for: per task"),
    overhead("openmp.task_tree", &TASK, "a binary tree of tasks with empty leaves: per task"),
    overhead("openmp.task_depend", &TASK, "a task that depends on the one before (inout): per task"),
    timed("openmp.fib", &TREES, Two, "Fibonacci numbers by tasks; `_1` is one thread on the same machine"),
    timed("openmp.sort", &TREES, Two, "merge sort by tasks"),
    timed("openmp.nqueens", &TREES, Two, "placements of queens by tasks"),
    timed("openmp.strassen", &TREES, Two, "Strassen's matrix multiplication by tasks"),
    timed("hpccg.solve", &HPCCG, Two, "conjugate gradients on a 27-point stencil, the matrix in memory"),
    timed("stream.copy", &STREAM, Two, "c = a, arrays larger than caches: a pass"),
    timed("stream.add", &STREAM, Two, "c = a + b: a pass"),
    timed("stream.triad", &STREAM, Two, "c = a + s b: a pass"),
];

/// All of them.
pub(super) fn all() -> Vec<Benchmark> {
    let mut all = CONSTRUCTS.to_vec();
    for class in Class::value_variants() {
        for (kernel, sources, what) in NAS {
            // The list is made once and lives as long as the process.
            let name: &'static str = format!("nas.{kernel}.{class:?}").leak();
            let program = Box::leak(Box::new(Program { class: Some(*class), ..simple(name, sources) }));
            all.push(Benchmark { class: Some(*class), ..timed(name, program, Two, what) });
        }
    }
    all
}
