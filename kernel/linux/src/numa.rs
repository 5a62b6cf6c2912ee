// SPDX-License-Identifier: Apache-2.0 OR MIT
//! NUMA policies as programs write them (set_mempolicy(2), mbind(2)): modes, flags, and sets of nodes. A node is a zone.

use alloc::sync::Arc;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible;
use hadal_hal::sync::SpinLock;
use hadal_hal::threads::table::ThreadTable;
use hadal_mem::frames::{self, ZoneId};
use hadal_mem::space::{Mode, PAGE_SIZE, Policy, Zones, use_thread_policies};
use hadal_topology::lists::list;

use crate::task::Task;
use crate::{Errno, Result, memory};

/// `MPOL_DEFAULT`.
pub(crate) const DEFAULT: u32 = 0;
/// `MPOL_F_STATIC_NODES`.
const STATIC: u32 = 1 << 15;
/// `MPOL_F_RELATIVE_NODES`.
const RELATIVE: u32 = 1 << 14;
/// `MPOL_F_NUMA_BALANCING`: pages follow the threads that use them; no more than a hint.
const BALANCING: u32 = 1 << 13;
const FLAGS: u32 = STATIC | RELATIVE | BALANCING;
/// Nodes that a set can name (`MAX_NUMNODES`).
const MOST_NODES: usize = 1024;
const WORD_BITS: usize = u64::BITS as usize;

/// The policies of threads. They are seldom used, so they have a table of their own.
static POLICIES: ThreadTable<SpinLock<Option<Arc<Policy>>>> = ThreadTable::new();
/// Some thread has had one.
static IN_USE: AtomicBool = AtomicBool::new(false);

fn no_policy(_: u32) -> SpinLock<Option<Arc<Policy>>> {
    SpinLock::new(None)
}

/// Makes room for the policies of the threads around an index; false when memory is out.
pub(crate) fn prepare_table(index: u32) -> bool {
    POLICIES.prepare(index, no_policy)
}

fn place_of(task: &Task) -> &'static SpinLock<Option<Arc<Policy>>> {
    POLICIES.get(task.thread().id(), no_policy)
}

/// The policy of a thread.
pub fn of_thread(task: &Task) -> Option<Arc<Policy>> {
    place_of(task).lock().clone()
}

/// Gives a thread a policy, or takes it away.
pub(crate) fn set_of_thread(task: &Task, policy: Option<Arc<Policy>>) {
    if policy.is_some() {
        IN_USE.store(true, Ordering::Relaxed);
        use_thread_policies(|| of_thread(Task::current()));
    }
    let old = core::mem::replace(&mut *place_of(task).lock(), policy);
    drop(old);
}

/// A new thread has the policy of its creator, and takes its own turns. Without memory for that it shares them.
#[inline]
pub(crate) fn inherit(task: &Task, parent: Option<&Task>) {
    if IN_USE.load(Ordering::Relaxed) {
        inherit_policy(task, parent);
    }
}

#[inline(never)]
fn inherit_policy(task: &Task, parent: Option<&Task>) {
    let policy = parent.and_then(of_thread);
    let own = policy.map(|policy| fallible::arc(Policy::clone(&policy)).unwrap_or(policy));
    set_of_thread(task, own);
}

/// The zones that have memory, which programs may use.
pub(crate) fn all_zones() -> Zones {
    let frames = frames::global();
    let with_memory =
        (0..frames.zone_count()).filter(|&zone| frames.zone_stats(ZoneId(zone as u8)).total_bytes > 0);
    Zones::from_bits(with_memory.fold(0, |bits, zone| bits | 1 << zone))
}

/// Reads a set of nodes of `max_node - 1` bits, as Linux counts. Nodes that there cannot be are `EINVAL`.
pub(crate) fn read_nodes(address: usize, max_node: usize) -> Result<u64> {
    let bits = max_node.wrapping_sub(1);
    if bits == 0 || address == 0 {
        return Ok(0);
    }
    if bits > PAGE_SIZE * 8 {
        return Err(Errno::EINVAL);
    }
    let mut nodes = 0;
    for (index, first) in (0..bits).step_by(WORD_BITS).enumerate() {
        let mut word: u64 = memory::read(address.wrapping_add(index * size_of::<u64>()))?;
        if bits - first < WORD_BITS {
            word &= (1 << (bits - first)) - 1;
        }
        if first >= MOST_NODES && word != 0 {
            return Err(Errno::EINVAL);
        }
        if index == 0 {
            nodes = word;
        }
    }
    Ok(nodes)
}

/// Stores a set of nodes where `max_node - 1` bits have room.
pub(crate) fn write_nodes(address: usize, max_node: usize, nodes: u64) -> Result<()> {
    let bytes = max_node.wrapping_sub(1).div_ceil(WORD_BITS).saturating_mul(size_of::<u64>());
    if bytes > PAGE_SIZE {
        return Err(Errno::EINVAL);
    }
    for at in (0..bytes).step_by(size_of::<u64>()) {
        memory::write(address.wrapping_add(at), &if at == 0 { nodes } else { 0 })?;
    }
    Ok(())
}

/// A policy by mode, flags and nodes; `None` is that of no policy.
pub(crate) fn policy(mode: u32, nodes: u64) -> Result<Option<Arc<Policy>>> {
    let (flags, mode) = (mode & FLAGS, mode & !FLAGS);
    match build(mode, flags, nodes, all_zones())? {
        Some(policy) => Ok(Some(fallible::arc(policy)?)),
        None => Ok(None),
    }
}

