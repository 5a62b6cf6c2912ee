// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads, made from waiting ones: stack, thread-local data and libc's state are ready.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hadal_hrt_abi::thread as abi;

use crate::error::{Error, Result, check};
use crate::ffi::{self, ThreadAttr, ThreadInfo};
use crate::job::{Job, Outcome, Pending};
use crate::time::Deadline;

/// Most urgent priority plus one.
pub const PRIORITIES: i32 = abi::PRIORITIES;

/// Who runs when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Equals take turns.
    RoundRobin,
    /// Never preempted by equals.
    RunToCompletion,
    /// `work_ns` of CPU time in each `period_ns`, from `start_ns` on (0: now).
    Periodic {
        /// Length of a period.
        period_ns: u64,
        /// CPU time in each.
        work_ns: u64,
        /// Start of the first one, on the clock.
        start_ns: u64,
    },
    /// `work_ns` once, within `deadline_ns`.
    Sporadic {
        /// CPU time in all.
        work_ns: u64,
        /// Time from the start by which it is done.
        deadline_ns: u64,
    },
    /// After the admitted ones, earliest deadline first.
    Aperiodic {
        /// Time from the start by which it should be done.
        deadline_ns: u64,
    },
}

/// Choices for a new thread.
#[derive(Clone, Debug)]
pub struct Builder {
    attr: ThreadAttr,
    name: Option<CString>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

fn set_policy(attr: &mut ThreadAttr, policy: Policy) {
    (attr.period_ns, attr.work_ns, attr.deadline_ns, attr.start_ns) = (0, 0, 0, 0);
    match policy {
        Policy::RoundRobin => attr.policy = abi::Policy::RoundRobin as u32,
        Policy::RunToCompletion => attr.policy = abi::Policy::RunToCompletion as u32,
        Policy::Periodic { period_ns, work_ns, start_ns } => {
            attr.policy = abi::Policy::EdfPeriodic as u32;
            (attr.period_ns, attr.work_ns, attr.start_ns) = (period_ns, work_ns, start_ns);
        }
        Policy::Sporadic { work_ns, deadline_ns } => {
            attr.policy = abi::Policy::EdfSporadic as u32;
            (attr.work_ns, attr.deadline_ns) = (work_ns, deadline_ns);
        }
        Policy::Aperiodic { deadline_ns } => {
            attr.policy = abi::Policy::EdfAperiodic as u32;
            attr.deadline_ns = deadline_ns;
        }
    }
}

impl Builder {
    /// The defaults: any CPU, round robin, default priority and stack.
    #[must_use]
    pub fn new() -> Self {
        let attr = ThreadAttr {
            size: size_of::<ThreadAttr>() as u32,
            flags: 0,
            cpu: ffi::CPU_ANY,
            zone: ffi::ZONE_ANY,
            policy: abi::Policy::RoundRobin as u32,
            priority: abi::PRIORITY_DEFAULT,
            stack_bytes: abi::STACK_DEFAULT.into(),
            period_ns: 0,
            work_ns: 0,
            deadline_ns: 0,
            start_ns: 0,
            name: 0,
        };
        Self { attr, name: None }
    }

    /// Binds it to a CPU.
    #[must_use]
    pub fn cpu(mut self, cpu: u32) -> Self {
        // A number beyond any CPU's stays one.
        self.attr.cpu = i32::try_from(cpu).unwrap_or(i32::MAX);
        self
    }

    /// Binds it to the CPUs of a zone.
    #[must_use]
    pub fn zone(mut self, zone: u32) -> Self {
        self.attr.zone = i32::try_from(zone).unwrap_or(i32::MAX);
        self
    }

    /// Priority, 0 (the least urgent) to [`PRIORITIES`] - 1.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.attr.priority = priority;
        self
    }

    /// Who runs when.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        set_policy(&mut self.attr, policy);
        self
    }

    /// Size of its stack, rounded up to a power of two.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: u64) -> Self {
        self.attr.stack_bytes = bytes;
        self
    }

    /// Its name, cut at the first NUL and after 31 bytes.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        let text = name.split('\0').next().unwrap_or_default();
        self.name = CString::new(text).ok();
        self
    }

    /// Lets an idle CPU take it.
    #[must_use]
    pub fn stealable(mut self) -> Self {
        self.attr.flags |= 4;
        self
    }

    /// Starts a thread that runs `function`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: a choice out of range; [`Error::Refused`]: a schedule that the CPU cannot keep;
    /// [`Error::Exhausted`], [`Error::NoMemory`].
    pub fn spawn<F, T>(&self, function: F) -> Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let job = Job::new(function);
        let thread = self.start(&job)?;
        Ok(JoinHandle { thread: Some(thread), job })
    }

    fn start<F: FnOnce() -> T + Send, T: Send>(&self, job: &Arc<Job<F, T>>) -> Result<Thread> {
        let mut attr = self.attr;
        attr.name = self.name.as_deref().map_or(0, |name| name.as_ptr().expose_provenance() as u64);
        let arg = Arc::clone(job).into_arg();
        let mut thread = 0;
        // SAFETY: attributes and name live over the call; `run` gets its own argument, once.
        let status =
            unsafe { ffi::hrt_rs_thread_create(&raw mut thread, &raw const attr, Job::<F, T>::run, arg) };
        if let Err(error) = check(status) {
            // SAFETY: no thread has it.
            unsafe { Job::<F, T>::give_up(arg) };
            return Err(error);
        }
        Ok(Thread(thread))
    }
}

