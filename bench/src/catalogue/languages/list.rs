// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The list of programs of data-parallel languages: their sources, the same by hand in C, the sizes, and the answer that each size
//! has in every place.

use super::{Language, Program, Size};
use crate::catalogue::Machine::{One, Two};
use crate::catalogue::openmp::{self, by_hand};
use crate::catalogue::{Benchmark, How, both, path, time};

/// The size of the bandwidth regime.
const fn large(size: u32, answer: i32) -> Size {
    Size { suffix: "", size, repetitions: 1, operations: 1, samples: 3, answer }
}

/// The size at which most vectors are short.
const fn short(size: u32, repetitions: u32, answer: i32) -> Size {
    Size { suffix: "_short", size, repetitions, operations: repetitions, samples: 5, answer }
}

const fn figure(name: &'static str, program: &'static Program, what: &'static str) -> Benchmark {
    Benchmark { how: How::Language(program), ..time(name, "", Two, what) }
}

const fn nesl(
    name: &'static str,
    source: &'static str,
    peer: openmp::Program,
    sizes: &'static [Size],
) -> Program {
    Program { name, language: Language::Nesl, source, peer: Some(peer), sizes, is_scaled: true, options: &[] }
}

const fn ndpc(program: Program, name: &'static str) -> Program {
    Program { name, language: Language::Ndpc, ..program }
}

const QUICKSORT: Program = nesl(
    "nesl_quicksort",
    "nesl/quicksort.nesl",
    by_hand("by_hand_quicksort", &["by_hand/quicksort.c"]),
    &[large(1_000_000, -74_867_566), short(1_000, 20, 2_047_363_148)],
);
const MERGESORT: Program = nesl(
    "nesl_mergesort",
    "nesl/mergesort.nesl",
    by_hand("by_hand_mergesort", &["by_hand/mergesort.c"]),
    &[large(1 << 20, 76_782_491), short(256, 10, 535_954_402)],
);
const PRIMES: Program = nesl(
    "nesl_primes",
    "nesl/primes.nesl",
    by_hand("by_hand_primes", &["by_hand/primes.c"]),
    &[large(4_000_000, 751_673_731), short(1_000, 200, 1_754_825_200)],
);
const QUICKHULL: Program = nesl(
    "nesl_quickhull",
    "nesl/quickhull.nesl",
    by_hand("by_hand_quickhull", &["by_hand/quickhull.c"]),
    &[large(1_000_000, 66_845_351), short(1_000, 50, -1_725_101_550)],
);
const SPARSE: Program = nesl(
    "nesl_sparse",
    "nesl/sparse.nesl",
    by_hand("by_hand_sparse", &["by_hand/sparse.c"]),
    &[large(400_000, -7_835_483), short(100, 500, 807_812_000)],
);
const QUEENS: Program = nesl(
    "nesl_queens",
    "nesl/queens.nesl",
    by_hand("by_hand_queens", &["by_hand/queens.c"]),
    &[large(10, 724), short(5, 100, 1_000)],
);
const DOT: Program = nesl(
    "nesl_dot",
    "nesl/dot.nesl",
    by_hand("by_hand_dot", &["by_hand/dot.c"]),
    &[large(1 << 22, 235_971_843), short(1_000, 1_000, 55_139_000)],
);
const LINE_FIT: Program = nesl(
    "nesl_line_fit",
    "nesl/line_fit.nesl",
    by_hand("by_hand_line_fit", &["by_hand/line_fit.c"]),
    &[large(1 << 22, 52_551), short(1_000, 300, 362_825_400)],
);
const MEDIAN: Program = nesl(
    "nesl_median",
    "nesl/median.nesl",
    by_hand("by_hand_median", &["by_hand/median.c"]),
    &[large(4_000_000, 2_098_762), short(1_000, 200, 416_250_000)],
);
const BATCHER: Program = nesl(
    "nesl_batcher",
    "nesl/batcher.nesl",
    by_hand("by_hand_batcher", &["by_hand/batcher.c"]),
    &[large(1 << 20, 76_782_491), short(128, 20, -696_069_168)],
);
const CHAIN: Program = nesl(
    "nesl_chain",
    "nesl/chain.nesl",
    by_hand("by_hand_chain", &["by_hand/chain.c"]),
    &[large(1 << 22, 5_075), short(1_000, 1_000, 16_227_000)],
);
const SCALAR: Program = Program {
    name: "nesl_scalar",
    language: Language::Vcode,
    source: "nesl/scalar_instruction.vcode",
    peer: None,
    // What the source says.
    sizes: &[Size { operations: 64_000, ..large(1_000, -295_230_643) }],
    is_scaled: false,
    options: &[],
};
const FIB: Program = Program {
    language: Language::Ndpc,
    ..nesl(
        "ndpc_fib",
        "ndpc/fib.ndpc",
        by_hand("by_hand_fib", &["by_hand/fib.c"]),
        &[large(30, 832_040), short(12, 100, 14_400)],
    )
};
const INTEGRATE: Program = Program {
    language: Language::Ndpc,
    ..nesl(
        "ndpc_integrate",
        "ndpc/integrate.ndpc",
        by_hand("by_hand_integrate", &["by_hand/integrate.c"]),
        &[Size { repetitions: 10, operations: 10, ..large(13, 61_150_020) }, short(6, 100, 611_500_200)],
    )
};
const FORK_JOIN: Program = Program {
    language: Language::Ndpc,
    is_scaled: false,
    options: &["--one-thread-per-element"],
    ..nesl(
        "ndpc_fork_join",
        "ndpc/fork_join.ndpc",
        by_hand("by_hand_fork_join", &["by_hand/fork_join.c", "by_hand/fork_join_threads.cpp"]),
        &[Size { operations: 1_000, samples: 9, ..large(1_000, 1_498_500) }],
    )
};
const NDPC_MERGESORT: Program = Program {
    sizes: &[large(200_000, -485_944_596), short(1_000, 20, 2_047_363_148)],
    ..ndpc(MERGESORT, "ndpc_mergesort")
};

