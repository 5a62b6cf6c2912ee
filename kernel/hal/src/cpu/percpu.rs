// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Per-CPU data: the block that `%gs` points to, and arrays with one element per CPU.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use spin::Once;

use crate::threads::head::{self, Head};

/// Most CPUs that the kernel starts: the xAPIC's 255 and room for x2APIC machines.
pub const MAX_CPUS: usize = 1024;

/// Work for the thread that runs on a CPU, to be done before it returns to program code.
pub mod attention {
    /// Another thread should run.
    pub const RESCHEDULE: u32 = 1;
    /// The thread has a signal, or its process is ending.
    pub const SIGNAL: u32 = 2;
    /// The running real-time thread may have used up its time. Not the same as that another one should run, which is over
    /// with every look at who that would be.
    pub const BUDGET: u32 = 4;
    /// The thread spins on a machine whose host has too few cores: the CPU should rest for a moment.
    pub const REST: u32 = 8;
}

/// What `%gs` points to. The assembly reaches the first fields by `offset_of!`.
#[repr(C, align(64))]
pub struct PerCpu {
    /// Address of this block, for `mov %gs:0, reg`.
    this: AtomicU64,
    /// Top of the current thread's kernel stack.
    pub(crate) kernel_stack_top: AtomicU64,
    /// Where the system-call entry parks the program's stack pointer for four instructions.
    pub(crate) program_rsp: AtomicU64,
    /// Bits of [`attention`].
    attention: AtomicU32,
    cpu_id: AtomicU32,
    apic_id: AtomicU32,
    /// Address of the key that the next two belong to ([`crate::threads::running`]), or 0.
    pub(crate) running_key: AtomicUsize,
    /// The same key where the quick switch works that knows one page table, else 0.
    pub(crate) quick_key: AtomicUsize,
    /// The running thread.
    pub(crate) thread: crate::sync::atomic::AtomicUsize,
    /// The scheduler's state of this CPU.
    pub(crate) cpu: AtomicUsize,
    /// Handlers of the program that are running in interrupt context on this CPU.
    pub(crate) handlers: AtomicU32,
    /// Generation of the TLB flush that this CPU has done last.
    pub(crate) tlb_seen: AtomicU64,
    /// Set while the CPU idles and flushes on leaving instead of on request.
    pub(crate) tlb_lazy: AtomicBool,
    /// Number of the page table that it has loaded, or [`crate::memory::tlb::CHANGING`].
    pub(crate) page_table: AtomicU32,
    /// The [`crate::threads::context::Context`] that the CPU runs, which begins with the head, or [`head::NOBODY`].
    pub(crate) context: AtomicPtr<Head>,
    /// Address of the context that gave the CPU up last and whose vector registers nobody else has used since, or 0.
    pub(crate) live_context: AtomicUsize,
    /// Lowest address of the CPU's trap stacks, which lie one behind the other.
    pub(crate) trap_stacks: AtomicU64,
    /// Set when a trap has found another block in `%gs`, and cleared by the next fault of the kernel: it may come from that.
    pub(crate) was_lost: AtomicBool,
    /// Interrupts taken.
    pub(crate) interrupts: AtomicU64,
    /// Those among them that are handled: one less while one is in progress.
    pub(crate) interrupts_done: AtomicU64,
    /// The program's handler that runs, or ran last.
    pub(crate) handler: crate::interrupts::handler::Running,
    /// When the program turned interrupts off here, as a time stamp; 0 while they are on.
    pub(crate) irqs_off_since: AtomicU64,
    /// The value of `irqs_off_since` that has lasted too long.
    pub(crate) irqs_off_too_long: AtomicU64,
    /// The round of [`crate::cpu::standstill`] in which this CPU was held last.
    pub(crate) held_in: AtomicU64,
    /// Destination that the local APIC's command register holds; no APIC has the first value.
    pub(crate) ipi_target: AtomicU32,
    pub(crate) ipis_sent: AtomicU64,
    pub(crate) page_table_changes: AtomicU64,
    /// Flushes of this CPU's TLB, or of a part of it.
    pub(crate) tlb_flushes: AtomicU64,
    pub(crate) system_calls: AtomicU64,
    /// The key of `running_key` where the quick switch between page tables works, else 0.
    pub(crate) tables_key: AtomicUsize,
    #[cfg(target_os = "none")]
    pub(crate) heap: crate::memory::heap::Lists,
    /// Held locks that spin with interrupts off.
    #[cfg(any(all(debug_assertions, target_os = "none"), test))]
    pub(crate) held_spin: crate::sync::held::Record,
    /// Held reader-writer locks.
    #[cfg(any(all(debug_assertions, target_os = "none"), test))]
    pub(crate) held_shared: crate::sync::held::Record,
    #[cfg(any(all(debug_assertions, target_os = "none"), test))]
    pub(crate) sections: crate::interrupts::irq::section::Sections,
}

