// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of the address space on a simulated machine: one test for each rule, a model, and threads.

mod calls;
mod file;
mod files;
mod filling;
mod fork_advice;
mod forks;
mod locks;
mod machine;
mod model;
mod moves;
mod release;
mod sim;
mod threads;
mod write_back;
