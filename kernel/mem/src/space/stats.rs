// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of a window.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::{AddressSpace, Mmu};

/// Counters that change without the lock held for writing.
pub(super) struct Counters {
    resident: AtomicUsize,
    resident_peak: AtomicUsize,
    shared: AtomicUsize,
    faults: AtomicU64,
    file_reads: AtomicU64,
    large_pages: AtomicU64,
    /// There has been a mapping through which a file kept elsewhere can be written.
    written_back: AtomicBool,
    /// There has been a mapping of a file that wants to know what is written to it.
    noted: AtomicBool,
    /// There has been a shared mapping of memory that programs write to.
    shared_mappings: AtomicBool,
    /// Something has been locked.
    locks: AtomicBool,
}

impl Counters {
    pub(super) const fn new() -> Self {
        Self {
            resident: AtomicUsize::new(0),
            resident_peak: AtomicUsize::new(0),
            shared: AtomicUsize::new(0),
            faults: AtomicU64::new(0),
            file_reads: AtomicU64::new(0),
            large_pages: AtomicU64::new(0),
            written_back: AtomicBool::new(false),
            noted: AtomicBool::new(false),
            shared_mappings: AtomicBool::new(false),
            locks: AtomicBool::new(false),
        }
    }

    /// The window, which is empty, is another process's from now on.
    pub(super) fn begin_anew(&self) {
        self.resident_peak.store(0, Ordering::Relaxed);
        self.faults.store(0, Ordering::Relaxed);
        self.file_reads.store(0, Ordering::Relaxed);
        self.large_pages.store(0, Ordering::Relaxed);
        self.locks.store(false, Ordering::Relaxed);
    }

    /// Notes for a copy of the window what there may be in it.
    pub(super) fn copy_to(&self, other: &Self) {
        for (own, copy) in [
            (&self.written_back, &other.written_back),
            (&self.noted, &other.noted),
            (&self.shared_mappings, &other.shared_mappings),
        ] {
            copy.store(own.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    pub(super) fn count_fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_file_read(&self) {
        self.file_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on there may be something to write back.
    pub(super) fn note_written_back(&self) {
        self.written_back.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_written_back(&self) -> bool {
        self.written_back.load(Ordering::Relaxed)
    }

    /// From now on there may be writes to note.
    pub(super) fn note_noted(&self) {
        self.noted.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_noted(&self) -> bool {
        self.noted.load(Ordering::Relaxed)
    }

    /// From now on there may be a shared mapping.
    pub(super) fn note_shared(&self) {
        self.shared_mappings.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_shared(&self) -> bool {
        self.shared_mappings.load(Ordering::Relaxed)
    }

    /// From now on there may be something locked.
    pub(super) fn note_lock(&self) {
        self.locks.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_locks(&self) -> bool {
        self.locks.load(Ordering::Relaxed)
    }

    pub(super) fn count_large_page(&self) {
        self.large_pages.fetch_add(1, Ordering::Relaxed);
    }

    /// Pages of the window's own, or of a shared file, were mapped.
    pub(super) fn add_resident(&self, bytes: usize, own: bool) {
        if own {
            let now = self.resident.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if now > self.resident_peak.load(Ordering::Relaxed) {
                self.resident_peak.fetch_max(now, Ordering::Relaxed);
            }
        } else {
            self.shared.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn sub_resident(&self, bytes: usize, own: bool) {
        let counter = if own { &self.resident } else { &self.shared };
        counter.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Figures for `/proc/self/status`, `--stats` and reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceStats {
    /// Address space in use (`VmSize`), in bytes.
    pub mapped_bytes: usize,
    /// Its peak (`VmPeak`).
    pub mapped_peak_bytes: usize,
    /// Memory of the window's own that is mapped (`RssAnon`, and private copies of files).
    pub resident_bytes: usize,
    /// Its peak (`VmHWM`).
    pub resident_peak_bytes: usize,
    /// Pages of shared files that are mapped (`RssShmem`).
    pub shared_bytes: usize,
    /// Memory that was unmapped and waits for TLB flushes.
    pub quarantined_bytes: u64,
    /// Number of mappings.
    pub mappings: usize,
    /// Page faults so far.
    pub faults: u64,
    /// Page faults that read a file.
    pub file_reads: u64,
    /// 2 MiB pages filled so far.
    pub large_pages: u64,
}

impl<M: Mmu> AddressSpace<M> {
    /// The figures as of now.
    pub fn stats(&self) -> SpaceStats {
        let inner = self.inner.read();
        let counters = &self.counters;
        let (mapped_bytes, mapped_peak_bytes) = inner.map.mapped_bytes();
        SpaceStats {
            mapped_bytes,
            mapped_peak_bytes,
            resident_bytes: counters.resident.load(Ordering::Relaxed),
            resident_peak_bytes: counters.resident_peak.load(Ordering::Relaxed),
            shared_bytes: counters.shared.load(Ordering::Relaxed),
            quarantined_bytes: inner.quarantine.bytes(),
            mappings: inner.map.count(),
            faults: counters.faults.load(Ordering::Relaxed),
            file_reads: counters.file_reads.load(Ordering::Relaxed),
            large_pages: counters.large_pages.load(Ordering::Relaxed),
        }
    }
}
