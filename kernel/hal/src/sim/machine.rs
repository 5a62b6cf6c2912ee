// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The machine: CPUs, their interrupts and timers, and who goes on.

extern crate std;

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::eprintln;

use super::random::Random;
use super::stacks;
use crate::irq::Off;
use crate::{context, cpu, irq, percpu};

const NEVER: u64 = u64::MAX;
/// Stores that a buffer holds; those of real CPUs hold some dozens.
const BUFFER: usize = 8;
/// Notes that are kept for a report.
const NOTES: usize = 400;
/// What one step takes.
const STEP_NS: u64 = 5;
/// What an instruction takes that waits for others.
const RELAX_NS: u64 = 1000;
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
    /// More steps are a failure.
    pub steps_most: u64,
}

/// Bytes of an atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Width {
    Byte,
    Four,
    Eight,
}

#[derive(Clone, Copy)]
struct Store {
    address: usize,
    width: Width,
    value: u64,
}

impl Store {
    /// The store reaches memory.
    fn perform(self) {
        // SAFETY: the address is that of an atomic of this width which was there when the store was made; what is
        // simulated keeps its atomics in statics or leaked memory, so it is there still.
        unsafe {
            match self.width {
                Width::Byte => {
                    AtomicU8::from_ptr(self.address as *mut u8).store(self.value as u8, Ordering::Relaxed)
                }
                Width::Four => {
                    AtomicU32::from_ptr(self.address as *mut u32).store(self.value as u32, Ordering::Relaxed)
                }
                Width::Eight => {
                    AtomicU64::from_ptr(self.address as *mut u64).store(self.value, Ordering::Relaxed)
                }
            }
        }
    }
}

struct Cpu {
    /// Where it goes on, while it does not.
    rsp: Cell<u64>,
    enabled: Cell<bool>,
    /// Bits of [`RESCHEDULE`] and [`TIMER`].
    pending: Cell<u8>,
    timer_at: Cell<u64>,
    /// It waits for an interrupt, or for a store that changes a word.
    halted: Cell<bool>,
    watches: Cell<Option<(usize, usize)>>,
    buffer: RefCell<VecDeque<Store>>,
    /// It is in a handler.
    handles: Cell<bool>,
    /// The step before which it goes on only if no other can.
    stalled_until: Cell<u64>,
}

const RESCHEDULE: u8 = 1;
const TIMER: u8 = 2;

