// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events, interprocessor interrupts and timers. Registering is `unsafe`: what is registered runs in interrupt context.
//!
//! # What a handler may do
//!
//! Interrupts are off, on the CPU's interrupt stack, in whatever thread was interrupted: thread-local data is a stranger's. A
//! handler reads and writes memory that is present (atomics), and calls [`Event::notify`], [`time::now_ns`](crate::time::now_ns)
//! and wakes. It must not wait, allocate, panic, use the standard library's input and output, or take a lock that threads hold
//! with interrupts on. It uses vector registers if the compiler says so: so all handlers here have them saved.

use std::ffi::c_void;

use crate::error::{Error, Result, check};
use crate::ffi::{self, HandlerFn};
use crate::time::Deadline;

/// Rust functions are compiled with vector registers.
const VECTORS: u32 = hadal_hrt_abi::event::HANDLER_VECTORS;

/// What runs, and what it gets.
pub type Handler = unsafe extern "C" fn(*mut c_void);

/// An active-message event; dropped, it is unregistered.
#[derive(Debug)]
pub struct Event(u32);

impl Event {
    /// Registers an action for every CPU.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`].
    ///
    /// # Safety
    ///
    /// `action` keeps to the module's rules, and may run on any CPU, on several at once, with `arg` until the event is dropped.
    pub unsafe fn register(action: Handler, arg: *mut c_void) -> Result<Self> {
        let mut event = 0;
        let action: HandlerFn = action;
        // SAFETY: the caller's promise.
        check(unsafe { ffi::hrt_rs_event_register(action, arg, VECTORS, &raw mut event) })?;
        Ok(Self(event))
    }

    /// Runs the action on a CPU. Handler-safe.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: no such CPU.
    pub fn notify(&self, cpu: u32) -> Result<()> {
        check(ffi::hrt_rs_event_notify(self.0, i32::try_from(cpu).unwrap_or(i32::MAX)))
    }

    /// Runs the action on all CPUs but the caller's.
    ///
    /// # Errors
    ///
    /// None but what the place may lack.
    pub fn notify_others(&self) -> Result<()> {
        check(ffi::hrt_rs_event_notify_all(self.0, 0))
    }

    /// How often the event has arrived at the caller's CPU.
    ///
    /// # Errors
    ///
    /// None but what the place may lack.
    pub fn arrivals(&self) -> Result<u64> {
        let mut count = 0;
        // SAFETY: a number of the caller's.
        let status = check(unsafe { ffi::hrt_rs_event_wait(self.0, &raw mut count, 0) });
        status.or_else(|error| if error == Error::TimedOut { Ok(()) } else { Err(error) })?;
        Ok(count)
    }

    /// Sleeps until the event has arrived at the caller's CPU more often than `seen` times; gives how often.
    ///
    /// # Errors
    ///
    /// [`Error::TimedOut`], [`Error::Interrupted`].
    pub fn wait(&self, seen: u64, deadline: Deadline) -> Result<u64> {
        let mut count = seen;
        // SAFETY: a number of the caller's.
        check(unsafe { ffi::hrt_rs_event_wait(self.0, &raw mut count, deadline) })?;
        Ok(count)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // Returns when no CPU runs the action any more.
        let _ = ffi::hrt_rs_event_unregister(self.0);
    }
}

/// A raw interprocessor interrupt; dropped, its vector is given back.
#[derive(Debug)]
pub struct Ipi(u32);

impl Ipi {
    /// Reserves a vector for a handler.
    ///
    /// # Errors
    ///
    /// [`Error::NoSpace`].
    ///
    /// # Safety
    ///
    /// As [`Event::register`].
    pub unsafe fn register(handler: Handler, arg: *mut c_void) -> Result<Self> {
        let mut vector = 0;
        // SAFETY: the caller's promise.
        check(unsafe { ffi::hrt_rs_ipi_register(handler, arg, VECTORS, &raw mut vector) })?;
        Ok(Self(vector))
    }

    /// Interrupts a CPU. Handler-safe.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: no such CPU.
    pub fn send(&self, cpu: u32) -> Result<()> {
        check(ffi::hrt_rs_ipi_send(self.0, i32::try_from(cpu).unwrap_or(i32::MAX)))
    }
}

impl Drop for Ipi {
    fn drop(&mut self) {
        let _ = ffi::hrt_rs_ipi_unregister(self.0);
    }
}

/// A timer that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer(u64);

impl Timer {
    /// Starts a one-shot timer on a CPU (`None`: the caller's).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], [`Error::NoMemory`].
    ///
    /// # Safety
    ///
    /// `callback` keeps to the module's rules, and `arg` is good until it has run or was cancelled.
    pub unsafe fn start(
        cpu: Option<u32>,
        deadline: Deadline,
        callback: Handler,
        arg: *mut c_void,
    ) -> Result<Self> {
        let cpu = cpu.map_or(ffi::CPU_ANY, |cpu| i32::try_from(cpu).unwrap_or(i32::MAX));
        let mut timer = 0;
        // SAFETY: the caller's promise.
        let status =
            unsafe { ffi::hrt_rs_timer_start(cpu, deadline, callback, arg, VECTORS, &raw mut timer) };
        check(status)?;
        Ok(Self(timer))
    }

    /// Cancels it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]: it has fired, or is firing, or was cancelled.
    pub fn cancel(self) -> Result<()> {
        check(ffi::hrt_rs_timer_cancel(self.0))
    }
}
