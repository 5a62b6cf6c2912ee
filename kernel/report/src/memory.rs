// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The report about a program that has used up the machine's memory.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

use arrayvec::ArrayVec;
use hadal_linux::family;
use hadal_linux::process::Process;
use hadal_mem::frames::{self, ZoneId, ZoneStats};
use hadal_mem::space::VmaInfo;

use crate::{Bytes, Mapping, program_name};

/// Mappings that are shown.
const SHOWN: usize = 8;
/// Processes that are shown. Each of many may have such a report.
const SHOWN_PROCESSES: usize = 4;

/// The program touched memory when none was left: what uses it, and what to do.
pub fn out_of_memory(process: &Process) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut out, process);
    out
}

fn write_text(out: &mut String, process: &Process) -> fmt::Result {
    let global = frames::global();
    let (stats, window) = (global.stats(), process.space().stats());
    let (name, pid, count) = (program_name(process), process.pid(), family::count());
    let is_alone = count <= 1;
    let own = if is_alone { "program" } else { "process" };
    if is_alone {
        writeln!(out, "hadal: {name}: out of memory")?;
    } else {
        writeln!(out, "hadal: {name} (process {pid}, one of {count}): out of memory")?;
    }
    writeln!(
        out,
        "  {} of the machine's {} are in use, {} of them by the {own} (at most {}); {} are kept back for the kernel",
        Bytes(stats.total_bytes - stats.free_bytes),
        Bytes(stats.total_bytes),
        Bytes(window.resident_bytes as u64),
        Bytes(window.resident_peak_bytes as u64),
        Bytes(global.reserve_bytes())
    )?;
    let zones = global.zone_count();
    if zones > 1 {
        for zone in 0..zones {
            let ZoneStats { total_bytes, free_bytes, .. } = global.zone_stats(ZoneId(zone as u8));
            writeln!(
                out,
                "  zone {zone}: {} of {} in use",
                Bytes(total_bytes - free_bytes),
                Bytes(total_bytes)
            )?;
        }
    }
    if is_alone {
        writeln!(out, "  largest accessible mappings, of {} in all:", Bytes(window.mapped_bytes as u64))?;
        for vma in largest(process) {
            writeln!(out, "    {:>10}  {}", Bytes((vma.end - vma.start) as u64).to_string(), Mapping(&vma))?;
        }
    } else {
        writeln!(out, "  largest processes; a page that several share counts for each:")?;
        for (bytes, process) in largest_processes() {
            let (name, pid) = (program_name(process), process.pid());
            writeln!(out, "    {:>10}  {pid} {name}", Bytes(bytes as u64).to_string())?;
        }
    }
    writeln!(out, "  start it with more memory (--memory SIZE), or let it use less")
}

/// Those that use most memory, and how many bytes each.
fn largest_processes() -> ArrayVec<(usize, &'static Process), SHOWN_PROCESSES> {
    let mut found = ArrayVec::new();
    for process in family::all() {
        let bytes = process.space().stats().resident_bytes;
        let at = found.partition_point(|&(other, _)| other >= bytes);
        if at < SHOWN_PROCESSES {
            found.truncate(SHOWN_PROCESSES - 1);
            found.insert(at.min(found.len()), (bytes, process));
        }
    }
    found
}

/// The largest mappings that the program can touch, without a copy of the whole map: memory is short.
fn largest(process: &Process) -> Vec<VmaInfo> {
    let mut found: Vec<VmaInfo> = Vec::with_capacity(SHOWN + 1);
    process.space().vmas(&mut |vma| {
        if !vma.prot.is_empty() {
            let at = found.partition_point(|other| other.end - other.start >= vma.end - vma.start);
            if at < SHOWN {
                found.truncate(SHOWN - 1);
                found.insert(at.min(found.len()), vma.clone());
            }
        }
    });
    found
}
