// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threads in a recording: who is who while indices are reused, and in what state each one is.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hadal_abi::trace::{Kind, Left, ThreadName};

use super::json::{Args, Arrow, Ns, Track, Value, Writer};
use super::tracks::Row;

/// Process number of the threads' rows.
const PID: u32 = 2;
/// What is added to the place of a row of the kernel's threads: more than a program has rows.
const KERNEL_ROWS: u64 = 1 << 30;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Running(usize),
    Ready,
    Waiting,
}

/// Where an arrow begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) id: u64,
    pub(crate) track: Track,
    pub(crate) at: Ns,
}

/// One thread from its creation to its end.
#[derive(Debug)]
pub(crate) struct Thread {
    index: u32,
    name: String,
    /// Whether it is one of the program.
    of_program: bool,
    states: Track,
    /// What it does in the kernel.
    pub(crate) work: Row,
    state: State,
    since: Ns,
    /// The wake-up that it has not seen yet.
    woken: Option<Origin>,
}

impl Thread {
    /// Goes over to another state, and draws the one that ends. One that goes on, such as that of a thread which is woken
    /// again before it runs, stays one slice.
    fn change<W: Write>(&mut self, out: &mut Writer<W>, state: State, at: Ns) -> io::Result<()> {
        if state == self.state {
            return Ok(());
        }
        let at = at.max(self.since);
        let mut args = Args::new();
        let name = match self.state {
            State::Unknown => None,
            State::Running(cpu) => {
                args.push(("cpu", cpu.into()));
                Some("running")
            }
            State::Ready => Some("ready"),
            State::Waiting => {
                if let Some(call) = self.work.innermost(Kind::CallEnter) {
                    args.push(("in", call.into()));
                }
                Some("waiting")
            }
        };
        if let Some(name) = name {
            out.slice(self.states, name, (self.since, at), &args)?;
        }
        self.state = state;
        self.since = at;
        Ok(())
    }

    /// Draws what is open.
    fn close<W: Write>(&mut self, out: &mut Writer<W>, at: Ns) -> io::Result<()> {
        self.change(out, State::Unknown, at)?;
        self.work.end_all(out, at)
    }

    fn describe<W: Write>(&self, out: &mut Writer<W>) -> io::Result<()> {
        let label = format!("{} {}", self.name, self.index + 1);
        // The program's threads come first.
        let first = if self.of_program { 0 } else { KERNEL_ROWS };
        for (track, name) in
            [(self.states, label.clone()), (self.work.track, format!("{label} in the kernel"))]
        {
            out.describe(track, "thread_name", &vec![("name", Value::Text(name))])?;
            out.describe(
                track,
                "thread_sort_index",
                &vec![("sort_index", (first + u64::from(track.tid)).into())],
            )?;
        }
        Ok(())
    }
}

/// All threads by index.
pub(crate) struct Threads {
    live: BTreeMap<u32, Thread>,
    idle: Vec<u32>,
    /// Names of threads that existed before, and whether they are the program's.
    known: BTreeMap<u32, (String, bool)>,
    /// Number of the next row.
    next_row: u32,
    /// Threads that there were.
    pub(crate) count: u64,
}

impl Threads {
    pub(crate) fn new(names: &[ThreadName], idle: &[u32]) -> Self {
        let known =
            names.iter().map(|named| (named.thread, (named.name.clone(), named.of_program))).collect();
        Self { live: BTreeMap::new(), idle: idle.to_vec(), known, next_row: 1, count: 0 }
    }

    /// Whether this is the idle thread of a CPU, which has no row of its own.
    pub(crate) fn is_idle(&self, index: u32) -> bool {
        self.idle.contains(&index)
    }

    /// The name of a thread, the CPU's part for idle ones.
    pub(crate) fn name(&self, index: u32) -> String {
        if self.is_idle(index) {
            return "idle".into();
        }
        let live = self.live.get(&index).map(|thread| &thread.name);
        let name = live.or_else(|| self.known.get(&index).map(|(name, _)| name));
        name.cloned().unwrap_or_else(|| "kernel thread".into())
    }

    /// The thread with an index, which may not have been seen before; `None` for an idle one.
    pub(crate) fn get(&mut self, index: u32, at: Ns) -> Option<&mut Thread> {
        if self.is_idle(index) {
            return None;
        }
        if !self.live.contains_key(&index) {
            let name = self.name(index);
            let of_program = self.known.get(&index).is_some_and(|(_, of_program)| *of_program);
            self.insert(index, (name, of_program), at);
        }
        self.live.get_mut(&index)
    }

