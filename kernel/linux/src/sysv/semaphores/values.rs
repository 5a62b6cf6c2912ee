// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `semctl` does to a set: it reads and sets values, describes the set, changes it, or removes it.

use alloc::sync::Arc;
use core::sync::atomic::Ordering;

use hadal_vfs::Caller;

use super::super::now;
use super::super::operation::{Semaphore, VALUE_MAX};
use super::super::permissions::{CHANGE, Permissions, READ};
use super::{SETS, Set, State, Waiter};
use crate::process::Process;
use crate::{Errno, Result};

/// What is said about a set.
pub(crate) struct Description {
    pub(crate) permissions: Permissions,
    pub(crate) operated: i64,
    pub(crate) changed: i64,
    pub(crate) size: usize,
}

/// Which threads are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Those that wait for more.
    ForMore,
    /// Those that wait for 0.
    ForZero,
}

impl Set {
    /// What it is like; `EACCES` if the caller may not know, and is not to be told anyway.
    pub(crate) fn describe(&self, reader: Option<&Caller<'_>>) -> Result<Description> {
        let state = self.state.lock();
        if let Some(reader) = reader {
            state.permissions.check(reader, READ)?;
        }
        let State { permissions, operated, changed, .. } = *state;
        Ok(Description { permissions, operated, changed, size: self.size })
    }

    /// Changes owner and mode.
    pub(crate) fn set(&self, caller: &Caller<'_>, wanted: &Permissions) -> Result<()> {
        let mut state = self.state.lock();
        state.permissions.check_owner(caller)?;
        state.permissions.change(wanted)?;
        state.changed = now();
        Ok(())
    }

    /// Removes it; who waits for it gets `EIDRM`.
    pub(crate) fn remove(&self, caller: &Caller<'_>) -> Result<()> {
        let mut state = self.state.lock();
        state.permissions.check_owner(caller)?;
        if state.is_gone {
            return Err(Errno::EIDRM);
        }
        state.is_gone = true;
        let adjustments = core::mem::take(&mut state.adjustments);
        self.serve(state);
        drop(adjustments);
        SETS.remove(self.id);
        Ok(())
    }

    /// Value and last user of a semaphore.
    pub(crate) fn semaphore(&self, caller: &Caller<'_>, number: i32) -> Result<Semaphore> {
        let mut state = self.state.lock();
        state.permissions.check(caller, READ)?;
        state.semaphore(number).map(|(_, semaphore)| *semaphore)
    }

    /// How many threads wait for a semaphore.
    pub(crate) fn waiting(&self, caller: &Caller<'_>, number: i32, waits: Waits) -> Result<usize> {
        let mut state = self.state.lock();
        state.permissions.check(caller, READ)?;
        let (number, _) = state.semaphore(number)?;
        let is_counted = |waiter: &&Arc<Waiter>| {
            let operation = &waiter.operations[waiter.blocked.load(Ordering::Relaxed)];
            usize::from(operation.number) == number && (operation.change == 0) == (waits == Waits::ForZero)
        };
        Ok(state.waiting.values().filter(is_counted).count())
    }

    /// Gives a semaphore a value; no process undoes anything there.
    pub(crate) fn set_value(&self, process: &Process, number: i32, value: i32) -> Result<()> {
        let value = u16::try_from(value).ok().filter(|&value| value <= VALUE_MAX).ok_or(Errno::ERANGE)?;
        let pid = process.pid();
        let mut state = self.state.lock();
        let (number, _) = state.semaphore(number)?;
        state.permissions.check(&process.caller(), CHANGE)?;
        state.semaphores[number] = Semaphore { value, pid };
        state.adjustments.values_mut().for_each(|adjustments| adjustments[number] = 0);
        state.changed = now();
        self.serve(state);
        Ok(())
    }

    /// All values, into a list of the set's size.
    pub(crate) fn values(&self, caller: &Caller<'_>, values: &mut [u16]) -> Result<()> {
        let state = self.state.lock();
        state.permissions.check(caller, READ)?;
        values.iter_mut().zip(&state.semaphores).for_each(|(value, semaphore)| *value = semaphore.value);
        Ok(())
    }

    /// Whether the caller may change it.
    pub(crate) fn check_change(&self, caller: &Caller<'_>) -> Result<()> {
        self.state.lock().permissions.check(caller, CHANGE)
    }

    /// Gives all semaphores values; no process undoes anything.
    pub(crate) fn set_values(&self, process: &Process, values: &[u16]) -> Result<()> {
        if values.iter().any(|&value| value > VALUE_MAX) {
            return Err(Errno::ERANGE);
        }
        let pid = process.pid();
        let mut state = self.state.lock();
        state.permissions.check(&process.caller(), CHANGE)?;
        if state.is_gone {
            return Err(Errno::EIDRM);
        }
        for (semaphore, &value) in state.semaphores.iter_mut().zip(values) {
            *semaphore = Semaphore { value, pid };
        }
        state.adjustments.values_mut().for_each(|adjustments| adjustments.fill(0));
        state.changed = now();
        self.serve(state);
        Ok(())
    }
}
