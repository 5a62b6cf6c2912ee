// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel image's services for the Linux personality.

use alloc::format;
use alloc::string::{String, ToString};

use hadal_abi::control::{ExitStatus as Ended, GuestMessage};
use hadal_hal::memory::fallible::OutOfMemory;
use hadal_hal::trap::{TrapFrame, ring};
use hadal_linux::loader::StartError;
use hadal_linux::machine::Machine;
use hadal_linux::process::{ExitStatus, Process};
use hadal_linux::signal::FaultSignal;
use hadal_linux::task::Task;
use hadal_linux::violation::Violation;

use crate::run_times::LinuxThread;
use crate::{control, end, entropy, profile, run, shell};

/// The services.
pub(crate) struct Services;

/// The one instance.
pub(crate) static MACHINE: Services = Services;

impl Machine for Services {
    fn report(&self, text: &str) {
        control::report(text);
    }

    fn ends_by_signal(
        &self,
        task: &Task,
        process: &Process,
        frame: &TrapFrame,
        signo: u8,
        fault: Option<FaultSignal>,
    ) {
        control::report(&hadal_report::fatal(task, process, frame, signo, fault));
    }

    fn out_of_memory(&self, process: &Process) {
        control::report(&hadal_report::out_of_memory(process));
    }

    fn violation(&self, process: &Process, violation: &Violation) {
        control::report(&hadal_report::violation(process, violation));
    }

    fn trace(&self, line: &str) {
        control::send(&GuestMessage::Strace(format!("{line}\n")));
    }

    fn program_ended(&self, status: ExitStatus) {
        let status = match status {
            ExitStatus::Exited(code) => Ended::Exited(code),
            ExitStatus::Signaled(signal) => Ended::Signaled { signal },
        };
        if !shell::program_ended(status.clone()) {
            end::machine(status);
        }
    }

    fn cannot_start(&self, error: &StartError) {
        if !shell::cannot_start(error) {
            end::machine(Ended::CannotStart(error.to_string()));
        }
    }

    fn code_mapped(&self, process: &Process) {
        profile::code_mapped(process);
    }

    fn program_starts(&self, entry: usize, bias: usize) {
        run::fail_allocations();
        log::info!("program starts at {entry:#x}, moved by {bias:#x}");
    }

    fn random(&self, buffer: &mut [u8]) {
        entropy::fill(buffer);
    }

    fn cpu_features_edx(&self) -> u32 {
        hadal_hal::cpu::features_edx()
    }

    fn call_table(&self) -> (usize, usize) {
        // A program that ring 3 isolates finds none, and is one of Linux to `hadal/hrt.h`.
        let address = if ring::isolates() { 0 } else { hadal_hrt::address::<LinuxThread>() };
        (hadal_hrt::AUXILIARY_KEY, address)
    }

    fn thread_ends(&self) {
        hadal_hrt::thread_ends::<LinuxThread>();
    }

    fn outlives_program(&self) -> bool {
        hadal_hrt::outlives_program()
    }

    fn may_share(&self) -> bool {
        hadal_hrt::may_share::<LinuxThread>()
    }

    fn window_copied(&self, from: u16, to: u16) -> Result<(), OutOfMemory> {
        hadal_hrt::window_copied(from, to)
    }

    fn window_emptied(&self, window: u16) {
        hadal_hrt::window_emptied(window);
    }

    fn waits_for(&self, thread: u32) -> Option<(&'static str, u64)> {
        hadal_hrt::waits_for(thread)
    }

    fn is_idle_slot(&self, thread: u32) -> bool {
        hadal_hrt::is_idle_slot(thread)
    }

    fn hostname(&self) -> String {
        run::config().map_or_else(|| String::from("hadal"), |config| config.hostname.clone())
    }
}

/// Measures the clock again over longer intervals: the short measurement at boot is good to a few parts in ten thousand.
pub(crate) fn refine_clock() {
    const INTERVALS_NS: [u64; 2] = [100_000_000, 1_000_000_000];
    for at in INTERVALS_NS {
        hadal_sched::sleep_until(at);
        if let Some(refinement) = hadal_time::refine() {
            log::debug!("clock: {refinement:?}");
        }
    }
}
