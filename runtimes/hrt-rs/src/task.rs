// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tasks: run-to-completion functions on per-CPU queues, taken by idle CPUs, and by threads that wait for one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;

use crate::error::{Result, check};
use crate::ffi;
use crate::job::{Job, Outcome, Pending};

/// How and where a task runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The queue it goes to; `None`: the caller's CPU's.
    pub cpu: Option<u32>,
    /// The expected time, 0 if unknown: a task too small to be worth a move stays on its CPU.
    pub size_hint_ns: u32,
}

/// A task's future result. Dropping it waits for the task.
pub struct Task<T> {
    // Boxed, since the queue holds its address.
    task: Box<ffi::Task>,
    job: Arc<dyn Pending<T> + Send>,
}

// SAFETY: libhrt's part may be used by any thread.
unsafe impl<T: Send> Send for Task<T> {}
// SAFETY: as above; shared use is looking at the state.
unsafe impl<T: Send> Sync for Task<T> {}

fn submit<F: FnOnce() -> T + Send, T: Send>(
    task: &ffi::Task,
    job: &Arc<Job<F, T>>,
    options: Options,
) -> Result<()> {
    let cpu = options.cpu.map_or(ffi::CPU_ANY, |cpu| i32::try_from(cpu).unwrap_or(i32::MAX));
    let arg = Arc::clone(job).into_arg();
    // SAFETY: callers keep the task where it is until it is done; `run` gets its own argument, once.
    let status = unsafe { ffi::hrt_task_submit(task, Job::<F, T>::run, arg, cpu, options.size_hint_ns) };
    check(status).inspect_err(|_| {
        // SAFETY: it was not queued.
        unsafe { Job::<F, T>::give_up(arg) };
    })
}

fn wait(task: &ffi::Task) {
    // SAFETY: callers have submitted it; nobody wants the C result.
    if let Err(error) = check(unsafe { ffi::hrt_task_wait(task, ptr::null_mut()) }) {
        // A task that waits for itself: its memory must not go, and it cannot end.
        eprintln!("hrt: cannot wait for a task: {error}");
        std::process::abort();
    }
}

/// Submits a task to the caller's CPU.
///
/// # Errors
///
/// As [`spawn_with`].
pub fn spawn<F, T>(function: F) -> Result<Task<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    spawn_with(Options::default(), function)
}

/// Submits a task. When the queue is full it runs before this returns.
///
/// # Errors
///
/// [`Error::Invalid`](crate::Error::Invalid): no such CPU.
pub fn spawn_with<F, T>(options: Options, function: F) -> Result<Task<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let task = Box::new(ffi::Task::new(hadal_hrt_abi::task::Task::default()));
    let job = Job::new(function);
    submit(&task, &job, options)?;
    Ok(Task { task, job })
}

impl<T> Task<T> {
    /// Whether it is done: never waits.
    #[must_use]
    pub fn is_done(&self) -> bool {
        // SAFETY: a task that was submitted.
        unsafe { ffi::hrt_task_done(&raw const *self.task) }
    }

    /// Waits, running other tasks meanwhile, and gives the result, or the payload of the task's panic.
    ///
    /// # Errors
    ///
    /// The payload.
    pub fn wait(self) -> Outcome<T> {
        wait(&self.task);
        // SAFETY: it is done, and this is the only handle.
        let outcome = unsafe { self.job.take() };
        outcome.unwrap_or_else(|| Err(Box::new("the task has no result")))
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        wait(&self.task);
    }
}

/// Runs both functions, the second as a task that another CPU may take, and gives both results.
///
/// # Panics
///
/// If one of them does; both have ended by then.
pub fn join<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    let task = ffi::Task::new(hadal_hrt_abi::task::Task::default());
    let job = Job::new(second);
    if let Err(error) = submit(&task, &job, Options::default()) {
        panic!("cannot submit a task: {error}");
    }
    let one = catch_unwind(AssertUnwindSafe(first));
    // Before anything else: the task borrows from the caller.
    wait(&task);
    // SAFETY: it is done.
    let other = unsafe { job.take() };
    match (one, other) {
        (Ok(one), Some(Ok(other))) => (one, other),
        (Err(payload), _) | (_, Some(Err(payload))) => resume_unwind(payload),
        (_, None) => unreachable!("a task that is done has an outcome"),
    }
}

/// Runs one queued task if there is one; for loops that wait for something else.
pub fn run_one() -> bool {
    ffi::hrt_task_run_one()
}
