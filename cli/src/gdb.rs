// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--gdb`: chooses a port and says how to attach a debugger that knows the kernel's and the program's source lines.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::Context;
use hadal_abi::machine::PIE_BASE_ADDRESS;

use crate::failure::Failure;
use crate::kernel;
use crate::launch::Launch;
use crate::qemu;

/// The port asked for, or a free one for 0.
pub(crate) fn choose_port(asked: u16) -> Result<u16, Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, asked)).map_err(|e| {
        Failure::setup(format!("--gdb={asked}: {e}"), "choose another port, or none for a free one")
    })?;
    Ok(listener.local_addr().context("a listener has an address")?.port())
}

/// Prints the debugger's command line on standard error.
pub(crate) fn print_instructions(port: u16, launch: &Launch) -> Result<(), Failure> {
    let symbols = kernel::symbols_file()?;
    let program = launch.symbols.display();
    let add_program = match launch.elf.fixed_address {
        true => format!("add-symbol-file {program}"),
        false => format!("add-symbol-file {program} -o {PIE_BASE_ADDRESS:#x}"),
    };
    let words = [
        "gdb".into(),
        // Adding symbols would ask whether it may.
        "-ex".into(),
        "set confirm off".into(),
        "-ex".into(),
        format!("symbol-file {}", symbols.display()).into(),
        "-ex".into(),
        add_program.into(),
        "-ex".into(),
        format!("target remote localhost:{port}").into(),
        "-ex".into(),
        "hbreak main".into(),
    ];
    eprintln!("hadal: the machine waits for a debugger; in another terminal type:");
    eprintln!("  {}", qemu::shell_line(&words));
    eprintln!(
        "then `continue`. Each CPU is a thread of the debugger. The kernel is entered at `hadal_start32`."
    );
    Ok(())
}
