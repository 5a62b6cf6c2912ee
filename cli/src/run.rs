// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal run`: prepares the program, starts the machine, and ends as the program ended. `hadal shell` does the same, but
//! the kernel waits for commands.

use hadal_abi::config::{BootAction, RunConfig};

use crate::args::{Place, RunArgs};
use crate::channel::ReportTarget;
use crate::failure::Failure;
use crate::live::Description;
use crate::observed::Observed;
use crate::qemu::Accel;
use crate::session::Session;
use crate::values::Bytes;
use crate::{
    dry_run, gdb, hidden_input, launch, machine, native, observed, stdio, trace, translated, waiting,
};

/// Runs the program; returns the status with which the command ends.
pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    match args.place {
        Place::Kernel => run_until_end(args, BootAction::RunProgram),
        Place::Linux => native::run(args),
    }
}

/// `hadal shell`: boots to the kernel's shell, which runs the program when it is told to.
pub(crate) fn shell(args: &RunArgs) -> Result<u8, Failure> {
    if args.place == Place::Linux {
        return Err(Failure::Usage {
            what: "--place linux: the shell is the kernel's, and Linux has its own".into(),
            help: "leave the option out".into(),
        });
    }
    if !args.command.is_empty() {
        return run_until_end(args, BootAction::Shell);
    }
    if let Some(option) = options_for_programs(args) {
        return Err(Failure::Usage {
            what: format!("{option} needs a program"),
            help: "for example: hadal shell a.hadal".into(),
        });
    }
    let config = RunConfig {
        on_boot: BootAction::Shell,
        stdio: stdio::kinds(),
        log_filter: machine::log_filter(&args.observe),
        ..RunConfig::report()
    };
    machine::boot(&args.machine, &args.observe, config, Some(Description::of_shell()))
}

/// The first option that says something about a program that is not there.
fn options_for_programs(args: &RunArgs) -> Option<&'static str> {
    let given = [
        ("--strace", args.strace.is_some()),
        ("--stats", args.stats.is_some()),
        ("--stats-file", args.stats_file.is_some()),
        ("--trace", args.trace.is_some()),
        ("--profile", args.profile.is_some()),
        ("--gdb", args.gdb.is_some()),
        ("--module", !args.module.is_empty()),
        ("--append", args.append.is_some()),
        ("--mount", !args.mount.is_empty()),
        ("--root", args.root.is_some()),
        ("--cflags", args.cflags.is_some()),
    ];
    given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

fn run_until_end(args: &RunArgs, on_boot: BootAction) -> Result<u8, Failure> {
    let mut spec = machine::spec(&args.machine)?;
    let mut launch = launch::prepare(args, Bytes(spec.memory_bytes))?;
    launch.boot.config.on_boot = on_boot;
    launch.boot.config.profile_hz = args.profile.as_ref().map_or(0, |_| args.profile_hz);
    if !args.clear_env {
        let config = &mut launch.boot.config;
        waiting::add_policy(&mut config.env, spec.cpus, config.host_cores);
        if spec.accel == Accel::Tcg {
            translated::add_tunables(&mut config.env);
        }
    }
    launch.boot.config.trace_buffer_bytes = trace::buffer_bytes(args, spec.cpus, Bytes(spec.memory_bytes))?;
    if let Some(port) = args.gdb {
        spec.gdb_port = Some(gdb::choose_port(port)?);
    }
    if args.observe.dry_run {
        return dry_run::print(&spec, launch.boot, launch.view.mounts());
    }
    let files = observed::Files::create(args, &launch)?;
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
        listed: Some(Description::of_program(&args.command)),
    };
    let mut observed = Observed::default();
    let outcome = session.observe(&mut observed);
    let written = files.write(observed, &mut launch.view);
    // How the run ended matters more than what becomes of files.
    let outcome = outcome?;
    written?;
    if outcome.status != 0 {
        eprint!("{}", hidden_input::note(&launch.view, &args.command[1..]).unwrap_or_default());
    }
    Ok(outcome.status)
}
