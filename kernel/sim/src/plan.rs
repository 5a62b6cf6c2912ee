// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the threads of one schedule do: lists of operations, made at random so that every thread comes to its end if no
//! wake-up is lost.
//!
//! The operations of all threads are made in one sequence. A thread takes a credit only after somebody has given it one in
//! that sequence: so the first operation that is not done yet can always be done.

use hadal_hal::sim::Random;

/// Most threads of a plan.
pub(crate) const THREADS: usize = 6;

/// How a thread is woken that gets a credit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waking {
    Unpark,
    WithoutKick,
    Here,
    Together,
    InTimer,
    /// `wake_and_park_call`: the giver takes a credit of its own next.
    HandOver,
}

/// How a thread waits for a credit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    Park,
    Call,
    Deadline(u64),
    CallDeadline(u64),
}

/// One operation. Threads are named by their number in the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Make and start a thread.
    Spawn(usize),
    Give(usize, Waking),
    Take(Waiting),
    Yield,
    YieldCall,
    YieldCallFull,
    Bind(usize, Option<usize>),
    /// The CPUs of a mask.
    Affinity(usize, u32),
    Priority(usize, u8),
    Stealable(usize, bool),
    RunToCompletion(usize, bool),
    Interrupt(usize),
    /// A wake-up that comes too late for whoever had the control block.
    Stale(usize),
    /// A timer that is perhaps stopped in time.
    Timer(u64, bool),
    Sleep(u64),
    Work(u32),
    /// A deadline without a promise, for a while.
    Aperiodic(u64),
}

/// One thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    pub(crate) ops: Vec<Op>,
    pub(crate) bound: Option<usize>,
    pub(crate) priority: u8,
    pub(crate) stealable: bool,
}

/// All of them; the root starts those that nobody else spawns.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) threads: Vec<Thread>,
    pub(crate) first: Vec<usize>,
}

fn bound(random: &Random, cpus: usize) -> Option<usize> {
    (!random.once_in(1)).then(|| random.below(cpus))
}

fn waiting(random: &Random) -> Waiting {
    match random.below(6) {
        0 | 1 => Waiting::Park,
        2 | 3 => Waiting::Call,
        4 => Waiting::Deadline(200 + random.below(20_000) as u64),
        _ => Waiting::CallDeadline(200 + random.below(20_000) as u64),
    }
}

fn waking(random: &Random) -> Waking {
    match random.below(8) {
        0 | 1 => Waking::Unpark,
        2 => Waking::WithoutKick,
        3 => Waking::Here,
        4 => Waking::Together,
        5 => Waking::InTimer,
        _ => Waking::HandOver,
    }
}

/// A plan for a machine with this many CPUs.
pub(crate) fn make(random: &Random, cpus: usize) -> Plan {
    if random.once_in(2) { wake_one(random, cpus) } else { mixed(random, cpus) }
}

/// One thread waits again and again, one wakes it where that one is, and one changes how it may run.
fn wake_one(random: &Random, cpus: usize) -> Plan {
    let fresh = |bound| Thread { ops: Vec::new(), bound, priority: 16, stealable: random.once_in(1) };
    let mut threads = vec![fresh(None), fresh(Some(0)), fresh(Some(random.below(cpus)))];
    let mut credits = 0;
    for _ in 0..20 + random.below(30) {
        let own = random.below(3);
        let op = match own {
            0 if credits > 0 => {
                credits -= 1;
                Op::Take(waiting(random))
            }
            1 => {
                credits += 1;
                Op::Give(0, if random.once_in(2) { Waking::Unpark } else { Waking::Here })
            }
            2 if random.once_in(2) => Op::Priority(0, 15 + random.below(3) as u8),
            2 if random.once_in(2) => Op::Interrupt(0),
            2 => Op::Bind(0, bound(random, cpus)),
            _ => Op::Work(1 + random.below(4) as u32),
        };
        threads[own].ops.push(op);
    }
    Plan { threads, first: vec![0, 1, 2] }
}

fn mixed(random: &Random, cpus: usize) -> Plan {
    let count = 2 + random.below(THREADS - 1);
    let levels = [16, 16 + random.below(3) as u8];
    let mut threads: Vec<Thread> = (0..count)
        .map(|_| Thread {
            ops: Vec::new(),
            bound: bound(random, cpus),
            priority: levels[random.below(2)],
            stealable: random.once_in(1),
        })
        .collect();
    // Some are spawned by others, in the middle.
    let mut waits: Vec<usize> = (1..count).filter(|_| random.once_in(2)).collect();
    let first: Vec<usize> = (0..count).filter(|thread| !waits.contains(thread)).collect();
    let mut alive = first.clone();
    let mut credits = vec![0_u32; count];
    // Few kinds of operations at a time go deeper than all of them.
    let kinds: Vec<usize> = (0..3 + random.below(6)).map(|_| random.below(18)).collect();
    // So does a thread that the others are all about.
    let victim = random.once_in(1).then(|| alive[random.below(alive.len())]);
    for _ in 0..4 + random.below(28) {
        let own = alive[random.below(alive.len())];
        let other = victim.filter(|_| !random.once_in(2)).unwrap_or_else(|| alive[random.below(alive.len())]);
        let kind = if random.once_in(1) { random.below(4) } else { kinds[random.below(kinds.len())] };
        let op = match kind {
            0 | 1 if other != own => {
                credits[other] += 1;
                let how = waking(random);
                let how =
                    if matches!(how, Waking::HandOver) && credits[own] == 0 { Waking::Unpark } else { how };
                if matches!(how, Waking::HandOver) {
                    credits[own] -= 1;
                }
                Op::Give(other, how)
            }
            2 | 3 if credits[own] > 0 => {
                credits[own] -= 1;
                Op::Take(waiting(random))
            }
            4 => Op::Yield,
            5 => Op::YieldCall,
            6 => Op::YieldCallFull,
            7 | 8 => Op::Bind(other, bound(random, cpus)),
            9 => Op::Affinity(other, 1 + random.below((1 << cpus) - 1) as u32),
            10 => Op::Priority(other, levels[random.below(2)] + random.below(2) as u8),
            11 => Op::Stealable(other, random.once_in(1)),
            12 => Op::RunToCompletion(other, random.once_in(1)),
            13 => Op::Interrupt(other),
            14 => match waits.pop() {
                Some(child) => {
                    alive.push(child);
                    Op::Spawn(child)
                }
                None => Op::Stale(random.below(THREADS)),
            },
            15 => Op::Timer(200 + random.below(20_000) as u64, random.once_in(1)),
            16 => Op::Sleep(200 + random.below(20_000) as u64),
            17 if random.once_in(2) => Op::Aperiodic(1_000_000),
            _ => Op::Work(1 + random.below(30) as u32),
        };
        threads[own].ops.push(op);
    }
    // Nobody is left behind: who has not been spawned is started by the root after all.
    Plan { threads, first: [first, waits].concat() }
}
