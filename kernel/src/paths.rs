// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which of its paths the kernel takes on this machine: one line of the boot log, and a part of the machine report.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use hadal_hal::cpu;
use hadal_hal::cpu::fpu;
use hadal_hal::interrupts::apic;
use hadal_time::Source;
use spin::Once;

/// The part that has a trial of its own.
pub(crate) const PAGE_TABLES: &str = "page tables";

static CLOCK: Once<Source> = Once::new();

/// One part of the machine and what is used of it.
pub(crate) struct Chosen {
    pub(crate) part: &'static str,
    pub(crate) choice: String,
}

/// Notes where the clock's frequency comes from.
pub(crate) fn set_clock(source: Source) {
    CLOCK.call_once(|| source);
}

/// What is used, as of now: a CPU on which stores are not noticed changes its way of idling.
pub(crate) fn chosen() -> Vec<Chosen> {
    let path = |part, choice: &str| Chosen { part, choice: choice.to_string() };
    alloc::vec![
        Chosen { part: "hypervisor", choice: cpu::hypervisor() },
        path("interrupt controller", if apic::is_x2apic() { "x2APIC" } else { "xAPIC" }),
        path("timer", if apic::uses_tsc_deadline() { "TSC deadline" } else { "APIC timer, one-shot" }),
        Chosen { part: "clock", choice: clock() },
        Chosen { part: "idle", choice: idle() },
        Chosen { part: "vector state", choice: vectors() },
        path(PAGE_TABLES, if cpu::has_gigabyte_pages() { "pages up to 1 GiB" } else { "pages up to 2 MiB" }),
    ]
}

/// All of it in one line.
pub(crate) fn in_words() -> String {
    let parts: Vec<String> =
        chosen().into_iter().map(|path| format!("{}: {}", path.part, path.choice)).collect();
    parts.join("; ")
}

fn clock() -> String {
    let source = match CLOCK.get() {
        Some(Source::HypervisorLeaf) => "stated by the hypervisor",
        Some(Source::CrystalLeaf) => "stated by CPUID leaf 0x15",
        Some(Source::Hpet) => "measured against the HPET",
        Some(Source::Pit) => "measured against the PIT",
        Some(Source::NominalLeaf) => "stated by CPUID leaf 0x16, not measured",
        Some(Source::Guess) | None => "guessed",
    };
    format!("TSC, {} MHz, {source}", hadal_time::tsc_hz() / 1_000_000)
}

fn idle() -> String {
    let sleeping = (0..cpu::count()).filter(|&cpu| hadal_sched::idles_on_stores(cpu)).count();
    let missed = hadal_sched::counters().missed_stores;
    match sleeping {
        0 if missed == 0 => "HLT".to_string(),
        0 => format!("HLT, since MWAIT has missed {missed} stores"),
        all if all == cpu::count() && missed == 0 => "MWAIT".to_string(),
        some => format!("MWAIT on {some} of {} CPUs, {missed} missed stores", cpu::count()),
    }
}

fn vectors() -> String {
    const NAMES: [(u64, &str); 5] =
        [(1, "x87"), (1 << 1, "SSE"), (1 << 2, "AVX"), (0b111 << 5, "AVX-512"), (1 << 9, "protection keys")];
    let enabled = fpu::components();
    if enabled == 0 {
        return "FXSAVE: x87, SSE".to_string();
    }
    let names: Vec<&str> =
        NAMES.iter().filter(|(mask, _)| enabled & mask == *mask).map(|&(_, name)| name).collect();
    format!("XSAVE: {}; {} bytes", names.join(", "), fpu::size())
}
