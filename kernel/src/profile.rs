// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The profile of a run: samples of where each CPU is, taken by its timer, counted by [`hadal_trace::stacks`] and sent to the
//! host at the end. [`hadal_unwind`] finds the program's functions, by the tables that [`code`] keeps in memory.

mod code;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hadal_abi::control::GuestMessage;
use hadal_abi::profile::{self, CpuSamples, Head, KEY_WORDS, Mapping};
use hadal_abi::trace::text_words;
use hadal_hal::cpu;
use hadal_hal::cpu::percpu::CpuLocal;
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::sync::SpinLock;
use hadal_hal::threads::context;
use hadal_hal::trap::TrapFrame;
use hadal_hal::trap::sample::{self, MAX_KERNEL_FRAMES, ProgramRegisters};
use hadal_linux::process::Process;
use hadal_linux::task::Task;
use hadal_trace::pace::Pace;
use hadal_trace::stacks::Stacks;
use hadal_unwind::{Code, End, Registers, Unwinder};
use spin::Once;

use crate::{control, run};

/// Words for the samples of all CPUs, and bounds for the share of each.
const ALL_WORDS: usize = 8 << 20;
const MIN_WORDS: usize = 16 << 10;
const MAX_WORDS: usize = 512 << 10;
/// Most program frames of a sample; deeper callers are left out.
const MAX_PROGRAM_FRAMES: usize = 128;
/// Rules for unwinding that each CPU keeps: a program is mostly in few places.
const RULES: usize = 1021;
/// Work of one walk ([`Unwinder::new`]), which keeps interrupts off: usually some thousands, here less than a millisecond's.
const FUEL_UNITS: usize = 1 << 16;
/// Bytes of a piece that is sent; a frame holds more.
const PIECE_BYTES: usize = 64 << 10;
/// The name of kernel threads in samples.
const KERNEL: &[u8] = b"kernel";

/// What a CPU has sampled.
struct Sampler {
    pace: Pace,
    /// When the next sample is due, in nanoseconds since boot.
    due_ns: AtomicU64,
    taken: AtomicU64,
    idle: AtomicU64,
    /// Its CPU takes the lock in the timer interrupt.
    own: SpinLock<Own>,
}

/// What a CPU works with.
struct Own {
    stacks: Stacks,
    unwinder: Unwinder,
    code: Arc<Code>,
}

impl Own {
    fn new(words: usize, code: &Arc<Code>) -> Option<Self> {
        Some(Self {
            stacks: Stacks::new(words)?,
            unwinder: Unwinder::new(RULES, FUEL_UNITS)?,
            code: code.clone(),
        })
    }
}

struct Profile {
    hz: u32,
    samplers: CpuLocal<Sampler>,
}

static PROFILE: Once<Profile> = Once::new();
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Begins to sample every CPU `hz` times a second on average; says why if it cannot.
pub(crate) fn start(hz: u32) -> Result<(), String> {
    let cpus = cpu::count();
    let words = (ALL_WORDS / cpus).clamp(MIN_WORDS, MAX_WORDS);
    let code = Arc::default();
    let mut own = Vec::new();
    for _ in 0..cpus {
        own.push(Own::new(words, &code).ok_or_else(|| format!("no memory for the profile of {cpus} CPUs"))?);
    }
    let mut own = own.into_iter();
    let mean_ns = 1_000_000_000 / u64::from(hz.max(1));
    let sampler = |cpu| Sampler {
        pace: Pace::new(mean_ns, cpu),
        due_ns: AtomicU64::new(u64::MAX),
        taken: AtomicU64::new(0),
        idle: AtomicU64::new(0),
        own: SpinLock::new(own.next().expect("there is one for each CPU")),
    };
    let samplers = CpuLocal::new(cpus, sampler);
    PROFILE.call_once(|| Profile { hz, samplers });
    ACTIVE.store(true, Ordering::SeqCst);
    // A timer belongs to the CPU that starts it.
    for cpu in 0..cpus {
        let mut place = CpuSet::new_empty(cpus);
        place.insert(cpu);
        let thread = hadal_sched::create(begin, 0, Some(Arc::new(place)));
        thread.map_err(|error| format!("no thread for the profile: {error:?}"))?.start();
    }
    Ok(())
}

fn begin(_: usize) -> ! {
    arm(0);
    hadal_sched::exit()
}

/// Makes the timer of this CPU interrupt it for its next sample: when it started one, and in that interrupt.
fn arm(_: usize) {
    let Some(profile) = PROFILE.get().filter(|_| ACTIVE.load(Ordering::Relaxed)) else { return };
    // What was missed while interrupts were off is not caught up with.
    let own = profile.samplers.this();
    let due = hadal_time::now_ns() + own.pace.next_ns();
    own.due_ns.store(due, Ordering::Relaxed);
    if hadal_sched::call_at(due, arm, 0).is_none() {
        log::warn!("no memory for a timer: no more samples of CPU {}", cpu::current_id());
    }
}

