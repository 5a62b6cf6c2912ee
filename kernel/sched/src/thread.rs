// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A thread: its control block, and what may be asked and told about it.

use alloc::sync::Arc;

use hadal_hal::cpu;
use hadal_hal::cpu::percpu::attention;
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::cpu::tsc;
use hadal_hal::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use hadal_hal::sync::{Rank, SpinLock};
use hadal_hal::threads::companion::Companion;
use hadal_hal::threads::context::Context;
use hadal_hal::threads::link::AtomicRef;

use crate::inbox::Asked;
use crate::job::Job;
use crate::levels::{NOWHERE, Place};
use crate::realtime::Realtime;
use crate::token::Token;
use crate::turns::Turn;
use crate::wait_note::{Noun, WaitNote};
use crate::{edf, spin};

/// Number of priorities, bits of a word; 0 is the least urgent, and the highest is for the kernel's own.
pub const PRIORITIES: u8 = 64;
/// The priority of a thread that was given none.
pub const PRIORITY_DEFAULT: u8 = 16;

/// Who runs next among threads of equal priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// They take turns, [`crate::SLICE_NS`] each.
    #[default]
    RoundRobin = 0,
    /// Each runs until it blocks, yields or ends.
    RunToCompletion = 1,
}

/// Scheduling parameters of a thread in one word, so that all of them are compared at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params(u32);

impl Params {
    const PRIORITY: u32 = 0xff;
    const POLICY: u32 = 1 << 8;
    const STEALABLE: u32 = 1 << 9;
    const REALTIME: u32 = 1 << 10;
    const IN_GROUP: u32 = 1 << 11;

    /// The parameters of an ordinary thread of this priority and policy that other CPUs may take, or not.
    pub const fn new(priority: u8, policy: Policy, stealable: bool) -> Self {
        Self(priority as u32 | (policy as u32 * Self::POLICY) | (stealable as u32 * Self::STEALABLE))
    }

    #[inline(always)]
    pub(crate) fn priority(self) -> u8 {
        self.0 as u8
    }

    #[inline(always)]
    pub(crate) fn is_stealable(self) -> bool {
        self.0 & Self::STEALABLE != 0
    }

    #[inline(always)]
    pub(crate) fn is_realtime(self) -> bool {
        self.0 & Self::REALTIME != 0
    }

    /// Whether it is that of an ordinary thread of this priority.
    #[inline(always)]
    pub(crate) fn is_of(self, priority: u8) -> bool {
        self.0 & (Self::PRIORITY | Self::REALTIME) == u32::from(priority)
    }
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has a CPU.
    Running,
    /// It waits for a CPU.
    Ready,
    /// It waits for something else.
    Waiting,
}

/// What there is to say about a thread, as of the moment of asking.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// What it is doing.
    pub state: State,
    /// How it shares its CPU with equals, when it is not real-time.
    pub policy: Policy,
    /// Its real-time schedule.
    pub realtime: Option<Realtime>,
    /// Deadlines missed under real-time schedules.
    pub deadlines_missed: u64,
    /// Below [`PRIORITIES`]; the highest one that is ready runs.
    pub priority: u8,
    /// Where it runs, or ran last.
    pub cpu: usize,
    /// The only CPU it may run on, if there is just one.
    pub bound: Option<usize>,
    /// Whether other CPUs may take it.
    pub stealable: bool,
    /// Nanoseconds it has run.
    pub run_ns: u64,
    /// Times it got a CPU.
    pub switches: u64,
}

/// A thread of execution. Control blocks are never freed, only reused: a stale reference wakes a stranger at worst, and
/// every sleeper tolerates that.
#[repr(C)]
pub struct Thread {
    pub(crate) context: Context,
    /// Where it is among the ready threads of its CPU.
    pub(crate) place: Place,
    pub(crate) token: Token,
    /// Attention that its CPU has to give it: [`attention::SIGNAL`] if it is interrupted, else 0.
    attention: AtomicU32,
    /// [`Params`].
    params: AtomicU32,
    index: u32,
    /// The function that it was made for, or 0.
    pub(crate) entry: AtomicUsize,
    /// It has ended, and nobody has released it yet.
    pub(crate) is_kept: AtomicBool,
    /// The CPU it may run on, [`ANYWHERE`] or [`IN_SET`].
    binding: AtomicU32,
    /// CPU that the thread runs on, is queued on, or ran on last.
    pub(crate) cpu: AtomicUsize,
    /// TSC cycles run; while it runs, less the counter at its begin, and so negative.
    run_cycles: AtomicU64,
    /// The TSC when it got a CPU last.
    since_cycles: AtomicU64,
    switches: AtomicU64,
    pub(crate) turn: Turn,
    pub(crate) inbox_next: AtomicRef<Thread>,
    pub(crate) review_next: AtomicRef<Thread>,
    /// It is in a list of reviews.
    pub(crate) in_review: Asked,
    pub(crate) realtime: edf::Realtime,
    /// The group it is a member of, or 0.
    group: AtomicU32,
    pub(crate) seen: spin::Seen,
    /// CPUs that it may run on, if there are several.
    affinity: SpinLock<Option<Arc<CpuSet>>>,
    waits_for: WaitNote,
}