/// Starts a thread with the defaults.
///
/// # Errors
///
/// As [`Builder::spawn`].
pub fn spawn<F, T>(function: F) -> Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(function)
}

fn join(thread: Thread, deadline: Deadline) -> Result<()> {
    // SAFETY: nobody wants the C result.
    check(unsafe { ffi::hrt_rs_thread_join_until(thread.0, ptr::null_mut(), deadline) })
}

fn taken<T>(job: &dyn Pending<T>) -> Outcome<T> {
    // SAFETY: callers have joined the thread, or waited for the task or fiber.
    let outcome = unsafe { job.take() };
    outcome.unwrap_or_else(|| Err(Box::new("the thread ended without returning from its function")))
}

/// The right to join a thread; dropping it detaches the thread.
pub struct JoinHandle<T> {
    thread: Option<Thread>,
    job: Arc<dyn Pending<T> + Send>,
}

impl<T> JoinHandle<T> {
    /// The thread.
    #[must_use]
    pub fn thread(&self) -> Option<Thread> {
        self.thread
    }

    /// Waits for the thread's end and gives its result, or the payload of its panic.
    ///
    /// # Errors
    ///
    /// The payload.
    pub fn join(mut self) -> Outcome<T> {
        if let Some(thread) = self.thread.take()
            && let Err(error) = join(thread, ffi::FOREVER)
        {
            return Err(Box::new(error));
        }
        taken(&*self.job)
    }

    /// The same until the deadline.
    ///
    /// # Errors
    ///
    /// The handle again, if the deadline passed first.
    pub fn join_until(mut self, deadline: Deadline) -> std::result::Result<Outcome<T>, Self> {
        if let Some(thread) = self.thread
            && join(thread, deadline) == Err(Error::TimedOut)
        {
            return Err(self);
        }
        self.thread = None;
        Ok(taken(&*self.job))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.thread {
            // SAFETY: a call without pointers. The name may be gone, which is what is wanted.
            let _ = unsafe { ffi::hrt_rs_thread_detach(thread.0) };
        }
    }
}

/// Threads that may borrow, see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    unjoined: Mutex<Vec<(Thread, Arc<AtomicBool>)>>,
    // Invariant in both: threads may neither outlive nor widen what they borrow.
    scope: std::marker::PhantomData<&'scope mut &'scope ()>,
    env: std::marker::PhantomData<&'env mut &'env ()>,
}

/// The right to join a scoped thread.
pub struct ScopedJoinHandle<'scope, T> {
    thread: Thread,
    panicked: Arc<AtomicBool>,
    unjoined: &'scope Mutex<Vec<(Thread, Arc<AtomicBool>)>>,
    job: Arc<dyn Pending<T> + Send + 'scope>,
}

/// Runs `function`, which may start threads that borrow from around it: all have ended when this returns.
///
/// # Panics
///
/// If `function` does, or a thread that it did not join.
pub fn scope<'env, F, T>(function: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        unjoined: Mutex::new(Vec::new()),
        scope: std::marker::PhantomData,
        env: std::marker::PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| function(&scope)));
    let mut panicked = false;
    loop {
        // A thread may start others until it has ended.
        let next = scope.unjoined.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some((thread, flag)) = next else { break };
        end(thread);
        panicked |= flag.load(Ordering::Relaxed);
    }
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

/// Waits for a thread that borrows: without its end the program cannot go on.
fn end(thread: Thread) {
    if let Err(error) = join(thread, ffi::FOREVER) {
        eprintln!("hrt: cannot join a scoped thread: {error}");
        std::process::abort();
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread.
    ///
    /// # Errors
    ///
    /// As [`Builder::spawn`].
    pub fn spawn<F, T>(&'scope self, function: F) -> Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(&Builder::new(), function)
    }

    /// Starts a thread with choices.
    ///
    /// # Errors
    ///
    /// As [`Builder::spawn`].
    pub fn spawn_with<F, T>(
        &'scope self,
        builder: &Builder,
        function: F,
    ) -> Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let panicked = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&panicked);
        let job = Job::new(move || {
            catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|payload| {
                flag.store(true, Ordering::Relaxed);
                resume_unwind(payload)
            })
        });
        // Locked over the start: whoever ends the scope sees every thread.
        let mut unjoined = self.unjoined.lock().unwrap_or_else(PoisonError::into_inner);
        unjoined.reserve(1);
        let thread = builder.start(&job)?;
        unjoined.push((thread, Arc::clone(&panicked)));
        drop(unjoined);
        Ok(ScopedJoinHandle { thread, panicked, unjoined: &self.unjoined, job })
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread.
    #[must_use]
    pub fn thread(&self) -> Thread {
        self.thread
    }

    /// Waits for the thread's end and gives its result, or the payload of its panic.
    ///
    /// # Errors
    ///
    /// The payload.
    pub fn join(self) -> Outcome<T> {
        self.unjoined
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(_, flag)| !Arc::ptr_eq(flag, &self.panicked));
        end(self.thread);
        taken(&*self.job)
    }
}