impl PerCpu {
    pub(crate) const fn new() -> Self {
        Self {
            this: AtomicU64::new(0),
            kernel_stack_top: AtomicU64::new(0),
            program_rsp: AtomicU64::new(0),
            attention: AtomicU32::new(0),
            cpu_id: AtomicU32::new(0),
            apic_id: AtomicU32::new(0),
            running_key: AtomicUsize::new(0),
            quick_key: AtomicUsize::new(0),
            thread: crate::sync::atomic::AtomicUsize::new(0),
            cpu: AtomicUsize::new(0),
            handlers: AtomicU32::new(0),
            tlb_seen: AtomicU64::new(0),
            tlb_lazy: AtomicBool::new(false),
            page_table: AtomicU32::new(crate::memory::tlb::CHANGING),
            context: AtomicPtr::new((&raw const head::NOBODY).cast_mut()),
            live_context: AtomicUsize::new(0),
            trap_stacks: AtomicU64::new(0),
            was_lost: AtomicBool::new(false),
            interrupts: AtomicU64::new(0),
            interrupts_done: AtomicU64::new(0),
            handler: crate::interrupts::handler::Running::new(),
            irqs_off_since: AtomicU64::new(0),
            irqs_off_too_long: AtomicU64::new(0),
            held_in: AtomicU64::new(0),
            ipi_target: AtomicU32::new(u32::MAX),
            ipis_sent: AtomicU64::new(0),
            page_table_changes: AtomicU64::new(0),
            tlb_flushes: AtomicU64::new(0),
            system_calls: AtomicU64::new(0),
            tables_key: AtomicUsize::new(0),
            #[cfg(target_os = "none")]
            heap: crate::memory::heap::Lists::of_cpu(),
            #[cfg(any(all(debug_assertions, target_os = "none"), test))]
            held_spin: crate::sync::held::Record::new(),
            #[cfg(any(all(debug_assertions, target_os = "none"), test))]
            held_shared: crate::sync::held::Record::new(),
            #[cfg(any(all(debug_assertions, target_os = "none"), test))]
            sections: crate::interrupts::irq::section::Sections::new(),
        }
    }
}

impl PerCpu {
    /// Where the block is, which also names the CPU.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        core::ptr::from_ref(self) as usize
    }

    /// Adds attention; interrupts are off, so nobody else writes meanwhile.
    #[inline(always)]
    #[cfg_attr(all(debug_assertions, target_os = "none"), track_caller)]
    pub(crate) fn raise_attention(&self, bits: u32) {
        crate::interrupts::irq::must_be_off();
        self.attention.store(self.attention.load(Ordering::Relaxed) | bits, Ordering::Relaxed);
    }

    /// What there is to look at, as of now.
    #[cfg(feature = "sim")]
    pub(crate) fn attention_bits(&self) -> u32 {
        self.attention.load(Ordering::Relaxed)
    }

    /// Names the stack on which traps of this CPU's current thread are handled.
    pub(crate) fn set_kernel_stack(&self, top: u64) {
        self.kernel_stack_top.store(top, Ordering::Relaxed);
    }
}

/// Offset of the CPU's number from where `%gs` points, for programs (`cpu_at_gs` of `hadal/hrt/calls.h`).
pub const CPU_ID_AT_GS: u32 = offset::CPU_ID as u32;

