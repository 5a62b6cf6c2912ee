// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A run: one turn after the other, saved after each, until all are done or somebody interrupts it.

mod languages;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::args::{DEFAULT_QEMU, RunArgs};
use crate::catalogue::{Benchmark, How, Shape};
use crate::collected::Collected;
use crate::forecast::Forecast;
use crate::hadal::Hadal;
use crate::host::Watch;
use crate::initramfs::Init;
use crate::linux::{self, Guest};
use crate::order::{Order, Turn};
use crate::packages::{self, Linux};
use crate::place::{Place, Runtime, System};
use crate::progress::Progress;
use crate::protocol::{self, Line};
use crate::results::{Missing, Results, Setting};
use crate::saved::{self, Unfinished};
use crate::timed::Ended;
use crate::toolchain::{Program, Toolchain};
use crate::{Environment, boot, heat, host, html, interrupt, native, table};

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
        while let Some(turn) = self.turns.get(self.done).cloned() {
            self.take(&turn);
            if let Some(signal) = interrupt::signal() {
                return Ok(Some(signal));
            }
            self.done += 1;
            self.setting.load[1] = host::load();
            if let Some(file) = &self.save_to {
                self.results().write(file)?;
            }
        }
        Ok(None)
    }

    /// One turn. What fails is noted, and the next goes on; of an interrupted one nothing is kept.
    fn take(&mut self, turn: &Turn) {
        let left = self.turns[self.done..].iter().map(|turn| turn.key(&self.order));
        self.progress.step(&turn.title(), self.forecast.left(left));
        let (watch, started) = (Watch::start(), Instant::now());
        let measured = self.measure_turn(turn);
        let (host, duration) = (watch.end(), started.elapsed());
        if interrupt::signal().is_some() {
            return;
        }
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
            How::Program(name) => return self.run_program(toolchain.program(name, place)?, turn),
            How::OpenMp(program) => {
                let program = toolchain.openmp(program, place)?;
                let team = self.order.mode.team(shape.cpus).to_string();
                return self.run_program(program.with_variable("OMP_NUM_THREADS", &team), turn);
            }
            How::Language(program) => return self.run_language(program, turn),
            How::BootPath => boot::path(hadal, toolchain, shape)?,
            How::BootTime => boot::time(hadal, toolchain, linux, place, shape)?,
            How::Heat => heat::time(hadal, toolchain, linux, place, shape)?,
        };
        Ok(Measured { lines, failure: None })
    }

    /// A program of the harness, which measures the figures that it is told.
    fn run_program(&self, program: Program, turn: &Turn) -> Result<Measured> {
        let figures = turn.work.figures.iter().map(|name| (*name).to_owned());
        let program = program.with_args(self.arguments(turn).into_iter().chain(figures));
        Measured::of(&self.run(&program, turn)?)
    }

    /// What programs of the harness are told besides their figures.
    fn arguments(&self, turn: &Turn) -> [String; 2] {
        let quick = if self.order.quick { "quick-" } else { "" };
        [format!("{quick}{}", self.order.mode.name()), turn.work.shape.cpus.to_string()]
    }

    /// Runs a program in its place.
    fn run(&self, program: &Program, turn: &Turn) -> Result<Printed> {
        let Turn { work, place } = turn;
        let (mode, limit) = (self.order.mode, work.limit());
        match place.system() {
            System::Image | System::Pik | System::Isolated => {
                let options = hadal_options(turn, program);
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let ended = self.hadal.run_within(limit, mode, work.shape, &options, &program.words())?;
                Ok(Printed::of(ended))
            }
            System::Host => Ok(Printed::of(native::run(program, self.toolchain.programs(), limit)?)),
            System::Guest => {
                let linux = self.linux.as_ref().context("the Linux guest was not asked for")?;
                let line = self.hadal.qemu_line(mode, work.shape)?;
                let programs = std::slice::from_ref(program);
                let guest = Guest::new(linux, &line, work.linux_parameters, Init::Mounts, programs)?;
                Ok(Printed::of_guest(&guest.with_limit(limit).boot()?, program))
            }
        }
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

/// What `hadal run` is told besides the machine.
fn hadal_options(turn: &Turn, program: &Program) -> Vec<String> {
    let is_native = |place: Place| place.system() == System::Pik && place.way().runtime == Runtime::Hadal;
    let native = is_native(turn.place).then(|| "--omp=native".to_owned());
    let isolated = (turn.place.system() == System::Isolated).then(|| "--ring=3".to_owned());
    let variables = program.env.iter().map(|(name, value)| format!("--env={name}={value}"));
    native.into_iter().chain(isolated).chain(variables).collect()
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
    })
}

/// What a program printed, and why it failed, if it did.
#[derive(Debug)]
struct Printed {
    text: String,
    failure: Option<String>,
}

impl Printed {
    fn of(ended: Ended) -> Self {
        let failure = (!ended.status.success()).then(|| format!("{}\n{}", ended.status, ended.stderr));
        Self { text: ended.stdout, failure }
    }

    fn of_guest(ended: &Ended, program: &Program) -> Self {
        let (text, status) = linux::outputs(&ended.stdout).into_iter().next().unwrap_or_default();
        let failure = match status {
            Some(0) => None,
            Some(status) => Some(format!("{} ended with {status}\n{text}", program.file.display())),
            None => Some(format!("the guest ended early\n{text}{}", ended.stderr)),
        };
        Self { text, failure }
    }
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
