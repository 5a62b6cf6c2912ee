// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C interface. Structures and constants are those of `abi/hrt`; names with `hrt_rs_` are the header's inline functions
//! (`inline.c`).

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};

use hadal_hrt_abi as abi;

pub(crate) use abi::base::{CPU_ANY, FOREVER, ZONE_ANY};
pub(crate) use abi::module::Module;
pub(crate) use abi::thread::{ThreadAttr, ThreadInfo};
pub(crate) use abi::topology::{CacheInfo, CpuInfo, ZoneInfo};
pub(crate) use abi::words::{HandlerFunction as HandlerFn, ThreadFunction as ThreadFn};

pub(crate) const OK: c_int = abi::base::Status::Ok as c_int;

/// An object of the C interface that several threads change: a shared reference to one is a pointer for C.
#[repr(transparent)]
pub(crate) struct Shared<T>(UnsafeCell<T>);

impl<T> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }
}

pub(crate) type Mutex = Shared<abi::sync::Mutex>;
pub(crate) type RwLock = Shared<abi::sync::Rwlock>;
pub(crate) type Cond = Shared<abi::sync::Cond>;
pub(crate) type Sem = Shared<abi::sync::Sem>;
pub(crate) type Spin = Shared<abi::sync::Spin>;
pub(crate) type Task = Shared<abi::task::Task>;

#[repr(C)]
pub(crate) struct Barrier([u8; 0]);
#[repr(C)]
pub(crate) struct Fiber([u8; 0]);

