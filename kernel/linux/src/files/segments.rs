// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Program memory that a call names: one buffer ([`Segment`]), or the vector of `readv` and its relatives ([`Segments`]). Both
//! are used up from the front ([`Memory`]).

use core::ops::Range;

use hadal_hal::memory::frames::Block;
use hadal_hal::memory::user;
use hadal_mem::space::FaultAccess;
use hadal_vfs::Destination;
use smallvec::SmallVec;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::transfer::MAX_TRANSFER;
use crate::memory;
use crate::process::Process;
use crate::{Errno, Result};

/// Segments that a vector takes no memory for.
const FEW: usize = 4;
/// Most segments of a vector (`UIO_MAXIOV`).
const MAX_SEGMENTS: usize = linux_raw_sys::general::UIO_MAXIOV as usize;

/// `struct iovec`.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
struct Iovec {
    base: usize,
    len: usize,
}

/// Program memory, taken from the front.
pub(crate) trait Memory: Destination {
    /// Bytes left.
    fn len(&self) -> usize;

    /// `EFAULT` unless all of the memory may be accessed.
    fn check(&self, process: &Process, access: FaultAccess) -> Result<()>;

    /// Copies data to the front of the memory.
    fn scatter(&mut self, data: &[u8]) -> Result<()>;

    /// Fills a buffer from the front of the memory.
    fn gather(&mut self, buffer: &mut [u8]) -> Result<()>;
}

/// `EFAULT` unless the program may access all of a range in that way.
pub(crate) fn check_accessible(
    process: &Process,
    address: usize,
    len: usize,
    access: FaultAccess,
) -> Result<()> {
    if memory::permits(process, address, len, access) { Ok(()) } else { Err(Errno::EFAULT) }
}

/// One buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    address: usize,
    len: usize,
}

impl Segment {
    /// A buffer, cut off at [`MAX_TRANSFER`]; `EFAULT` for a length that is negative as a signed number, since no memory is
    /// that large.
    #[inline]
    pub(crate) fn new(address: usize, len: usize) -> Result<Self> {
        if len > isize::MAX as usize {
            return Err(Errno::EFAULT);
        }
        Ok(Self { address, len: len.min(MAX_TRANSFER) })
    }

    /// Takes `len` bytes off the front, and returns where they are.
    #[inline]
    fn take(&mut self, len: usize) -> Result<usize> {
        let address = self.address;
        self.len = self.len.checked_sub(len).ok_or(Errno::EFAULT)?;
        self.address = address.wrapping_add(len);
        Ok(address)
    }
}

impl Memory for Segment {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    fn check(&self, process: &Process, access: FaultAccess) -> Result<()> {
        check_accessible(process, self.address, self.len, access)
    }

    #[inline]
    fn scatter(&mut self, data: &[u8]) -> Result<()> {
        memory::write_bytes(self.take(data.len())?, data)
    }

    #[inline]
    fn gather(&mut self, buffer: &mut [u8]) -> Result<()> {
        memory::read_bytes(self.take(buffer.len())?, buffer)
    }
}

impl Destination for Segment {
    fn put(&mut self, page: &Block, within: usize, len: usize) -> Result<()> {
        page.copy_to_program(within, len, self.take(len)?).map_err(memory::efault)
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.scatter(bytes)
    }

    fn put_zeros(&mut self, len: usize) -> Result<()> {
        user::zero(self.take(len)?, len).map_err(memory::efault)
    }
}

/// A vector of buffers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    list: SmallVec<[Segment; FEW]>,
    /// Those before it are used up.
    first: usize,
    /// Bytes in the others.
    bytes: usize,
}

impl Segments {
    /// The buffers of an array of `count` `struct iovec` in program memory.
    pub(crate) fn vector(address: usize, count: usize) -> Result<Self> {
        if count > MAX_SEGMENTS {
            return Err(Errno::EINVAL);
        }
        let mut iovecs = memory::ProgramArray::<Iovec, FEW>::new();
        iovecs.read(address, count)?;
        Self::from_iovecs(&iovecs)
    }

    fn from_iovecs(iovecs: &[Iovec]) -> Result<Self> {
        let mut room = MAX_TRANSFER;
        let mut list = SmallVec::new();
        memory::make_room(&mut list, iovecs.len())?;
        for iovec in iovecs {
            if iovec.len > isize::MAX as usize {
                return Err(Errno::EINVAL);
            }
            let segment = Segment { address: iovec.base, len: iovec.len.min(room) };
            room -= segment.len;
            if segment.len > 0 {
                list.push(segment);
            }
        }
        Ok(Self { list, first: 0, bytes: MAX_TRANSFER - room })
    }