/// Step, CPU, what, and two numbers.
type Note = (u64, usize, &'static str, [u64; 2]);

struct Machine {
    cpus: Vec<Cpu>,
    current: Cell<usize>,
    driver: Cell<u64>,
    random: RefCell<Random>,
    course: Cell<Course>,
    clock_ns: Cell<u64>,
    steps: Cell<u64>,
    /// Somebody looks, and time stands still.
    observed: Cell<bool>,
    handle: fn(u8, Off<'_>),
    start: fn(usize) -> !,
    notes: RefCell<VecDeque<Note>>,
}

static MACHINE: AtomicPtr<Machine> = AtomicPtr::new(core::ptr::null_mut());
static STARTED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
fn machine() -> Option<&'static Machine> {
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
    context::use_quick_switch();
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
    machine.course.set(course);
    machine.steps.set(0);
    machine.cpus.iter().for_each(|cpu| cpu.stalled_until.set(0));
    machine.notes.borrow_mut().clear();
}

/// Steps of this course so far.
pub fn steps() -> u64 {
    machine().map_or(0, |machine| machine.steps.get())
}

/// The simulated time, if there is one.
#[inline]
pub fn clock_ns() -> Option<u64> {
    machine().map(|machine| machine.clock_ns.get())
}

/// Remembers something for a report.
pub fn note(what: &'static str, numbers: [u64; 2]) {
    if let Some(machine) = machine() {
        let mut notes = machine.notes.borrow_mut();
        if notes.len() == NOTES {
            notes.pop_front();
        }
        notes.push_back((machine.steps.get(), machine.current.get(), what, numbers));
    }
}

/// Reports what went wrong, with the last notes and the state of the CPUs, and ends the process with status 1.
pub fn fail(what: &str) -> ! {
    if let Some(machine) = machine() {
        machine.report();
    }
    eprintln!("FAILED: {what}");
    std::process::exit(1)
}

/// Runs `look` at one moment: nothing else happens meanwhile.
pub fn observe<R>(look: impl FnOnce() -> R) -> R {
    let Some(machine) = machine() else { return look() };
    let before = machine.observed.replace(true);
    let seen = look();
    machine.observed.set(before);
    seen
}

/// The bits of [`percpu::attention`] of a CPU.
pub fn attention_of(cpu: usize) -> u32 {
    percpu::of(cpu).attention_bits()
}

/// Whether nothing is under way: no interrupt is pending, due or being handled, every other CPU takes interrupts or has nothing to
/// do, and every store is in memory.
pub fn is_settled() -> bool {
    let Some(machine) = machine() else { return true };
    machine.cpus.iter().enumerate().all(|(id, cpu)| {
        let quiet = id == machine.current.get() || cpu.enabled.get() || cpu.halted.get();
        quiet && !machine.has_interrupt(cpu) && !cpu.handles.get() && cpu.buffer.borrow().is_empty()
    })
}

impl Machine {
    fn own(&self) -> &Cpu {
        &self.cpus[self.current.get()]
    }

    fn once_in(&self, log2: u32) -> bool {
        self.random.borrow().once_in(log2)
    }

    /// A place where anything may happen.
    fn step(&self) {
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

    fn next_timer(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.timer_at.get()).min().unwrap_or(NEVER)
    }

    fn has_interrupt(&self, cpu: &Cpu) -> bool {
        if self.clock_ns.get() >= cpu.timer_at.get() {
            cpu.timer_at.set(NEVER);
            cpu.pending.set(cpu.pending.get() | TIMER);
        }
        cpu.pending.get() != 0
    }

    fn may_go_on(&self, cpu: &Cpu) -> bool {
        let stored = |(address, value): (usize, usize)| {
            // SAFETY: the word that `wait` was given, in a static.
            unsafe { AtomicUsize::from_ptr(address as *mut usize) }.load(Ordering::Relaxed) != value
        };
        !cpu.halted.get() || self.has_interrupt(cpu) || cpu.watches.get().is_some_and(stored)
    }

    /// Lets another CPU go on that can, if there is one; returns when this one goes on. One that stalls goes on only if it
    /// must.
    fn another(&self, must: bool) -> bool {
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
    fn deliver(&self) {
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

    /// Sends the buffer of this CPU to memory.
    fn drain(&self) {
        let stores = core::mem::take(&mut *self.own().buffer.borrow_mut());
        stores.into_iter().for_each(Store::perform);
    }

    fn report(&self) {
        for (step, cpu, what, [a, b]) in self.notes.borrow().iter() {
            eprintln!("{step:>7} cpu{cpu} {what} {a} {b}");
        }
        for (id, cpu) in self.cpus.iter().enumerate() {
            let mut state = String::from(if cpu.enabled.get() { "interrupts on" } else { "interrupts off" });
            if cpu.halted.get() {
                state.push_str(", halted");
            }
            let (pending, buffered) = (cpu.pending.get(), cpu.buffer.borrow().len());
            eprintln!(
                "cpu{id}: {state}, pending {pending}, buffered {buffered}, timer {:?}",
                cpu.timer_at.get()
            );
        }
        eprintln!("cpu{} at step {} of {:?}", self.current.get(), self.steps.get(), self.course.get());
    }
}

/// Before an access: locked ones find the buffer empty.
#[inline]
pub(crate) fn access(locked: bool) {
    if let Some(machine) = machine() {
        machine.step();
        if locked {
            machine.drain();
        }
    }
}

/// What the calling CPU's buffer holds for an address.
#[inline]
pub(crate) fn buffered(address: usize) -> Option<u64> {
    let buffer = machine()?.own().buffer.borrow();
    buffer.iter().rev().find(|store| store.address == address).map(|store| store.value)
}

/// Puts a store into the buffer; false if stores are not buffered.
#[inline]
pub(crate) fn store(address: usize, width: Width, value: u64) -> bool {
    let Some(machine) = machine().filter(|machine| machine.course.get().buffers) else { return false };
    let mut buffer = machine.own().buffer.borrow_mut();
    if buffer.len() == BUFFER {
        buffer.pop_front().into_iter().for_each(Store::perform);
    }
    buffer.push_back(Store { address, width, value });
    true
}

/// Whether the CPUs have MONITOR and MWAIT.
pub(crate) fn has_monitor() -> bool {
    machine().is_some_and(|machine| machine.course.get().monitor)
}

/// The calling CPU stores what it has in its buffer before another one may see that it has left a stack.
pub(crate) fn leave_stack() {
    if let Some(machine) = machine() {
        machine.drain();
    }
}

/// The calling CPU.
#[inline(always)]
pub(crate) fn cpu_id() -> usize {
    machine().map_or(0, |machine| machine.current.get())
}

/// Whether the calling CPU takes interrupts.
pub(crate) fn enabled() -> bool {
    machine().is_some_and(|machine| machine.own().enabled.get())
}

/// `cli`.
pub(crate) fn disable() {
    if let Some(machine) = machine()
        && machine.own().enabled.get()
    {
        machine.step();
        machine.own().enabled.set(false);
    }
}

/// `sti`.
pub(crate) fn enable() {
    if let Some(machine) = machine()
        && !machine.own().enabled.get()
    {
        machine.own().enabled.set(true);
        machine.step();
    }
}

/// Sends an interrupt, which finds everything that this CPU has stored.
pub(crate) fn send(target: usize, vector: u8) {
    let Some(machine) = machine() else { return };
    machine.step();
    machine.drain();
    let bit = match vector {
        irq::VECTOR_RESCHEDULE => RESCHEDULE,
        irq::VECTOR_TIMER => TIMER,
        _ => return,
    };
    note("sends an interrupt", [target as u64, u64::from(vector)]);
    let cpu = &machine.cpus[target];
    cpu.pending.set(cpu.pending.get() | bit);
}

/// [`send`] to all but the calling CPU.
pub(crate) fn send_to_others(vector: u8) {
    let Some(machine) = machine() else { return };
    let own = machine.current.get();
    (0..machine.cpus.len()).filter(|&cpu| cpu != own).for_each(|cpu| send(cpu, vector));
}

/// The calling CPU's timer interrupts it after this time.
pub(crate) fn arm_timer(delay_ns: u64) {
    if let Some(machine) = machine() {
        machine.own().timer_at.set(machine.clock_ns.get().saturating_add(delay_ns.max(1)));
    }
}

/// The calling CPU's timer stops.
pub(crate) fn disarm_timer() {
    if let Some(machine) = machine() {
        machine.own().timer_at.set(NEVER);
    }
}

/// `sti; hlt`: interrupts are on afterwards, and at least one has come.
pub(crate) fn halt() {
    wait_with(None, true);
}

/// `monitor`, then `sti; mwait` if `still` says so.
pub(crate) fn wait(word: *const (), still: impl FnOnce() -> bool) {
    if !is_on() {
        let _ = still();
        return;
    }
    // SAFETY: the caller names a word of its own.
    let seen = unsafe { AtomicUsize::from_ptr(word.cast_mut().cast()) }.load(Ordering::Relaxed);
    if still() {
        wait_with(Some((word as usize, seen)), false);
    } else {
        enable();
    }
}

fn wait_with(watches: Option<(usize, usize)>, interrupt: bool) {
    let Some(machine) = machine() else { return };
    let cpu = machine.own();
    machine.drain();
    cpu.enabled.set(true);
    cpu.watches.set(watches);
    cpu.halted.set(true);
    while !machine.may_go_on(cpu) || machine.once_in(1) {
        if !machine.another(true) && !machine.may_go_on(cpu) {
            let next = machine.next_timer();
            if next == NEVER {
                fail("every CPU waits, and no interrupt will come");
            }
            machine.clock_ns.set(machine.clock_ns.get().max(next));
        }
    }
    cpu.halted.set(false);
    cpu.watches.set(None);
    if interrupt || machine.has_interrupt(cpu) {
        machine.deliver();
    }
}

/// The calling CPU waits for another one, or for time.
pub(crate) fn relax() {
    if let Some(machine) = machine() {
        machine.clock_ns.set(machine.clock_ns.get() + RELAX_NS);
        machine.step();
        machine.another(false);
    }
}
