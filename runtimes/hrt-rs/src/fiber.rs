// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fibers: cooperative threads inside a thread. They live in a scope, whose end joins them: a stack never goes while something
//! on it is borrowed or pinned.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::rc::Rc;

use crate::error::{Error, Result, check};
use crate::ffi;
use crate::job::Outcome;

/// Fibers that may borrow, see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    fibers: RefCell<Vec<*mut ffi::Fiber>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A fiber of a scope. It stays on its thread.
pub struct Fiber<'scope, T> {
    fiber: *mut ffi::Fiber,
    fibers: &'scope RefCell<Vec<*mut ffi::Fiber>>,
    outcome: Rc<RefCell<Option<Outcome<T>>>>,
}

/// Runs `function`, which may start fibers: all have ended when this returns.
///
/// # Panics
///
/// If `function` does. A fiber's panic is in the result of its join.
pub fn scope<'env, F, T>(function: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope { fibers: RefCell::new(Vec::new()), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| function(&scope)));
    loop {
        let next = scope.fibers.borrow_mut().pop();
        let Some(fiber) = next else { break };
        end(fiber);
    }
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

fn try_join(fiber: *mut ffi::Fiber) -> Result<()> {
    // SAFETY: callers have a fiber of this thread's that was not joined: it was in the scope's list until now.
    check(unsafe { ffi::hrt_fiber_join(fiber, ptr::null_mut()) })
}

/// Waits for a fiber that may borrow: without its end the program cannot go on.
fn end(fiber: *mut ffi::Fiber) {
    if let Err(error) = try_join(fiber) {
        eprintln!("hrt: cannot join a fiber: {error}");
        std::process::abort();
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a fiber, which runs when another one yields. `stack_bytes` 0: the default, 32 KiB.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: stack too small; [`Error::NoMemory`].
    pub fn spawn<F, T>(&'scope self, stack_bytes: usize, function: F) -> Result<Fiber<'scope, T>>
    where
        F: FnOnce() -> T + 'scope,
        T: 'scope,
    {
        let outcome = Rc::new(RefCell::new(None));
        let own = Rc::clone(&outcome);
        let start: Box<Start<'scope>> = Box::new(Start(Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(function));
            *own.borrow_mut() = Some(result);
        })));
        let arg = Box::into_raw(start);
        let mut fiber = ptr::null_mut();
        self.fibers.borrow_mut().reserve(1);
        // SAFETY: `run` gets its own argument, once.
        let status = unsafe { ffi::hrt_fiber_create(&raw mut fiber, run, arg.cast(), stack_bytes) };
        if let Err(error) = check(status) {
            // SAFETY: no fiber has it.
            drop(unsafe { Box::from_raw(arg) });
            return Err(error);
        }
        self.fibers.borrow_mut().push(fiber);
        Ok(Fiber { fiber, fibers: &self.fibers, outcome })
    }
}

struct Start<'scope>(Box<dyn FnOnce() + 'scope>);

unsafe extern "C" fn run(arg: *mut std::ffi::c_void) -> *mut std::ffi::c_void {
    // SAFETY: `Scope::spawn` made it for this call; the scope, and so what it borrows, lives until this fiber is joined.
    let start = unsafe { Box::from_raw(arg.cast::<Start<'_>>()) };
    (start.0)();
    ptr::null_mut()
}

impl<T> Fiber<'_, T> {
    /// Waits, running other fibers, until this one has ended, and gives its result or the payload of its panic.
    ///
    /// # Errors
    ///
    /// The payload, or an [`Error`]: two fibers join each other, or the scope's end joins it.
    pub fn join(self) -> Outcome<T> {
        let place = self.fibers.borrow().iter().position(|&fiber| ptr::eq(fiber, self.fiber));
        // Not in the list: the scope's end is joining it.
        let Some(place) = place else { return Err(Box::new(Error::Busy)) };
        self.fibers.borrow_mut().swap_remove(place);
        if let Err(error) = try_join(self.fiber) {
            // Left to the scope's end.
            self.fibers.borrow_mut().push(self.fiber);
            return Err(Box::new(error));
        }
        let outcome = self.outcome.borrow_mut().take();
        outcome.unwrap_or_else(|| Err(Box::new("the fiber has no result")))
    }
}

/// Runs the next ready fiber of the thread; false at once if there is none, or while the caller panics: the run-time's count of
/// panics is the thread's.
pub fn yield_now() -> bool {
    !std::thread::panicking() && ffi::hrt_fiber_yield()
}
