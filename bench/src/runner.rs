// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A run: one turn after the other, saved after each, until all are done or somebody interrupts it.

mod languages;
mod ready;
mod side_by_side;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use self::ready::Printed;
use crate::args::{DEFAULT_QEMU, RunArgs};
use crate::catalogue::{Benchmark, How, Shape, openmp};
use crate::collected::Collected;
use crate::forecast::Forecast;
use crate::hadal::Hadal;
use crate::host::{HostUse, Watch};
use crate::order::{self, Order, Turn};
use crate::packages::{self, Linux};
use crate::progress::Progress;
use crate::protocol::{self, Line};
use crate::results::{Missing, Results, Setting};
use crate::saved::{self, Unfinished};
use crate::toolchain::{Program, Toolchain};
use crate::{Environment, boot, heat, host, html, interrupt, table};

/// What a shell adds to a signal's number for the status of a command that it ended.
const SIGNAL_STATUS: u8 = 128;

/// `hadal bench run`: measures, shows, writes the files that were asked for.
pub(crate) fn run(args: &RunArgs, environment: &Environment) -> Result<u8> {
    interrupt::catch()?;
    let mut session = match &args.resume {
        Some(file) => {
            let (unfinished, setting) = saved::unfinished(file)?;
            let (then, now) = (&unfinished.order.machine.qemu, &args.machine.qemu);
            ensure!(
                now == then || now == Path::new(DEFAULT_QEMU),
                "the run began with the QEMU {}, not {}",
                then.display(),
                now.display()
            );
            Session::resume(unfinished, &setting, environment)?
        }
        None => Session::new(Order::of(args), environment)?,
    };
    let file = match args.resume.as_ref().or(args.json.as_ref()) {
        Some(file) => file.clone(),
        None => saved::unnamed(&environment.cache, session.order.mode)?,
    };
    // A terminal or a pipe gets the results at the end.
    session.save_to = (!saved::is_special(&file)).then(|| file.clone());
    let interrupt = session.measure()?;
    session.progress.end();
    if let Some(signal) = interrupt {
        eprintln!("{}", session.interrupt_text(&file));
        return Ok(SIGNAL_STATUS + signal);
    }
    let results = session.results();
    results.write(&file)?;
    print!("{}", table::text(&results));
    if args.json.is_none() {
        eprintln!("The results are in {}", file.display());
    }
    if let Some(file) = &args.html {
        html::write(&results, file)?;
    }
    Ok(u8::from(!results.failed.is_empty()))
}

/// Measures without a file.
pub(crate) fn measure(order: Order, environment: &Environment) -> Result<Results> {
    let mut session = Session::new(order, environment)?;
    session.measure()?;
    session.progress.end();
    Ok(session.results())
}

struct Session {
    exec_in_child: &'static str,
    hadal: Hadal,
    linux: Option<Linux>,
    toolchain: Toolchain,
    order: Order,
    chosen: Vec<&'static Benchmark>,
    turns: Vec<Turn>,
    done: usize,
    collected: Collected,
    setting: Setting,
    forecast: Forecast,
    progress: Progress,
    save_to: Option<PathBuf>,
}

impl Session {
    /// A run from its beginning.
    fn new(order: Order, environment: &Environment) -> Result<Self> {
        Self::at(order, 0, Collected::default(), environment)
    }

    /// A run from where it was interrupted.
    fn resume(begun: Unfinished, then: &Setting, environment: &Environment) -> Result<Self> {
        let all = begun.turns;
        let mut session = Self::at(begun.order, begun.done, begun.collected, environment)?;
        saved::check_same(then, &session.setting)?;
        let turns = session.turns.len();
        ensure!(
            turns == all,
            "the run had {all} turns and would have {turns} now: measure again from the start"
        );
        session.setting.load[0] = then.load[0];
        session.setting.started.clone_from(&then.started);
        Ok(session)
    }

