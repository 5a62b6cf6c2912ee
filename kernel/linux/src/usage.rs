// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What processes and threads have used, as programs are told (getrusage(2)).

use core::sync::atomic::{AtomicU64, Ordering};

use hadal_mem::space::SpaceStats;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::clock::Timeval;

/// `struct rusage`.
#[repr(C)]
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub(crate) struct Usage {
    pub(crate) program_time: Timeval,
    pub(crate) kernel_time: Timeval,
    pub(crate) resident_peak_kib: u64,
    pub(crate) unmaintained: [u64; 3],
    pub(crate) faults_without_io: u64,
    pub(crate) faults_with_io: u64,
    pub(crate) others: [u64; 8],
}

const _: () = assert!(size_of::<Usage>() == size_of::<linux_raw_sys::general::rusage>());

/// What processes have used. Unlike [`Usage`] it adds up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) run_ns: u64,
    pub(crate) resident_peak_kib: u64,
    pub(crate) faults_without_io: u64,
    pub(crate) faults_with_io: u64,
}

impl Used {
    /// So much CPU time, and what a space tells.
    pub(crate) fn new(run_ns: u64, stats: &SpaceStats) -> Self {
        Self {
            run_ns,
            resident_peak_kib: stats.resident_peak_bytes as u64 / 1024,
            faults_without_io: stats.faults.saturating_sub(stats.file_reads),
            faults_with_io: stats.file_reads,
        }
    }

    /// The sum with what another one has used; of peaks the higher one counts.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            run_ns: self.run_ns + other.run_ns,
            resident_peak_kib: self.resident_peak_kib.max(other.resident_peak_kib),
            faults_without_io: self.faults_without_io + other.faults_without_io,
            faults_with_io: self.faults_with_io + other.faults_with_io,
        }
    }
}

impl From<Used> for Usage {
    fn from(used: Used) -> Self {
        Self {
            program_time: Timeval::from_ns(used.run_ns),
            resident_peak_kib: used.resident_peak_kib,
            faults_without_io: used.faults_without_io,
            faults_with_io: used.faults_with_io,
            ..Self::default()
        }
    }
}

/// A sum of [`Used`] that several threads add to.
pub(crate) struct SumOfUsed {
    run_ns: AtomicU64,
    resident_peak_kib: AtomicU64,
    faults_without_io: AtomicU64,
    faults_with_io: AtomicU64,
}

impl SumOfUsed {
    pub(crate) const fn new() -> Self {
        Self {
            run_ns: AtomicU64::new(0),
            resident_peak_kib: AtomicU64::new(0),
            faults_without_io: AtomicU64::new(0),
            faults_with_io: AtomicU64::new(0),
        }
    }

    pub(crate) fn get(&self) -> Used {
        Used {
            run_ns: self.run_ns.load(Ordering::Relaxed),
            resident_peak_kib: self.resident_peak_kib.load(Ordering::Relaxed),
            faults_without_io: self.faults_without_io.load(Ordering::Relaxed),
            faults_with_io: self.faults_with_io.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn add(&self, used: Used) {
        self.run_ns.fetch_add(used.run_ns, Ordering::Relaxed);
        self.resident_peak_kib.fetch_max(used.resident_peak_kib, Ordering::Relaxed);
        self.faults_without_io.fetch_add(used.faults_without_io, Ordering::Relaxed);
        self.faults_with_io.fetch_add(used.faults_with_io, Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        for part in [&self.run_ns, &self.resident_peak_kib, &self.faults_without_io, &self.faults_with_io] {
            part.store(0, Ordering::Relaxed);
        }
    }
}
