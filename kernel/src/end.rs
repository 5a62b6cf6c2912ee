// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The orderly end of the machine.

use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_abi::control::{ExitStatus, GuestMessage, Stats};
use hadal_abi::machine::{DEBUG_EXIT_DONE, DEBUG_EXIT_PORT};
use hadal_hal::{cpu, port};

use crate::{console, control, profile, run, trace};

/// Tells the host how it ended and stops. Everything that the program wrote to files is there already: nothing is kept back.
pub(crate) fn machine(status: ExitStatus) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread is ending the machine and will not come back.
        loop {
            hadal_sched::park(None);
        }
    }
    trace::finish();
    profile::finish();
    if run::wants_stats() {
        control::send(&GuestMessage::Stats(Stats { counters: counters() }));
    }
    if !control::is_open() {
        say_on_console(&status);
    }
    control::send(&GuestMessage::Exit(status));
    control::flush();
    port::out32(DEBUG_EXIT_PORT, DEBUG_EXIT_DONE);
    // No such device: the host ends the machine when it has read the message, or a person turns it off.
    cpu::halt_forever()
}

fn say_on_console(status: &ExitStatus) {
    use core::fmt::Write;
    let mut text = String::new();
    let _ = match status {
        ExitStatus::Exited(code) => writeln!(text, "hadal: the program ended with status {code}"),
        ExitStatus::Signaled { signal } => writeln!(text, "hadal: the program was ended by signal {signal}"),
        ExitStatus::CannotStart(why) => writeln!(text, "hadal: {why}"),
        ExitStatus::KernelFailure(why) => writeln!(text, "hadal: kernel failure: {why}"),
    };
    console::write(text.as_bytes());
}

/// Everything that is counted, by name.
pub(crate) fn counters() -> Vec<(String, u64)> {
    let hardware = hadal_hal::percpu::counters();
    let sched = hadal_sched::counters();
    let memory = hadal_mem::frames::global().stats();
    let mut list: Vec<(&str, u64)> = alloc::vec![
        ("system calls", hardware.system_calls),
        ("interrupts", hardware.interrupts),
        ("inter-processor interrupts (IPIs) sent", hardware.ipis_sent),
        ("thread switches", sched.switches),
        ("wake-ups", sched.wakes),
        ("threads taken by idle CPUs", sched.steals),
        ("page-table changes", hardware.page_table_changes),
        ("TLB shootdowns", hadal_hal::tlb::shootdown_count()),
        ("memory in all, bytes", memory.total_bytes),
        ("memory in use, bytes", memory.total_bytes - memory.free_bytes),
        ("memory high-water mark, bytes", memory.high_water_bytes),
        ("kernel heap, bytes", hadal_hal::heap::bytes()),
        ("time since boot, ns", hadal_time::now_ns()),
    ];
    if let Some(process) = run::process() {
        let space = process.space.stats();
        list.push(("program memory resident, bytes", space.resident_bytes as u64));
        list.push(("program memory resident at most, bytes", space.resident_peak_bytes as u64));
        list.push(("page faults resolved", space.faults));
    }
    list.into_iter().map(|(name, value)| (String::from(name), value)).collect()
}
