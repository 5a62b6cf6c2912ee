// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locks and other ways to wait for each other. Uncontended, none enters the kernel. No lock is poisoned by a panic.

use std::alloc::{self, Layout};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use hadal_hrt_abi::sync as abi;

use crate::error::{Error, Result, check};
use crate::ffi;
use crate::time::Deadline;

/// Keeps a guard on its thread.
type NotSend = PhantomData<*const ()>;

/// For calls that cannot fail on an object of this module.
fn expect(status: std::ffi::c_int) {
    if let Err(error) = check(status) {
        panic!("a synchronisation object was overwritten: {error}");
    }
}

/// A mutual exclusion lock around a value.
pub struct Mutex<T: ?Sized> {
    raw: ffi::Mutex,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time at the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The lock held; given back when dropped.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    not_send: NotSend,
}

// SAFETY: shared use is use of `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { raw: ffi::Mutex::new(abi::Mutex::new()), value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks; a second time by the same thread waits for ever.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // SAFETY: an object that `new` made; not moved while the guard borrows it.
        expect(unsafe { ffi::hrt_rs_mutex_lock_until(&raw const self.raw, ffi::FOREVER) });
        MutexGuard { mutex: self, not_send: PhantomData }
    }

    /// Locks, or gives up at the deadline.
    pub fn lock_until(&self, deadline: Deadline) -> Option<MutexGuard<'_, T>> {
        // SAFETY: as in `lock`.
        let status = unsafe { ffi::hrt_rs_mutex_lock_until(&raw const self.raw, deadline) };
        check(status).ok().map(|()| MutexGuard { mutex: self, not_send: PhantomData })
    }

    /// Locks if nobody holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        // SAFETY: as in `lock`.
        let status = unsafe { ffi::hrt_rs_mutex_trylock(&raw const self.raw) };
        check(status).ok().map(|()| MutexGuard { mutex: self, not_send: PhantomData })
    }

    /// The value: nobody else can have the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, by this guard only.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the lock is held.
        expect(unsafe { ffi::hrt_rs_mutex_unlock(&raw const self.mutex.raw) });
    }
}

/// A lock that one writer or many readers hold.
pub struct RwLock<T: ?Sized> {
    raw: ffi::RwLock,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one writer or several readers at the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The lock held for reading.
pub struct ReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: NotSend,
}

/// The lock held for writing.
pub struct WriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: NotSend,
}

// SAFETY: shared use is use of `&T`.
unsafe impl<T: ?Sized + Sync> Sync for ReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for WriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// A free lock. Readers join other readers past waiting writers.
    pub const fn new(value: T) -> Self {
        Self { raw: ffi::RwLock::new(abi::Rwlock::new()), value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading.
    pub fn read(&self) -> ReadGuard<'_, T> {
        // SAFETY: an object that `new` made; not moved while the guard borrows it.
        expect(unsafe { ffi::hrt_rs_rwlock_rdlock_until(&raw const self.raw, ffi::FOREVER) });
        ReadGuard { lock: self, not_send: PhantomData }
    }

    /// Locks for reading if that needs no waiting.
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        // SAFETY: as in `read`.
        let status = unsafe { ffi::hrt_rwlock_tryrdlock(&raw const self.raw) };
        check(status).ok().map(|()| ReadGuard { lock: self, not_send: PhantomData })
    }

    /// Locks for writing.
    pub fn write(&self) -> WriteGuard<'_, T> {
        // SAFETY: as in `read`.
        expect(unsafe { ffi::hrt_rs_rwlock_wrlock_until(&raw const self.raw, ffi::FOREVER) });
        WriteGuard { lock: self, not_send: PhantomData }
    }

    /// Locks for writing if that needs no waiting.
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        // SAFETY: as in `read`.
        let status = unsafe { ffi::hrt_rwlock_trywrlock(&raw const self.raw) };
        check(status).ok().map(|()| WriteGuard { lock: self, not_send: PhantomData })
    }

    fn unlock(&self) {
        // SAFETY: a guard that is being dropped holds it.
        expect(unsafe { ffi::hrt_rs_rwlock_unlock(&raw const self.raw) });
    }
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held for reading.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for ReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held for writing.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, by this guard only.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

