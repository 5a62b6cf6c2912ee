// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel image: one visible list of what starts in which order, and the glue between crates that may not know each
//! other. What each step does is in the module of its name.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod boot_files;
mod console;
mod control;
mod counters;
mod end;
mod entropy;
mod file_pages;
mod file_tree;
mod linux;
mod memory;
mod panic;
mod paths;
mod platform;
mod power;
mod profile;
mod report;
mod run;
mod run_times;
mod shell;
mod stdio;
mod symbols;
mod terminal;
mod trace;
mod traps;
mod trials;
mod watchdog;

use alloc::boxed::Box;

use hadal_hal::boot::BootInfo;
use hadal_hal::boot::smp;
use hadal_hal::cpu;
use hadal_hal::interrupts::pic;
use hadal_hal::memory::paging;

#[global_allocator]
static HEAP: hadal_hal::memory::heap::KernelHeap = hadal_hal::memory::heap::KernelHeap;

/// How long the other processors may take to start: hundreds of virtual ones share few real ones.
const START_LIMIT_S: u64 = 30;

/// From the boot code, on the boot stack, with the boot page tables and interrupts off.
#[allow(unsafe_code, reason = "the boot code finds the kernel by this symbol")]
#[unsafe(no_mangle)]
fn kernel_main(info: BootInfo) -> ! {
    // A machine that fails early should say so.
    console::init(&info);
    // ACPI before memory: it says which memory belongs to which zone. The boot page tables reach the tables.
    let platform = platform::Platform::read(&info);
    // Frames below 4 GiB, then the heap, then the final page tables, then all frames.
    memory::init(&info, &platform);
    // Traps before anything that could fault on purpose.
    hadal_hal::trap::set_hooks(&traps::KERNEL);
    hadal_hal::trap::set_system_call(hadal_linux::traps::system_call);
    smp::init_boot_cpu();
    pic::mask_all();
    // The clock and the timer's frequency are measured while everything is made that needs no time.
    let clock = platform.begin_clock();
    // Everything that is sized by the number of processors, then all of them.
    let apic_ids = platform.apic_ids();
    memory::init_cpus(smp::announce(&apic_ids), &platform);
    platform.name_zones();
    prepare_thread_tables();
    hadal_sched::init();
    hadal_event::init();
    hadal_linux::buffers::init();
    platform.start_lines();
    // What run-times call, before there is a program.
    hadal_hrt::init();
    let boot = run::find_files(&info);
    if boot.config.isolated {
        hadal_hal::trap::ring::isolate();
    }
    clock.start_clock();
    start_processors(&apic_ids, platform.zone_count());
    watchdog::start();
    // Devices and the program need threads that can wait.
    run::start(boot, Box::new(info), Box::new(platform));
    hadal_sched::enter_idle_loop()
}

/// What other crates keep for each thread is made with the threads, while memory may still be refused.
fn prepare_thread_tables() {
    for prepare in [
        hadal_linux::task::Task::prepare_table,
        hadal_hrt::prepare_table,
        hadal_sync::prepare_table,
        hadal_event::prepare_table,
    ] {
        hadal_sched::on_new_threads(prepare);
    }
}

fn start_processors(apic_ids: &[u32], zones: usize) {
    smp::start_others(apic_ids, hadal_time::tsc_hz() * START_LIMIT_S, application_processor);
    let mhz = hadal_time::tsc_hz() / 1_000_000;
    log::info!("{} CPUs, {zones} zones, clock {mhz} MHz", apic_ids.len());
}

/// The other processors, on stacks of their own, with everything per-CPU of the hardware layer set up.
fn application_processor(id: usize) -> ! {
    debug_assert!(id == cpu::current_id() && paging::root() != 0);
    platform::name_zone_of_this_cpu();
    hadal_sched::join()
}