/// Offsets for the assembly.
pub(crate) mod offset {
    use super::PerCpu;
    pub(crate) const THIS: usize = core::mem::offset_of!(PerCpu, this);
    pub(crate) const KERNEL_STACK_TOP: usize = core::mem::offset_of!(PerCpu, kernel_stack_top);
    pub(crate) const PROGRAM_RSP: usize = core::mem::offset_of!(PerCpu, program_rsp);
    pub(crate) const CPU_ID: usize = core::mem::offset_of!(PerCpu, cpu_id);
    pub(crate) const CONTEXT: usize = core::mem::offset_of!(PerCpu, context);
    pub(crate) const ATTENTION: usize = core::mem::offset_of!(PerCpu, attention);
    pub(crate) const SYSTEM_CALLS: usize = core::mem::offset_of!(PerCpu, system_calls);
    pub(crate) const TLB_SEEN: usize = core::mem::offset_of!(PerCpu, tlb_seen);
    pub(crate) const PAGE_TABLE: usize = core::mem::offset_of!(PerCpu, page_table);
    pub(crate) const HANDLERS: usize = core::mem::offset_of!(PerCpu, handlers);
    pub(crate) const HANDLER_RSP: usize = core::mem::offset_of!(PerCpu, handler.rsp);
}

static BOOT_CPU: PerCpu = PerCpu::new();
static OTHERS: Once<Box<[PerCpu]>> = Once::new();

/// Allocates the blocks of CPUs `1..apic_ids.len()`.
pub(crate) fn allocate(apic_ids: &[u32]) {
    OTHERS.call_once(|| {
        apic_ids
            .iter()
            .enumerate()
            .skip(1)
            .map(|(id, &apic_id)| {
                let block = PerCpu::new();
                block.cpu_id.store(id as u32, Ordering::Relaxed);
                block.apic_id.store(apic_id, Ordering::Relaxed);
                // A CPU that is not up yet flushes when it starts.
                block.tlb_lazy.store(true, Ordering::Relaxed);
                block
            })
            .collect()
    });
}

/// The block of a CPU.
///
/// # Panics
/// If there is no such CPU.
pub(crate) fn of(cpu: usize) -> &'static PerCpu {
    if cpu == 0 { &BOOT_CPU } else { &OTHERS.get().expect("per-CPU blocks exist")[cpu - 1] }
}

/// The block of the calling CPU.
#[inline(always)]
pub(crate) fn this() -> &'static PerCpu {
    #[cfg(target_os = "none")]
    {
        let block: *const PerCpu;
        // SAFETY: `%gs:0` holds the block's own address from the first Rust instruction of a CPU on (`load`).
        unsafe {
            core::arch::asm!("mov {}, gs:[0]", out(reg) block, options(nostack, pure, readonly, preserves_flags))
        };
        // SAFETY: blocks are static or leaked for ever and have only atomic fields.
        unsafe { &*block }
    }
    #[cfg(feature = "sim")]
    return of(crate::sim::cpu_id());
    #[cfg(not(any(target_os = "none", feature = "sim")))]
    &BOOT_CPU
}

/// Points `%gs` of the calling CPU at the block of `cpu`.
pub(crate) fn load(cpu: usize) {
    let block = of(cpu);
    let address = core::ptr::from_ref(block) as u64;
    block.this.store(address, Ordering::Relaxed);
    // SAFETY: every x86-64 CPU has GS_BASE, and the block lives for ever.
    unsafe { crate::cpu::write_msr(MSR_GS_BASE, address) };
}

/// Where `%gs` points to.
pub(crate) const MSR_GS_BASE: u32 = 0xc000_0101;

#[inline(always)]
pub(crate) fn cpu_id() -> usize {
    #[cfg(target_os = "none")]
    {
        let id: u32;
        // SAFETY: as for `this`; the field is a 32-bit word.
        unsafe {
            core::arch::asm!("mov {:e}, gs:[{}]", out(reg) id, const offset::CPU_ID, options(nostack, pure, readonly, preserves_flags));
        }
        id as usize
    }
    #[cfg(feature = "sim")]
    return crate::sim::cpu_id();
    #[cfg(not(any(target_os = "none", feature = "sim")))]
    0
}