/// Whether a woken thread's CPU is interrupted for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Wake {
    /// Interrupt it if it sleeps or runs something less urgent.
    #[default]
    Kick = abi::WAKE_KICK,
    /// It runs when its CPU looks next.
    NoKick = abi::WAKE_NO_KICK,
}

/// A condition variable.
pub struct Condvar(ffi::Cond);

// SAFETY: made for use by several threads.
unsafe impl Send for Condvar {}
// SAFETY: as above.
unsafe impl Sync for Condvar {}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl Condvar {
    /// With nobody waiting.
    #[must_use]
    pub const fn new() -> Self {
        Self(ffi::Cond::new(abi::Cond::new()))
    }

    /// Unlocks, waits and locks again; may return for no reason.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_until(guard, ffi::FOREVER);
    }

    /// The same until the deadline; false if that passed first.
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, deadline: Deadline) -> bool {
        // SAFETY: both objects are borrowed; the guard says that the mutex is held, and is not used meanwhile.
        let status = check(unsafe {
            ffi::hrt_cond_wait_until(&raw const self.0, &raw const guard.mutex.raw, deadline)
        });
        match status {
            Ok(()) => true,
            Err(Error::TimedOut) => false,
            Err(error) => panic!("a synchronisation object was overwritten: {error}"),
        }
    }

    /// Waits while `condition` is true.
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut *guard) {
            self.wait(guard);
        }
    }

    /// Wakes the oldest waiter.
    pub fn notify_one(&self, wake: Wake) {
        // SAFETY: an object that `new` made.
        expect(unsafe { ffi::hrt_rs_cond_signal(&raw const self.0, wake as u32) });
    }

    /// Wakes all waiters.
    pub fn notify_all(&self, wake: Wake) {
        // SAFETY: as above.
        expect(unsafe { ffi::hrt_rs_cond_broadcast(&raw const self.0, wake as u32) });
    }
}

/// A counting semaphore.
pub struct Semaphore(ffi::Sem);

// SAFETY: made for use by several threads.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// The largest value.
    pub const MAX: u32 = abi::SEM_MAX;

    /// With this value.
    ///
    /// # Panics
    ///
    /// If it is above [`Self::MAX`].
    #[must_use]
    pub const fn new(value: u32) -> Self {
        assert!(value <= Self::MAX);
        Self(ffi::Sem::new(abi::Sem::new(value)))
    }

    /// Waits for the value to be positive and takes one.
    pub fn wait(&self) {
        // SAFETY: an object that `new` made.
        expect(unsafe { ffi::hrt_rs_sem_wait_until(&raw const self.0, ffi::FOREVER) });
    }

    /// The same until the deadline; false if that passed first.
    pub fn wait_until(&self, deadline: Deadline) -> bool {
        // SAFETY: as in `wait`.
        unsafe { ffi::hrt_rs_sem_wait_until(&raw const self.0, deadline) == ffi::OK }
    }

    /// Takes one if the value is positive.
    pub fn try_wait(&self) -> bool {
        // SAFETY: as in `wait`.
        unsafe { ffi::hrt_rs_sem_trywait(&raw const self.0) == ffi::OK }
    }

    /// Adds one.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`]: the value is [`Self::MAX`].
    pub fn post(&self) -> Result<()> {
        // SAFETY: as in `wait`.
        check(unsafe { ffi::hrt_rs_sem_post(&raw const self.0) })
    }

    /// The value, as of the call.
    #[must_use]
    pub fn value(&self) -> u32 {
        let mut value = 0;
        // SAFETY: as in `wait`; a number of the caller's.
        expect(unsafe { ffi::hrt_sem_value(&raw const self.0, &raw mut value) });
        value
    }
}