/// In each timer interrupt, before its timers run: takes a sample if one is due.
pub(crate) fn on_timer(frame: &TrapFrame) {
    if !ACTIVE.load(Ordering::Relaxed) {
        return;
    }
    let Some(profile) = PROFILE.get() else { return };
    let own = profile.samplers.this();
    if hadal_time::now_ns() < own.due_ns.load(Ordering::Relaxed) {
        return;
    }
    own.due_ns.store(u64::MAX, Ordering::Relaxed);
    own.taken.fetch_add(1, Ordering::Relaxed);
    if context::running_id() == hadal_sched::idle_thread(cpu::current_id()) {
        own.idle.fetch_add(1, Ordering::Relaxed);
        return;
    }
    let [low, high] = thread_name();
    let mut words = [0; KEY_WORDS + MAX_KERNEL_FRAMES + MAX_PROGRAM_FRAMES];
    let found = sample::interrupted(frame);
    let kernel = found.kernel();
    let mut len = KEY_WORDS + kernel.len();
    words[KEY_WORDS..len].copy_from_slice(kernel);
    let own = &mut *own.own.lock();
    let end = found.program.map_or(End::Outermost, |registers| {
        let last = len + MAX_PROGRAM_FRAMES;
        own.unwinder.walk(&code::Resident(&own.code), known(registers), |frame| {
            words[len] = frame.lookup_address();
            len += 1;
            len < last
        })
    });
    words[..KEY_WORDS].copy_from_slice(&[low, high, kernel.len() as u64, u64::from(end == End::Outermost)]);
    own.stacks.add(&words[..len]);
}

fn known(registers: ProgramRegisters) -> Registers {
    match registers {
        ProgramRegisters::All(values) => Registers::all(values),
        ProgramRegisters::Caller { rip, rsp, rbp } => Registers::new(rip, rsp, rbp),
    }
}

/// A program has mapped code.
pub(crate) fn code_mapped(process: &Process) {
    let Some(profile) = PROFILE.get().filter(|_| ACTIVE.load(Ordering::Relaxed)) else { return };
    code::refresh(process, |code| {
        for sampler in profile.samplers.iter() {
            let mut own = sampler.own.lock();
            let old = mem::replace(&mut own.code, code.clone());
            own.unwinder.forget();
            drop(own);
            // Apart, since that may give much memory back.
            drop(old);
        }
    });
}

fn thread_name() -> [u64; 2] {
    // A thread that is about to become a program's has no name yet.
    match Task::current().name() {
        [0, ..] => text_words(KERNEL),
        name => text_words(&name),
    }
}

/// Ends the sampling and sends what was found; nothing if there is none.
pub(crate) fn finish() {
    let Some(profile) = PROFILE.get().filter(|_| ACTIVE.swap(false, Ordering::SeqCst)) else { return };
    let count = |sampler: &Sampler| CpuSamples {
        taken: sampler.taken.load(Ordering::Relaxed),
        idle: sampler.idle.load(Ordering::Relaxed),
        lost: sampler.own.lock().stacks.lost(),
    };
    let cpus = profile.samplers.iter().map(count).collect();
    control::send(&GuestMessage::ProfileHead(Head { hz: profile.hz, cpus }));
    run::process().into_iter().for_each(send_mappings);
    for sampler in profile.samplers.iter() {
        let mut sent = 0;
        loop {
            // Apart, since the lock keeps interrupts off and sending may sleep.
            let piece = piece(&sampler.own.lock().stacks, &mut sent);
            if piece.is_empty() {
                break;
            }
            control::send(&GuestMessage::ProfileSamples(piece));
        }
    }
}

/// The samples of a CPU that follow those that were sent, as many as a piece takes.
fn piece(stacks: &Stacks, sent: &mut usize) -> Vec<u8> {
    let mut piece = Vec::new();
    for (words, count) in stacks.iter().skip(*sent) {
        if piece.len() >= PIECE_BYTES {
            break;
        }
        profile::put(&mut piece, words, count);
        *sent += 1;
    }
    piece
}

/// Sends the executable mappings; a program that has ended still has them.
fn send_mappings(process: &'static Process) {
    let (mut piece, mut bytes) = (Vec::new(), 0);
    for vma in code::executable(process) {
        let path = vma.name.to_string();
        bytes += path.len() + size_of::<Mapping>();
        piece.push(Mapping { start: vma.start as u64, end: vma.end as u64, offset: vma.offset, path });
        if bytes >= PIECE_BYTES {
            control::send(&GuestMessage::ProfileMappings(mem::take(&mut piece)));
            bytes = 0;
        }
    }
    control::send(&GuestMessage::ProfileMappings(piece));
}