    fn at(order: Order, done: usize, collected: Collected, environment: &Environment) -> Result<Self> {
        let (chosen, turns) = (order.chosen()?, order.turns()?);
        let toolchain = Toolchain::new(&environment.cache, &environment.hadal)?;
        let hadal = Hadal::new(environment, toolchain.programs(), &order.machine);
        let linux = order.linux().then(|| packages::linux(&environment.cache)).transpose()?;
        let setting = setting(&hadal, linux.as_ref(), &order, turns[0].work.shape)?;
        Ok(Self {
            exec_in_child: environment.exec_in_child,
            forecast: Forecast::load(&environment.cache),
            progress: Progress::new(turns.len(), done),
            save_to: None,
            hadal,
            linux,
            toolchain,
            order,
            chosen,
            turns,
            done,
            collected,
            setting,
        })
    }

    /// Takes the turns that are left, saving after each; a signal that ended it early.
    fn measure(&mut self) -> Result<Option<u8>> {
        while self.done < self.turns.len() {
            let together = self.order.together(&self.turns[self.done..]);
            let turns = self.turns[self.done..self.done + together].to_vec();
            self.take(&turns);
            if let Some(signal) = interrupt::signal() {
                return Ok(Some(signal));
            }
            self.done += together;
            self.setting.load[1] = host::load();
            if let Some(file) = &self.save_to {
                self.results().write(file)?;
            }
        }
        Ok(None)
    }

    /// One turn, or several at once. What fails is noted, and the next goes on; of an interrupted one nothing is kept.
    fn take(&mut self, turns: &[Turn]) {
        let left = self.turns[self.done..].iter().map(|turn| turn.key(&self.order));
        self.progress.step(turns.len(), &order::title(turns), self.forecast.left(left));
        let (watch, started) = (Watch::start(), Instant::now());
        let measured = match turns {
            [turn] => vec![self.measure_turn(turn)],
            turns => self.measure_side_by_side(turns),
        };
        let (host, duration) = (watch.end(), started.elapsed() / turns.len() as u32);
        if interrupt::signal().is_some() {
            return;
        }
        for (turn, measured) in turns.iter().zip(measured) {
            self.keep(turn, measured, host, duration);
        }
    }

    /// Keeps what a turn gave.
    fn keep(&mut self, turn: &Turn, measured: Result<Measured>, host: HostUse, duration: Duration) {
        match measured {
            Ok(Measured { mut lines, failure }) => {
                // A program may measure two figures at once, of which one was asked for.
                lines.retain(|line| self.chosen.iter().any(|benchmark| benchmark.owns(&line.name)));
                self.collected.add(turn.place, turn.work.shape, lines, host);
                match failure {
                    Some(why) => self.fail(turn, &why),
                    None => self.forecast.learn(turn.key(&self.order), duration),
                }
            }
            Err(error) => self.fail(turn, &format!("{error:#}")),
        }
    }

    fn fail(&mut self, turn: &Turn, why: &str) {
        let (name, place) = (turn.work.name(), turn.place.title());
        self.progress.note(&format!("{name} failed on {place}: {why}"));
        let why = why.lines().next().unwrap_or_default().to_owned();
        self.collected.fail(Missing { name: name.to_owned(), place: place.to_owned(), why });
    }

    fn measure_turn(&self, turn: &Turn) -> Result<Measured> {
        let (shape, place) = (turn.work.shape, turn.place);
        let (hadal, toolchain, linux) = (&self.hadal, &self.toolchain, self.linux.as_ref());
        let lines = match turn.work.how {
            How::Program(name) => {
                let program = self.for_figures(&toolchain.program(name, place)?, turn);
                return Measured::of(&self.run(&program, turn)?);
            }
            How::OpenMp(program) => return Measured::of(&self.run(&self.openmp(program, turn)?, turn)?),
            How::Language(program) => return self.run_language(program, turn),
            How::BootPath => boot::path(hadal, toolchain, shape)?,
            How::BootTime => boot::time(hadal, toolchain, linux, place, shape)?,
            How::Heat => heat::time(hadal, toolchain, linux, place, shape)?,
        };
        Ok(Measured { lines, failure: None })
    }

    /// A program of OpenMP of the harness, which measures the figures that it is told.
    fn openmp(&self, program: &openmp::Program, turn: &Turn) -> Result<Program> {
        let team = self.order.mode.team(turn.work.shape.cpus).to_string();
        let built = self.toolchain.openmp(program, turn.place)?;
        Ok(self.for_figures(&built.with_variable("OMP_NUM_THREADS", &team), turn))
    }

