// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From records to a picture, in one pass over all CPUs in the order of time.

use std::io::{self, Write};

use hadal_abi::trace::{ALL_BUT_SELF, Kind, Left, Record, TIMER_WAKES};

use super::cpus::{self, Cpu};
use super::json::{Args, Ns, Value, Writer, address};
use super::names::{self, Names};
use super::recording::Recording;
use super::threads::{Origin, Threads};

/// Writes a recording of `program` to `out`.
pub(crate) fn convert<W: Write>(
    recording: &mut Recording,
    names: &Names<'_>,
    program: &str,
    out: W,
) -> io::Result<()> {
    let head = recording.head.clone().unwrap_or_default();
    let clock = recording.clock();
    let start = clock.time(head.start.tsc);
    recording.sort();
    let mut picture = Picture {
        out: Writer::new(out)?,
        names,
        cpus: (0..head.idle_threads.len()).map(Cpu::new).collect(),
        threads: Threads::new(&recording.names, &head.idle_threads),
        arrows: 0,
    };
    for (cpu, &idle) in head.idle_threads.iter().enumerate() {
        // What a CPU without lost records ran from the start is known; one without any has slept all the time.
        if recording.cpus.get(cpu).is_none_or(|records| records.lost() == 0) {
            picture.open_cpu(cpu, recording.first_thread(cpu).unwrap_or(idle), start)?;
        }
    }
    for (cpu, record) in recording.in_order() {
        let at = clock.time(record.time);
        // The only record whose thread need not be the running one.
        if record.kind == Kind::ThreadName {
            picture.threads.rename(record.thread, record.text(), at);
            continue;
        }
        if !picture.cpus[cpu].seen {
            picture.open_cpu(cpu, record.thread, at)?;
            let args = vec![("records", recording.cpus[cpu].lost().into())];
            picture.cpu_instant(cpu, "older records are lost", at, &args)?;
        }
        picture.add(cpu, &record, at)?;
    }
    let end = clock.time(recording.end.tsc);
    for cpu in 0..picture.cpus.len() {
        picture.close_cpu(cpu, end)?;
    }
    picture.threads.close(&mut picture.out, end)?;
    cpus::describe(&mut picture.out, &picture.cpus)?;
    picture.threads.describe(&mut picture.out, program)?;
    picture.out.finish(&facts(recording, picture.threads.count, program))
}

/// What concerns the whole trace.
fn facts(recording: &Recording, threads: u64, program: &str) -> Args {
    let count = |of: fn(&super::recording::CpuRecords) -> u64| recording.cpus.iter().map(of).sum::<u64>();
    let lost = recording.cpus.iter().map(|cpu| cpu.lost().to_string()).collect::<Vec<_>>();
    vec![
        ("program", program.into()),
        ("cpus", recording.cpus.len().into()),
        ("threads", threads.into()),
        ("records", count(|cpu| cpu.made).into()),
        ("lost records", count(super::recording::CpuRecords::lost).into()),
        ("lost records by CPU", lost.join(" ").into()),
    ]
}

struct Picture<'a, W: Write> {
    out: Writer<W>,
    names: &'a Names<'a>,
    cpus: Vec<Cpu>,
    threads: Threads,
    /// Arrows drawn.
    arrows: u64,
}

