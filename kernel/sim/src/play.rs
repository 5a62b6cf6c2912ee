// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One schedule: the threads of a plan, what they do, and what must hold while they do it.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use hadal_hal::cpu::percpu::{self, attention};
use hadal_hal::cpu::set::CpuSet;
use hadal_hal::interrupts::irq;
use hadal_hal::sync::atomic::{AtomicU32 as Shared, Ordering};
use hadal_hal::threads::link::AtomicRef;
use hadal_hal::{cpu, sim};
use hadal_sched::{Kick, Policy, Realtime, Thread, Wake, audit};
use hadal_time::now_ns;

use crate::plan::{Op, Plan, THREADS, Waiting, Waking};

/// What the threads share: words of the simulated memory.
struct Place {
    thread: AtomicRef<Thread>,
    credits: Shared,
}

static PLACES: [Place; THREADS] =
    [const { Place { thread: AtomicRef::none(), credits: Shared::new(0) } }; THREADS];
/// A word to touch, for work.
static WORD: Shared = Shared::new(0);
/// Threads that have come to their end.
static ENDED: Shared = Shared::new(0);
static ROOT: AtomicRef<Thread> = AtomicRef::none();

// What the simulator itself remembers, which is no memory of the machine.
static PLAN: Mutex<Option<Arc<Plan>>> = Mutex::new(None);
/// Calls under way that change a thread, or wake one.
static CHANGES: AtomicU32 = AtomicU32::new(0);
/// Bits of threads that may run.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// Control blocks that threads of plans have had, for late wake-ups.
static USED: [AtomicU32; THREADS] = [const { AtomicU32::new(u32::MAX) }; THREADS];
/// Timers: started, stopped in time, fired.
static TIMERS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
static LAST_TIMER_NS: AtomicU64 = AtomicU64::new(0);

fn plan() -> Arc<Plan> {
    PLAN.lock().ok().and_then(|plan| plan.clone()).unwrap_or_else(|| sim::fail("there is no plan"))
}

fn thread_of(number: usize) -> Option<&'static Thread> {
    PLACES[number].thread.load(Ordering::Acquire)
}

/// Does something that changes threads; meanwhile nothing has to be settled.
fn change<R>(act: impl FnOnce() -> R) -> R {
    CHANGES.fetch_add(1, Relaxed);
    let result = act();
    CHANGES.fetch_sub(1, Relaxed);
    result
}

/// What the trap layer does before a program goes on, and then some instructions of the program.
fn program(steps: u32) {
    for _ in 0..=steps {
        attend();
        WORD.load(Ordering::Relaxed);
    }
    attend();
}

fn attend() {
    while percpu::pending_attention() != 0 {
        // With interrupts off nobody sees the moment between the attention that is gone and what comes of it.
        let _irq = irq::disable();
        percpu::clear_attention(attention::SIGNAL);
        if hadal_sched::current().interrupted() {
            hadal_sched::current().set_interrupted(false);
        }
        hadal_sched::attend();
    }
}

/// Looks whether everything is where it should be, if nothing is under way.
fn look() {
    if CHANGES.load(Relaxed) == 0 && sim::is_settled() {
        audit::check();
    }
}

/// First code of a thread of the plan.
fn body(number: usize) -> ! {
    if STARTED.load(Relaxed) & 1 << number == 0 {
        sim::fail("a thread runs that has not been started");
    }
    let plan = plan();
    for (index, &op) in plan.threads[number].ops.iter().enumerate() {
        sim::note("does", [number as u64, index as u64]);
        program(1);
        perform(number, op);
        look();
    }
    // Whatever was asked for must have been seen to: until then the thread must not go.
    let mut patience = 200;
    while patience > 0 && !(CHANGES.load(Relaxed) == 0 && sim::is_settled()) {
        cpu::relax();
        attend();
        patience -= 1;
    }
    program(0);
    look();
    PLACES[number].thread.store(None, Ordering::Release);
    drop(plan);
    ENDED.fetch_add(1, Ordering::AcqRel);
    if let Some(root) = ROOT.load(Ordering::Acquire) {
        root.unpark();
    }
    hadal_sched::exit()
}

fn spawn(number: usize) {
    let plan = plan();
    let wanted = &plan.threads[number];
    let Ok(thread) = change(|| hadal_sched::create(body, number, None)) else { sim::fail("no thread") };
    USED[number].store(thread.id(), Relaxed);
    thread.set_stealable(wanted.stealable);
    thread.set_priority(wanted.priority);
    thread.bind(wanted.bound);
    program(1);
    STARTED.fetch_or(1 << number, Relaxed);
    PLACES[number].thread.store(Some(thread), Ordering::Release);
    change(|| thread.start());
}

fn wake(thread: &'static Thread, how: Waking) {
    match how {
        Waking::Unpark | Waking::HandOver => thread.unpark(),
        Waking::WithoutKick => thread.wake(Kick::No),
        Waking::Here => thread.unpark_on(cpu::current_id()),
        Waking::Together => {
            let all: Vec<u32> = (0..THREADS).filter_map(thread_of).map(Thread::id).collect();
            hadal_sched::wake_all(&all, Kick::Yes);
            // Its owner may have gone meanwhile, or the list was made before it came.
            thread.unpark();
        }
        Waking::InTimer => {
            let wake = |index: usize| hadal_sched::thread(index as u32).unpark();
            if hadal_sched::call_at(now_ns() + 300, wake, thread.id() as usize).is_none() {
                sim::fail("no timer");
            }
        }
    }
}

fn has_credit(number: usize) -> bool {
    let credits = &PLACES[number].credits;
    let less = |credits: u32| credits.checked_sub(1);
    credits.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
}