    /// A program of the harness, told its figures.
    fn for_figures(&self, program: &Program, turn: &Turn) -> Program {
        let figures = turn.work.figures.iter().map(|name| (*name).to_owned());
        program.with_args(self.arguments(turn).into_iter().chain(figures))
    }

    /// What programs of the harness are told besides their figures.
    fn arguments(&self, turn: &Turn) -> [String; 2] {
        let quick = if self.order.quick { "quick-" } else { "" };
        [format!("{quick}{}", self.order.mode.name()), turn.work.shape.cpus.to_string()]
    }

    /// Runs a program in its place.
    fn run(&self, program: &Program, turn: &Turn) -> Result<Printed> {
        self.ready(program, turn, turn.work.limit())?.run()
    }

    /// What there is so far.
    fn results(&self) -> Results {
        let (done, turns) = (self.done, self.turns.len());
        let unfinished = (done < turns).then(|| {
            let (order, collected) = (self.order.clone(), self.collected.clone());
            Box::new(Unfinished { order, done, turns, collected })
        });
        let settings = vec![self.setting.clone()];
        Results { settings, unfinished, ..self.collected.results(self.order.mode) }
    }

    /// The message to the user who has interrupted the run.
    fn interrupt_text(&self, file: &Path) -> String {
        let turns = format!("Interrupted after {} of {} turns", self.done, self.turns.len());
        match (self.done, &self.save_to) {
            (0, _) | (_, None) => format!("{turns}; nothing is saved."),
            _ => format!(
                "{turns}, which are in {0}. To go on: hadal bench run --resume {0}",
                shlex::try_quote(&file.to_string_lossy()).unwrap_or_default()
            ),
        }
    }
}

fn setting(hadal: &Hadal, linux: Option<&Linux>, order: &Order, shape: Shape) -> Result<Setting> {
    let line = hadal.qemu_line(order.mode, shape)?;
    let kernel = fs::read(&line.kernel).with_context(|| format!("cannot read {}", line.kernel.display()))?;
    let mut hasher = DefaultHasher::new();
    kernel.hash(&mut hasher);
    let load = host::load();
    Ok(Setting {
        mode: Some(order.mode),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        machine: line.machine.join(" "),
        variable: line.setting.map(str::to_owned),
        qemu: host::first_line_of(hadal.qemu(), "--version")?,
        linux: linux.map(Linux::describe),
        host_cores: host::cores(),
        build: format!("kernel {:016x}, benchmarks {}", hasher.finish(), env!("HADAL_BENCH_SOURCES")),
        load: [load, load],
        quick: order.quick,
        slices: order.slices,
    })
}

/// What a run of a program gave: figures, even if it failed later.
#[derive(Debug, Default)]
struct Measured {
    lines: Vec<Line>,
    failure: Option<String>,
}

impl Measured {
    fn of(printed: &Printed) -> Result<Self> {
        Self::with_lines(&printed.text, printed.failure.clone())
    }

    fn with_lines(output: &str, failure: Option<String>) -> Result<Self> {
        match (protocol::parse(output), &failure) {
            (Ok(lines), _) => {
                let nothing = || failure.is_none() && lines.is_empty();
                let failure = if nothing() { Some("it printed no figure".into()) } else { failure };
                Ok(Self { lines, failure })
            }
            // The cut line is because of the failure.
            (Err(_), Some(_)) => Ok(Self { lines: Vec::new(), failure }),
            (Err(error), None) => Err(error).context("its output makes no sense"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_program_that_fails_later_count() {
        let good = "{\"name\":\"a.b\",\"unit\":\"ns\",\"cpus\":1,\"samples\":[1]}\n";
        let measured = Measured::with_lines(good, Some("signal 11".into())).unwrap();
        assert_eq!((measured.lines.len(), measured.failure.as_deref()), (1, Some("signal 11")));
        assert!(Measured::with_lines("", None).unwrap().failure.is_some());
        assert!(Measured::with_lines("{\"name\":\"a", None).is_err());
        assert!(Measured::with_lines("{\"name\":\"a", Some("killed".into())).unwrap().lines.is_empty());
    }
}
