// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When a timer expires: arithmetic without a clock.

/// What a timer is set to, as a program reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Nanoseconds to the next expiry; 0 when the timer is off.
    pub remaining_ns: u64,
    /// Nanoseconds between expiries; 0 for one expiry only.
    pub interval_ns: u64,
}

impl Setting {
    /// A timer that is off.
    pub const OFF: Self = Self { remaining_ns: 0, interval_ns: 0 };
}

/// The next expiry and those that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    expires_ns: Option<u64>,
    interval_ns: u64,
}

impl Schedule {
    pub(crate) const OFF: Self = Self { expires_ns: None, interval_ns: 0 };

    pub(crate) fn new(expires_ns: Option<u64>, interval_ns: u64) -> Self {
        Self { expires_ns, interval_ns }
    }

    /// The expiry that is next, or has passed and was not followed by [`Schedule::advance`].
    pub(crate) fn expires_ns(&self) -> Option<u64> {
        self.expires_ns
    }

    /// What a program reads at `now_ns`. Expiries that have passed without anybody's notice count as passed.
    pub(crate) fn read(&self, now_ns: u64) -> Setting {
        let remaining_ns = match self.expires_ns {
            Some(expires) if expires > now_ns => expires - now_ns,
            Some(expires) if self.interval_ns != 0 => {
                self.interval_ns - (now_ns - expires) % self.interval_ns
            }
            _ => 0,
        };
        let interval_ns = if self.expires_ns.is_some() { self.interval_ns } else { 0 };
        Setting { remaining_ns, interval_ns }
    }

    /// Follows an expiry that has passed: the next one is the first after `now_ns`. Returns how many were skipped on the
    /// way; `None` if there is no next one, or none has passed.
    pub(crate) fn advance(&mut self, now_ns: u64) -> Option<u64> {
        let passed = self.expires_ns.filter(|&expires| expires <= now_ns)?;
        if self.interval_ns == 0 {
            self.expires_ns = None;
            return None;
        }
        let skipped = (now_ns - passed) / self.interval_ns;
        self.expires_ns =
            (skipped + 1).checked_mul(self.interval_ns).and_then(|step| passed.checked_add(step));
        self.expires_ns.map(|_| skipped)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_shot() {
        let mut schedule = Schedule::new(Some(100), 0);
        assert_eq!(schedule.read(40), Setting { remaining_ns: 60, interval_ns: 0 });
        assert_eq!(schedule.advance(99), None);
        assert_eq!(schedule.expires_ns(), Some(100));
        assert_eq!(schedule.advance(100), None);
        assert_eq!(schedule.read(100), Setting::OFF);
    }

    #[test]
    fn interval() {
        let mut schedule = Schedule::new(Some(100), 10);
        assert_eq!(schedule.read(100).remaining_ns, 10);
        assert_eq!(schedule.read(125).remaining_ns, 5);
        assert_eq!(schedule.advance(100), Some(0));
        assert_eq!(schedule.expires_ns(), Some(110));
        assert_eq!(schedule.advance(135), Some(2));
        assert_eq!(schedule.expires_ns(), Some(140));
    }

    #[test]
    fn the_end_of_time() {
        let mut schedule = Schedule::new(Some(10), u64::MAX);
        assert_eq!(schedule.advance(10), None);
        assert_eq!(schedule.expires_ns(), None);
    }

    proptest! {
        #[test]
        fn the_next_expiry_is_the_first_after_now(
            first in 0..1_u64 << 60, interval in 1..1_u64 << 40, late in 0..1_u64 << 50,
        ) {
            let mut schedule = Schedule::new(Some(first), interval);
            let now = first + late;
            let skipped = schedule.advance(now).unwrap();
            let next = schedule.expires_ns().unwrap();
            prop_assert!(next > now && next - now <= interval);
            prop_assert_eq!(first + (skipped + 1) * interval, next);
            prop_assert_eq!(Schedule::new(Some(first), interval).read(now).remaining_ns, next - now);
        }
    }
}
