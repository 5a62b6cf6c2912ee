// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C interface. Names with `hrt_rs_` are the header's inline functions (`inline.c`, which also checks the sizes here).

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};

pub(crate) const OK: c_int = 0;
pub(crate) const FOREVER: u64 = u64::MAX;
pub(crate) const CPU_ANY: i32 = -1;
pub(crate) const ZONE_ANY: i32 = -1;

pub(crate) type ThreadFn = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
pub(crate) type HandlerFn = unsafe extern "C" fn(*mut c_void);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadAttr {
    pub(crate) size: u32,
    pub(crate) flags: u32,
    pub(crate) cpu: i32,
    pub(crate) zone: i32,
    pub(crate) policy: u32,
    pub(crate) priority: i32,
    pub(crate) stack_bytes: u64,
    pub(crate) period_ns: u64,
    pub(crate) work_ns: u64,
    pub(crate) deadline_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) name: *const c_char,
}

#[repr(C)]
pub(crate) struct ThreadInfo {
    pub(crate) thread: u64,
    pub(crate) creator: u64,
    pub(crate) state: u32,
    pub(crate) cpu: i32,
    pub(crate) bound_cpu: i32,
    pub(crate) policy: u32,
    pub(crate) priority: i32,
    pub(crate) flags: u32,
    pub(crate) run_ns: u64,
    pub(crate) switches: u64,
    pub(crate) deadlines_missed: u64,
    pub(crate) stack_bottom: usize,
    pub(crate) stack_top: usize,
    pub(crate) name: [c_char; 32],
}

/// `struct hrt_cpu_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Its number.
    pub cpu: u32,
    /// Its number in the machine's interrupt controllers.
    pub apic_id: u32,
    /// Socket.
    pub socket: u32,
    /// Core within the socket.
    pub core: u32,
    /// Hardware thread within the core.
    pub thread: u32,
    /// The zone whose memory is local.
    pub zone: u32,
}

/// `struct hrt_cache_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheInfo {
    /// 1 is the nearest.
    pub level: u32,
    /// 1 for data, 2 for instructions, 3 for both.
    pub kind: u32,
    /// Size.
    pub bytes: u64,
    /// Size of a line.
    pub line_bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// The lowest CPU that shares it.
    pub first_cpu: u32,
    /// How many CPUs share it.
    pub cpus: u32,
}

/// `struct hrt_zone_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Its number.
    pub zone: u32,
    /// How many CPUs are local to it.
    pub cpus: u32,
    /// Memory of the zone.
    pub total_bytes: u64,
    /// Free memory, as of the call.
    pub free_bytes: u64,
    /// Given out by this interface.
    pub hrt_bytes: u64,
    /// Allocations served from it.
    pub allocations: u64,
    /// Free blocks of at least 2 MiB, as of the call.
    pub huge_pages_total: u64,
}

#[repr(C)]
pub(crate) struct Module {
    pub(crate) name: *const c_char,
    pub(crate) data: *const c_void,
    pub(crate) bytes: u64,
}

// Initial values are those of the header's HRT_*_INIT, which `inline.c` compares.
#[repr(C)]
pub(crate) struct Mutex(UnsafeCell<MutexFields>);
#[repr(C)]
struct MutexFields {
    word: u32,
    depth: u32,
    owner: u64,
}
impl Mutex {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(MutexFields { word: 0x4d54_0000, depth: 0, owner: 0 }))
    }
}

#[repr(C)]
pub(crate) struct RwLock(UnsafeCell<u64>);
impl RwLock {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(0x5200_0000))
    }
}

#[repr(C)]
pub(crate) struct Cond(UnsafeCell<CondFields>);
#[repr(C)]
struct CondFields {
    sequence: u32,
    state: u32,
}
impl Cond {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(CondFields { sequence: 0, state: 0x5710_0000 }))
    }
}

#[repr(C)]
pub(crate) struct Sem(UnsafeCell<u64>);
impl Sem {
    /// At most 0x7fffffff.
    pub(crate) const fn new(value: u32) -> Self {
        Self(UnsafeCell::new(0x5e40_0000_0000_0000 | value as u64))
    }
}

#[repr(C)]
pub(crate) struct Spin(UnsafeCell<u32>);
impl Spin {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }
}

#[repr(C)]
pub(crate) struct Barrier([u8; 0]);
#[repr(C)]
pub(crate) struct Fiber([u8; 0]);

#[repr(C)]
pub(crate) struct Task(UnsafeCell<[u64; 4]>);
impl Task {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new([0; 4]))
    }
}

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
