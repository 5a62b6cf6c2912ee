// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where threads run: the CPU for a new one, and what it is bound to.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_hal::cpu::set::CpuSet;
use hadal_hrt_abi::base::CPU_ANY;
use hadal_mem::frames;
use spin::Once;

use crate::record::Record;
use crate::status::Status;

/// [`Record::place`] of a thread that may run anywhere.
pub(crate) const ANYWHERE: i32 = CPU_ANY;
/// [`Record::place`] of a thread bound to zone `z` is `IN_ZONE - z`.
pub(crate) const IN_ZONE: i32 = -2;

/// The CPUs of each zone.
static ZONES: Once<Vec<Arc<CpuSet>>> = Once::new();

/// Prepares the sets that threads are bound to.
pub(crate) fn init() {
    let frames = frames::global();
    let set = |wanted: &dyn Fn(usize) -> bool| {
        let mut set = CpuSet::new_empty(cpu::count());
        (0..cpu::count()).filter(|&cpu| wanted(cpu)).for_each(|cpu| set.insert(cpu));
        Arc::new(set)
    };
    ZONES.call_once(|| {
        let zones = 0..frames.zone_count();
        zones.map(|zone| set(&|cpu| zone_of(cpu) == zone)).collect()
    });
}

/// A CPU number of a program's.
pub(crate) fn checked_cpu(number: i32) -> Result<usize, Status> {
    usize::try_from(number).ok().filter(|&cpu| cpu < cpu::count()).ok_or(Status::Invalid)
}

/// A zone that has CPUs, for binding.
pub(crate) fn checked_zone(number: i32) -> Result<usize, Status> {
    let zone = usize::try_from(number).map_err(|_| Status::Invalid)?;
    let cpus = cpus_of(zone).ok_or(Status::Invalid)?;
    if cpus.is_empty() { Err(Status::Invalid) } else { Ok(zone) }
}

/// The zone of a CPU.
pub(crate) fn zone_of(cpu: usize) -> usize {
    usize::from(frames::global().cpu_zone(cpu).0)
}

fn cpus_of(zone: usize) -> Option<&'static Arc<CpuSet>> {
    ZONES.get()?.get(zone)
}

/// The CPU on which a new thread with a place should start: for a free one an idle CPU if there is one, else the caller's.
#[inline(always)]
pub(crate) fn target(place: i32) -> usize {
    let own = cpu::current_id();
    match place {
        ANYWHERE if cpu::count() == 1 => own,
        ANYWHERE => hadal_sched::claim_idle(own).unwrap_or(own),
        0.. => place as usize,
        _ => in_zone(place, own),
    }
}

#[cold]
fn in_zone(place: i32, own: usize) -> usize {
    let allowed = |cpus: &Arc<CpuSet>| if cpus.contains(own) { Some(own) } else { cpus.iter().next() };
    cpus_of((IN_ZONE - place) as usize).and_then(allowed).unwrap_or(own)
}

/// Binds a thread as `place` says, if it is not so bound already.
#[inline(always)]
pub(crate) fn bind(record: &Record, place: i32) {
    let thread = record.thread();
    let is_so = record.place.load(Ordering::Relaxed) == place
        && match place {
            ANYWHERE => thread.is_free(),
            0.. => thread.bound() == Some(place as usize),
            _ => true,
        };
    if !is_so {
        bind_anew(record, place);
    }
}

#[cold]
fn bind_anew(record: &Record, place: i32) {
    record.place.store(place, Ordering::Relaxed);
    match place {
        ANYWHERE => record.thread().bind(None),
        0.. => record.thread().bind(Some(place as usize)),
        _ => hadal_sched::set_affinity(record.thread(), cpus_of((IN_ZONE - place) as usize).cloned()),
    }
}
