// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/proc/meminfo` and `/proc/vmstat`.

use alloc::string::String;
use core::fmt::Write;

use hadal_linux::task::Task;
use hadal_mem::frames;
use hadal_mem::space::SpaceStats;
use hadal_vfs::synthetic::Directory;

use crate::add_text;

pub(super) fn add(proc: &Directory) {
    add_text(proc, "meminfo", || {
        let global = frames::global();
        let stats = global.stats();
        meminfo(stats.total_bytes, stats.free_bytes, global.reserve_bytes(), window())
    });
    add_text(proc, "vmstat", || {
        let window = window();
        let mut text = String::new();
        let figures = [
            ("nr_free_pages", frames::global().stats().free_bytes >> 12),
            ("pgfault", window.faults),
            ("pgmajfault", window.file_reads),
            ("thp_fault_alloc", window.large_pages),
        ];
        for (name, value) in figures {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {value}");
        }
        text
    });
}

/// The figures of the program that asks.
fn window() -> SpaceStats {
    Task::current().try_process().map(|process| process.space().stats()).unwrap_or_default()
}

/// What programs look for, and zeros where there is nothing of the kind (swap, huge pages set aside).
fn meminfo(total_bytes: u64, free_bytes: u64, reserve_bytes: u64, window: SpaceStats) -> String {
    let available = free_bytes.saturating_sub(reserve_bytes);
    let commit_limit = total_bytes.saturating_sub(reserve_bytes);
    let lines = [
        ("MemTotal", total_bytes),
        ("MemFree", free_bytes),
        ("MemAvailable", available),
        ("Buffers", 0),
        ("Cached", window.shared_bytes as u64),
        ("SwapCached", 0),
        ("Active", window.resident_bytes as u64),
        ("Inactive", 0),
        ("Unevictable", 0),
        ("Mlocked", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 0),
        ("Writeback", 0),
        ("AnonPages", window.resident_bytes as u64),
        ("Mapped", window.shared_bytes as u64),
        ("Shmem", window.shared_bytes as u64),
        ("CommitLimit", commit_limit),
        ("Committed_AS", window.mapped_bytes as u64),
        ("VmallocTotal", 0),
        ("VmallocUsed", 0),
    ];
    let mut text = String::new();
    for (name, bytes) in lines {
        // Writing to a string cannot fail.
        let _ = line(&mut text, name, bytes >> 10, " kB");
    }
    for name in ["HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp"] {
        let _ = line(&mut text, name, 0, "");
    }
    let _ = line(&mut text, "Hugepagesize", 2048, " kB");
    let _ = line(&mut text, "Hugetlb", 0, " kB");
    text
}

/// Columns as on Linux.
fn line(text: &mut String, name: &str, value: u64, unit: &str) -> core::fmt::Result {
    writeln!(text, "{name}:{value:>width$}{unit}", width = 23usize.saturating_sub(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_kilobytes_and_columns() {
        let text = meminfo(1 << 30, 1 << 29, 1 << 20, SpaceStats::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "MemTotal:        1048576 kB");
        assert_eq!(lines[1], "MemFree:          524288 kB");
        assert_eq!(lines[2], "MemAvailable:     523264 kB");
        assert!(lines.contains(&"HugePages_Total:       0"), "{text}");
        assert!(lines.contains(&"Hugepagesize:       2048 kB"), "{text}");
    }
}
