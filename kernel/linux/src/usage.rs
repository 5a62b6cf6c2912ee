// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What processes and threads have used, as programs are told (getrusage(2)).

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

impl Usage {
    /// Of children: their CPU time alone.
    pub(crate) fn of_time(run_time_ns: u64) -> Self {
        Self { program_time: Timeval::from_ns(run_time_ns), ..Self::default() }
    }
}