    /// Where the first buffer that is not used up is, and how long.
    pub(crate) fn front(&self) -> Option<(usize, usize)> {
        self.left().first().map(|segment| (segment.address, segment.len))
    }

    /// Leaves out so many bytes.
    pub(crate) fn skip(&mut self, len: usize) -> Result<()> {
        self.take(len, |_, _| Ok(()))
    }

    fn left(&self) -> &[Segment] {
        &self.list[self.first..]
    }

    /// Takes `len` bytes off the front; `each` gets every piece and where it lies within the `len` bytes.
    #[inline]
    fn take(&mut self, len: usize, mut each: impl FnMut(Segment, Range<usize>) -> Result<()>) -> Result<()> {
        let list = self.list.as_mut_slice();
        let mut at = 0;
        while at < len {
            let front = list.get_mut(self.first).ok_or(Errno::EFAULT)?;
            let part = front.len.min(len - at);
            self.bytes -= part;
            each(Segment { address: front.take(part)?, len: part }, at..at + part)?;
            self.first += usize::from(front.len == 0);
            at += part;
        }
        Ok(())
    }
}

impl Memory for Segments {
    #[inline]
    fn len(&self) -> usize {
        self.bytes
    }

    fn check(&self, process: &Process, access: FaultAccess) -> Result<()> {
        self.left().iter().try_for_each(|part| part.check(process, access))
    }

    fn scatter(&mut self, data: &[u8]) -> Result<()> {
        self.take(data.len(), |mut segment, range| segment.scatter(&data[range]))
    }

    fn gather(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.take(buffer.len(), |mut segment, range| segment.gather(&mut buffer[range]))
    }
}

impl Destination for Segments {
    fn put(&mut self, page: &Block, within: usize, len: usize) -> Result<()> {
        self.take(len, |mut segment, range| segment.put(page, within + range.start, range.len()))
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.scatter(bytes)
    }

    fn put_zeros(&mut self, len: usize) -> Result<()> {
        self.take(len, |mut segment, range| segment.put_zeros(range.len()))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn iovecs(parts: &[(usize, usize)]) -> Vec<Iovec> {
        parts.iter().map(|&(base, len)| Iovec { base, len }).collect()
    }

    #[test]
    fn an_iovec_is_two_words() {
        assert_eq!(size_of::<Iovec>(), 16);
    }

    #[test]
    fn pieces_are_taken_in_order() {
        let mut segments = Segments::from_iovecs(&iovecs(&[(100, 4), (0, 0), (200, 10), (300, 1)])).unwrap();
        assert_eq!(segments.len(), 15);
        let mut seen = vec![];
        let mut note = |segment: Segment, range: Range<usize>| {
            assert_eq!(segment.len, range.len());
            seen.push((segment.address, range));
            Ok(())
        };
        segments.take(6, &mut note).unwrap();
        segments.take(9, &mut note).unwrap();
        assert_eq!(seen, [(100, 0..4), (200, 4..6), (202, 0..8), (300, 8..9)]);
        assert_eq!(segments.len(), 0);
        assert_eq!(segments.take(1, |_, _| Ok(())), Err(Errno::EFAULT));
    }

    #[test]
    fn a_buffer_is_taken_from_the_front() {
        let mut buffer = Segment::new(100, 10).unwrap();
        assert_eq!((buffer.take(4), buffer.take(0), buffer.take(6)), (Ok(100), Ok(104), Ok(104)));
        assert_eq!((buffer.len(), buffer.take(1)), (0, Err(Errno::EFAULT)));
    }

    #[test]
    fn totals_are_cut_off_where_linux_does() {
        let huge = isize::MAX as usize;
        assert_eq!(Segment::new(0, huge).unwrap().len(), MAX_TRANSFER);
        assert_eq!(Segment::new(0, huge + 1), Err(Errno::EFAULT));
        let cut = Segments::from_iovecs(&iovecs(&[(0x1000, 5), (0x2000, huge), (0x3000, 5)])).unwrap();
        assert_eq!(cut.len(), MAX_TRANSFER);
        assert!(cut.list.iter().all(|segment| segment.address != 0x3000));
        assert_eq!(Segments::from_iovecs(&iovecs(&[(0, 1), (0, usize::MAX)])), Err(Errno::EINVAL));
        assert_eq!(Segments::vector(0, MAX_SEGMENTS + 1), Err(Errno::EINVAL));
        assert_eq!(Segments::from_iovecs(&[]).unwrap().len(), 0);
    }
}
