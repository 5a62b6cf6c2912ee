// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The call table, as C declares it. Nobody makes or calls one in Rust: the kernel compares its own table with this one
//! (`kernel/hrt/src/table.rs`), and programs use C.

use core::ffi::{c_char, c_int, c_void};

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::irq::IrqInfo;
use crate::module::Module;
use crate::thread::{GroupAttr, ThreadAttr, ThreadInfo};
use crate::topology::{CacheInfo, CpuInfo, ZoneInfo};
use crate::words::{Argument, HandlerFunction, ThreadFn, ThreadFunction, ThreadId, Watched};

/// Version of the table.
pub const CALLS_VERSION: u32 = 1_u32;
/// Key of the table's address in the auxiliary vector of a program under Hadal: "HRT" and a 0, far above
/// Linux's keys.
pub const AT_HADAL_HRT: u64 = 0x4852_5400_u64;
/// Attribute flag, on the kernel only, for a run-time whose threads are not children of the program's: a
/// joinable thread is not one of those that thread_join_all joins, and the thread begins as a new one of
/// libc's does, with its creator's signal mask, name and memory policy.
pub const THREAD_PTHREAD: u32 = 0x100_u32;

/// Where a program runs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On Hadal's kernel.
    Kernel = 1,
    /// At user level on Linux.
    Linux = 2,
}

/// What a slot (a thread that waits for work, stack and TLS ready) is made for; pools are per CPU, kind and
/// size class.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
pub struct SlotKind {
    /// CPU whose pool it joins.
    pub cpu: i32,
    /// 1: no libc thread behind it (HRT_THREAD_BARE).
    pub bare: u32,
    /// Size class: a power of two, at least HRT_STACK_MIN.
    pub stack_bytes: u64,
}

/// One piece of work for a slot. Small enough to be returned in registers, as the next.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// NULL if there is none.
    pub r#fn: ThreadFn,
    /// Its argument, or a status that says why there is none.
    pub arg: Argument,
}

/// A thread, and the stack that it got.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    /// 0 if there is none.
    pub thread: ThreadId,
    /// The stack pointer of the slot's wait: what is below is free. Or a status that says why there is none.
    pub stack: usize,
}

