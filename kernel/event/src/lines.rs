// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Interrupt lines of devices: a program's handlers behind the I/O APICs, and a list of all device interrupts with what the
//! kernel uses itself.
//!
//! A line is a global system interrupt. Those of the kernel's devices are messages, which have no such number; they are
//! listed under numbers from [`FIRST_MESSAGE`] on, and can be steered but neither masked nor taken.

use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use hadal_hal::cpu::percpu;
use hadal_hal::interrupts::handler::{self, Kind};
use hadal_hal::interrupts::ioapic::{IoApic, Route};
use hadal_hal::interrupts::irq;
use hadal_hal::sync::{Rank, SpinLock};
use spin::Once;

use crate::may_wait;
use crate::slots::{Action, Slots};

/// Number of the first device interrupt of the kernel.
pub const FIRST_MESSAGE: u32 = 0x10000;
/// Most lines that programs have at a time.
const LINES: usize = 32;
/// ISA interrupts; their lines signal by edges, the others' (PCI's) by level.
const ISA_LINES: u32 = 16;

/// Why something with a line could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineError {
    /// The machine has no such line, or nobody has registered it.
    NoLine,
    /// It is registered, or a device of the kernel's.
    Busy,
    /// All places for lines are taken.
    Full,
    /// The CPU cannot be a line's target: it does not exist, or its APIC has a number beyond 255.
    NoCpu,
    /// The kernel's own cannot be masked; nor can lines be given back with interrupts off.
    NotPermitted,
}

/// How a line signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Asserted when low.
    pub active_low: bool,
    /// By level, not edge.
    pub level: bool,
}

/// What the firmware says about the lines.
#[derive(Default)]
pub struct Lines {
    /// The machine's I/O APICs.
    pub chips: Vec<IoApic>,
    /// Lines that do not signal as their bus would have it.
    pub signals: Vec<(u32, Signal)>,
}

impl Lines {
    fn signal(&self, line: u32) -> Signal {
        let listed = self.signals.iter().find(|(listed, _)| *listed == line);
        let pci = line >= ISA_LINES;
        listed.map_or(Signal { active_low: pci, level: pci }, |&(_, signal)| signal)
    }

    fn pin(&mut self, line: u32) -> Option<(&mut IoApic, u32)> {
        self.chips.iter_mut().find_map(|chip| chip.pin_of(line).map(|pin| (chip, pin)))
    }
}

/// A line that a program has registered.
struct Taken {
    line: u32,
    /// Slot of its action.
    key: u32,
    cpu: usize,
    masked: bool,
    route: Route,
}

struct State {
    lines: Lines,
    taken: Vec<Taken>,
}

impl State {
    fn taken(&mut self, line: u32) -> Result<usize, LineError> {
        self.taken.iter().position(|taken| taken.line == line).ok_or(LineError::NoLine)
    }

    /// Tells the I/O APIC how things are.
    fn apply(&mut self, index: usize) {
        let taken = &self.taken[index];
        if let Some((chip, pin)) = self.lines.pin(taken.line) {
            if taken.masked { chip.mask(pin) } else { chip.route(pin, taken.route) }
        }
    }
}

static STATE: SpinLock<State> = SpinLock::ranked(
    Rank::EventLines,
    State { lines: Lines { chips: Vec::new(), signals: Vec::new() }, taken: Vec::new() },
);
static ACTIONS: Once<Slots<LINES>> = Once::new();
static COUNTS: [AtomicU64; LINES] = [const { AtomicU64::new(0) }; LINES];

fn actions() -> &'static Slots<LINES> {
    ACTIONS.call_once(Slots::new)
}

/// Takes over the machine's I/O APICs, every line masked.
pub fn init(mut lines: Lines) {
    lines.chips.iter_mut().for_each(IoApic::mask_all);
    actions();
    STATE.lock().lines = lines;
}

fn target(cpu: usize) -> Result<u8, LineError> {
    if cpu >= hadal_hal::cpu::count() {
        return Err(LineError::NoCpu);
    }
    u8::try_from(percpu::apic_id(cpu)).map_err(|_| LineError::NoCpu)
}

