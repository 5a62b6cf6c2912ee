// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine in words: what `BootAction::Report` sends.

use alloc::string::String;
use core::fmt::Write;

use hadal_hal::cpu::fpu;
use hadal_mem::frames::{self, ZoneId};

use crate::platform::Platform;

/// CPUs, zones with their memory, CPUs and distances.
pub(crate) fn machine(platform: &Platform) -> String {
    let cpus = hadal_hal::cpu::count();
    let zones = platform.zone_count();
    let mut text = String::new();
    if !fpu::arithmetic_works() {
        let _ =
            writeln!(text, "vector arithmetic in ring 0 gives wrong results: this host cannot run programs");
    }
    let _ = writeln!(text, "{cpus} CPUs, {zones} zones, TSC {} MHz", hadal_time::tsc_hz() / 1_000_000);
    for zone in 0..zones {
        let memory = frames::global().zone_stats(ZoneId(zone as u8));
        let members = (0..cpus).filter(|&cpu| usize::from(platform.cpu_zone(cpu)) == zone).count();
        let _ = write!(
            text,
            "zone {zone}: {members} CPUs, {} MiB of memory, {} MiB free, distances",
            memory.total_bytes >> 20,
            memory.free_bytes >> 20
        );
        for other in 0..zones {
            let _ = write!(text, " {}", platform.distance(zone, other));
        }
        text.push('\n');
    }
    text
}
