// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The code of a program, with the unwind tables of its files in memory: interrupts cannot read files.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use hadal_hal::memory::fallible::{self, MakeRoom};
use hadal_hal::memory::user;
use hadal_linux::process::Process;
use hadal_mem::frames;
use hadal_mem::space::{Prot, VmaInfo};
use hadal_sync::Mutex;
use hadal_unwind::{Code, Object, Program, Table, Tables};

/// Most executable mappings that are looked at; code in others has no callers and no names.
const MAX_MAPPINGS: usize = 4096;
/// Share of the machine's memory that unwind tables may take; code in further files has none.
const TABLE_SHARE: u64 = 16;

/// Memory that unwind tables take.
static TABLE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Unwind tables that are counted.
struct Counted(Arc<Tables>);

impl Counted {
    /// Reads those of a mapping's file, if there is room for them.
    fn read(process: &Process, vma: &VmaInfo) -> Option<Arc<Self>> {
        let share = (frames::global().stats().total_bytes / TABLE_SHARE) as usize;
        let room = share.saturating_sub(TABLE_BYTES.load(Ordering::Relaxed));
        let tables = fallible::arc(hadal_report::unwind_tables(process, vma, room)?).ok()?;
        TABLE_BYTES.fetch_add(tables.memory_bytes(), Ordering::Relaxed);
        fallible::arc(Self(tables)).ok()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        TABLE_BYTES.fetch_sub(self.0.memory_bytes(), Ordering::Relaxed);
    }
}

/// An executable mapping, and what was read for it.
struct Known {
    vma: VmaInfo,
    tables: Option<Arc<Counted>>,
    object: Arc<Object>,
}

impl Known {
    fn new(vma: VmaInfo, tables: Option<Arc<Counted>>) -> Option<Self> {
        let range = vma.start as u64..vma.end as u64;
        let object = Object::new(range, tables.as_ref().map(|counted| counted.0.clone()));
        Some(Self { vma, tables, object: fallible::arc(object).ok()? })
    }

    /// Whether the mapping is this one, still.
    fn is(&self, vma: &VmaInfo) -> bool {
        let old = &self.vma;
        (old.start, old.end, old.offset) == (vma.start, vma.end, vma.offset) && old.name == vma.name
    }

    /// Whether the tables are good for another mapping: of the same file, moved by the same distance. A program may split a
    /// mapping into many.
    fn describes(&self, vma: &VmaInfo) -> bool {
        let distance = |vma: &VmaInfo| (vma.start as u64).wrapping_sub(vma.offset);
        distance(&self.vma) == distance(vma) && self.vma.name == vma.name
    }
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Looks at the executable mappings of a program, and reads the tables of new ones; hands the result to `publish`, unless
/// nothing has changed. One caller at a time. When memory is short, what was known before stays.
pub(super) fn refresh(process: &Process, publish: impl FnOnce(Arc<Code>)) {
    let mut known = KNOWN.lock();
    let mapped = executable(process);
    if mapped.len() == known.len() && mapped.iter().zip(known.iter()).all(|(vma, known)| known.is(vma)) {
        return;
    }
    if let Some((now, code)) = look_at(process, &known, mapped) {
        *known = now;
        publish(code);
    }
}

fn look_at(process: &Process, known: &[Known], mapped: Vec<VmaInfo>) -> Option<(Vec<Known>, Arc<Code>)> {
    let mut now: Vec<Known> = fallible::room_for(mapped.len()).ok()?;
    let mut objects = fallible::room_for(mapped.len()).ok()?;
    for vma in mapped {
        let same = known.binary_search_by_key(&vma.start, |known| known.vma.start).ok();
        let next = match same.map(|at| &known[at]).filter(|known| known.is(&vma)) {
            Some(Known { tables, object, .. }) => {
                Known { vma, tables: tables.clone(), object: object.clone() }
            }
            None => {
                let described = now.last().into_iter().chain(known).find(|known| known.describes(&vma));
                let tables = match described {
                    Some(described) => described.tables.clone(),
                    None => Counted::read(process, &vma),
                };
                Known::new(vma, tables)?
            }
        };
        objects.push(next.object.clone());
        now.push(next);
    }
    let code = fallible::arc(Code::new(objects)).ok()?;
    Some((now, code))
}

/// Executable mappings, by address, as many as are looked at.
pub(super) fn executable(process: &Process) -> Vec<VmaInfo> {
    let mut mapped: Vec<VmaInfo> = Vec::new();
    let mut at = 0;
    // One at a time: memory is not asked for under the lock of the mappings.
    while let Some(vma) = process.space().next_mapping(at)
        && mapped.len() < MAX_MAPPINGS
    {
        at = vma.end;
        if vma.prot.contains(Prot::EXEC) && mapped.make_room(1).is_ok() {
            mapped.push(vma);
        }
    }
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
