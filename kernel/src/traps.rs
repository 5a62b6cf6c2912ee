// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Binds the hardware layer's trap hooks to the scheduler and the Linux personality.

use hadal_hal::interrupts::handler::{Handler, HandlerError};
use hadal_hal::interrupts::irq::Off;
use hadal_hal::trap::spinning;
use hadal_hal::trap::{Access, Hooks, TrapFrame};
use hadal_linux::process::Process;
use hadal_linux::task::Task;
use hadal_linux::traps;

use crate::{panic, profile, run};

/// The hooks.
pub(crate) struct Kernel;

/// The one instance.
pub(crate) static KERNEL: Kernel = Kernel;

impl Hooks for Kernel {
    fn program_fault(&self, frame: &mut TrapFrame) {
        traps::program_fault(frame);
    }

    fn resolve(&self, address: u64, access: Access) -> bool {
        traps::resolve(address, access)
    }

    fn attend(&self, frame: &mut TrapFrame) {
        traps::attend(frame);
    }

    fn timer(&self, frame: &TrapFrame, off: Off<'_>) {
        profile::on_timer(frame);
        hadal_sched::look_for_spinning(off, || spinning::pause_near(frame));
        hadal_sched::on_timer_interrupt(off);
    }

    fn reschedule(&self, off: Off<'_>) {
        hadal_sched::on_reschedule_interrupt(off);
    }

    fn per_cpu_pointer_lost(&self, frame: &TrapFrame) {
        match process() {
            Some(process) => traps::per_cpu_pointer_lost(process, frame),
            None => panic::kernel_fault(frame),
        }
    }

    fn handler_failed(&self, handler: Handler, error: HandlerError, frame: &TrapFrame) {
        match process() {
            Some(process) => traps::handler_failed(process, handler, error, frame),
            None => panic::kernel_fault(frame),
        }
    }

    fn non_maskable(&self, frame: &TrapFrame) {
        traps::non_maskable(frame);
    }

    fn kernel_fault(&self, frame: &TrapFrame) -> ! {
        panic::kernel_fault(frame)
    }

    fn stop(&self, frame: &TrapFrame) {
        panic::stop_this_cpu(frame);
        traps::held(frame);
    }
}

/// Whose thread runs on the calling CPU; of one that runs none of a program's, that of the machine's program.
fn process() -> Option<&'static Process> {
    Task::current().try_process().or_else(run::process)
}
