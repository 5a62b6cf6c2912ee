// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `utimensat`, `futimesat`, `utimes` and `utime` have in common.

use hadal_vfs::{SetAttr, SetTime, Timespec};
use linux_raw_sys::general::{UTIME_NOW, UTIME_OMIT};

use super::at::Target;
use crate::process::Process;
use crate::{Errno, Result, memory};

/// New times of the last read and the last change; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileTimes {
    pub(crate) read: Option<SetTime>,
    pub(crate) changed: Option<SetTime>,
}

impl FileTimes {
    /// Both are the time of the call.
    const NOW: Self = Self { read: Some(SetTime::Now), changed: Some(SetTime::Now) };

    /// From an array of two `struct timespec`; a null pointer means now.
    pub(crate) fn from_timespecs(address: usize) -> Result<Self> {
        if address == 0 {
            return Ok(Self::NOW);
        }
        let [read, changed]: [[i64; 2]; 2] = memory::read(address)?;
        Ok(Self { read: from_timespec(read)?, changed: from_timespec(changed)? })
    }

    /// From an array of two `struct timeval`; a null pointer means now.
    pub(crate) fn from_timevals(address: usize) -> Result<Self> {
        if address == 0 {
            return Ok(Self::NOW);
        }
        let [read, changed]: [[i64; 2]; 2] = memory::read(address)?;
        Ok(Self { read: from_timeval(read)?, changed: from_timeval(changed)? })
    }

    /// From a `struct utimbuf`; a null pointer means now.
    pub(crate) fn from_utimbuf(address: usize) -> Result<Self> {
        if address == 0 {
            return Ok(Self::NOW);
        }
        let at = |sec| Some(SetTime::At(Timespec { sec, nsec: 0 }));
        let [read, changed]: [i64; 2] = memory::read(address)?;
        Ok(Self { read: at(read), changed: at(changed) })
    }

    /// Nothing is to be changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.read.is_none() && self.changed.is_none()
    }

    /// Sets them.
    pub(crate) fn apply(&self, process: &Process, target: &Target) -> Result<usize> {
        let change = SetAttr { atime: self.read, mtime: self.changed, ..SetAttr::default() };
        target.set_attr(process, &change)?;
        Ok(0)
    }
}

fn from_timespec([sec, nsec]: [i64; 2]) -> Result<Option<SetTime>> {
    const NOW: i64 = UTIME_NOW as i64;
    const OMIT: i64 = UTIME_OMIT as i64;
    match nsec {
        NOW => Ok(Some(SetTime::Now)),
        OMIT => Ok(None),
        0..1_000_000_000 => Ok(Some(SetTime::At(Timespec { sec, nsec: nsec as u32 }))),
        _ => Err(Errno::EINVAL),
    }
}

fn from_timeval([sec, usec]: [i64; 2]) -> Result<Option<SetTime>> {
    match usec {
        0..1_000_000 => Ok(Some(SetTime::At(Timespec { sec, nsec: usec as u32 * 1000 }))),
        _ => Err(Errno::EINVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_nanoseconds_are_understood() {
        let spec = |nsec| from_timespec([3, nsec]);
        assert_eq!(spec(5), Ok(Some(SetTime::At(Timespec { sec: 3, nsec: 5 }))));
        assert_eq!(spec(i64::from(UTIME_NOW)), Ok(Some(SetTime::Now)));
        assert_eq!(spec(i64::from(UTIME_OMIT)), Ok(None));
        assert_eq!(spec(1_000_000_000), Err(Errno::EINVAL));
        assert_eq!(spec(-1), Err(Errno::EINVAL));
        let val = |usec| from_timeval([3, usec]);
        assert_eq!(val(999_999), Ok(Some(SetTime::At(Timespec { sec: 3, nsec: 999_999_000 }))));
        assert_eq!(val(1_000_000), Err(Errno::EINVAL));
    }
}
