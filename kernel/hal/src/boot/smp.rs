// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starting the application processors: the first alone, then all others at once.
//!
//! Every processor gets INIT, then every processor gets its start-up message; each takes a stack by an atomic counter and
//! finds its CPU id by its APIC id, so they come up in any order (Intel SDM vol. 3, 9.4). The first one goes ahead because of
//! emulators: hundreds of processors that meet new code at once would all translate it, and wait for each other in doing so.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use spin::Once;

use crate::cpu::{fpu, percpu, tsc};
use crate::interrupts::apic;
use crate::memory::layout::{DIRECT_MAP, TRAMPOLINE_PA};
use crate::memory::tlb;
use crate::threads::context;
use crate::{cpu, trap};

/// Next free slot of [`STACK_TOPS`]; the start-up code increments it.
pub(crate) static NEXT_STACK: AtomicU64 = AtomicU64::new(0);
/// Array of initial stack pointers, one for each processor that is started.
pub(crate) static STACK_TOPS: AtomicPtr<u64> = AtomicPtr::new(core::ptr::null_mut());

static ONLINE: AtomicUsize = AtomicUsize::new(1);
static MAIN: Once<fn(usize) -> !> = Once::new();

/// Bytes of the stack on which a processor starts and later idles.
const STACK_SIZE: usize = context::KERNEL_STACK_SIZE;

/// How often the start-up messages are sent again before a processor counts as broken.
const REPEATS: u64 = 32;

unsafe extern "C" {
    safe static hadal_ap_page: u8;
    safe static hadal_ap_page_end: u8;
}

/// Prepares the calling (boot) CPU: descriptor tables, vector state, local APIC.
pub fn init_boot_cpu() {
    trap::load();
    fpu::enable();
    context::enable_fsgsbase();
    apic::enable();
    percpu::set_boot_apic_id(apic::id());
    set_tsc_aux(0);
}

/// Says which processors there are, the boot CPU first, before any other runs: what is sized by their number can be made.
/// Returns how many.
pub fn announce(apic_ids: &[u32]) -> usize {
    percpu::allocate(apic_ids);
    cpu::set_count(apic_ids.len());
    apic_ids.len()
}

/// Starts the processors `apic_ids[1..]`, which have been announced, and waits until all run; each continues with
/// `main(cpu)` on a stack of its own, at once: hundreds that wait for something would take the time of the others from a
/// host with few cores.
///
/// # Panics
/// If some do not run when `timeout_ticks` of the TSC have passed.
pub fn start_others(apic_ids: &[u32], timeout_ticks: u64, main: fn(usize) -> !) {
    MAIN.call_once(|| main);
    if apic_ids.len() == 1 {
        return;
    }
    let tops: Vec<u64> = (1..apic_ids.len()).map(|_| new_stack_top()).collect();
    STACK_TOPS.store(tops.leak().as_mut_ptr(), Ordering::Release);
    copy_start_page();
    let (first, others) = apic_ids[1..].split_at(1);
    let deadline = tsc::read().saturating_add(timeout_ticks);
    let repeat_ticks = timeout_ticks / REPEATS;
    for group in [first, others] {
        start_group(group, deadline, repeat_ticks);
    }
    let online = ONLINE.load(Ordering::Acquire);
    assert!(
        online == apic_ids.len(),
        "{} of {} processors did not start",
        apic_ids.len() - online,
        apic_ids.len()
    );
}

/// The top of a stack for a processor. Its memory is not touched before the processor runs.
fn new_stack_top() -> u64 {
    Box::leak(Box::<[u128]>::new_uninit_slice(STACK_SIZE / 16)).as_ptr_range().end as u64
}

/// Starts some processors at once, and waits until they run or the TSC has reached `deadline`.
fn start_group(apic_ids: &[u32], deadline: u64, repeat_ticks: u64) {
    let wanted = ONLINE.load(Ordering::Acquire) + apic_ids.len();
    for &apic_id in apic_ids {
        apic::send_init(apic_id);
    }
    let mut next_message = tsc::read();
    while ONLINE.load(Ordering::Acquire) < wanted {
        let now = tsc::read();
        if now > deadline {
            break;
        }
        // A processor may miss its start-up message; one that runs ignores further ones.
        if now >= next_message {
            next_message = now.saturating_add(repeat_ticks);
            for &apic_id in apic_ids {
                apic::send_startup(apic_id, TRAMPOLINE_PA);
            }
        }
        cpu::relax();
    }
}

fn copy_start_page() {
    let start = core::ptr::from_ref(&hadal_ap_page);
    let len = core::ptr::from_ref(&hadal_ap_page_end) as usize - start as usize;
    assert!(len <= 4096);
    let target = (DIRECT_MAP + TRAMPOLINE_PA as usize) as *mut u8;
    // SAFETY: the page is reserved (first mebibyte), mapped writable, and the source is the start-up code; the boot
    // sections are identity-mapped only in the boot tables, so the direct map is used for the source, too.
    unsafe { core::ptr::copy_nonoverlapping((DIRECT_MAP + start as usize) as *const u8, target, len) };
}

/// First Rust code of an application processor, with the final page tables.
pub(crate) extern "C" fn start_this_cpu(slot: u64) -> ! {
    let apic_id = own_apic_id();
    let id = (1..percpu::MAX_CPUS).find(|&id| percpu::apic_id(id) == apic_id).unwrap_or(0);
    percpu::load(id);
    // SAFETY: the array has a slot for every processor that takes a number.
    let top = unsafe { *STACK_TOPS.load(Ordering::Acquire).add(slot as usize) };
    percpu::this().set_kernel_stack(top);
    trap::load();
    fpu::enable();
    context::enable_fsgsbase();
    apic::enable();
    set_tsc_aux(id);
    tlb::leave_idle();
    ONLINE.fetch_add(1, Ordering::Release);
    match MAIN.get() {
        Some(main) => main(id),
        None => cpu::halt_forever(),
    }
}

/// APIC id of the calling CPU by CPUID: usable before the APIC is on.
pub fn own_apic_id() -> u32 {
    let cpuid = raw_cpuid::CpuId::new();
    if let Some(mut levels) = cpuid.get_extended_topology_info()
        && let Some(level) = levels.next()
    {
        return level.x2apic_id();
    }
    cpuid.get_feature_info().map_or(0, |features| u32::from(features.initial_local_apic_id()))
}

/// Stores what RDTSCP returns for `getcpu`: the CPU id in the low 12 bits; [`set_tsc_aux_zone`] adds the zone.
fn set_tsc_aux(id: usize) {
    set_tsc_aux_zone(id, 0);
}

/// Makes RDTSCP on the calling CPU name it and its NUMA zone.
pub fn set_tsc_aux_zone(id: usize, zone: usize) {
    const MSR_TSC_AUX: u32 = 0xc000_0103;
    if cpu::has_rdtscp() {
        // SAFETY: the register exists with RDTSCP; it is only read by RDTSCP and RDPID.
        unsafe { cpu::write_msr(MSR_TSC_AUX, (zone << 12 | id) as u64) };
    }
}
