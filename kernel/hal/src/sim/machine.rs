// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine: CPUs, their interrupts and timers, and who goes on.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::buffer::Store;
use super::random::Random;
use super::report::{Note, fail, note};
use super::stacks;
use crate::cpu;
use crate::cpu::percpu;
use crate::interrupts::irq;
use crate::interrupts::irq::Off;
use crate::threads::context;

pub(super) const NEVER: u64 = u64::MAX;
/// What one step takes.
const STEP_NS: u64 = 5;
/// Steps that a CPU stands still now and then, as if its host had better things to do: others do a lot meanwhile.
const STALL_STEPS: usize = 400;

/// How long schedules of one course are, and how wild.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// What every decision follows from.
    pub seed: u64,
    /// Another CPU goes on at one step in two to the power of this.
    pub switches_log2: u32,
    /// Stores wait in buffers.
    pub buffers: bool,
    /// Now and then a CPU stands still for long.
    pub stalls: bool,
    /// The CPUs have MONITOR and MWAIT.
    pub monitor: bool,
    /// Switches are those of machines with several page tables.
    pub tables: bool,
    /// More steps are a failure.
    pub steps_most: u64,
}

pub(super) struct Cpu {
    /// Where it goes on, while it does not.
    pub(super) rsp: Cell<u64>,
    pub(super) enabled: Cell<bool>,
    /// Bits of [`RESCHEDULE`] and [`TIMER`].
    pub(super) pending: Cell<u8>,
    pub(super) timer_at: Cell<u64>,
    /// It waits for an interrupt, or for a store that changes a word.
    pub(super) halted: Cell<bool>,
    pub(super) watches: Cell<Option<(usize, usize)>>,
    pub(super) buffer: RefCell<VecDeque<Store>>,
    /// It is in a handler.
    pub(super) handles: Cell<bool>,
    /// The step before which it goes on only if no other can.
    pub(super) stalled_until: Cell<u64>,
}

pub(super) const RESCHEDULE: u8 = 1;
pub(super) const TIMER: u8 = 2;

pub(super) struct Machine {
    pub(super) cpus: Vec<Cpu>,
    pub(super) current: Cell<usize>,
    pub(super) driver: Cell<u64>,
    pub(super) random: RefCell<Random>,
    pub(super) course: Cell<Course>,
    pub(super) clock_ns: Cell<u64>,
    pub(super) steps: Cell<u64>,
    /// Somebody looks, and time stands still.
    pub(super) observed: Cell<bool>,
    pub(super) handle: fn(u8, Off<'_>),
    pub(super) start: fn(usize) -> !,
    pub(super) notes: RefCell<VecDeque<Note>>,
}

static MACHINE: AtomicPtr<Machine> = AtomicPtr::new(core::ptr::null_mut());
static STARTED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub(super) fn machine() -> Option<&'static Machine> {
    // SAFETY: null, or a machine that `run` has leaked; only its thread of the host uses it (see the head of `sim`).
    unsafe { MACHINE.load(Ordering::Relaxed).as_ref() }
}

/// Whether CPUs are simulated.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    !MACHINE.load(Ordering::Relaxed).is_null()
}

