// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal run`: prepares the program, starts the machine, and ends as the program ended.

use hadal_abi::control::Stats;

use crate::args::RunArgs;
use crate::channel::ReportTarget;
use crate::failure::Failure;
use crate::session::Session;
use crate::values::Bytes;
use crate::{dry_run, gdb, launch, machine};

/// Runs the program; returns the status with which the command ends.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    // A mistyped option must not become a missing QEMU or a failed probe of KVM.
    launch::program_name(&args.command)?;
    let mut spec = machine::spec(&args.machine)?;
    let launch = launch::prepare(args, Bytes(spec.memory_bytes))?;
    if let Some(port) = args.gdb {
        spec.gdb_port = Some(gdb::choose_port(port)?);
    }
    if args.observe.dry_run {
        return dry_run::print(&spec, &launch.boot, launch.view.mounts());
    }
    if let Some(port) = spec.gdb_port {
        gdb::print_instructions(port, &launch)?;
    }
    let session = Session {
        spec,
        mounts: launch.view.mounts().to_vec(),
        boot: launch.boot,
        log: machine::log_sink(&args.observe)?,
        reports: ReportTarget::Stderr,
        time_limit: args.observe.timeout,
        forward_signals: true,
    };
    let outcome = session.run()?;
    if let Some(stats) = &outcome.stats {
        eprint!("{}", stats_table(stats));
    }
    Ok(outcome.status)
}

/// Counters as lines, the numbers right-aligned.
fn stats_table(stats: &Stats) -> String {
    let name_width = stats.counters.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let value_width = stats.counters.iter().map(|(_, value)| value.to_string().len()).max().unwrap_or(0);
    let line = |(name, value): &(String, u64)| format!("  {name:name_width$}  {value:>value_width$}\n");
    let lines: String = stats.counters.iter().map(line).collect();
    format!("hadal: counters of the run\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_aligned() {
        let stats = Stats { counters: vec![("system calls".into(), 12_345), ("ipis".into(), 7)] };
        assert_eq!(
            stats_table(&stats),
            "hadal: counters of the run\n  system calls  12345\n  ipis              7\n"
        );
    }
}