impl<W: Write> Picture<'_, W> {
    /// The records of a CPU begin, in `thread`.
    fn open_cpu(&mut self, cpu: usize, thread: u32, from: Ns) -> io::Result<()> {
        self.cpus[cpu].open(thread, from);
        self.threads.arrive(&mut self.out, (thread, cpu), from)
    }

    fn close_cpu(&mut self, cpu: usize, at: Ns) -> io::Result<()> {
        let Some((thread, _)) = self.cpus[cpu].running else { return Ok(()) };
        let name = self.threads.name(thread);
        self.cpus[cpu].leave(&mut self.out, &name, thread, at)
    }

    fn add(&mut self, cpu: usize, record: &Record, at: Ns) -> io::Result<()> {
        let Record { kind, thread, a, b, .. } = *record;
        let (low, high) = (a as u32, (a >> 32) as u32);
        if self.cpus[cpu].running.is_none() {
            self.cpus[cpu].running = Some((thread, at));
        }
        match kind {
            Kind::Switch => self.switch(cpu, thread, low, Left::from_number(high), at),
            Kind::Wake => {
                let name = self.threads.name(low);
                let args = vec![("thread", (u64::from(low) + 1).into()), ("to CPU", u64::from(high).into())];
                self.cpu_instant(cpu, &format!("wake {name}"), at, &args)?;
                let origin = self.origin(cpu, at);
                self.threads.wake(&mut self.out, low, origin)
            }
            Kind::IpiSend => {
                let name = self.names.vector(b);
                self.cpu_instant(cpu, &format!("send {name}"), at, &vec![("to CPU", target(a))])?;
                self.send(cpu, (Kind::InterruptEnter, b), a, at);
                Ok(())
            }
            Kind::InterruptEnter => {
                let name = self.names.vector(a);
                self.cpus[cpu].row.begin(kind, name.clone(), at, vec![("interrupted", address(b))]);
                self.cpus[cpu].receive(&mut self.out, (kind, a), &name, at)
            }
            Kind::InterruptExit => {
                let name = self.names.vector(a);
                let begun = (Kind::InterruptEnter, name.as_str());
                self.cpus[cpu].row.end(&mut self.out, begun, at, Args::new())
            }
            Kind::EventNotify => {
                self.cpu_instant(cpu, &format!("notify event {b}"), at, &vec![("to CPU", target(a))])?;
                self.send(cpu, (Kind::EventEnter, b), a, at);
                Ok(())
            }
            Kind::EventEnter => {
                let name = format!("event {a}");
                self.cpus[cpu].row.begin(kind, name, at, vec![("argument", address(b))]);
                self.cpus[cpu].receive(&mut self.out, (kind, a), "event", at)
            }
            Kind::EventExit => {
                let begun = (Kind::EventEnter, "event");
                self.cpus[cpu].row.end(&mut self.out, begun, at, Args::new())
            }
            Kind::IdleEnter => {
                self.cpus[cpu].row.begin(kind, "halted".into(), at, Args::new());
                Ok(())
            }
            Kind::IdleLeave => {
                let begun = (Kind::IdleEnter, "halted");
                self.cpus[cpu].row.end(&mut self.out, begun, at, Args::new())
            }
            Kind::TimerFire if b == TIMER_WAKES => {
                let name = format!("time-out of {}", self.threads.name(low));
                self.cpu_instant(cpu, &name, at, &vec![("thread", (u64::from(low) + 1).into())])
            }
            Kind::TimerFire => {
                let name = format!("timer calls {}", self.names.function(a));
                self.cpu_instant(cpu, &name, at, &Args::new())
            }
            Kind::ThreadCreate => {
                let name = self.names.function(b);
                self.threads.create(&mut self.out, low, name, at)?;
                let args = vec![("thread", (u64::from(low) + 1).into())];
                self.instant((thread, cpu), "create thread", at, &args)
            }
            // The row ends with the switch to whoever comes next.
            Kind::ThreadExit => self.instant((thread, cpu), "exit", at, &Args::new()),
            Kind::ThreadName => Ok(()),
            Kind::Stop => {
                self.close_cpu(cpu, at)?;
                self.threads.close(&mut self.out, at)
            }
            Kind::Migrate => {
                let args = vec![("from CPU", b.into()), ("to CPU", u64::from(high).into())];
                self.threads.instant(&mut self.out, low, "moved", at, &args)
            }
            Kind::Mark => self.instant((thread, cpu), &record.text(), at, &Args::new()),
            Kind::Signal => {
                let handler = if b == 0 { Value::from("default action") } else { address(b) };
                let args = vec![("handler", handler)];
                self.instant((thread, cpu), &names::signal(a), at, &args)
            }
            Kind::CallEnter | Kind::CallExit | Kind::FaultEnter | Kind::FaultExit => {
                self.work((thread, cpu), record, at)
            }
        }
    }

    /// System calls and faults: on the row of their thread, or of the CPU if that was idle and a handler ran on it.
    fn work(&mut self, (thread, cpu): (u32, usize), record: &Record, at: Ns) -> io::Result<()> {
        let Record { kind, a, b, .. } = *record;
        let row = match self.threads.get(thread, at) {
            Some(thread) => &mut thread.work,
            None => &mut self.cpus[cpu].row,
        };
        match kind {
            Kind::CallEnter => row.begin(kind, names::call(a), at, vec![("argument", address(b))]),
            Kind::CallExit => {
                let args = vec![("result", names::result(a))];
                return row.end(&mut self.out, (Kind::CallEnter, "system call"), at, args);
            }
            Kind::FaultEnter => {
                let (name, access) = names::fault(b as u32, (b >> 32) as u32);
                let mut args = vec![("at", address(a))];
                if !access.is_empty() {
                    args.push(("access", access.into()));
                }
                row.begin(kind, name.into(), at, args);
            }
            _ => {
                let how = if b == 1 { "resolved" } else { "not resolved" };
                let begun = (Kind::FaultEnter, names::fault(a as u32, 0).0);
                return row.end(&mut self.out, begun, at, vec![("outcome", how.into())]);
            }
        }
        Ok(())
    }

    fn switch(&mut self, cpu: usize, from: u32, to: u32, left: Option<Left>, at: Ns) -> io::Result<()> {
        let since = self.cpus[cpu].running.map_or(at, |(_, since)| since);
        let name = self.threads.name(from);
        self.cpus[cpu].leave(&mut self.out, &name, from, at)?;
        self.threads.leave(&mut self.out, (from, cpu), left.unwrap_or(Left::Ready), (since, at))?;
        self.cpus[cpu].running = Some((to, at));
        self.threads.arrive(&mut self.out, (to, cpu), at)
    }

    /// Something happened in a thread, or on a CPU that was idle: a handler of the program may run on one.
    fn instant(&mut self, (thread, cpu): (u32, usize), name: &str, at: Ns, args: &Args) -> io::Result<()> {
        if self.threads.is_idle(thread) {
            return self.cpu_instant(cpu, name, at, args);
        }
        self.threads.instant(&mut self.out, thread, name, at, args)
    }

    fn cpu_instant(&mut self, cpu: usize, name: &str, at: Ns, args: &Args) -> io::Result<()> {
        self.out.instant(self.cpus[cpu].row.track, name, at, args)
    }

    /// A new arrow from a CPU's row.
    fn origin(&mut self, cpu: usize, at: Ns) -> Origin {
        self.arrows += 1;
        Origin { id: self.arrows, track: self.cpus[cpu].row.track, at }
    }

    /// Lets something arrive later at one CPU, or at all others.
    fn send(&mut self, from: usize, (kind, number): (Kind, u64), to: u64, at: Ns) {
        for cpu in 0..self.cpus.len() {
            if to == cpu as u64 || (to == ALL_BUT_SELF && cpu != from) {
                let origin = self.origin(from, at);
                self.cpus[cpu].send(kind, number, origin);
            }
        }
    }
}

/// The target of a message to a CPU.
fn target(cpu: u64) -> Value {
    if cpu == ALL_BUT_SELF { "all others".into() } else { cpu.into() }
}
