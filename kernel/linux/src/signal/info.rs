// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What comes with a signal: [`Info`] in the kernel, [`RawInfo`] (`siginfo_t`) in program memory.
//!
//! Linux gives the union that follows `si_code` meaning by signal and code. Here it is four words, filled by one
//! constructor for each kind of sender.

use linux_raw_sys::general;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::timer::TimerName;

/// `si_code` values for which the sender is the program itself.
pub mod code {
    use super::general;
    /// By `kill`.
    pub const USER: i32 = general::SI_USER as i32;
    /// By the kernel.
    pub const KERNEL: i32 = general::SI_KERNEL as i32;
    /// By `sigqueue`.
    pub const QUEUE: i32 = general::SI_QUEUE;
    /// By a POSIX timer.
    pub const TIMER: i32 = general::SI_TIMER;
    /// By a message in a queue.
    pub const MESSAGE_QUEUE: i32 = general::SI_MESGQ;
    /// By `tkill` or `tgkill`.
    pub const TKILL: i32 = general::SI_TKILL;
    /// Lowest of the codes whose layout Linux knows.
    pub const LOWEST_KNOWN: i32 = general::SI_DETHREAD;
}

/// Words of the union that can mean something.
const FIELDS: usize = 4;
/// Words of the union in program memory.
const RAW_FIELDS: usize = 14;

/// A signal on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Which signal.
    pub signo: u8,
    /// `si_errno`.
    pub errno: i32,
    /// `si_code`.
    pub code: i32,
    /// The union, from offset 16 on.
    pub fields: [u64; FIELDS],
    /// The timer that sent it and waits for its delivery.
    pub(super) timer: Option<TimerName>,
}

/// `siginfo_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct RawInfo {
    signo: i32,
    errno: i32,
    code: i32,
    reserved: u32,
    fields: [u64; RAW_FIELDS],
}

const _: () = assert!(size_of::<RawInfo>() == general::SI_MAX_SIZE as usize);

const fn two(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

impl Info {
    const fn new(signo: u8, code: i32, fields: [u64; FIELDS]) -> Self {
        Self { signo, errno: 0, code, fields, timer: None }
    }

    /// From the kernel: no sender.
    pub const fn kernel(signo: u8) -> Self {
        Self::new(signo, code::KERNEL, [0; FIELDS])
    }

    /// From a process: `code` says by which call.
    pub const fn sender(signo: u8, code: i32, pid: u32, uid: u32) -> Self {
        Self::new(signo, code, [two(pid, uid), 0, 0, 0])
    }

    /// A child has ended: its id and owner, its exit status or the signal that ended it, and its CPU time in clock ticks.
    pub const fn child(signo: u8, code: i32, (pid, uid): (u32, u32), status: i32, ticks: u64) -> Self {
        Self::new(signo, code, [two(pid, uid), two(status as u32, 0), ticks, 0])
    }

    /// From an instruction: `address` is what it touched, or where it is.
    pub const fn fault(signo: u8, code: i32, address: u64) -> Self {
        Self::new(signo, code, [address, 0, 0, 0])
    }

    /// From a POSIX timer.
    pub(crate) const fn timer(signo: u8, id: i32, value: u64) -> Self {
        Self::new(signo, code::TIMER, [two(id as u32, 0), value, 0, 0])
    }

    /// Stores how often the timer expired again before delivery (`si_overrun`).
    pub(super) fn set_overrun(&mut self, overrun: u32) {
        self.fields[0] = two(self.fields[0] as u32, overrun);
    }

    /// As the program sees it.
    #[inline]
    pub fn to_raw(&self) -> RawInfo {
        let [a, b, c, d] = self.fields;
        let fields = [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        RawInfo { signo: self.signo.into(), errno: self.errno, code: self.code, reserved: 0, fields }
    }
}

impl RawInfo {
    /// `si_signo`.
    pub fn signo(&self) -> i32 {
        self.signo
    }

    /// `si_code`.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The signal `signo` with this content; `None` if there is data in a place that the kernel does not keep.
    pub fn to_info(self, signo: u8) -> Option<Info> {
        let known = (code::LOWEST_KNOWN..0).contains(&self.code) || self.code == general::SI_ASYNCNL;
        let (kept, dropped) = self.fields.split_at(FIELDS);
        if !known && dropped.iter().any(|&word| word != 0) {
            return None;
        }
        let mut fields = [0; FIELDS];
        fields.copy_from_slice(kept);
        Some(Info { signo, errno: self.errno, code: self.code, fields, timer: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: &[u8], offset: usize) -> u32 {
        u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap())
    }

    #[test]
    fn kill_layout() {
        let raw = Info::sender(10, code::USER, 123, 1000).to_raw();
        let bytes = raw.as_bytes();
        assert_eq!([0, 4, 8, 16, 20].map(|offset| word(bytes, offset)), [10, 0, 0, 123, 1000]);
    }

    #[test]
    fn timer_layout() {
        let mut info = Info::timer(14, 3, 0x1_0000_0002);
        info.set_overrun(9);
        let raw = info.to_raw();
        let bytes = raw.as_bytes();
        assert_eq!([16, 20, 24, 28].map(|offset| word(bytes, offset)), [3, 9, 2, 1]);
        assert_eq!(word(bytes, 8) as i32, -2);
    }

    #[test]
    fn fault_layout() {
        let raw = Info::fault(11, 1, 0xdead_beef_0000).to_raw();
        assert_eq!(raw.fields[0], 0xdead_beef_0000);
        assert_eq!(core::mem::offset_of!(RawInfo, fields), 16);
    }

    #[test]
    fn a_program_may_queue_anything_that_fits() {
        let mut raw = Info::sender(40, code::QUEUE, 1, 2).to_raw();
        raw.fields[RAW_FIELDS - 1] = 1;
        assert_eq!(raw.to_info(40).map(|info| info.signo), Some(40));
        raw.code = -1000;
        assert_eq!(raw.to_info(40), None);
    }
}
