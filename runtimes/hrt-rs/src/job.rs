// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A closure on its way to another thread, task or fiber, and its result on the way back.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a closure returned, or the payload of its panic.
pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send + 'static>>;

/// The closure before it runs, the outcome afterwards. One side writes, then the other reads: what comes in between (the end of
/// a thread and its join, of a task and its wait) orders the two.
pub(crate) struct Job<F, T> {
    function: UnsafeCell<Option<F>>,
    outcome: UnsafeCell<Option<Outcome<T>>>,
}

// SAFETY: the closure goes to one other thread and the outcome comes back, each by value; nobody has a reference while another
// thread writes, see `run` and `take`.
unsafe impl<F: Send, T: Send> Sync for Job<F, T> {}

impl<F: FnOnce() -> T, T> Job<F, T> {
    pub(crate) fn new(function: F) -> Arc<Self> {
        Arc::new(Self { function: UnsafeCell::new(Some(function)), outcome: UnsafeCell::new(None) })
    }

    /// The argument for [`Self::run`], which owns one reference.
    pub(crate) fn into_arg(self: Arc<Self>) -> *mut c_void {
        Arc::into_raw(self).cast_mut().cast()
    }

    /// Runs the closure; the function of a C thread, task or fiber.
    ///
    /// # Safety
    ///
    /// `arg` comes from [`Self::into_arg`], and is used only once.
    pub(crate) unsafe extern "C" fn run(arg: *mut c_void) -> *mut c_void {
        // SAFETY: the caller's promise.
        let job = unsafe { Arc::from_raw(arg.cast::<Self>()) };
        // SAFETY: this function runs once, and the other side reads nothing before it has returned.
        let function = unsafe { (*job.function.get()).take() };
        if let Some(function) = function {
            let outcome = catch_unwind(AssertUnwindSafe(function));
            // SAFETY: as above.
            unsafe { *job.outcome.get() = Some(outcome) };
        }
        std::ptr::null_mut()
    }

    /// Drops a reference that [`Self::into_arg`] gave out and nobody will use.
    ///
    /// # Safety
    ///
    /// As for [`Self::run`].
    pub(crate) unsafe fn give_up(arg: *mut c_void) {
        // SAFETY: the caller's promise.
        drop(unsafe { Arc::from_raw(arg.cast::<Self>()) });
    }
}

impl<F, T> Job<F, T> {
    /// The outcome.
    ///
    /// # Safety
    ///
    /// The run has ended, and the caller knows by something that orders memory.
    pub(crate) unsafe fn take(&self) -> Option<Outcome<T>> {
        // SAFETY: the caller's promise; callers own the only handle.
        unsafe { (*self.outcome.get()).take() }
    }
}

/// A job whose closure's type is forgotten.
pub(crate) trait Pending<T>: Sync {
    /// See [`Job::take`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn take(&self) -> Option<Outcome<T>>;
}

impl<F: Send, T: Send> Pending<T> for Job<F, T> {
    unsafe fn take(&self) -> Option<Outcome<T>> {
        // SAFETY: the caller's promise.
        unsafe { Job::take(self) }
    }
}
