// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Giving the CPU up: park, yield, exit, and the switch behind them.

use alloc::sync::Arc;
use core::sync::atomic::{Ordering, fence};

use hadal_hal::cpuset::CpuSet;
use hadal_hal::percpu::{self, attention};
use hadal_hal::trace::{self, Kind};
use hadal_hal::{apic, context, cpu, irq};
use hadal_time::now_ns;

use crate::cpus::Cpu;
use crate::thread::{TABLE, Thread, current};
use crate::{balance, cpus, timers};

/// Why [`park`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// [`Thread::unpark`] was called, perhaps for an earlier wait: callers check what they wait for.
    Unparked,
    /// The deadline has passed.
    TimedOut,
}

/// Blocks the calling thread until it is unparked or `deadline_ns` (monotonic) has passed. An unpark that came first makes
/// it return at once.
pub fn park(deadline_ns: Option<u64>) -> Wake {
    let thread = current();
    let _irq = irq::disable();
    if thread.token.spend() {
        return Wake::Unparked;
    }
    let timer = match deadline_ns {
        Some(deadline) if deadline <= now_ns() => return Wake::TimedOut,
        // Without memory for a timer a wait with a time-out must not become one without: the caller polls.
        Some(deadline) => match timers::unpark_at(deadline, thread) {
            Some(timer) => Some(timer),
            None => {
                yield_now();
                return Wake::Unparked;
            }
        },
        None => None,
    };
    if thread.token.park() {
        // The waker has made the thread runnable; a second one may have left a wake-up, which the next park spends.
        reschedule();
    } else {
        thread.token.spend();
    }
    let expired = timer.is_some_and(|timer| !timer.cancel());
    if expired { Wake::TimedOut } else { Wake::Unparked }
}

/// Blocks the calling thread until `deadline_ns`, whatever wakes it meanwhile.
pub fn sleep_until(deadline_ns: u64) {
    while now_ns() < deadline_ns {
        park(Some(deadline_ns));
    }
}

/// [`park`] for calls through the table of `hadal/hrt.h`: the caller has given up its vector registers, as the C ABI says.
pub fn park_call(deadline_ns: Option<u64>) -> Wake {
    park(deadline_ns)
}

/// Lets the next ready thread of this CPU run, for calls through the table of `hadal/hrt.h`: the caller has given up its
/// vector registers.
pub fn yield_call() {
    yield_now();
}

/// Whether a wake-up interrupts the woken thread's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// Yes, if that CPU would not look soon by itself.
    Yes,
    /// No: the CPU looks within 1 ms.
    No,
}

impl Thread {
    /// [`Thread::unpark`] with a choice of how fast it has to be.
    pub fn wake(&'static self, _kick: Kick) {
        self.unpark();
    }

    /// Binds the thread to one CPU, or frees it. The calling thread has moved when this returns.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn bind(&'static self, cpu: Option<usize>) {
        set_affinity(
            self,
            cpu.map(|cpu| {
                assert!(cpu < cpu::count(), "no CPU {cpu}");
                let mut set = CpuSet::new_empty(cpu::count());
                set.insert(cpu);
                Arc::new(set)
            }),
        );
    }

    /// Makes a parked thread runnable, or its next [`park`] return at once. From any context.
    pub fn unpark(&'static self) {
        if self.token.notify() {
            let target = balance::choose(self);
            trace::point(Kind::Wake, trace::pair(self.id(), target as u32), 0);
            cpus::enqueue(self, target);
        }
    }

    /// [`Thread::unpark`] onto a CPU of the caller's choice, on which the thread is allowed to run.
    pub fn unpark_on(&'static self, cpu: usize) {
        if self.token.notify() {
            trace::point(Kind::Wake, trace::pair(self.id(), cpu as u32), 0);
            cpus::enqueue(self, cpu);
        }
    }

    /// Starts a thread that [`crate::create`] made.
    pub fn start(&'static self) {
        self.unpark();
    }

    /// Makes the thread look at [`Thread::interrupted`] soon: wakes it if it is parked, interrupts its CPU if it runs.
    pub fn poke(&'static self) {
        self.unpark();
        // Either this sees the CPU that the thread is being switched to, or that CPU sees `interrupted`.
        fence(Ordering::SeqCst);
        let on = self.cpu();
        if percpu::thread_index_of(on) == self.id() {
            if on == cpu::current_id() {
                percpu::raise_attention(attention::SIGNAL);
            } else {
                apic::send_ipi(on, irq::VECTOR_RESCHEDULE);
            }
        }
    }
}

