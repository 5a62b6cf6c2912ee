// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pages that every program shares with the kernel: the clock's data page and, right behind it, the vDSO's code.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_hal::cpu;
use hadal_hal::memory::frames::{Block, Lent};
use hadal_mem::frames::{self, ZonePolicy};
use hadal_mem::space::{
    IoError, MapBacking, MapRequest, Name, PAGE_SIZE, PageSource, Placement, Prot, SourceId, SpaceError,
};
use hadal_time::vvar;
use spin::Once;

use crate::process::Process;
use crate::vdso;

/// The frames, made once.
struct Pages {
    frames: Vec<&'static Block>,
}

/// A number that no file system has: device 0.
const SOURCE: SourceId = SourceId { dev: 0, ino: 1 };

impl PageSource for Pages {
    fn id(&self) -> SourceId {
        SOURCE
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, IoError> {
        let frame = self.frames.get(offset as usize / PAGE_SIZE).ok_or(IoError::Failed)?;
        let len = buffer.len().min(PAGE_SIZE);
        frame.read(0, &mut buffer[..len]);
        Ok(len)
    }

    fn can_share(&self) -> bool {
        true
    }

    fn is_kernels_own(&self) -> bool {
        true
    }

    fn shared_frame(&self, index: u64, _writable: bool) -> Result<Option<Lent>, IoError> {
        Ok(self.frames.get(index as usize).map(|frame| frame.lend()))
    }
}

static PAGES: Once<Option<Arc<Pages>>> = Once::new();

fn make() -> Option<Arc<Pages>> {
    let new = || Some(frames::global().alloc_zeroed(0, ZonePolicy::Local)?.into_block().leak());
    let data = new()?;
    let features = if cpu::has_rdtscp() { vvar::FEATURE_RDTSCP } else { 0 };
    vvar::attach(data.words(), features);
    let mut all = Vec::new();
    all.push(data);
    for page in vdso::IMAGE.chunks(PAGE_SIZE) {
        let frame = new()?;
        frame.write(0, page);
        all.push(frame);
    }
    Some(Arc::new(Pages { frames: all }))
}

/// Maps data page and vDSO next to each other; returns the vDSO's address.
pub(super) fn map(process: &Process) -> Result<usize, SpaceError> {
    let pages = PAGES.call_once(make).as_ref().ok_or(SpaceError::NoMemory)?;
    let code_len = (pages.frames.len() - 1) * PAGE_SIZE;
    let place = |len, placement, prot, offset, name| {
        let mut request = MapRequest::anonymous(len, prot);
        request.placement = placement;
        request.max_prot = prot;
        request.name = Name::Static(name);
        request.backing = MapBacking::File { source: pages.clone(), offset, shared: true };
        process.space().map(request)
    };
    let data_len = vdso::VVAR_BYTES;
    let mut whole = MapRequest::anonymous(data_len + code_len, Prot::empty());
    whole.placement = Placement::Anywhere;
    let base = process.space().map(whole)?;
    place(data_len, Placement::Fixed(base), Prot::READ, 0, "[vvar]")?;
    place(code_len, Placement::Fixed(base + data_len), Prot::READ | Prot::EXEC, data_len as u64, "[vdso]")
}
