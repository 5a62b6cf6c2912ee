// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Harness of the acceptance tests: builds the programs of `programs/`, runs each on this Linux machine and under
//! the `hadal` command, and compares.
//!
//! - [`programs`]: what is built, and in which [`programs::Way`]; the results are cached by time of change.
//! - [`libhrt`]: the run-time library for those programs that use it.
//! - [`image`]: such a program as a bootable image.
//! - [`run`]: a command with its input, a time limit, and everything it wrote.
//! - [`machine`]: the `hadal` command line of one run, and how many machines may run at once.
//! - [`bochs`]: machines of another emulator, for paths that QEMU does not take.
//! - [`browser`]: a page in a browser, and the faults of its layout.
//! - [`picture`]: what a trace shows, and what must hold for every one.
//! - [`book`]: what README and the book show, as tests.
//! - [`case`]: one comparison of a program on both systems.
//!
//! The tests themselves are in `acceptance/`, one module for each part of the specification; `hadal-soak` repeats
//! short runs many times, `hadal-stress` uses everything in `hadal/hrt.h` at once for as long as is wanted, `hadal-fuzz`
//! issues random system calls. Nothing here is part of the product.
#![forbid(unsafe_code)]

pub mod bochs;
pub mod book;
pub mod browser;
pub mod case;
pub mod debug_kernel;
pub mod elf;
pub mod error;
pub mod image;
pub mod libhrt;
pub mod machine;
pub mod picture;
pub mod posix;
pub mod programs;
pub mod run;
pub mod scratch;

pub use case::Case;
pub use error::TestError;
pub use machine::Hadal;
pub use programs::{Program, Way};
pub use run::Outcome;