/// Lets another ready thread of this CPU run, if there is one; moves to an allowed CPU if this one is not. Returns whether
/// the thread gave the CPU up.
pub fn yield_now() -> bool {
    let thread = current();
    let _irq = irq::disable();
    let own = cpus::this();
    if thread.allows(cpu::current_id()) {
        if !own.collect() {
            percpu::clear_attention(attention::RESCHEDULE);
            return false;
        }
        own.push_local(thread);
    } else {
        cpus::enqueue(thread, balance::choose(thread));
    }
    reschedule();
    true
}

/// What program code has to do before it goes on, as far as the scheduler is concerned.
pub fn attend() {
    if percpu::pending_attention() & attention::RESCHEDULE != 0 {
        percpu::clear_attention(attention::RESCHEDULE);
        yield_now();
    }
}

/// Changes where a thread may run. The calling thread has moved when this returns; another one moves when its CPU looks
/// next, at once if it is running.
pub fn set_affinity(thread: &'static Thread, set: Option<Arc<CpuSet>>) {
    thread.store_affinity(set);
    if thread.id() == current().id() {
        yield_now();
    } else if percpu::thread_index_of(thread.cpu()) == thread.id() {
        apic::send_ipi(thread.cpu(), irq::VECTOR_RESCHEDULE);
    }
}

/// Ends the calling thread; its control block and stack are reused.
pub fn exit() -> ! {
    irq::mask();
    let thread = current();
    thread.context.clear_program();
    trace::point(Kind::ThreadExit, 0, 0);
    // The next user of the control block waits until this CPU has left the stack.
    TABLE.give_back(thread);
    reschedule();
    unreachable!("a thread that has exited was run again");
}

/// The next thread to run: a ready one that may run here and that no other CPU is still leaving, else the idle thread.
///
/// A thread may be queued here while its last CPU has not finished switching away from it. Waiting for that CPU would be a
/// deadlock when it waits for the thread that is running here (two threads that change places), so it is put back; from the
/// idle thread this CPU looks again at once.
fn choose_next(own: &'static Cpu, previous: &'static Thread) -> &'static Thread {
    let mut put_back = 0;
    while let Some(thread) = own.pop() {
        if !thread.allows(cpu::current_id()) {
            cpus::enqueue(thread, balance::choose(thread));
        } else if thread.id() == previous.id() || !thread.context.is_on_cpu() {
            return thread;
        } else {
            own.push_local(thread);
            put_back += 1;
            if put_back > own.ready_len() {
                break;
            }
        }
    }
    own.idle_thread()
}

/// Switches to the next ready thread, or the idle thread. Interrupts are off; the caller has put the running thread where
/// it belongs.
pub(crate) fn reschedule() {
    let own = cpus::this();
    let previous = current();
    let next = choose_next(own, previous);
    percpu::clear_attention(attention::RESCHEDULE);
    timers::new_slice();
    if next.id() == previous.id() {
        return;
    }
    let now = now_ns();
    let ran = now.saturating_sub(previous.since_ns.load(Ordering::Relaxed));
    previous.run_ns.fetch_add(ran, Ordering::Relaxed);
    next.since_ns.store(now, Ordering::Relaxed);
    next.cpu.store(cpu::current_id(), Ordering::Relaxed);
    trace::point(Kind::Switch, trace::pair(next.id(), previous.token.left() as u32), 0);
    percpu::set_thread_index(next.id());
    // Whoever sets `interrupted` from now on finds the thread here and interrupts; what was set before is seen now.
    fence(Ordering::SeqCst);
    percpu::clear_attention(attention::SIGNAL);
    if next.interrupted() {
        percpu::raise_attention(attention::SIGNAL);
    }
    own.switches.fetch_add(1, Ordering::Relaxed);
    next.switches.fetch_add(1, Ordering::Relaxed);
    context::switch(previous.context(), next.context());
}