const ANYWHERE: u32 = u32::MAX;
const IN_SET: u32 = u32::MAX - 1;
const DEFAULT_PARAMS: Params = Params::new(PRIORITY_DEFAULT, Policy::RoundRobin, true);

impl Thread {
    pub(crate) fn new(index: u32) -> Self {
        Self {
            context: Context::new(index),
            place: Place::new(),
            token: Token::free(index),
            attention: AtomicU32::new(0),
            params: AtomicU32::new(DEFAULT_PARAMS.0),
            index,
            entry: AtomicUsize::new(0),
            is_kept: AtomicBool::new(false),
            binding: AtomicU32::new(ANYWHERE),
            cpu: AtomicUsize::new(0),
            run_cycles: AtomicU64::new(0),
            since_cycles: AtomicU64::new(0),
            switches: AtomicU64::new(0),
            turn: Turn::new(),
            inbox_next: AtomicRef::none(),
            review_next: AtomicRef::none(),
            in_review: Asked::new(),
            realtime: edf::Realtime::new(),
            group: AtomicU32::new(0),
            seen: spin::Seen::new(),
            affinity: SpinLock::ranked(Rank::Affinity, None),
            waits_for: WaitNote::new(),
        }
    }

    /// A thread for tests that is in no table.
    #[cfg(test)]
    pub(crate) fn leak(index: u32) -> &'static Self {
        alloc::boxed::Box::leak(alloc::boxed::Box::new(Self::new(index)))
    }

    /// Makes a reused control block that of a new thread; the token comes last and elsewhere.
    pub(crate) fn reset(&self, affinity: Option<Arc<CpuSet>>) {
        self.attention.store(0, Ordering::Relaxed);
        self.params.store(DEFAULT_PARAMS.0, Ordering::Relaxed);
        self.run_cycles.store(0, Ordering::Relaxed);
        self.switches.store(0, Ordering::Relaxed);
        self.turn.reset();
        self.cpu.store(cpu::current_id(), Ordering::Relaxed);
        self.realtime.reset();
        self.group.store(0, Ordering::Relaxed);
        self.seen.reset();
        self.note_wait(None);
        self.store_affinity(affinity);
    }

    /// Whether it may run on every CPU.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.binding.load(Ordering::Relaxed) == ANYWHERE
    }

    /// Index in the table: small, dense, reused.
    pub fn id(&self) -> u32 {
        self.index
    }

    /// Address of the function that it was made for; 0 for what a CPU ran when the scheduler began.
    pub fn entry(&self) -> usize {
        self.entry.load(Ordering::Relaxed)
    }

    /// A link for a higher layer, which survives the thread and passes to the next with this control block.
    #[inline(always)]
    pub fn companion(&self) -> &Companion {
        self.context.head().companion()
    }

    /// The same for what the program's system calls know of the thread.
    #[inline(always)]
    pub fn personality(&self) -> &Companion {
        self.context.head().personality()
    }

    /// Stack, saved registers and program state.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// CPU that the thread runs on or will run on.
    #[inline]
    pub fn cpu(&self) -> usize {
        self.cpu.load(Ordering::Relaxed)
    }

    /// How it gets its CPU, as of now: read once where several of its parts matter.
    #[inline(always)]
    pub(crate) fn params(&self) -> Params {
        Params(self.params.load(Ordering::Relaxed))
    }

    /// Whether it has a real-time schedule.
    #[inline(always)]
    pub fn is_realtime(&self) -> bool {
        self.params().is_realtime()
    }

    /// Whether it has neither a real-time schedule nor a group of [`crate::gang`].
    #[inline(always)]
    pub fn is_ordinary(&self) -> bool {
        self.params().0 & (Params::REALTIME | Params::IN_GROUP) == 0
    }

    /// Gives the thread a job, or none; its CPU makes its place fit. Returns whether it had one.
    pub(crate) fn set_job(&self, job: Option<Job>) -> bool {
        self.realtime.set_job(job, |has_one| {
            self.change_params(Params::REALTIME, if has_one { Params::REALTIME } else { 0 });
        })
    }

    /// The group it is a member of, or 0.
    pub(crate) fn group(&self) -> u32 {
        self.group.load(Ordering::Relaxed)
    }

    /// Makes it a member of a group, or with 0 of none.
    pub(crate) fn set_group(&self, group: u32) {
        self.group.store(group, Ordering::Relaxed);
        self.change_params(Params::IN_GROUP, if group != 0 { Params::IN_GROUP } else { 0 });
    }

    /// Deadlines missed under this and earlier real-time schedules.
    pub fn deadlines_missed(&self) -> u64 {
        self.realtime.state.lock().missed()
    }

    /// Whether it waits for its CPU, or for the begin of its period.
    pub(crate) fn is_queued(&self) -> bool {
        self.place.level() != NOWHERE || self.realtime.is_queued()
    }

    /// Whether it is this very thread.
    #[inline(always)]
    pub(crate) fn is(&self, other: &Thread) -> bool {
        core::ptr::eq(self, other)
    }

    /// Whether a blocking call that allows it should give up: a signal is pending or the process ends.
    pub fn interrupted(&self) -> bool {
        self.attention.load(Ordering::Acquire) != 0
    }

    /// Attention that the thread's CPU has to give it.
    #[inline(always)]
    pub(crate) fn attention(&self) -> u32 {
        self.attention.load(Ordering::Acquire)
    }

    /// Sets or clears [`Thread::interrupted`]. The caller unparks the thread, or [`Thread::poke`]s it if it may be running.
    pub fn set_interrupted(&self, interrupted: bool) {
        self.attention.store(if interrupted { attention::SIGNAL } else { 0 }, Ordering::Release);
    }

    /// The thread gives its CPU up at this value of the time-stamp counter.
    #[inline(always)]
    pub(crate) fn note_end(&self, now: u64) {
        // Only the CPU that has claimed the thread writes here, so these are no read-modify-write instructions.
        self.run_cycles.store(self.run_cycles.load(Ordering::Relaxed).wrapping_add(now), Ordering::Relaxed);
    }

    /// The thread gets a CPU at this value of the time-stamp counter.
    #[inline(always)]
    pub(crate) fn note_begin(&self, now: u64) {
        self.run_cycles.store(self.run_cycles.load(Ordering::Relaxed).wrapping_sub(now), Ordering::Relaxed);
        self.since_cycles.store(now, Ordering::Relaxed);
        self.switches.store(self.switches.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Nanoseconds that the thread has run, up to now if it is running.
    pub fn run_time_ns(&self) -> u64 {
        hadal_time::duration_ns(self.cycles_until(tsc::read_unordered()))
    }

    /// The same in cycles, up to a value of the time-stamp counter.
    pub(crate) fn cycles_until(&self, now: u64) -> u64 {
        let cycles = self.run_cycles.load(Ordering::Relaxed);
        let running = cycles.cast_signed() < 0;
        let cycles = if running { cycles.wrapping_add(now) } else { cycles };
        // The counters of two CPUs may differ by a little.
        cycles.cast_signed().max(0).cast_unsigned()
    }

    /// The time-stamp counter when the thread got a CPU last.
    pub(crate) fn since_cycles(&self) -> u64 {
        self.since_cycles.load(Ordering::Relaxed)
    }

    /// Monotonic time at which the thread got a CPU last.
    pub fn last_run_ns(&self) -> u64 {
        hadal_time::ns_at(self.since_cycles())
    }

    /// Times the thread got a CPU.
    pub fn switches(&self) -> u64 {
        self.switches.load(Ordering::Relaxed)
    }

    /// Whether some CPU is running the thread, as of now.
    pub fn is_running(&self) -> bool {
        crate::running_on(self.cpu()).is_some_and(|thread| thread.is(self))
    }

    /// Whether the thread is parked, or has not been started.
    pub fn is_parked(&self) -> bool {
        self.token.is_parked()
    }

    /// The CPUs that the thread may run on; `None` means all.
    #[inline]
    pub fn affinity(&self) -> Option<Arc<CpuSet>> {
        if self.is_free() { None } else { self.bound_to() }
    }

    #[inline(never)]
    fn bound_to(&self) -> Option<Arc<CpuSet>> {
        match self.binding.load(Ordering::Acquire) {
            ANYWHERE => None,
            IN_SET => self.affinity.lock().clone(),
            bound => {
                let mut set = CpuSet::new_empty(cpu::count());
                set.insert(bound as usize);
                Some(Arc::new(set))
            }
        }
    }

    /// The only CPU that the thread may run on, if there is just one.
    #[inline]
    pub fn bound(&self) -> Option<usize> {
        let binding = self.binding.load(Ordering::Relaxed);
        (binding < IN_SET).then_some(binding as usize)
    }

    pub(crate) fn store_binding(&self, cpu: Option<usize>) {
        self.binding.store(cpu.map_or(ANYWHERE, |cpu| cpu as u32), Ordering::Release);
    }

    pub(crate) fn store_affinity(&self, set: Option<Arc<CpuSet>>) {
        match set {
            Some(set) if set.len() == 1 => self.store_binding(set.iter().next()),
            Some(set) => {
                *self.affinity.lock() = Some(set);
                self.binding.store(IN_SET, Ordering::Release);
            }
            None => self.store_binding(None),
        }
    }

    /// Whether the thread may run on a CPU.
    #[inline(always)]
    pub(crate) fn allows(&self, cpu: usize) -> bool {
        match self.binding.load(Ordering::Acquire) {
            ANYWHERE => true,
            IN_SET => self.set_allows(cpu),
            bound => bound as usize == cpu,
        }
    }

    /// The CPUs from `64 * index` on where the thread may run, as bits.
    pub(crate) fn allowed_word(&self, index: usize) -> u64 {
        match self.binding.load(Ordering::Acquire) {
            ANYWHERE => u64::MAX,
            IN_SET => self.affinity.lock().as_ref().map_or(u64::MAX, |set| set.word(index)),
            bound if bound as usize / 64 == index => 1 << (bound % 64),
            _ => 0,
        }
    }

    #[cold]
    fn set_allows(&self, cpu: usize) -> bool {
        self.affinity.lock().as_ref().is_none_or(|set| set.contains(cpu))
    }

    /// Whether it has these parameters, is no member of a group, and may run on every CPU.
    #[inline(always)]
    pub fn is_free_in(&self, params: Params) -> bool {
        self.params() == params && self.is_free()
    }

    fn change_params(&self, mask: u32, bits: u32) {
        let change = |params| Some(params & !mask | bits);
        let _ = self.params.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }

    /// 0 to [`PRIORITIES`] - 1, the most urgent.
    #[inline]
    pub fn priority(&self) -> u8 {
        self.params().priority()
    }

    pub(crate) fn store_priority(&self, priority: u8) {
        self.change_params(Params::PRIORITY, priority.into());
    }

    /// How the thread shares its CPU with equals.
    pub fn policy(&self) -> Policy {
        if self.params().0 & Params::POLICY != 0 { Policy::RunToCompletion } else { Policy::RoundRobin }
    }

    /// Changes how the thread shares its CPU with equals; a real-time thread becomes an ordinary one.
    pub fn set_policy(&'static self, policy: Policy) {
        self.store_policy(policy);
        self.end_realtime();
    }

    pub(crate) fn store_policy(&self, policy: Policy) {
        self.change_params(Params::POLICY, policy as u32 * Params::POLICY);
    }

    /// Whether other CPUs may take the thread, and a wake-up may place it elsewhere.
    #[inline]
    pub fn stealable(&self) -> bool {
        self.params().is_stealable()
    }

    /// Whether there is another CPU that may have the thread with these parameters.
    #[inline(always)]
    pub(crate) fn may_move(&self, params: Params) -> bool {
        params.is_stealable() && self.bound().is_none()
    }

    /// Threads are stealable at first, as those of Linux programs expect; run-times that place theirs turn it off.
    pub fn set_stealable(&self, stealable: bool) {
        self.change_params(Params::STEALABLE, u32::from(stealable) * Params::STEALABLE);
    }

    /// Everything at once.
    pub fn info(&self) -> Info {
        let state = match () {
            () if self.is_running() => State::Running,
            () if self.is_parked() => State::Waiting,
            () => State::Ready,
        };
        Info {
            state,
            policy: self.policy(),
            realtime: self.realtime(),
            deadlines_missed: self.deadlines_missed(),
            priority: self.priority(),
            cpu: self.cpu(),
            bound: self.bound(),
            stealable: self.stealable(),
            run_ns: self.run_time_ns(),
            switches: self.switches(),
        }
    }

    /// Says what the thread is about to wait for, for reports: a noun and an address or number.
    #[inline]
    pub fn note_wait(&self, what: Option<(Noun, u64)>) {
        self.waits_for.set(what);
    }

    /// What [`Thread::note_wait`] said last.
    pub fn waits_for(&self) -> Option<(Noun, u64)> {
        self.waits_for.get()
    }

    /// Whether the control block has a thread that has not ended.
    pub fn is_live(&self) -> bool {
        self.token.is_live()
    }
}
