// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a process may map (`RLIMIT_AS`, `RLIMIT_DATA`).

use core::sync::atomic::{AtomicBool, Ordering};

use hadal_mem::space::MappedLimits;
use linux_raw_sys::general::{RLIMIT_AS, RLIMIT_DATA};

use super::{LIMIT_COUNT, Limit, Process};

/// The limits, and whether there are any.
pub(super) struct MappingLimits {
    are_set: AtomicBool,
    most: MappedLimits,
}

impl MappingLimits {
    pub(super) const fn none() -> Self {
        Self { are_set: AtomicBool::new(false), most: MappedLimits::none() }
    }

    /// Limits have changed. With a soft limit of data of 0 there is no heap, and other data has the hard limit: so does Linux, for
    /// Valgrind.
    pub(super) fn note(&self, limits: &[Limit; LIMIT_COUNT]) {
        let Limit { soft, hard } = limits[RLIMIT_DATA as usize];
        let MappedLimits { all, data, heap } = &self.most;
        let mut are_set = false;
        for (most, limit) in [
            (all, limits[RLIMIT_AS as usize].soft),
            (data, if soft == 0 { hard } else { soft }),
            (heap, soft),
        ] {
            let bytes = usize::try_from(limit).unwrap_or(usize::MAX);
            most.store(bytes, Ordering::Relaxed);
            are_set |= bytes != usize::MAX;
        }
        self.are_set.store(are_set, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> Option<&MappedLimits> {
        if self.are_set.load(Ordering::Relaxed) { Some(&self.most) } else { None }
    }
}

impl Process {
    /// What it may map, if that is bounded.
    #[inline]
    pub(crate) fn mapping_limits(&self) -> Option<&MappedLimits> {
        self.mapping_limits.get()
    }
}

#[cfg(test)]
mod tests {
    use super::super::UNLIMITED;
    use super::*;

    #[test]
    fn a_soft_limit_of_no_data_is_one_of_the_heap() {
        let mut limits = [Limit { soft: UNLIMITED, hard: UNLIMITED }; LIMIT_COUNT];
        let mapping_limits = MappingLimits::none();
        let bytes = |limits: &[Limit; LIMIT_COUNT]| {
            mapping_limits.note(limits);
            let most = mapping_limits.get()?;
            Some([&most.all, &most.data, &most.heap].map(|most| most.load(Ordering::Relaxed)))
        };
        assert_eq!(bytes(&limits), None);
        limits[RLIMIT_DATA as usize] = Limit { soft: 4096, hard: 8192 };
        assert_eq!(bytes(&limits), Some([usize::MAX, 4096, 4096]));
        limits[RLIMIT_DATA as usize].soft = 0;
        assert_eq!(bytes(&limits), Some([usize::MAX, 8192, 0]));
        limits[RLIMIT_AS as usize].soft = 1 << 30;
        limits[RLIMIT_DATA as usize].soft = UNLIMITED;
        assert_eq!(bytes(&limits), Some([1 << 30, usize::MAX, usize::MAX]));
    }
}
