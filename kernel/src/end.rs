// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The orderly end of the machine.

use alloc::string::String;
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_abi::control::{ExitStatus, GuestMessage};
use hadal_hal::cpu;
use hadal_linux::strace;

use crate::{console, control, counters, power, profile, run, trace};

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
        control::send(&GuestMessage::Stats(counters::stats()));
    }
    if let Some(counts) = strace::counts::list() {
        control::send(&GuestMessage::CallCounts(counts));
    }
    if !control::is_open() {
        say_on_console(&status);
    }
    control::send(&GuestMessage::Exit(status));
    control::flush();
    if run::stays_on() {
        console::write(b"hadal: the machine stays on, as the kernel's command line says\n");
        cpu::halt_forever()
    }
    power::off()
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
