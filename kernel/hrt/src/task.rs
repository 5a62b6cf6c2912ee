// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tasks: the queues of `hadal_task` and the workers that sleep for want of one. What a task is, only libhrt knows.

use core::sync::atomic::{AtomicU32, Ordering};

use hadal_hal::cpu;
use hadal_hal::percpu::CpuLocal;
use hadal_linux::signal;
use hadal_linux::task::Task;
use hadal_sched::{Wake, thread};
use hadal_task::{Full, Queues};
use spin::Once;

use crate::join::deadline;
use crate::place::{self, ANYWHERE};
use crate::status::{Code, Status, code};

struct Tasks {
    queues: Queues,
    /// The thread that sleeps as each CPU's worker.
    workers: CpuLocal<AtomicU32>,
}

static TASKS: Once<Tasks> = Once::new();

/// Makes the queues, once the processors are counted.
pub(crate) fn init() {
    let count = cpu::count();
    let workers = CpuLocal::new(count, |_| AtomicU32::new(0));
    TASKS.call_once(|| Tasks { queues: Queues::new(count), workers });
}

fn tasks() -> &'static Tasks {
    match TASKS.get() {
        Some(tasks) => tasks,
        None => unreachable!("the queues are made before the program runs"),
    }
}

/// Tasks queued and taken, as of now.
pub fn counters() -> hadal_task::Counters {
    tasks().queues.counters()
}

/// `task_push`.
pub(crate) extern "C" fn task_push(task: usize, to: i32, size_hint: u32) -> Code {
    let own = cpu::current_id();
    let to = match to {
        ANYWHERE => own,
        _ => match place::checked_cpu(to) {
            Ok(cpu) => cpu,
            Err(status) => return status as Code,
        },
    };
    if task == 0 {
        return Status::Invalid as Code;
    }
    let tasks = tasks();
    match tasks.queues.push(own, to, task, size_hint) {
        Ok(None) => 0,
        Ok(Some(cpu)) => {
            thread(tasks.workers.of(cpu).load(Ordering::Relaxed)).unpark();
            0
        }
        Err(Full) => Status::TryAgain as Code,
    }
}

/// `task_pop`.
pub(crate) extern "C" fn task_pop() -> usize {
    tasks().queues.pop(cpu::current_id()).unwrap_or(0)
}

fn sleep(deadline_ns: u64) -> Result<(), Status> {
    let tasks = tasks();
    let own = cpu::current_id();
    let (task, thread) = (Task::current(), hadal_sched::current());
    let process = task.process();
    tasks.workers.of(own).store(thread.id(), Ordering::Relaxed);
    tasks.queues.idle.announce(own);
    signal::rest(task, process);
    let outcome = loop {
        if tasks.queues.has_work(own) || !tasks.queues.idle.is_announced(own) {
            break Ok(());
        }
        if signal::must_leave(task, process) {
            break Err(Status::Interrupted);
        }
        if hadal_sched::park_call(deadline(deadline_ns)) == Wake::TimedOut {
            break Err(Status::TimedOut);
        }
    };
    signal::resume(task, process);
    tasks.queues.idle.claim(own);
    outcome
}

/// `task_idle`: the caller is the worker of the CPU it runs on.
pub(crate) extern "C" fn task_idle(deadline_ns: u64) -> Code {
    code(sleep(deadline_ns))
}