/// A spin lock around a value, for critical sections of a few instructions.
pub struct SpinLock<T: ?Sized> {
    raw: ffi::Spin,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time at the value.
unsafe impl<T: ?Sized + Send> Send for SpinLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for SpinLock<T> {}

/// The spin lock held.
pub struct SpinGuard<'a, T: ?Sized> {
    lock: &'a SpinLock<T>,
    not_send: NotSend,
}

// SAFETY: shared use is use of `&T`.
unsafe impl<T: ?Sized + Sync> Sync for SpinGuard<'_, T> {}

impl<T> SpinLock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Self { raw: ffi::Spin::new(abi::Spin { held: 0 }), value: UnsafeCell::new(value) }
    }
}

impl<T: ?Sized> SpinLock<T> {
    /// Locks.
    pub fn lock(&self) -> SpinGuard<'_, T> {
        // SAFETY: an object that `new` made; not moved while the guard borrows it.
        unsafe { ffi::hrt_rs_spin_lock(&raw const self.raw) };
        SpinGuard { lock: self, not_send: PhantomData }
    }

    /// Locks if nobody holds it.
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        // SAFETY: as in `lock`.
        let status = unsafe { ffi::hrt_rs_spin_trylock(&raw const self.raw) };
        check(status).ok().map(|()| SpinGuard { lock: self, not_send: PhantomData })
    }
}

impl<T: ?Sized> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, by this guard only.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the lock is held.
        unsafe { ffi::hrt_rs_spin_unlock(&raw const self.lock.raw) };
    }
}

/// How a barrier counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarrierAlgorithm {
    /// One counter.
    #[default]
    Central,
    /// Rounds of pairs.
    Dissemination,
    /// Counters by core, socket and zone.
    Tree,
}

/// A barrier.
pub struct Barrier {
    raw: NonNull<ffi::Barrier>,
}

// SAFETY: made for use by several threads.
unsafe impl Send for Barrier {}
// SAFETY: as above.
unsafe impl Sync for Barrier {}

fn barrier_layout() -> Layout {
    let (bytes, align) = (ffi::hrt_rs_barrier_bytes() as usize, ffi::hrt_rs_barrier_align() as usize);
    Layout::from_size_align(bytes, align)
        .unwrap_or_else(|_| unreachable!("the size and alignment of a C type"))
}

impl Barrier {
    /// A barrier for so many participants.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: none, or too many; [`Error::NoMemory`].
    pub fn new(participants: u32, algorithm: BarrierAlgorithm) -> Result<Self> {
        // SAFETY: the layout of a type that is not empty.
        let memory = unsafe { alloc::alloc_zeroed(barrier_layout()) };
        let raw = NonNull::new(memory.cast::<ffi::Barrier>()).ok_or(Error::NoMemory)?;
        // SAFETY: memory of the right layout, which does not move.
        let status =
            unsafe { ffi::hrt_barrier_init(raw.as_ptr(), participants, algorithm as u32, ptr::null()) };
        if let Err(error) = check(status) {
            // SAFETY: allocated above.
            unsafe { alloc::dealloc(memory, barrier_layout()) };
            return Err(error);
        }
        Ok(Self { raw })
    }

    /// Waits until all participants have come; true for one of them.
    pub fn wait(&self) -> bool {
        // SAFETY: initialised by `new`.
        match unsafe { ffi::hrt_barrier_wait(self.raw.as_ptr()) } {
            -1 => true,
            status => {
                expect(status);
                false
            }
        }
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        // Nobody waits, since that borrows it; somebody who was let go may just be leaving.
        // SAFETY: initialised by `new`, and nobody else has it.
        while check(unsafe { ffi::hrt_barrier_destroy(self.raw.as_ptr()) }) == Err(Error::Busy) {
            crate::thread::yield_now();
        }
        // SAFETY: allocated by `new`.
        unsafe { alloc::dealloc(self.raw.as_ptr().cast(), barrier_layout()) };
    }
}