/// Binds an action to a line and unmasks it, steered to CPU 0. For the calling program thread.
pub fn register(line: u32, action: Action) -> Result<(), LineError> {
    handler::prepare(&action.handler(Kind::Line));
    let apic_id = target(0)?;
    let mut state = STATE.lock();
    if line >= FIRST_MESSAGE {
        return Err(if message(line).is_some() { LineError::Busy } else { LineError::NoLine });
    }
    if state.lines.pin(line).is_none() {
        return Err(LineError::NoLine);
    }
    if state.taken(line).is_ok() {
        return Err(LineError::Busy);
    }
    let key = actions().register(action).ok_or(LineError::Full)?;
    let index = Slots::<LINES>::index(key);
    COUNTS[index].store(0, Ordering::Relaxed);
    let Some(vector) = irq::register_device(on_interrupt, index) else {
        actions().begin_unregister(key);
        actions().give_back(key);
        return Err(LineError::Full);
    };
    let Signal { active_low, level } = state.lines.signal(line);
    let route = Route { vector, apic_id, active_low, level };
    state.taken.push(Taken { line, key, cpu: 0, masked: false, route });
    let last = state.taken.len() - 1;
    state.apply(last);
    Ok(())
}

/// Masks a line and takes its action away; returns when no CPU runs it any more.
pub fn unregister(line: u32) -> Result<(), LineError> {
    if !may_wait() {
        return Err(LineError::NotPermitted);
    }
    let taken = {
        let mut state = STATE.lock();
        let index = state.taken(line)?;
        state.taken[index].masked = true;
        state.apply(index);
        state.taken.swap_remove(index)
    };
    actions().begin_unregister(taken.key);
    irq::remove_handler(taken.route.vector);
    actions().give_back(taken.key);
    Ok(())
}

/// Sends a line's interrupts, or those of a device of the kernel, to a CPU.
pub fn steer(line: u32, cpu: usize) -> Result<(), LineError> {
    let apic_id = target(cpu)?;
    if let Some(source) = message(line) {
        source.steer(cpu);
        return Ok(());
    }
    let mut state = STATE.lock();
    let index = state.taken(line)?;
    state.taken[index].cpu = cpu;
    state.taken[index].route.apic_id = apic_id;
    state.apply(index);
    Ok(())
}

/// Stops a line's interrupts, or lets them come again.
pub fn mask(line: u32, masked: bool) -> Result<(), LineError> {
    if message(line).is_some() {
        return Err(LineError::NotPermitted);
    }
    let mut state = STATE.lock();
    let index = state.taken(line)?;
    if state.taken[index].masked != masked {
        state.taken[index].masked = masked;
        state.apply(index);
    }
    Ok(())
}

fn message(line: u32) -> Option<&'static dyn irq::Source> {
    irq::source(line.checked_sub(FIRST_MESSAGE)? as usize)
}

/// What is known about a device interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Number of the line.
    pub line: u32,
    /// Where it is steered to.
    pub cpu: usize,
    /// Its vector.
    pub vector: u8,
    /// It is masked.
    pub masked: bool,
    /// It is a device of the kernel's.
    pub kernel: bool,
    /// Interrupts so far.
    pub count: u64,
    /// For people.
    pub name: String,
}

/// The device interrupts in use, those of programs first.
pub fn info(index: usize) -> Option<Info> {
    let state = STATE.lock();
    if let Some(taken) = state.taken.get(index) {
        return Some(Info {
            line: taken.line,
            cpu: taken.cpu,
            vector: taken.route.vector,
            masked: taken.masked,
            kernel: false,
            count: COUNTS[Slots::<LINES>::index(taken.key)].load(Ordering::Relaxed),
            name: String::from("program"),
        });
    }
    let number = index - state.taken.len();
    let source = irq::source(number)?;
    Some(Info {
        line: FIRST_MESSAGE + number as u32,
        cpu: source.cpu(),
        vector: source.vector(),
        masked: false,
        kernel: true,
        count: source.count(),
        name: source.name(),
    })
}

fn on_interrupt(index: usize) {
    COUNTS[index].fetch_add(1, Ordering::Relaxed);
    if let Some((_, action)) = actions().action(index) {
        handler::run(action.handler(Kind::Line));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_signal_as_their_bus_or_as_the_firmware_says() {
        let odd = Signal { active_low: false, level: true };
        let lines = Lines { chips: Vec::new(), signals: Vec::from([(9, odd)]) };
        assert_eq!(lines.signal(4), Signal { active_low: false, level: false });
        assert_eq!(lines.signal(20), Signal { active_low: true, level: true });
        assert_eq!(lines.signal(9), odd);
    }

    #[test]
    fn lines_that_are_not_there_are_refused() {
        let action = Action { function: 0x40_0000, arg: 0, vectors: false };
        assert_eq!(register(3, action), Err(LineError::NoLine));
        assert_eq!(register(FIRST_MESSAGE, action), Err(LineError::NoLine));
        assert_eq!(steer(3, 1 << 20), Err(LineError::NoCpu));
        assert_eq!((mask(3, true), unregister(3)), (Err(LineError::NoLine), Err(LineError::NoLine)));
        assert_eq!(info(0), None);
    }
}
