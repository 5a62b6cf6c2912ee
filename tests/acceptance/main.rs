// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The acceptance tests: whole programs on Hadal, compared with Linux. One module for each part.
//!
//! `cargo test -p hadal-tests [-- FILTER]` runs them with the command of the release build, or with that named in
//! `HADAL`. `HADAL_TESTS_QUICK=1` leaves out the slow ones, `HADAL_TESTS_ALL=1` adds those of `hadal test --all`,
//! `HADAL_TESTS_NATIVE=1` runs only the Linux half, to check the programs themselves.
#![forbid(unsafe_code)]

mod bad_input;
mod bench;
mod bench_page;
mod bochs;
mod book;
mod calls;
mod cc;
mod cli;
mod counting;
mod crowded;
mod debug_kernel;
mod events;
mod exhaust;
mod faults;
mod files;
mod hrt;
mod hrt_examples;
mod hrt_lib;
mod image;
mod install;
mod isolation;
mod language_sanitizers;
mod language_sets;
mod languages;
mod linux;
mod live;
mod memory;
mod messages;
mod model;
mod numa;
mod observe;
mod omp;
mod omp_environment;
mod omp_misuse;
mod omp_pages;
mod omp_sanitizers;
mod omp_tools;
mod openmp;
mod projects;
mod sanitizers;
mod scale;
mod sched;
mod scripts;
mod shell;
mod signals;
mod soundness;
mod stack_frames;
mod stress;
mod style;
mod suite;
mod sync;
mod terminal;
mod threads;
mod userland;

use std::process::ExitCode;

use libtest_mimic::Arguments;

use crate::suite::Suite;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut suite = Suite::from_environment();
    debug_kernel::register_build(&mut suite);
    style::register(&mut suite);
    bench::register(&mut suite);
    bench_page::register(&mut suite);
    book::register(&mut suite);
    omp::register(&mut suite);
    omp_environment::register(&mut suite);
    omp_misuse::register(&mut suite);
    omp_pages::register(&mut suite);
    omp_sanitizers::register(&mut suite);
    language_sanitizers::register(&mut suite);
    omp_tools::register(&mut suite);
    openmp::register(&mut suite);
    projects::register(&mut suite);
    threads::register(&mut suite);
    userland::register(&mut suite);
    hrt::register(&mut suite);
    hrt_lib::register(&mut suite);
    hrt_examples::register(&mut suite);
    events::register(&mut suite);
    languages::register(&mut suite);
    language_sets::register(&mut suite);
    linux::register(&mut suite);
    isolation::register(&mut suite);
    scripts::register(&mut suite);
    signals::register(&mut suite);
    memory::register(&mut suite);
    exhaust::register(&mut suite);
    model::register(&mut suite);
    sched::register(&mut suite);
    sync::register(&mut suite);
    soundness::register(&mut suite);
    faults::register(&mut suite);
    bad_input::register(&mut suite);
    files::register(&mut suite);
    cli::register(&mut suite);
    messages::register(&mut suite);
    counting::register(&mut suite);
    crowded::register(&mut suite);
    numa::register(&mut suite);
    observe::register(&mut suite);
    calls::register(&mut suite);
    live::register(&mut suite);
    scale::register(&mut suite);
    image::register(&mut suite);
    install::register(&mut suite);
    bochs::register(&mut suite);
    cc::register(&mut suite);
    shell::register(&mut suite);
    terminal::register(&mut suite);
    debug_kernel::register(&mut suite);
    stack_frames::register(&mut suite);
    stress::register(&mut suite);
    let times = suite.times();
    let conclusion = libtest_mimic::run(&arguments, suite.into_trials());
    times.print();
    conclusion.exit_code()
}
