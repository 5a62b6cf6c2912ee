// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal-fc`: `hadal fc` under a name that build systems take for a compiler.
#![forbid(unsafe_code)]

#[path = "../forward.rs"]
mod forward;

fn main() -> std::process::ExitCode {
    forward::to("fc")
}
