// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who has the memory of `alloc` in a machine that runs several processes, or one program after the other.
//!
//! Pointers to it mean the same in all processes, and a child of `fork` has its parent's. So a block belongs to the process that
//! has allocated it and to those that have come from it since by `fork`; when the last of them has ended or has another program,
//! its blocks go back. Only they can free them. A program that has its machine for itself keeps no such record: its memory goes with
//! the machine.

use core::sync::atomic::{AtomicBool, Ordering};

use alloc::collections::BTreeMap;

use hadal_hal::memory::fallible::{OutOfMemory, SMALL_BYTES, admit};
use hadal_mem::blocks::Blocks;
use hadal_sync::Mutex;

/// Some processes that have blocks in common.
type Owner = u64;

struct Owners {
    /// By physical address.
    blocks: BTreeMap<u64, Owner>,
    /// By number of the window.
    windows: BTreeMap<u16, Owner>,
    last: Owner,
}

static OWNERS: Mutex<Owners> =
    Mutex::new(Owners { blocks: BTreeMap::new(), windows: BTreeMap::new(), last: 0 });

/// Whether there has been an owner: most machines have none.
static ANY: AtomicBool = AtomicBool::new(false);

/// Records that processes in `window` have the new block at `pa`.
pub(crate) fn add(window: u16, pa: u64) -> Result<(), OutOfMemory> {
    let mut owners = OWNERS.lock();
    // The two maps grow by one each.
    admit(2 * SMALL_BYTES)?;
    ANY.store(true, Ordering::Relaxed);
    let owner = owners.of(window);
    owners.blocks.insert(pa, owner);
    Ok(())
}

/// Whether processes in `window` may free the block at `pa`; then nobody has it any more. One that was allocated before there were
/// owners is everybody's.
pub(crate) fn remove(window: u16, pa: u64) -> bool {
    let mut owners = OWNERS.lock();
    let Some(&owner) = owners.blocks.get(&pa) else { return true };
    let may = owners.windows.get(&window) == Some(&owner);
    if may {
        owners.blocks.remove(&pa);
    }
    may
}

/// The blocks of the processes in window `from` are those of the processes in `to` as well, in which there are none yet.
pub(crate) fn share(from: u16, to: u16) -> Result<(), OutOfMemory> {
    if !ANY.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut owners = OWNERS.lock();
    if let Some(&owner) = owners.windows.get(&from) {
        admit(SMALL_BYTES)?;
        owners.windows.insert(to, owner);
    }
    Ok(())
}

/// No process runs in `window` any more: blocks that nobody else has go back to `memory`.
pub(crate) fn leave(window: u16, memory: &Blocks) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    let mut owners = OWNERS.lock();
    let Owners { blocks, windows, .. } = &mut *owners;
    let Some(owner) = windows.remove(&window) else { return };
    if windows.values().any(|&other| other == owner) {
        return;
    }
    blocks.retain(|&pa, &mut of| {
        if of == owner {
            // What was recorded is a block.
            let _ = memory.free(pa);
        }
        of != owner
    });
}

impl Owners {
    /// The owner of what is allocated in a window.
    fn of(&mut self, window: u16) -> Owner {
        let next = self.last + 1;
        let owner = *self.windows.entry(window).or_insert(next);
        self.last = self.last.max(owner);
        owner
    }
}
