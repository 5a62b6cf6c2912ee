// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The code of a program, with the unwind tables of its files in memory: interrupts cannot read files.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::memory::user;
use hadal_linux::process::Process;
use hadal_linux::report;
use hadal_mem::space::{Prot, VmaInfo};
use hadal_sync::Mutex;
use hadal_unwind::{Code, Object, Program, Table};

/// Most executable mappings that are looked at; code in others has no tables.
const MAX_MAPPINGS: usize = 4096;

/// An executable mapping, and what was read for it.
struct Known {
    vma: VmaInfo,
    object: Arc<Object>,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Looks at the executable mappings of a program, and reads the tables of new ones; hands the result to `publish`, unless
/// nothing has changed. One caller at a time.
pub(super) fn refresh(process: &Process, publish: impl FnOnce(Arc<Code>)) {
    let mut known = KNOWN.lock();
    let mapped = executable(process);
    let is_same = |known: &Known, vma: &VmaInfo| {
        let old = &known.vma;
        (old.start, old.end, old.offset) == (vma.start, vma.end, vma.offset) && old.name == vma.name
    };
    if mapped.len() == known.len() && mapped.iter().zip(known.iter()).all(|(vma, known)| is_same(known, vma))
    {
        return;
    }
    let mut now = Vec::new();
    for vma in mapped.into_iter().take(MAX_MAPPINGS) {
        let object = match known.iter().find(|known| is_same(known, &vma)) {
            Some(known) => known.object.clone(),
            None => Arc::new(report::object(process, &vma)),
        };
        now.push(Known { vma, object });
    }
    *known = now;
    publish(Arc::new(Code::new(known.iter().map(|known| known.object.clone()).collect())));
}

/// Executable mappings, by address.
pub(super) fn executable(process: &Process) -> Vec<VmaInfo> {
    let mut mapped = Vec::new();
    process.space.vmas(&mut |vma| {
        if vma.prot.contains(Prot::EXEC) {
            mapped.push(vma.clone());
        }
    });
    mapped
}

/// A program whose stack is walked in an interrupt: what is not in memory is not there.
pub(super) struct Resident<'a>(pub(super) &'a Code);

impl Program for Resident<'_> {
    type Bytes<'a>
        = &'a [u8]
    where
        Self: 'a;

    fn word(&self, address: u64) -> Option<u64> {
        user::load_u64(address as usize).ok()
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        user::copy_from(bytes, address as usize).is_ok()
    }

    fn code(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.read(address, bytes)
    }

    fn is_code(&self, address: u64) -> bool {
        self.0.contains(address)
    }

    fn table(&self, address: u64) -> Option<Table<&[u8]>> {
        self.0.table(address)
    }
}