    fn insert(&mut self, index: u32, (name, of_program): (String, bool), at: Ns) {
        let track = |tid| Track { pid: PID, tid };
        let row = self.next_row;
        self.next_row += 2;
        self.count += 1;
        let thread = Thread {
            index,
            name,
            of_program,
            states: track(row),
            work: Row::new(track(row + 1), at),
            state: State::Unknown,
            since: at,
            woken: None,
        };
        self.live.insert(index, thread);
    }

    /// A thread has been made, at `entry` in the kernel.
    pub(crate) fn create<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        index: u32,
        name: String,
        at: Ns,
    ) -> io::Result<()> {
        self.remove(out, index, at)?;
        self.insert(index, (name, false), at);
        Ok(())
    }

    /// A thread has ended, and its index may be used again.
    pub(crate) fn remove<W: Write>(&mut self, out: &mut Writer<W>, index: u32, at: Ns) -> io::Result<()> {
        if let Some(mut thread) = self.live.remove(&index) {
            thread.close(out, at)?;
            thread.describe(out)?;
        }
        Ok(())
    }

    /// A thread is called so from now on.
    pub(crate) fn rename(&mut self, index: u32, name: String, at: Ns) {
        if let Some(thread) = self.get(index, at)
            && !name.is_empty()
        {
            // Only programs give names.
            thread.name = name;
            thread.of_program = true;
        }
    }

    /// A thread was made runnable.
    pub(crate) fn wake<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        index: u32,
        origin: Origin,
    ) -> io::Result<()> {
        let Some(thread) = self.get(index, origin.at) else { return Ok(()) };
        thread.woken = Some(origin);
        // One that is still on its way out of its CPU is ready when it has left.
        if !matches!(thread.state, State::Running(_)) {
            thread.change(out, State::Ready, origin.at)?;
        }
        Ok(())
    }

    /// A thread leaves its CPU, on which it had been since `since` at least.
    pub(crate) fn leave<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        (index, cpu): (u32, usize),
        left: Left,
        (since, at): (Ns, Ns),
    ) -> io::Result<()> {
        let Some(thread) = self.get(index, since) else { return Ok(()) };
        if thread.state == State::Unknown {
            thread.state = State::Running(cpu);
        }
        match left {
            Left::Ended => self.remove(out, index, at),
            Left::Waiting if thread.woken.is_none() => thread.change(out, State::Waiting, at),
            Left::Waiting | Left::Ready => thread.change(out, State::Ready, at),
        }
    }

    /// A thread gets a CPU; the arrow from whoever woke it ends here.
    pub(crate) fn arrive<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        (index, cpu): (u32, usize),
        at: Ns,
    ) -> io::Result<()> {
        let Some(thread) = self.get(index, at) else { return Ok(()) };
        thread.change(out, State::Running(cpu), at)?;
        if let Some(origin) = thread.woken.take() {
            out.arrow(Arrow::From, origin.id, origin.track, "wake", origin.at)?;
            out.arrow(Arrow::To, origin.id, thread.states, "wake", thread.since)?;
        }
        Ok(())
    }

    /// Something happened to a thread.
    pub(crate) fn instant<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        index: u32,
        name: &str,
        at: Ns,
        args: &Args,
    ) -> io::Result<()> {
        match self.get(index, at) {
            Some(thread) => out.instant(thread.work.track, name, at, args),
            None => Ok(()),
        }
    }

    /// Draws what is open: nothing is known from here on, or the trace ends.
    pub(crate) fn close<W: Write>(&mut self, out: &mut Writer<W>, at: Ns) -> io::Result<()> {
        self.live.values_mut().try_for_each(|thread| thread.close(out, at))
    }

    /// Names all rows of threads that have not ended.
    pub(crate) fn describe<W: Write>(&self, out: &mut Writer<W>, program: &str) -> io::Result<()> {
        let all = Track { pid: PID, tid: 0 };
        out.describe(all, "process_name", &vec![("name", format!("threads of {program}").into())])?;
        out.describe(all, "process_sort_index", &vec![("sort_index", u64::from(PID).into())])?;
        self.live.values().try_for_each(|thread| thread.describe(out))
    }
}
