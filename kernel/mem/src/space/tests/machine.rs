// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A window on a simulated machine, and a program that touches memory there.

use std::sync::Arc;

use hadal_hal::memory::frames;

use super::super::*;
pub(super) use super::file::TestFile;
use super::sim::Sim;
use crate::frames::FrameAllocator;
use crate::frames::tests::allocator;

pub(super) const PAGE: usize = PAGE_SIZE;
pub(super) const LARGE: usize = LARGE_BYTES;
pub(super) const MIB: usize = 1 << 20;
pub(super) const RW: Prot = Prot::READ.union(Prot::WRITE);
pub(super) const NONE: Prot = Prot::empty();

/// A window on a simulated machine.
pub(super) struct Machine {
    pub(super) space: AddressSpace<Sim>,
    pub(super) sim: Sim,
    pub(super) frames: &'static FrameAllocator,
    free_before: u64,
}

impl Machine {
    pub(super) fn new(mib: usize, cpus: usize) -> Self {
        Self::on(allocator(&[mib]), cpus)
    }

    pub(super) fn on(frames: &'static FrameAllocator, cpus: usize) -> Self {
        let sim = Sim::new(cpus);
        sim.state().frames = Some(frames);
        let space = AddressSpace::new(sim.clone(), frames, Layout::default());
        Self { space, sim, frames, free_before: frames.stats().free_bytes }
    }

    /// A copy of the window, with TLBs of its own.
    pub(super) fn fork(&self) -> Result<Self, SpaceError> {
        let cpus = self.sim.cpus();
        let copy = Self::on(self.frames, cpus);
        copy.sim.join(&self.sim);
        self.space.copy_to(&copy.space)?;
        Ok(copy)
    }

    pub(super) fn map(&self, len: usize, prot: Prot) -> usize {
        self.space.map(MapRequest::anonymous(len, prot)).expect("map")
    }

    pub(super) fn map_at(&self, at: usize, len: usize, prot: Prot) -> usize {
        let placement = Placement::Fixed(at);
        self.space.map(MapRequest { placement, ..MapRequest::anonymous(len, prot) }).expect("map")
    }

    pub(super) fn map_file(
        &self,
        file: &Arc<TestFile>,
        offset: usize,
        len: usize,
        prot: Prot,
        shared: bool,
    ) -> usize {
        let backing = file.backing(offset, shared);
        self.space.map(MapRequest { backing, ..MapRequest::anonymous(len, prot) }).expect("map")
    }

    /// Accesses a byte as CPU `cpu` does, faulting as often as it takes.
    fn reach(&self, cpu: usize, va: usize, access: FaultAccess) -> Result<u64, FaultOutcome> {
        for _ in 0..4 {
            let found = {
                let mut state = self.sim.state();
                state.cpu = cpu;
                state.access(cpu, va, access)
            };
            if let Some(pa) = found {
                return Ok(pa);
            }
            match self.space.fault(va, access) {
                FaultOutcome::Resolved => {}
                outcome => return Err(outcome),
            }
        }
        panic!("the access at {va:#x} faults for ever");
    }

    pub(super) fn read_on(&self, cpu: usize, va: usize) -> Result<u8, FaultOutcome> {
        let pa = self.reach(cpu, va, FaultAccess::Read)?;
        let mut byte = [0];
        frames::host_read(pa, &mut byte);
        Ok(byte[0])
    }

    pub(super) fn write_on(&self, cpu: usize, va: usize, value: u8) -> Result<(), FaultOutcome> {
        let pa = self.reach(cpu, va, FaultAccess::Write)?;
        frames::host_write(pa, &[value]);
        Ok(())
    }

    pub(super) fn read(&self, va: usize) -> Result<u8, FaultOutcome> {
        self.read_on(0, va)
    }

    pub(super) fn write(&self, va: usize, value: u8) -> Result<(), FaultOutcome> {
        self.write_on(0, va, value)
    }

    pub(super) fn resident(&self) -> usize {
        self.space.stats().resident_bytes
    }

    pub(super) fn ranges(&self) -> Vec<(usize, usize, Prot)> {
        let mut ranges = Vec::new();
        self.space.vmas(&mut |vma| ranges.push((vma.start, vma.end, vma.prot)));
        ranges
    }

    pub(super) fn check_tlbs(&self) {
        self.sim.state().check_tlbs(self.frames, |page| self.space.inner.read().map.find(page).is_some());
    }

    /// Empties the window: nothing may be left.
    pub(super) fn finish(self) {
        self.space.clear();
        let stats = self.space.stats();
        assert_eq!((stats.mappings, stats.mapped_bytes), (0, 0));
        assert_eq!((stats.resident_bytes, stats.shared_bytes, stats.quarantined_bytes), (0, 0, 0));
        assert_eq!(self.frames.stats().free_bytes, self.free_before, "frames leaked");
    }
}
