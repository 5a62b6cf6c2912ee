// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `struct hrt_calls`: the exported table, one line for each entry, in the order of [`abi::Calls`], which the compiler checks.

use core::marker::PhantomData;
use core::mem::offset_of;
use core::sync::atomic::AtomicUsize;

use hadal_hal::call_entry;
use hadal_hal::cpu::percpu::CPU_ID_AT_GS;
use hadal_hal::trap::call::{Entry, not_in_a_handler, nothing_in_a_handler};
use hadal_hrt_abi::calls as abi;

use crate::program::Program;
use crate::{
    admission, bare, create, event, group, irq, join, keys, memory, module, slot, thread, time, timer,
    topology, trace, wait,
};

/// Key of the table's address in the auxiliary vector.
pub const AUXILIARY_KEY: usize = abi::AT_HADAL_HRT as usize;

/// Address of the table for programs of a kind, for the auxiliary vector.
pub fn address<P: Program>() -> usize {
    core::ptr::from_ref(Table::<P>::CALLS) as usize
}

/// Defines the table: `name: implementation, kind;`. A kind says what happens to a call from a handler: it is refused with
/// a `status` or with `number` 0, or it works `anywhere`.
macro_rules! table {
    ($($name:ident: $implementation:path, $kind:ident;)*) => {
        #[repr(C)]
        struct Calls {
            version: u32,
            size: u32,
            place: u32,
            cpu_at_gs: u32,
            $($name: Entry,)*
            tracing: &'static AtomicUsize,
            trace_mark: Entry,
        }

        /// The table for programs of a kind.
        struct Table<P>(PhantomData<P>);

        impl<P: Program> Table<P> {
            const CALLS: &'static Calls = &Calls {
                version: abi::CALLS_VERSION,
                size: size_of::<Calls>() as u32,
                place: abi::Place::Kernel as u32,
                cpu_at_gs: CPU_ID_AT_GS,
                $($name: table!(@entry P, $implementation, $kind),)*
                // Marks in traces: a flag to look at, whose first byte is the `bool` of programs, and what to call then.
                tracing: &trace::ENABLED,
                trace_mark: table!(@entry P, trace::mark, anywhere),
            };
        }

        // Each entry is where programs look for it.
        const _: () = {
            $(assert!(offset_of!(Calls, $name) == offset_of!(abi::Calls, $name), stringify!($name));)*
            assert!(offset_of!(Calls, cpu_at_gs) == offset_of!(abi::Calls, cpu_at_gs));
            assert!(offset_of!(Calls, tracing) == offset_of!(abi::Calls, tracing));
            assert!(offset_of!(Calls, trace_mark) == offset_of!(abi::Calls, trace_mark));
            assert!(size_of::<Calls>() == size_of::<abi::Calls>());
        };
    };
    (@entry $program:ident, $implementation:path, status) => {
        call_entry!(<$program: Program> $implementation, not_in_a_handler)
    };
    (@entry $program:ident, $implementation:path, number) => {
        call_entry!(<$program: Program> $implementation, nothing_in_a_handler)
    };
    (@entry $program:ident, $implementation:path, anywhere) => {
        call_entry!(<$program: Program> $implementation, $implementation)
    };
}

table! {
    // threads
    thread_create: create::thread_create::<P>, status;
    thread_reserve: create::thread_reserve::<P>, number;
    thread_start: create::thread_start, status;
    thread_fork: create::thread_fork::<P>, number;
    slot_wait: slot::slot_wait::<P>, number;
    slot_leave: slot::slot_leave::<P>, status;
    slot_add_bare: bare::slot_add_bare::<P>, status;
    thread_join: join::thread_join, status;
    thread_join_all: join::thread_join_all, status;
    thread_detach: join::thread_detach, status;
    thread_self: thread::thread_self, number;
    thread_yield: thread::thread_yield, status;
    thread_yield_full: thread::thread_yield_full, status;
    thread_sleep_until: thread::thread_sleep_until, status;
    thread_bind: thread::thread_bind, status;
    thread_migrate: thread::thread_migrate, status;
    thread_set_schedule: thread::thread_set_schedule, status;
    thread_wait_period: group::thread_wait_period, status;
    thread_set_name: thread::thread_set_name::<P>, status;
    thread_info: thread::thread_info, status;
    thread_list: thread::thread_list, number;
    key_create: keys::key_create::<P>, status;
    key_delete: keys::key_delete, status;
    key_get: keys::key_get, number;
    key_set: keys::key_set, status;
    key_take: keys::key_take, number;
    admission_text: admission::admission_text, number;
    group_create: group::group_create, status;
    group_join: group::group_join, status;
    group_leave: group::group_leave, status;
    group_admit: group::group_admit, status;
    group_destroy: group::group_destroy, status;
    // waiting on words
    wait: wait::wait::<P>, status;
    wake: wait::wake::<P>, anywhere;
    requeue: wait::requeue::<P>, status;
    // events
    event_register: event::register::<P>, status;
    event_unregister: event::unregister, status;
    event_notify: event::notify, anywhere;
    event_notify_set: event::notify_set, anywhere;
    event_notify_all: event::notify_all, anywhere;
    event_wait: event::wait, status;
    memory_wait: event::memory_wait, status;
    // interrupts
    ipi_register: irq::ipi_register::<P>, status;
    ipi_unregister: irq::ipi_unregister, status;
    ipi_send: irq::ipi_send, anywhere;
    irq_register: irq::register::<P>, status;
    irq_unregister: irq::unregister, status;
    irq_steer: irq::steer, status;
    irq_mask: irq::mask, status;
    irq_info: irq::info, status;
    irq_disable: irq::disable, number;
    irq_restore: irq::restore, status;
    // clocks and timers
    now_ns: time::now_ns, anywhere;
    timer_start: timer::start::<P>, anywhere;
    timer_cancel: timer::cancel, anywhere;
    hpet_read: timer::hpet_read, status;
    pit_read: timer::pit_read, status;
    // topology
    cpu_count: topology::cpu_count, anywhere;
    cpu_self: topology::cpu_self, anywhere;
    cpu_info: topology::cpu_info, status;
    cache_info: topology::cache_info, status;
    zone_count: topology::zone_count, anywhere;
    zone_info: topology::zone_info, status;
    zone_distance: topology::zone_distance, anywhere;
    // memory
    alloc: memory::alloc::<P>, number;
    free: memory::free::<P>, status;
    usable_bytes: memory::usable_bytes, number;
    zone_of: memory::zone_of, status;
    // what the boot brought
    module: module::module, status;
    command_line: module::command_line, anywhere;
    // topology
    core_count: topology::core_count, anywhere;
}
