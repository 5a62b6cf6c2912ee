// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mmap(2)`: maps anonymous memory or a file.
//!
//! Honoured: MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE, MAP_ANONYMOUS, MAP_FIXED, MAP_FIXED_NOREPLACE, MAP_POPULATE (ENOMEM when memory
//! runs out), MAP_LOCKED (as mlock; EAGAIN beyond RLIMIT_MEMLOCK, EPERM if it is 0), MAP_NORESERVE (as all memory: nothing is reserved), MAP_STACK (4 KiB pages); ignored as on Linux: MAP_DENYWRITE,
//! MAP_EXECUTABLE, MAP_NONBLOCK, MAP_GROWSDOWN (the main stack is mapped whole). ENOMEM beyond RLIMIT_AS or RLIMIT_DATA, of which the
//! main stack takes nothing. EPERM for shared mappings that write to what is sealed.
//!
//! Refused: MAP_HUGETLB (EINVAL: large pages come by themselves), MAP_SYNC and unknown flags with MAP_SHARED_VALIDATE
//! (EOPNOTSUPP), MAP_DROPPABLE (EINVAL).

use alloc::string::String;

use hadal_mem::space::{FaultOutcome, Lock, MapBacking, MapRequest, Name, Placement, Prot, VmaFlags};
use hadal_vfs::OpenFlags;
use linux_raw_sys::general::*;

use super::common::{page_aligned, pages, prot};
use super::errno;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, filling, locking, machine};

const MAP_TYPE_MASK: u32 = 0x0f;
const KNOWN: u32 = MAP_TYPE_MASK
    | MAP_FIXED
    | MAP_ANONYMOUS
    | MAP_GROWSDOWN
    | MAP_DENYWRITE
    | MAP_EXECUTABLE
    | MAP_LOCKED
    | MAP_NORESERVE
    | MAP_POPULATE
    | MAP_NONBLOCK
    | MAP_STACK
    | MAP_FIXED_NOREPLACE
    | MAP_UNINITIALIZED;

signature!(Address, Size, Flags(&flags::PROT), Flags(&flags::MAP), Int, Hex => Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, len) = (call.arg(0), call.arg(1));
    let (flags, offset) = (call.uint(3), call.arg(5));
    let mut request = MapRequest::anonymous(pages(len)?, prot(call.uint(2))?);
    if len == 0 || flags & MAP_HUGETLB != 0 {
        return Err(Errno::EINVAL);
    }
    page_aligned(offset)?;
    let shared = match flags & MAP_TYPE_MASK {
        MAP_PRIVATE => false,
        MAP_SHARED => true,
        MAP_SHARED_VALIDATE if flags & !KNOWN == 0 => true,
        MAP_SHARED_VALIDATE => return Err(Errno::EOPNOTSUPP),
        _ => return Err(Errno::EINVAL),
    };
    request.placement = if flags & MAP_FIXED_NOREPLACE != 0 {
        Placement::FixedNoReplace(page_aligned(address)?)
    } else if flags & MAP_FIXED != 0 {
        Placement::Fixed(page_aligned(address)?)
    } else if address != 0 {
        Placement::Hint(address)
    } else {
        Placement::Anywhere
    };
    request.flags.set(VmaFlags::STACK, flags & MAP_STACK != 0);
    request.flags.set(VmaFlags::NO_RESERVE, flags & MAP_NORESERVE != 0);
    if flags & MAP_ANONYMOUS == 0 {
        back_by_file(call, &mut request, offset as u64, shared)?;
    } else if shared {
        request.backing = MapBacking::SharedAnonymous;
    }
    let mut limits = locking::limits(call.process);
    let lock = if flags & MAP_LOCKED != 0 {
        locking::check(call.process)?;
        limits.locked = locking::limit(call.process);
        Some(Lock::Full)
    } else {
        None
    };
    let (len, accessible) = (request.len, !request.prot.is_empty());
    let executable = request.prot.contains(Prot::EXEC);
    let mapped = call.process.space().map_within(request, lock, limits).map_err(errno)?;
    if flags & MAP_POPULATE != 0 && flags & MAP_NONBLOCK == 0 && accessible {
        populate(call, mapped, len)?;
    } else if accessible && flags & (MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN) == 0 {
        filling::fill_mapping(call.process, mapped, len);
    }
    locking::fill(call.process, mapped, len);
    if executable {
        machine::get().code_mapped(call.process);
    }
    Ok(mapped)
}

/// Fills a new mapping. As on Linux it stands even if its file could not be read; but a program that asked for memory to be
/// there gets to know that there is none.
fn populate(call: &Call<'_>, mapped: usize, len: usize) -> Result<()> {
    if filling::populate(call.process, mapped, len) == Err(FaultOutcome::OutOfMemory) {
        call.process.space().unmap(mapped, len).map_err(errno)?;
        return Err(Errno::ENOMEM);
    }
    Ok(())
}

fn back_by_file(call: &Call<'_>, request: &mut MapRequest, offset: u64, shared: bool) -> Result<()> {
    let open = call.process.files().get(call.int(4))?;
    let file = open.file()?;
    let status: OpenFlags = open.status();
    if !status.readable() || (shared && request.prot.contains(Prot::WRITE) && !status.writable()) {
        return Err(Errno::EACCES);
    }
    if shared && request.prot.contains(Prot::WRITE) && !file.maps_shared_writable() {
        return Err(Errno::ENODEV);
    }
    if shared && !(status.writable() && file.maps_shared_writable()) {
        request.max_prot.remove(Prot::WRITE);
    }
    let source = if shared && request.max_prot.contains(Prot::WRITE) {
        match file.clone().writable_page_source() {
            // Content that is sealed may be looked at.
            Err(Errno::EPERM) if !request.prot.contains(Prot::WRITE) => {
                request.max_prot.remove(Prot::WRITE);
                file.clone().page_source()
            }
            source => source?,
        }
    } else {
        file.clone().page_source()
    };
    let source = source.ok_or(Errno::ENODEV)?;
    open.accessed();
    let path = String::from_utf8_lossy(open.location().path());
    request.name = Name::Path(path.as_ref().into());
    request.backing = MapBacking::File { source, offset, shared };
    Ok(())
}