fn take(number: usize, how: Waiting) {
    while !has_credit(number) {
        let (wake, deadline_ns) = match how {
            Waiting::Park => (hadal_sched::park(None), 0),
            Waiting::Call => (hadal_sched::park_call(None), 0),
            Waiting::Deadline(delay_ns) => {
                let deadline_ns = now_ns() + delay_ns;
                (hadal_sched::park(Some(deadline_ns)), deadline_ns)
            }
            Waiting::CallDeadline(delay_ns) => {
                let deadline_ns = now_ns() + delay_ns;
                (hadal_sched::park_call(Some(deadline_ns)), deadline_ns)
            }
        };
        if wake == Wake::TimedOut && now_ns() < deadline_ns {
            sim::fail("a time-out comes too early");
        }
        attend();
    }
}

fn fire(_: usize) {
    TIMERS[2].fetch_add(1, Relaxed);
}

fn perform(own: usize, op: Op) {
    let with = |number: usize, act: &dyn Fn(&'static Thread)| {
        if let Some(thread) = thread_of(number) {
            change(|| act(thread));
        }
    };
    match op {
        Op::Spawn(child) => spawn(child),
        Op::Give(to, how) => {
            PLACES[to].credits.fetch_add(1, Ordering::AcqRel);
            // As before every wait: first the look whether there is something to wait for.
            let waits = matches!(how, Waking::HandOver) && !has_credit(own);
            match thread_of(to) {
                Some(thread) if waits => hadal_sched::wake_and_park_call(thread),
                Some(thread) => change(|| wake(thread, how)),
                None => {}
            }
            if waits {
                attend();
                take(own, Waiting::Call);
            }
        }
        Op::Take(how) => take(own, how),
        Op::Yield => hadal_sched::yield_to_all(),
        Op::YieldCall => hadal_sched::yield_call(),
        Op::YieldCallFull => hadal_sched::yield_call_full(),
        Op::Bind(to, cpu) => with(to, &|thread| thread.bind(cpu)),
        Op::Affinity(to, mask) => {
            let mut set = CpuSet::new_empty(cpu::count());
            (0..cpu::count()).filter(|cpu| mask >> cpu & 1 == 1).for_each(|cpu| set.insert(cpu));
            let set = Arc::new(set);
            with(to, &|thread| hadal_sched::set_affinity(thread, Some(set.clone())));
        }
        Op::Priority(to, priority) => with(to, &|thread| thread.set_priority(priority)),
        Op::Stealable(to, stealable) => with(to, &|thread| thread.set_stealable(stealable)),
        Op::RunToCompletion(to, is_so) => {
            let policy = if is_so { Policy::RunToCompletion } else { Policy::RoundRobin };
            with(to, &|thread| thread.set_policy(policy));
        }
        Op::Interrupt(to) => with(to, &|thread| {
            thread.set_interrupted(true);
            thread.poke();
        }),
        Op::Stale(number) => match USED[number].load(Relaxed) {
            u32::MAX => {}
            index => change(|| hadal_sched::thread(index).unpark()),
        },
        Op::Timer(delay_ns, stops) => {
            TIMERS[0].fetch_add(1, Relaxed);
            let deadline_ns = now_ns() + delay_ns;
            LAST_TIMER_NS.fetch_max(deadline_ns, Relaxed);
            let Some(timer) = hadal_sched::call_at(deadline_ns, fire, own) else { sim::fail("no timer") };
            program(10);
            if stops && timer.cancel() {
                TIMERS[1].fetch_add(1, Relaxed);
            }
        }
        Op::Sleep(delay_ns) => {
            let until = now_ns() + delay_ns;
            hadal_sched::sleep_until(until);
            if now_ns() < until {
                sim::fail("a sleep ends too early");
            }
        }
        Op::Work(steps) => program(steps),
        Op::Aperiodic(deadline_ns) => {
            let wanted = Realtime::Aperiodic { deadline_ns, start_ns: 0 };
            let _ = change(|| hadal_sched::admit(hadal_sched::current(), wanted));
        }
    }
}

/// Plays a plan to its end. For the root thread, which waits.
pub(crate) fn play(plan: Plan) {
    let root = hadal_sched::current();
    ROOT.store(Some(root), Ordering::Release);
    ENDED.store(0, Ordering::Release);
    STARTED.store(0, Relaxed);
    TIMERS.iter().for_each(|count| count.store(0, Relaxed));
    PLACES.iter().for_each(|place| place.credits.store(0, Ordering::Release));
    let plan = Arc::new(plan);
    if let Ok(mut current) = PLAN.lock() {
        *current = Some(plan.clone());
    }
    for &number in &plan.first {
        spawn(number);
        program(1);
    }
    while (ENDED.load(Ordering::Acquire) as usize) < plan.threads.len() {
        hadal_sched::park(None);
        attend();
    }
    if PLACES.iter().any(|place| sim::observe(|| place.thread.load(Ordering::Relaxed).is_some())) {
        sim::fail("a thread has not come to its end");
    }
    // What is still to fire fires, and everything comes to rest.
    hadal_sched::sleep_until(LAST_TIMER_NS.load(Relaxed).max(now_ns()) + 10_000);
    while hadal_sched::live_threads() > 1 || !sim::is_settled() {
        cpu::relax();
        attend();
    }
    audit::check();
    audit::check_end();
    let [started, stopped, fired] = [0, 1, 2].map(|which: usize| TIMERS[which].load(Relaxed));
    if started != stopped + fired {
        sim::fail(&format!("{started} timers were started, {stopped} stopped, but {fired} fired"));
    }
}