unsafe extern "C" {
    pub(crate) fn hrt_rs_thread_create(
        thread: *mut u64,
        attr: *const ThreadAttr,
        function: ThreadFn,
        arg: *mut c_void,
    ) -> c_int;
    pub(crate) fn hrt_rs_thread_join_until(thread: u64, result: *mut *mut c_void, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rs_thread_detach(thread: u64) -> c_int;
    pub(crate) safe fn hrt_rs_thread_self() -> u64;
    pub(crate) safe fn hrt_rs_thread_yield();
    pub(crate) safe fn hrt_rs_thread_sleep_until(deadline_ns: u64) -> c_int;
    pub(crate) safe fn hrt_rs_thread_bind(thread: u64, cpu: i32) -> c_int;
    pub(crate) safe fn hrt_rs_thread_migrate(thread: u64, cpu: i32) -> c_int;
    pub(crate) fn hrt_rs_thread_set_schedule(thread: u64, attr: *const ThreadAttr) -> c_int;
    pub(crate) safe fn hrt_rs_admission_text() -> *const c_char;
    pub(crate) fn hrt_rs_thread_wait_period(missed: *mut u64) -> c_int;
    pub(crate) fn hrt_rs_thread_set_name(thread: u64, name: *const c_char) -> c_int;
    pub(crate) fn hrt_rs_thread_info(thread: u64, info: *mut ThreadInfo) -> c_int;
    pub(crate) fn hrt_rs_thread_list(threads: *mut u64, capacity: u64) -> u64;

    pub(crate) fn hrt_rs_spin_lock(lock: *const Spin);
    pub(crate) fn hrt_rs_spin_trylock(lock: *const Spin) -> c_int;
    pub(crate) fn hrt_rs_spin_unlock(lock: *const Spin);
    pub(crate) fn hrt_rs_mutex_lock_until(mutex: *const Mutex, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rs_mutex_trylock(mutex: *const Mutex) -> c_int;
    pub(crate) fn hrt_rs_mutex_unlock(mutex: *const Mutex) -> c_int;
    pub(crate) fn hrt_rs_rwlock_rdlock_until(lock: *const RwLock, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rs_rwlock_wrlock_until(lock: *const RwLock, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rwlock_tryrdlock(lock: *const RwLock) -> c_int;
    pub(crate) fn hrt_rwlock_trywrlock(lock: *const RwLock) -> c_int;
    pub(crate) fn hrt_rs_rwlock_unlock(lock: *const RwLock) -> c_int;
    pub(crate) fn hrt_cond_wait_until(cond: *const Cond, mutex: *const Mutex, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rs_cond_signal(cond: *const Cond, flags: u32) -> c_int;
    pub(crate) fn hrt_rs_cond_broadcast(cond: *const Cond, flags: u32) -> c_int;
    pub(crate) fn hrt_rs_sem_trywait(sem: *const Sem) -> c_int;
    pub(crate) fn hrt_rs_sem_wait_until(sem: *const Sem, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rs_sem_post(sem: *const Sem) -> c_int;
    pub(crate) fn hrt_sem_value(sem: *const Sem, value: *mut u32) -> c_int;
    pub(crate) fn hrt_barrier_init(
        barrier: *mut Barrier,
        participants: u32,
        algorithm: u32,
        cpus: *const u32,
    ) -> c_int;
    pub(crate) fn hrt_barrier_destroy(barrier: *mut Barrier) -> c_int;
    pub(crate) fn hrt_barrier_wait(barrier: *mut Barrier) -> c_int;
    pub(crate) safe fn hrt_rs_barrier_bytes() -> u64;
    pub(crate) safe fn hrt_rs_barrier_align() -> u64;

    pub(crate) fn hrt_task_submit(
        task: *const Task,
        function: ThreadFn,
        arg: *mut c_void,
        cpu: i32,
        size_hint: u32,
    ) -> c_int;
    pub(crate) fn hrt_task_wait(task: *const Task, result: *mut *mut c_void) -> c_int;
    pub(crate) fn hrt_task_done(task: *const Task) -> bool;
    pub(crate) safe fn hrt_task_run_one() -> bool;

    pub(crate) fn hrt_fiber_create(
        fiber: *mut *mut Fiber,
        function: ThreadFn,
        arg: *mut c_void,
        stack_bytes: usize,
    ) -> c_int;
    pub(crate) safe fn hrt_fiber_yield() -> bool;
    pub(crate) fn hrt_fiber_join(fiber: *mut Fiber, result: *mut *mut c_void) -> c_int;

    pub(crate) fn hrt_rs_event_register(
        action: HandlerFn,
        arg: *mut c_void,
        flags: u32,
        event: *mut u32,
    ) -> c_int;
    pub(crate) safe fn hrt_rs_event_unregister(event: u32) -> c_int;
    pub(crate) safe fn hrt_rs_event_notify(event: u32, cpu: i32) -> c_int;
    pub(crate) safe fn hrt_rs_event_notify_all(event: u32, flags: u32) -> c_int;
    pub(crate) fn hrt_rs_event_wait(event: u32, seen: *mut u64, deadline_ns: u64) -> c_int;
    pub(crate) fn hrt_rs_ipi_register(
        handler: HandlerFn,
        arg: *mut c_void,
        flags: u32,
        vector: *mut u32,
    ) -> c_int;
    pub(crate) safe fn hrt_rs_ipi_unregister(vector: u32) -> c_int;
    pub(crate) safe fn hrt_rs_ipi_send(vector: u32, cpu: i32) -> c_int;
    pub(crate) fn hrt_rs_timer_start(
        cpu: i32,
        deadline_ns: u64,
        callback: HandlerFn,
        arg: *mut c_void,
        flags: u32,
        timer: *mut u64,
    ) -> c_int;
    pub(crate) safe fn hrt_rs_timer_cancel(timer: u64) -> c_int;

    pub(crate) safe fn hrt_rs_now_ns() -> u64;
    pub(crate) safe fn hrt_rs_cpu_count() -> u32;
    pub(crate) safe fn hrt_rs_core_count() -> u32;
    pub(crate) safe fn hrt_rs_cpu_self() -> u32;
    pub(crate) fn hrt_rs_cpu_info(cpu: u32, info: *mut CpuInfo) -> c_int;
    pub(crate) fn hrt_rs_cache_info(cpu: u32, index: u32, info: *mut CacheInfo) -> c_int;
    pub(crate) safe fn hrt_rs_zone_count() -> u32;
    pub(crate) fn hrt_rs_zone_info(zone: u32, info: *mut ZoneInfo) -> c_int;
    pub(crate) safe fn hrt_rs_zone_distance(from: u32, to: u32) -> u32;
    pub(crate) safe fn hrt_rs_alloc_aligned(bytes: u64, align: u64, zone: i32, flags: u32) -> *mut c_void;
    pub(crate) fn hrt_rs_free(memory: *mut c_void) -> c_int;
    pub(crate) safe fn hrt_rs_usable_bytes(memory: *const c_void) -> u64;
    pub(crate) safe fn hrt_rs_zone_of(memory: *const c_void) -> i32;
    pub(crate) fn hrt_rs_module(index: u32, module: *mut Module) -> c_int;
    pub(crate) safe fn hrt_rs_command_line() -> *const c_char;
    pub(crate) safe fn hrt_rs_place() -> u32;
    pub(crate) fn hrt_rs_trace_mark(text: *const c_char);
}
