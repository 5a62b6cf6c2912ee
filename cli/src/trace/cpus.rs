// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The CPUs in a recording: what each one runs, and the interrupts in between.

use std::io::{self, Write};

use hadal_abi::trace::Kind;

use super::json::{Args, Arrow, Ns, Track, Writer};
use super::threads::Origin;
use super::tracks::Row;

/// Process number of the CPUs' rows.
const PID: u32 = 1;

/// Something that was sent to a CPU and has not arrived: its kind, its number, where it came from.
type Sent = (Kind, u64, Origin);

/// One CPU.
pub(crate) struct Cpu {
    /// What it runs, and inside of that interrupts, handlers and halts.
    pub(crate) row: Row,
    /// The running thread and since when, while that is known.
    pub(crate) running: Option<(u32, Ns)>,
    sent: Vec<Sent>,
    /// Whether one of its records has been seen.
    pub(crate) seen: bool,
}

impl Cpu {
    pub(crate) fn new(index: usize) -> Self {
        // Row 0 would be taken for an idle task.
        let track = Track { pid: PID, tid: index as u32 + 1 };
        Self { row: Row::new(track, Ns(0)), running: None, sent: Vec::new(), seen: false }
    }

    /// Its records begin, in the thread that runs.
    pub(crate) fn open(&mut self, thread: u32, from: Ns) {
        self.seen = true;
        self.row = Row::new(self.row.track, from);
        self.running = Some((thread, from));
    }

    /// What the CPU ran ends: another thread comes, or the trace ends.
    pub(crate) fn leave<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        name: &str,
        thread: u32,
        at: Ns,
    ) -> io::Result<()> {
        self.row.end_all(out, at)?;
        if let Some((_, since)) = self.running.take() {
            let args = vec![("thread", (u64::from(thread) + 1).into())];
            out.slice(self.row.track, name, (since, at.max(since)), &args)?;
        }
        Ok(())
    }

    /// Something is on its way to this CPU.
    pub(crate) fn send(&mut self, kind: Kind, number: u64, origin: Origin) {
        self.sent.push((kind, number, origin));
    }

    /// It arrives, perhaps several at once.
    pub(crate) fn receive<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        (kind, number): (Kind, u64),
        name: &str,
        at: Ns,
    ) -> io::Result<()> {
        let mut waiting = Vec::new();
        for (sent, to, origin) in self.sent.drain(..) {
            if (sent, to) != (kind, number) {
                waiting.push((sent, to, origin));
                continue;
            }
            out.arrow(Arrow::From, origin.id, origin.track, name, origin.at)?;
            out.arrow(Arrow::To, origin.id, self.row.track, name, at)?;
        }
        self.sent = waiting;
        Ok(())
    }
}

/// Names the rows.
pub(crate) fn describe<W: Write>(out: &mut Writer<W>, cpus: &[Cpu]) -> io::Result<()> {
    let all = Track { pid: PID, tid: 0 };
    out.describe(all, "process_name", &vec![("name", "CPUs".into())])?;
    out.describe(all, "process_sort_index", &vec![("sort_index", u64::from(PID).into())])?;
    for (index, cpu) in cpus.iter().enumerate() {
        let args: Args = vec![("name", format!("CPU {index}").into())];
        out.describe(cpu.row.track, "thread_name", &args)?;
        out.describe(cpu.row.track, "thread_sort_index", &vec![("sort_index", index.into())])?;
    }
    Ok(())
}
