// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory: mappings, protection, the break, advice.

use crate::Errno;
use hadal_mem::space::SpaceError;

calls! {
    9 mmap;
    10 mprotect;
    11 munmap;
    12 brk;
    25 mremap;
    26 msync;
    27 mincore;
    28 madvise;
    149 mlock;
    150 munlock;
    151 mlockall;
    152 munlockall;
    237 mbind;
    238 set_mempolicy;
    239 get_mempolicy;
    256 migrate_pages;
    279 move_pages;
    310 process_vm_readv;
    311 process_vm_writev;
    325 mlock2;
    450 set_mempolicy_home_node;
}

mod common;
mod process_vm;

/// The error that a program sees for one of the address space.
pub(in crate::syscall) fn errno(error: SpaceError) -> Errno {
    match error {
        SpaceError::Invalid => Errno::EINVAL,
        SpaceError::NoMemory | SpaceError::NoMapping => Errno::ENOMEM,
        SpaceError::Forbidden => Errno::EPERM,
        SpaceError::Access => Errno::EACCES,
        SpaceError::Exists => Errno::EEXIST,
        SpaceError::BadAddress => Errno::EFAULT,
        SpaceError::NotSupported => Errno::ENODEV,
        SpaceError::Io => Errno::EIO,
        SpaceError::LockLimit => Errno::EAGAIN,
    }
}