/// Starts a machine: each CPU calls `start` with its number, `handle` is called for a reschedule or
/// timer interrupt with its vector. Returns after [`stop`].
///
/// # Panics
/// If the process has had a machine already.
pub fn run(cpus: usize, course: Course, handle: fn(u8, Off<'_>), start: fn(usize) -> !) {
    assert!(!STARTED.swap(true, Ordering::Relaxed), "a process has one machine");
    let apic_ids: Vec<u32> = (0..cpus as u32).collect();
    percpu::allocate(&apic_ids);
    cpu::set_count(cpus);
    context::use_quick_switch(course.tables);
    let make = |cpu| Cpu {
        rsp: Cell::new(stacks::fresh(begin, cpu)),
        enabled: Cell::new(false),
        pending: Cell::new(0),
        timer_at: Cell::new(NEVER),
        halted: Cell::new(false),
        watches: Cell::new(None),
        buffer: RefCell::new(VecDeque::new()),
        handles: Cell::new(false),
        stalled_until: Cell::new(0),
    };
    let machine = alloc::boxed::Box::leak(alloc::boxed::Box::new(Machine {
        cpus: (0..cpus).map(make).collect(),
        current: Cell::new(0),
        driver: Cell::new(0),
        random: RefCell::new(Random::new(course.seed)),
        course: Cell::new(course),
        clock_ns: Cell::new(1_000_000_000),
        steps: Cell::new(0),
        observed: Cell::new(false),
        handle,
        start,
        notes: RefCell::new(VecDeque::new()),
    }));
    MACHINE.store(machine, Ordering::Relaxed);
    // SAFETY: a fresh stack; `stop` comes back to the driver's.
    unsafe { stacks::swap(machine.driver.as_ptr(), machine.cpus[0].rsp.get()) };
    MACHINE.store(core::ptr::null_mut(), Ordering::Relaxed);
}

/// First code of a CPU, on the stack whose top is given.
extern "C" fn begin(cpu: usize, stack_top: u64) -> ! {
    percpu::this().set_kernel_stack(stack_top);
    match machine() {
        Some(machine) => (machine.start)(cpu),
        None => unreachable!("a CPU is part of a machine"),
    }
}

/// Ends [`run`], whose CPUs stop where they are. Called by what they run.
pub fn stop() -> ! {
    if let Some(machine) = machine() {
        // SAFETY: `run` has stored it.
        unsafe { stacks::swap(machine.own().rsp.as_ptr(), machine.driver.get()) };
    }
    unreachable!("a machine that has stopped does not go on")
}

/// Begins another course, at a moment that depends on nothing but the earlier ones.
pub fn set_course(course: Course) {
    let machine = machine().expect("a machine runs");
    machine.random.replace(Random::new(course.seed));
    // What the CPUs are stays as it is.
    let Course { monitor, tables, .. } = machine.course.get();
    machine.course.set(Course { monitor, tables, ..course });
    machine.steps.set(0);
    machine.cpus.iter().for_each(|cpu| cpu.stalled_until.set(0));
    machine.notes.borrow_mut().clear();
}

impl Machine {
    pub(super) fn own(&self) -> &Cpu {
        &self.cpus[self.current.get()]
    }

    pub(super) fn once_in(&self, log2: u32) -> bool {
        self.random.borrow().once_in(log2)
    }

    /// A place where anything may happen.
    pub(super) fn step(&self) {
        if self.observed.get() {
            return;
        }
        let course = self.course.get();
        self.clock_ns.set(self.clock_ns.get() + STEP_NS);
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > course.steps_most {
            fail("there is no end to it: CPUs wait for each other, or for nothing");
        }
        if course.buffers && self.once_in(2) {
            let cpu = &self.cpus[self.random.borrow().below(self.cpus.len())];
            let oldest = cpu.buffer.borrow_mut().pop_front();
            oldest.into_iter().for_each(Store::perform);
        }
        if self.once_in(10) {
            // What was to happen later happens now: a timer may fire anywhere.
            self.clock_ns
                .set(self.clock_ns.get().max(self.next_timer().min(self.clock_ns.get() + 10_000_000)));
        }
        if self.once_in(course.switches_log2) {
            self.another(false);
        }
        if self.own().enabled.get() && self.has_interrupt(self.own()) && self.once_in(1) {
            self.deliver();
        }
    }

    pub(super) fn next_timer(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.timer_at.get()).min().unwrap_or(NEVER)
    }

    pub(super) fn has_interrupt(&self, cpu: &Cpu) -> bool {
        if self.clock_ns.get() >= cpu.timer_at.get() {
            cpu.timer_at.set(NEVER);
            cpu.pending.set(cpu.pending.get() | TIMER);
        }
        cpu.pending.get() != 0
    }

    pub(super) fn may_go_on(&self, cpu: &Cpu) -> bool {
        let stored = |(address, value): (usize, usize)| {
            // SAFETY: the word that `wait` was given, in a static.
            unsafe { AtomicUsize::from_ptr(address as *mut usize) }.load(Ordering::Relaxed) != value
        };
        !cpu.halted.get() || self.has_interrupt(cpu) || cpu.watches.get().is_some_and(stored)
    }

    /// Lets another CPU go on that can, if there is one; returns when this one goes on. One that stalls goes on only if it
    /// must.
    pub(super) fn another(&self, must: bool) -> bool {
        let (own, now) = (self.current.get(), self.steps.get());
        if self.course.get().stalls && self.once_in(3) {
            self.own().stalled_until.set(now + self.random.borrow().below(STALL_STEPS) as u64);
        }
        let of = |stalled: bool| {
            let all = self.cpus.iter().enumerate();
            all.filter(move |(id, cpu)| {
                *id != own && (stalled || cpu.stalled_until.get() <= now) && self.may_go_on(cpu)
            })
            .map(|(id, _)| id)
        };
        let stalled = must && of(false).next().is_none();
        let others = || of(stalled);
        let count = others().count();
        if count == 0 {
            return false;
        }
        let chosen = self.random.borrow().below(count);
        let Some(next) = others().nth(chosen) else { return false };
        self.current.set(next);
        // SAFETY: the other CPU stopped here, or has not begun.
        unsafe { stacks::swap(self.cpus[own].rsp.as_ptr(), self.cpus[next].rsp.get()) };
        true
    }

    /// Takes the pending interrupts, in any order.
    pub(super) fn deliver(&self) {
        // The CPU does not change, whatever else runs meanwhile: handlers do not switch threads.
        let cpu = self.own();
        while cpu.enabled.get() && self.has_interrupt(cpu) {
            let both = cpu.pending.get() == RESCHEDULE | TIMER;
            let first = if both && self.once_in(1) {
                TIMER
            } else {
                cpu.pending.get() & cpu.pending.get().wrapping_neg()
            };
            cpu.pending.set(cpu.pending.get() & !first);
            self.drain();
            cpu.enabled.set(false);
            cpu.handles.set(true);
            let vector = if first == TIMER { irq::VECTOR_TIMER } else { irq::VECTOR_RESCHEDULE };
            note("interrupt", [u64::from(vector), 0]);
            // SAFETY: they were turned off above, and are turned on below.
            (self.handle)(vector, unsafe { Off::assumed() });
            self.drain();
            cpu.handles.set(false);
            cpu.enabled.set(true);
        }
    }
}