const NDPC_CHAIN: Program = ndpc(CHAIN, "ndpc_chain");
const NDPC_DOT: Program = ndpc(DOT, "ndpc_dot");
const NDPC_LINE_FIT: Program = ndpc(LINE_FIT, "ndpc_line_fit");
const NDPC_SPARSE: Program = ndpc(SPARSE, "ndpc_sparse");
const NDPC_MEDIAN: Program = ndpc(MEDIAN, "ndpc_median");
const NDPC_PRIMES: Program = ndpc(PRIMES, "ndpc_primes");
const NDPC_QUICKSORT: Program = ndpc(QUICKSORT, "ndpc_quicksort");
const NDPC_BATCHER: Program = ndpc(BATCHER, "ndpc_batcher");
const NDPC_QUICKHULL: Program = ndpc(QUICKHULL, "ndpc_quickhull");
const NDPC_QUEENS: Program = ndpc(QUEENS, "ndpc_queens");

/// In the order of tables.
pub(in crate::catalogue) const BENCHMARKS: [Benchmark; 26] = [
    Benchmark {
        how: How::Language(&SCALAR),
        ..path(
            "nesl.scalar_instruction",
            "",
            One,
            "VCODE: an operation on vectors of length 1, with the constants and copies that it needs and a loop around",
        )
    },
    figure("nesl.chain", &CHAIN, "NESL: elementwise operations on 2^22 floats; `_short` 10^3; `_1` one CPU"),
    figure("nesl.dot", &DOT, "NESL: dot product of 2^22 floats; `_short` 10^3; `_1` one CPU"),
    figure("nesl.line_fit", &LINE_FIT, "NESL: least squares of 2^22 points; `_short` 10^3; `_1` one CPU"),
    figure(
        "nesl.sparse",
        &SPARSE,
        "NESL: sparse matrix times vector, 400,000 rows, 6 million entries; `_short` 100 rows; `_1` one CPU",
    ),
    figure(
        "nesl.median",
        &MEDIAN,
        "NESL: median of 4 million ints by quickselect; `_short` 10^3; `_1` one CPU",
    ),
    figure("nesl.primes", &PRIMES, "NESL: primes below 4 million; `_short` 10^3; `_1` one CPU"),
    figure("nesl.quicksort", &QUICKSORT, "NESL: quicksort of 10^6 ints; `_short` 10^3; `_1` one CPU"),
    figure(
        "nesl.mergesort",
        &MERGESORT,
        "NESL: mergesort of 2^20 ints, merges in parallel; `_short` 256; `_1` one CPU",
    ),
    figure("nesl.batcher", &BATCHER, "NESL: bitonic sort of 2^20 ints; `_short` 128; `_1` one CPU"),
    figure(
        "nesl.quickhull",
        &QUICKHULL,
        "NESL: convex hull of 0.7 million points in a circle; `_short` 10^3; `_1` one CPU",
    ),
    figure("nesl.queens", &QUEENS, "NESL: placements of 10 queens; `_short` 5; `_1` one CPU"),
    Benchmark {
        how: How::Language(&FORK_JOIN),
        ..both(
            "ndpc.fork_join",
            "",
            Two,
            "NDPC: fork and join of a thread for each of 1000 elements, per element; beside std::thread",
        )
    },
    figure(
        "ndpc.fib",
        &FIB,
        "NDPC: 30th Fibonacci number, nothing but forks and joins; `_short` 12th; `_1` one CPU",
    ),
    figure("ndpc.integrate", &INTEGRATE, "NDPC: adaptive integration to 13 digits; `_short` 6; `_1` one CPU"),
    figure(
        "ndpc.chain",
        &NDPC_CHAIN,
        "NDPC: elementwise operations on 2^22 floats; `_short` 10^3; `_1` one CPU",
    ),
    figure("ndpc.dot", &NDPC_DOT, "NDPC: dot product of 2^22 floats; `_short` 10^3; `_1` one CPU"),
    figure(
        "ndpc.line_fit",
        &NDPC_LINE_FIT,
        "NDPC: least squares of 2^22 points; `_short` 10^3; `_1` one CPU",
    ),
    figure(
        "ndpc.sparse",
        &NDPC_SPARSE,
        "NDPC: sparse matrix times vector, 400,000 rows, 6 million entries; `_short` 100 rows; `_1` one CPU",
    ),
    figure(
        "ndpc.median",
        &NDPC_MEDIAN,
        "NDPC: median of 4 million ints by quickselect; `_short` 10^3; `_1` one CPU",
    ),
    figure("ndpc.primes", &NDPC_PRIMES, "NDPC: primes below 4 million; `_short` 10^3; `_1` one CPU"),
    figure("ndpc.quicksort", &NDPC_QUICKSORT, "NDPC: quicksort of 10^6 ints; `_short` 10^3; `_1` one CPU"),
    figure(
        "ndpc.mergesort",
        &NDPC_MERGESORT,
        "NDPC: mergesort of 200,000 ints, merges in parallel; `_short` 10^3; `_1` one CPU",
    ),
    figure("ndpc.batcher", &NDPC_BATCHER, "NDPC: bitonic sort of 2^20 ints; `_short` 128; `_1` one CPU"),
    figure(
        "ndpc.quickhull",
        &NDPC_QUICKHULL,
        "NDPC: convex hull of 0.7 million points in a circle; `_short` 10^3; `_1` one CPU",
    ),
    figure("ndpc.queens", &NDPC_QUEENS, "NDPC: placements of 10 queens; `_short` 5; `_1` one CPU"),
];