/// The head of the context that the calling CPU runs; see [`head::running`].
#[inline(always)]
pub(crate) fn running_head() -> *const Head {
    #[cfg(target_os = "none")]
    {
        let head: *const Head;
        // SAFETY: as for `this`; the field is a pointer.
        unsafe {
            core::arch::asm!("mov {}, gs:[{}]", out(reg) head, const offset::CONTEXT, options(nostack, pure, readonly, preserves_flags));
        }
        head
    }
    #[cfg(not(target_os = "none"))]
    this().context.load(Ordering::Relaxed)
}

/// Local APIC id of a CPU.
pub fn apic_id(cpu: usize) -> u32 {
    of(cpu).apic_id.load(Ordering::Relaxed)
}

pub(crate) fn set_boot_apic_id(apic_id: u32) {
    BOOT_CPU.apic_id.store(apic_id, Ordering::Relaxed);
}

/// Adds bits of [`attention`] to this CPU.
pub fn raise_attention(bits: u32) {
    this().attention.fetch_or(bits, Ordering::Relaxed);
}

/// Removes bits of [`attention`] from this CPU.
pub fn clear_attention(bits: u32) {
    this().attention.fetch_and(!bits, Ordering::Relaxed);
}

/// The bits of [`attention`] of this CPU.
#[inline(always)]
pub fn pending_attention() -> u32 {
    this().attention.load(Ordering::Relaxed)
}

/// What one CPU has counted since boot, or all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Interrupts taken.
    pub interrupts: u64,
    /// Interprocessor interrupts sent; one to all others counts once.
    pub ipis_sent: u64,
    /// Entries of the program's page table made, changed or removed.
    pub page_table_changes: u64,
    /// System calls made by programs.
    pub system_calls: u64,
}

/// The counters of a CPU as of now.
pub fn counters_of(cpu: usize) -> Counters {
    let block = of(cpu);
    Counters {
        interrupts: block.interrupts.load(Ordering::Relaxed),
        ipis_sent: block.ipis_sent.load(Ordering::Relaxed),
        page_table_changes: block.page_table_changes.load(Ordering::Relaxed),
        system_calls: block.system_calls.load(Ordering::Relaxed),
    }
}

/// The sums over all CPUs as of now.
pub fn counters() -> Counters {
    (0..crate::cpu::count()).map(counters_of).fold(Counters::default(), |sum, own| Counters {
        interrupts: sum.interrupts + own.interrupts,
        ipis_sent: sum.ipis_sent + own.ipis_sent,
        page_table_changes: sum.page_table_changes + own.page_table_changes,
        system_calls: sum.system_calls + own.system_calls,
    })
}

/// Interrupts that a CPU has taken.
pub fn interrupts_of(cpu: usize) -> u64 {
    of(cpu).interrupts.load(Ordering::Relaxed)
}

/// Counts a change to the program's page table.
pub(crate) fn count_page_table_change() {
    this().page_table_changes.fetch_add(1, Ordering::Relaxed);
}

/// One `T` for each CPU, each on cache lines of its own.
pub struct CpuLocal<T> {
    items: Box<[Padded<T>]>,
}

#[repr(align(128))]
struct Padded<T>(T);

impl<T: Sync> CpuLocal<T> {
    /// Makes `count` elements; `make` gets the CPU's id.
    pub fn new(count: usize, mut make: impl FnMut(usize) -> T) -> Self {
        Self { items: (0..count).map(|cpu| Padded(make(cpu))).collect() }
    }

    /// The element of the calling CPU, as of the call: a thread may move afterwards, so `T` takes care of itself.
    #[inline(always)]
    pub fn this(&self) -> &T {
        &self.items[cpu_id()].0
    }

    /// The element of `cpu`.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn of(&self, cpu: usize) -> &T {
        &self.items[cpu].0
    }

    /// All elements, by CPU id.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|item| &item.0)
    }
}