fn build(mode: u32, flags: u32, nodes: u64, all: Zones) -> Result<Option<Policy>> {
    let both = STATIC | RELATIVE;
    let mode = match mode {
        DEFAULT => None,
        1 => Some(Mode::Preferred),
        2 => Some(Mode::Bind),
        3 => Some(Mode::Interleave),
        4 => Some(Mode::Local),
        5 => Some(Mode::PreferredMany),
        _ => return Err(Errno::EINVAL),
    };
    let follows = matches!(mode, Some(Mode::Bind | Mode::PreferredMany));
    if flags & both == both || flags & BALANCING != 0 && !follows {
        return Err(Errno::EINVAL);
    }
    let mode = match mode {
        None if nodes == 0 => return Ok(None),
        Some(Mode::Preferred) if nodes == 0 && flags & both == 0 => Mode::Local,
        Some(Mode::Local) if nodes == 0 && flags & both == 0 => Mode::Local,
        Some(mode) if nodes != 0 && mode != Mode::Local => mode,
        _ => return Err(Errno::EINVAL),
    };
    if mode == Mode::Local {
        return Ok(Some(Policy::new(mode, Zones::default(), None, (flags, nodes))));
    }
    let usable = match flags & RELATIVE {
        0 => nodes & all.bits(),
        _ => relative(nodes, all),
    };
    let usable = if mode == Mode::Preferred { usable & usable.wrapping_neg() } else { usable };
    if usable == 0 {
        return Err(Errno::EINVAL);
    }
    Ok(Some(Policy::new(mode, Zones::from_bits(usable), None, (flags, nodes))))
}

/// Node N is the Nth of those that may be used, round and round.
fn relative(nodes: u64, all: Zones) -> u64 {
    let count = all.count().max(1);
    let nth = |node: usize| all.iter().nth(node % count).map_or(0, |zone| 1 << zone.0);
    (0..WORD_BITS).filter(|node| nodes >> node & 1 != 0).fold(0, |bits, node| bits | nth(node))
}

/// Mode and flags as a program reads them.
pub(crate) fn mode_word(policy: Option<&Policy>) -> u32 {
    policy.map_or(DEFAULT, |policy| policy.mode as u32 | policy.given.0)
}

/// The nodes as a program reads them.
pub(crate) fn nodes(policy: Option<&Policy>) -> u64 {
    policy.map_or(0, |policy| {
        if policy.given.0 & (STATIC | RELATIVE) != 0 { policy.given.1 } else { policy.zones.bits() }
    })
}

/// Writes a policy as `/proc/PID/numa_maps` shows it.
pub fn show(text: &mut dyn Write, policy: Option<&Policy>) -> fmt::Result {
    let Some(policy) = policy else { return text.write_str("default") };
    text.write_str(match policy.mode {
        Mode::Preferred => "prefer",
        Mode::Bind => "bind",
        Mode::Interleave => "interleave",
        Mode::Local => "local",
        Mode::PreferredMany => "prefer (many)",
    })?;
    for (flag, name) in [(STATIC, "static"), (RELATIVE, "relative"), (BALANCING, "balancing")] {
        if policy.given.0 & flag != 0 {
            write!(text, "={name}")?;
        }
    }
    if policy.zones.is_empty() {
        return Ok(());
    }
    write!(text, ":{}", list(WORD_BITS, |zone| policy.zones.bits() >> zone & 1 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(mode: u32, flags: u32, nodes: u64) -> Result<Option<(Mode, u64)>> {
        let policy = build(mode, flags, nodes, Zones::from_bits(0b1111))?;
        Ok(policy.map(|policy| (policy.mode, policy.zones.bits())))
    }

    #[test]
    fn modes_and_nodes_fit_each_other() {
        assert_eq!(built(0, 0, 0), Ok(None));
        assert_eq!(built(1, 0, 0), Ok(Some((Mode::Local, 0))));
        assert_eq!(built(1, 0, 0b1100), Ok(Some((Mode::Preferred, 0b100))));
        assert_eq!(built(2, 0, 0b1_0010), Ok(Some((Mode::Bind, 0b10))));
        assert_eq!(built(3, RELATIVE, 0b11_0000), Ok(Some((Mode::Interleave, 0b11))));
        assert_eq!(built(5, STATIC | BALANCING, 1), Ok(Some((Mode::PreferredMany, 1))));
        let refused = [
            (0, 0, 1),
            (1, STATIC, 0),
            (2, 0, 0),
            (2, 0, 0b1_0000),
            (2, STATIC | RELATIVE, 1),
            (3, BALANCING, 1),
            (4, 0, 1),
            (4, STATIC, 0),
            (6, 0, 1),
            (7, 0, 1),
        ];
        for (mode, flags, nodes) in refused {
            assert_eq!(built(mode, flags, nodes), Err(Errno::EINVAL), "{mode} {flags:x} {nodes:x}");
        }
    }

    #[test]
    fn policies_have_the_words_of_linux() {
        let shown = |mode, flags, nodes| {
            let mut text = alloc::string::String::new();
            let policy = build(mode, flags, nodes, Zones::from_bits(0b1111)).unwrap();
            show(&mut text, policy.as_ref()).unwrap();
            text
        };
        assert_eq!(shown(0, 0, 0), "default");
        assert_eq!(shown(4, 0, 0), "local");
        assert_eq!(shown(2, STATIC, 0b1011), "bind=static:0-1,3");
        assert_eq!(shown(5, 0, 0b100), "prefer (many):2");
    }
}
