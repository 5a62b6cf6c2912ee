// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal bench`: the harness is a crate of its own; here it gets this command to measure and a place for its files.

use std::env;

use anyhow::Context;
use hadal_bench::{BenchArgs, Environment};

use crate::failure::Failure;
use crate::{child, paths, translated};

/// Measures, compares or reports.
pub(crate) fn run(args: &BenchArgs) -> Result<u8, Failure> {
    let hadal = env::current_exe().context("cannot find this command's own file")?;
    let environment = Environment {
        hadal,
        cache: paths::cache_dir("bench")?,
        translated: translated::TUNABLES,
        exec_in_child: child::HOOK,
    };
    Ok(hadal_bench::run(args, &environment)?)
}