/// A thread's name: of one that lives, or did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread(u64);

/// What is known of a thread.
#[derive(Clone, Debug)]
pub struct Info {
    /// Who made it; `None` if not through this interface.
    pub creator: Option<Thread>,
    /// Where it runs, or ran last.
    pub cpu: u32,
    /// Where it is bound to.
    pub bound_cpu: Option<u32>,
    /// Its priority.
    pub priority: i32,
    /// CPU time.
    pub run_ns: u64,
    /// How often it was switched to.
    pub switches: u64,
    /// Deadlines that it missed.
    pub deadlines_missed: u64,
    /// Its name.
    pub name: String,
}

/// The calling thread.
#[must_use]
pub fn current() -> Thread {
    Thread(ffi::hrt_rs_thread_self())
}

/// Lets the next ready thread of this CPU run.
pub fn yield_now() {
    ffi::hrt_rs_thread_yield();
}

/// A periodic thread is done with this period's work: sleeps until the next; gives the number of deadlines missed so far.
///
/// # Errors
///
/// [`Error::NotPermitted`]: the caller is not periodic.
pub fn wait_period() -> Result<u64> {
    let mut missed = 0;
    // SAFETY: a number of the caller's.
    check(unsafe { ffi::hrt_rs_thread_wait_period(&raw mut missed) })?;
    Ok(missed)
}

/// The program's live threads.
#[must_use]
pub fn list() -> Vec<Thread> {
    let mut threads = vec![0; 64];
    loop {
        // SAFETY: as many as the buffer has room for.
        let count = unsafe { ffi::hrt_rs_thread_list(threads.as_mut_ptr(), threads.len() as u64) } as usize;
        if count <= threads.len() {
            threads.truncate(count);
            return threads.into_iter().map(Thread).collect();
        }
        threads.resize(2 * count, 0);
    }
}

impl Thread {
    /// Binds it to a CPU, or frees it again.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]: no such CPU; [`Error::NotFound`].
    pub fn bind(self, cpu: Option<u32>) -> Result<()> {
        let cpu = cpu.map_or(ffi::CPU_ANY, |cpu| i32::try_from(cpu).unwrap_or(i32::MAX));
        check(ffi::hrt_rs_thread_bind(self.0, cpu))
    }

    /// Moves it without binding it.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: it is bound elsewhere; [`Error::Invalid`], [`Error::NotFound`].
    pub fn migrate(self, cpu: u32) -> Result<()> {
        check(ffi::hrt_rs_thread_migrate(self.0, i32::try_from(cpu).unwrap_or(i32::MAX)))
    }

    /// Changes policy and priority.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], [`Error::Invalid`], [`Error::NotFound`].
    pub fn set_schedule(self, policy: Policy, priority: i32) -> Result<()> {
        let attr = Builder::new().policy(policy).priority(priority).attr;
        // SAFETY: attributes without a name, which live over the call.
        check(unsafe { ffi::hrt_rs_thread_set_schedule(self.0, &raw const attr) })
    }

    /// Names it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Invalid`]: a NUL in the name.
    pub fn set_name(self, name: &str) -> Result<()> {
        let name = CString::new(name).map_err(|_| Error::Invalid)?;
        // SAFETY: a string that lives over the call.
        check(unsafe { ffi::hrt_rs_thread_set_name(self.0, name.as_ptr()) })
    }

    /// What is known of it.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`].
    pub fn info(self) -> Result<Info> {
        let mut info = std::mem::MaybeUninit::<ThreadInfo>::zeroed();
        // SAFETY: the structure has the C one's layout, and is the caller's.
        check(unsafe { ffi::hrt_rs_thread_info(self.0, info.as_mut_ptr()) })?;
        // SAFETY: numbers, for which zero and all that C writes are values.
        let info = unsafe { info.assume_init() };
        let bytes: Vec<u8> = info.name.into_iter().take_while(|&byte| byte != 0).collect();
        Ok(Info {
            creator: Some(Thread(info.creator)).filter(|creator| creator.0 != 0),
            cpu: info.cpu.cast_unsigned(),
            bound_cpu: u32::try_from(info.bound_cpu).ok(),
            priority: info.priority,
            run_ns: info.run_ns,
            switches: info.switches,
            deadlines_missed: info.deadlines_missed,
            name: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}