/// The call table: the one thing that differs between the places a program can run. The kernel's is found
/// through the auxiliary vector (HRT_AT_HADAL_HRT) without a system call; libhrt-linux brings one made of
/// pthreads and futexes. libhrt binds `hrt_calls` before the first constructor of the program runs.
///
/// Programs use the functions of the other headers, which are inline wrappers of these or build on them; the
/// comments here are for those who implement a table. Entries are only ever added at the end; `size` says
/// which are there.
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs, reason = "most entries are documented at their functions in the other headers")]
pub struct Calls {
    /// HRT_CALLS_VERSION.
    pub version: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// enum hrt_place.
    pub place: u32,
    /// Offset at %gs of the number of the CPU that runs the caller; 0: it must be asked by cpu_self.
    pub cpu_at_gs: u32,
    /// --- threads: hrt/thread.h ---
    ///
    /// Takes a slot that fits `attr` (NULL: defaults), gives it `fn` and `arg` and makes it runnable; its name
    /// goes to `*out`. HRT_ENOSPC: the pool is empty and `*need` says what slot to add before trying again.
    pub thread_create: unsafe extern "C" fn(
        attr: *const ThreadAttr,
        r#fn: ThreadFunction,
        arg: *mut c_void,
        out: *mut ThreadId,
        need: *mut SlotKind,
    ) -> c_int,
    /// The first half of thread_create: the slot and its stack are the caller's. thread_start is the second
    /// half.
    pub thread_reserve: unsafe extern "C" fn(attr: *const ThreadAttr, need: *mut SlotKind) -> Reserved,
    pub thread_start: unsafe extern "C" fn(thread: ThreadId, r#fn: ThreadFunction, arg: *mut c_void) -> c_int,
    /// thread_create for fork: what the thread starts with is put beside its stack afterwards, when it may run
    /// already. So `fn`, whose argument is `stack`, waits for that.
    pub thread_fork:
        unsafe extern "C" fn(attr: *const ThreadAttr, r#fn: ThreadFunction, need: *mut SlotKind) -> Reserved,
    /// The calling thread is (on the first call: becomes) a slot of `kind`. Announces the result of the work
    /// before (ignored on the first call), waits in the pool, returns the next work. HRT_EBUSY: the thread has
    /// values of keys whose destructors come first, and nothing was announced: key_take them, then call again.
    /// Any other status: the thread must end.
    pub slot_wait: unsafe extern "C" fn(kind: *const SlotKind, result: *mut c_void) -> Work,
    /// The calling slot will never wait again: its libc thread is ending (cancelled, pthread_exit). Announces
    /// `result`.
    pub slot_leave: unsafe extern "C" fn(result: *mut c_void),
    /// Adds a bare slot: a kernel thread that runs `entry(kind)` on a stack of its own, which must call
    /// slot_wait.
    pub slot_add_bare: unsafe extern "C" fn(
        kind: *const SlotKind,
        entry: unsafe extern "C" fn(kind: *const SlotKind),
    ) -> c_int,
    pub thread_join:
        unsafe extern "C" fn(thread: ThreadId, result: *mut *mut c_void, deadline_ns: u64) -> c_int,
    /// Joins every joinable thread that the caller created; results are dropped.
    pub thread_join_all: unsafe extern "C" fn(deadline_ns: u64) -> c_int,
    pub thread_detach: unsafe extern "C" fn(thread: ThreadId) -> c_int,
    pub thread_self: unsafe extern "C" fn() -> ThreadId,
    /// Vector registers are the caller's loss, as the C ABI says.
    pub thread_yield: unsafe extern "C" fn(),
    /// Every register survives.
    pub thread_yield_full: unsafe extern "C" fn(),
    pub thread_sleep_until: unsafe extern "C" fn(deadline_ns: u64) -> c_int,
    /// HRT_CPU_ANY frees it again.
    pub thread_bind: unsafe extern "C" fn(thread: ThreadId, cpu: i32) -> c_int,
    pub thread_migrate: unsafe extern "C" fn(thread: ThreadId, cpu: i32) -> c_int,
    /// Policy, priority, real time.
    pub thread_set_schedule: unsafe extern "C" fn(thread: ThreadId, attr: *const ThreadAttr) -> c_int,
    pub thread_wait_period: unsafe extern "C" fn(missed: *mut u64) -> c_int,
    pub thread_set_name: unsafe extern "C" fn(thread: ThreadId, name: *const c_char) -> c_int,
    pub thread_info: unsafe extern "C" fn(thread: ThreadId, info: *mut ThreadInfo, info_bytes: u64) -> c_int,
    /// Returns how many there are.
    pub thread_list: unsafe extern "C" fn(threads: *mut ThreadId, capacity: u64) -> u64,
    pub key_create:
        unsafe extern "C" fn(key: *mut u32, destructor: unsafe extern "C" fn(value: *mut c_void)) -> c_int,
    pub key_delete: unsafe extern "C" fn(key: u32) -> c_int,
    pub key_get: unsafe extern "C" fn(key: u32) -> *mut c_void,
    pub key_set: unsafe extern "C" fn(key: u32, value: *mut c_void) -> c_int,
    /// Next value of the calling thread that still needs its destructor; false when there is none.
    pub key_take: unsafe extern "C" fn(
        destructor: *mut unsafe extern "C" fn(value: *mut c_void),
        value: *mut *mut c_void,
    ) -> bool,
    /// Why the calling thread's last request got HRT_EADMIT.
    pub admission_text: unsafe extern "C" fn() -> *const c_char,
    pub group_create: unsafe extern "C" fn(attr: *const GroupAttr, group: *mut u32) -> c_int,
    pub group_join: unsafe extern "C" fn(group: u32) -> c_int,
    pub group_leave: unsafe extern "C" fn(group: u32) -> c_int,
    pub group_admit: unsafe extern "C" fn(group: u32, schedule: *const ThreadAttr) -> c_int,
    pub group_destroy: unsafe extern "C" fn(group: u32) -> c_int,
    /// --- waiting on words: hrt/sync.h ---
    ///
    /// Sleeps if `*word == expected`, until a wake, the deadline or a signal. Spurious returns of 0 are
    /// allowed.
    pub wait: unsafe extern "C" fn(word: *const u32, expected: u32, deadline_ns: u64, flags: u32) -> c_int,
    /// Wakes up to `count` threads that sleep on `word`, the most urgent first, of equals the oldest; returns
    /// how many. `flags`: HRT_WAKE_*. Handler-safe.
    pub wake: unsafe extern "C" fn(word: *const u32, count: u32, flags: u32) -> u32,
    /// Wakes up to `count` and moves the others to `target`'s queue, if `*word == expected` (else HRT_EAGAIN).
    pub requeue:
        unsafe extern "C" fn(word: *const u32, expected: u32, count: u32, target: *const u32) -> c_int,
    /// --- events: hrt/event.h ---
    pub event_register:
        unsafe extern "C" fn(action: HandlerFunction, arg: *mut c_void, flags: u32, event: *mut u32) -> c_int,
    pub event_unregister: unsafe extern "C" fn(event: u32) -> c_int,
    pub event_notify: unsafe extern "C" fn(event: u32, cpu: i32) -> c_int,
    pub event_notify_set: unsafe extern "C" fn(event: u32, cpus: *const u64, words: u32) -> c_int,
    pub event_notify_all: unsafe extern "C" fn(event: u32, flags: u32) -> c_int,
    pub event_wait: unsafe extern "C" fn(event: u32, seen: *mut u64, deadline_ns: u64) -> c_int,
    pub memory_wait: unsafe extern "C" fn(word: Watched, old: u64, deadline_ns: u64) -> c_int,
    /// --- interrupts: hrt/irq.h ---
    pub ipi_register: unsafe extern "C" fn(
        handler: HandlerFunction,
        arg: *mut c_void,
        flags: u32,
        vector: *mut u32,
    ) -> c_int,
    pub ipi_unregister: unsafe extern "C" fn(vector: u32) -> c_int,
    pub ipi_send: unsafe extern "C" fn(vector: u32, cpu: i32) -> c_int,
    pub irq_register:
        unsafe extern "C" fn(line: u32, handler: HandlerFunction, arg: *mut c_void, flags: u32) -> c_int,
    pub irq_unregister: unsafe extern "C" fn(line: u32) -> c_int,
    pub irq_steer: unsafe extern "C" fn(line: u32, cpu: i32) -> c_int,
    pub irq_mask: unsafe extern "C" fn(line: u32, masked: bool) -> c_int,
    pub irq_info: unsafe extern "C" fn(index: u32, info: *mut IrqInfo, info_bytes: u64) -> c_int,
    pub irq_disable: unsafe extern "C" fn() -> u64,
    pub irq_restore: unsafe extern "C" fn(state: u64),
    /// --- clocks and timers: hrt/time.h ---
    pub now_ns: unsafe extern "C" fn() -> u64,
    pub timer_start: unsafe extern "C" fn(
        cpu: i32,
        deadline_ns: u64,
        callback: HandlerFunction,
        arg: *mut c_void,
        flags: u32,
        timer: *mut u64,
    ) -> c_int,
    pub timer_cancel: unsafe extern "C" fn(timer: u64) -> c_int,
    pub hpet_read: unsafe extern "C" fn(count: *mut u64, hz: *mut u64) -> c_int,
    pub pit_read: unsafe extern "C" fn(count: *mut u16, hz: *mut u64) -> c_int,
    /// --- topology: hrt/topology.h ---
    pub cpu_count: unsafe extern "C" fn() -> u32,
    pub cpu_self: unsafe extern "C" fn() -> u32,
    pub cpu_info: unsafe extern "C" fn(cpu: u32, info: *mut CpuInfo, info_bytes: u64) -> c_int,
    pub cache_info:
        unsafe extern "C" fn(cpu: u32, index: u32, info: *mut CacheInfo, info_bytes: u64) -> c_int,
    pub zone_count: unsafe extern "C" fn() -> u32,
    pub zone_info: unsafe extern "C" fn(zone: u32, info: *mut ZoneInfo, info_bytes: u64) -> c_int,
    /// 10 is local; 0: no such zone.
    pub zone_distance: unsafe extern "C" fn(from: u32, to: u32) -> u32,
    /// --- memory: hrt/memory.h ---
    pub alloc: unsafe extern "C" fn(bytes: u64, align: u64, zone: i32, flags: u32) -> *mut c_void,
    pub free: unsafe extern "C" fn(memory: *mut c_void) -> c_int,
    pub usable_bytes: unsafe extern "C" fn(memory: *const c_void) -> u64,
    pub zone_of: unsafe extern "C" fn(memory: *const c_void) -> i32,
    /// --- what the boot brought: hrt/module.h ---
    pub module: unsafe extern "C" fn(index: u32, module: *mut Module, module_bytes: u64) -> c_int,
    pub command_line: unsafe extern "C" fn() -> *const c_char,
    /// --- topology: hrt/topology.h ---
    ///
    /// How many CPUs can run at the same time.
    pub core_count: unsafe extern "C" fn() -> u32,
    /// --- marks in traces: hrt/trace.h ---
    ///
    /// Whether a trace is recorded.
    pub tracing: *const bool,
    /// 16 bytes of text, padded with NUL.
    pub trace_mark: unsafe extern "C" fn(first: u64, second: u64),
}
