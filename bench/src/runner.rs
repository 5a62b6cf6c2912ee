// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures what was asked for, place by place and turn by turn, so that what disturbs the host disturbs all alike.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use crate::args::{MachineArgs, Peer, RunArgs};
use crate::catalogue::{self, Benchmark, How, Shape};
use crate::hadal::Hadal;
use crate::host::{HostUse, Watch};
use crate::initramfs::Init;
use crate::linux::{self, Guest};
use crate::packages::{self, Linux};
use crate::progress::Progress;
use crate::protocol::{self, Line};
use crate::results::{Entry, Missing, Mode, Place, Results, Setting};
use crate::stats::Summary;
use crate::timed::Ended;
use crate::toolchain::{Program, Toolchain};
use crate::{Environment, boot, heat, host, html, native, table};

/// Turns in parallel mode unless the user says otherwise.
const PARALLEL_ROUNDS: u32 = 3;

/// What to measure.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    mode: Mode,
    names: Vec<String>,
    pik: bool,
    linux: bool,
    native: bool,
    rounds: u32,
    /// Leaves out machines of several CPUs.
    one_cpu: bool,
    machine: MachineArgs,
}

impl Order {
    fn of(args: &RunArgs) -> Self {
        Self {
            mode: args.mode,
            names: args.names.clone(),
            pik: args.has_peer(Peer::Pik),
            linux: args.has_peer(Peer::Linux),
            native: args.mode == Mode::Parallel && args.has_peer(Peer::Native),
            rounds: args.rounds.unwrap_or(match args.mode {
                Mode::Path => 1,
                Mode::Parallel => PARALLEL_ROUNDS,
            }),
            one_cpu: false,
            machine: args.machine.clone(),
        }
    }

    /// Whether a work is measured in a place.
    fn measures(&self, work: &Work, place: Place) -> bool {
        let exists = match (work.how, place) {
            (How::BootPath, _) => place == Place::Pik,
            (How::BootTime, _) => matches!(place, Place::Pik | Place::Linux),
            (How::Heat, Place::Hadal) => false,
            // More threads than cores, each on a core of its own, cannot be had here.
            (_, Place::Native) => work.shape.cpus <= host::cores(),
            _ => true,
        };
        let wanted = match place {
            Place::Hadal => true,
            // What is not a program of the harness has no image.
            Place::Pik => self.pik || !matches!(work.how, How::Program(_)),
            Place::Linux => self.linux,
            Place::Native => self.native,
        };
        exists && wanted
    }

    /// Every path length that is exact, on Hadal: those of one CPU.
    pub(crate) fn exact(machine: &MachineArgs) -> Self {
        let (mode, names, machine) = (Mode::Path, Vec::new(), machine.clone());
        Self { mode, names, pik: true, linux: false, native: false, rounds: 1, one_cpu: true, machine }
    }
}

/// `hadal bench run`: measures, shows, writes the files that were asked for.
pub(crate) fn run(args: &RunArgs, environment: &Environment) -> Result<u8> {
    let results = measure(&Order::of(args), environment, Progress::new)?;
    print!("{}", table::text(&results));
    if let Some(file) = &args.json {
        results.write(file)?;
    }
    if let Some(file) = &args.html {
        html::write(&results, file)?;
    }
    Ok(u8::from(!results.failed.is_empty()))
}

/// Measures.
pub(crate) fn measure(
    order: &Order,
    environment: &Environment,
    progress: impl FnOnce(usize) -> Progress,
) -> Result<Results> {
    let chosen = catalogue::select(&order.names)?;
    let mut works = works(&chosen, order.mode);
    works.retain(|work| work.shape.cpus == 1 || !order.one_cpu);
    ensure!(!works.is_empty(), "none of these is measured in {} mode", order.mode.name());
    let toolchain = Toolchain::new(&environment.cache, &environment.hadal)?;
    let steps: usize = works
        .iter()
        .map(|work| Place::ALL.iter().filter(|place| order.measures(work, **place)).count())
        .sum();
    let mut session = Session {
        hadal: Hadal::new(&environment.hadal, toolchain.programs(), &order.machine),
        linux: order.linux.then(|| packages::linux(&environment.cache)).transpose()?,
        toolchain,
        order,
        progress: progress(steps * order.rounds as usize),
        collected: Collected { wanted: chosen, ..Collected::default() },
    };
    let load_before = host::load();
    for _ in 0..order.rounds {
        for work in &works {
            session.measure(work);
        }
    }
    let setting = session.setting(works[0].shape, load_before)?;
    Ok(session.collected.into_results(order.mode, setting))
}

/// What is run as one: the figures of one program on one machine.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) how: How,
    pub(crate) shape: Shape,
    pub(crate) figures: Vec<&'static str>,
}

/// The chosen benchmarks by program and machine, in the order of the catalogue.
fn works(chosen: &[&'static Benchmark], mode: Mode) -> Vec<Work> {
    let mut works: Vec<Work> = Vec::new();
    for benchmark in chosen {
        for shape in benchmark.shapes(mode, host::cores()) {
            match works.iter_mut().find(|work| (work.how, work.shape) == (benchmark.how, shape)) {
                Some(work) => work.figures.push(benchmark.name),
                None => works.push(Work { how: benchmark.how, shape, figures: vec![benchmark.name] }),
            }
        }
    }
    works
}

struct Session<'a> {
    hadal: Hadal,
    linux: Option<Linux>,
    toolchain: Toolchain,
    order: &'a Order,
    progress: Progress,
    collected: Collected,
}

impl Session<'_> {
    /// One turn of one work in every place. What fails is noted, and the next goes on.
    fn measure(&mut self, work: &Work) {
        for place in Place::ALL {
            if !self.order.measures(work, place) {
                continue;
            }
            let name = match work.how {
                How::Program(name) => name,
                _ => work.figures[0],
            };
            let cpus =
                if work.shape.cpus == 1 { "1 CPU".into() } else { format!("{} CPUs", work.shape.cpus) };
            self.progress.step(&format!("{name} on {cpus}: {}", place.title()));
            let watch = Watch::start();
            match self.measure_in(place, work) {
                Ok(Measured { lines, failure }) => {
                    self.collected.add(place, work.shape, lines, watch.end());
                    if let Some(why) = failure {
                        self.fail(place, name, why);
                    }
                }
                Err(error) => self.fail(place, name, format!("{error:#}")),
            }
        }
    }

    fn fail(&mut self, place: Place, name: &str, why: String) {
        self.progress.note(&format!("{name} failed on {}: {why}", place.title()));
        let why = why.lines().next().unwrap_or_default().to_owned();
        let missing = Missing { name: name.to_owned(), place: place.title().to_owned(), why };
        if !self.collected.failed.contains(&missing) {
            self.collected.failed.push(missing);
        }
    }

    fn measure_in(&self, place: Place, work: &Work) -> Result<Measured> {
        let lines = match work.how {
            How::Program(name) => return self.run_program(place, name, work),
            How::BootPath => boot::path(&self.hadal, &self.toolchain, work.shape)?,
            How::BootTime => {
                boot::time(&self.hadal, &self.toolchain, self.linux.as_ref(), place, work.shape)?
            }
            How::Heat => heat::time(&self.hadal, &self.toolchain, self.linux.as_ref(), place, work.shape)?,
        };
        Ok(Measured { lines, failure: None })
    }

    fn run_program(&self, place: Place, name: &str, work: &Work) -> Result<Measured> {
        let mode = self.order.mode;
        let arguments = [mode.name(), &work.shape.cpus.to_string()].map(str::to_owned);
        let figures = work.figures.iter().map(|name| (*name).to_owned());
        let program = self.toolchain.program(name, place)?.with_args(arguments.into_iter().chain(figures));
        match place {
            Place::Hadal | Place::Pik => {
                Measured::of(&self.hadal.run(mode, work.shape, &[], &program.words())?)
            }
            Place::Native => Measured::of(&native::run(&program, self.toolchain.programs())?),
            Place::Linux => {
                let linux = self.linux.as_ref().context("the Linux guest was not asked for")?;
                let line = self.hadal.qemu_line(mode, work.shape)?;
                let ended = Guest::new(linux, &line, Init::Mounts, std::slice::from_ref(&program))?.boot()?;
                Measured::of_guest(&ended, &program)
            }
        }
    }

    fn setting(&self, shape: Shape, load_before: f64) -> Result<Setting> {
        Ok(Setting {
            machine: self.hadal.qemu_line(self.order.mode, shape)?.machine.join(" "),
            qemu: host::first_line_of(self.hadal.qemu(), "--version")?,
            linux: self.linux.as_ref().map(Linux::describe),
            host_cores: host::cores(),
            load: [load_before, host::load()],
            quick: false,
        })
    }
}

/// What a run of a program gave: figures, even if it failed later.
#[derive(Debug, Default)]
struct Measured {
    lines: Vec<Line>,
    failure: Option<String>,
}

impl Measured {
    fn of(ended: &Ended) -> Result<Self> {
        let failure = (!ended.status.success()).then(|| format!("{}\n{}", ended.status, ended.stderr));
        Self::with_lines(&ended.stdout, failure)
    }

    fn of_guest(ended: &Ended, program: &Program) -> Result<Self> {
        let (output, status) = linux::outputs(&ended.stdout).into_iter().next().unwrap_or_default();
        let failure = match status {
            Some(0) => None,
            Some(status) => Some(format!("{} ended with {status}\n{output}", program.file.display())),
            None => Some(format!("the guest ended early\n{output}{}", ended.stderr)),
        };
        Self::with_lines(&output, failure)
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

/// Samples of all turns.
#[derive(Default)]
struct Collected {
    wanted: Vec<&'static Benchmark>,
    figures: Vec<Figure>,
    failed: Vec<Missing>,
    skipped: Vec<Missing>,
}

struct Figure {
    name: String,
    cpus: u32,
    unit: String,
    places: BTreeMap<Place, Samples>,
}

/// What all turns of one place gave.
#[derive(Default)]
struct Samples {
    samples: Vec<f64>,
    host: HostUse,
}

impl Samples {
    fn add(&mut self, samples: Vec<f64>, host: HostUse) {
        self.samples.extend(samples);
        self.host = self.host.worse(host);
    }

    fn summary(&self) -> Option<Summary> {
        Some(Summary { host: Some(self.host), ..Summary::of(&self.samples)? })
    }
}

impl Collected {
    fn add(&mut self, place: Place, shape: Shape, lines: Vec<Line>, host: HostUse) {
        for line in lines {
            // A program may measure two figures at once, of which one was asked for.
            if !self.wanted.iter().any(|benchmark| benchmark.owns(&line.name)) {
                continue;
            }
            if let Some(why) = line.skipped {
                let missing = Missing { name: line.name, place: place.title().to_owned(), why };
                if !self.skipped.contains(&missing) {
                    self.skipped.push(missing);
                }
                continue;
            }
            let found =
                self.figures.iter().position(|figure| figure.name == line.name && figure.cpus == shape.cpus);
            let index = found.unwrap_or_else(|| {
                let (name, cpus, unit) = (line.name, shape.cpus, line.unit);
                self.figures.push(Figure { name, cpus, unit, places: BTreeMap::new() });
                self.figures.len() - 1
            });
            self.figures[index].places.entry(place).or_default().add(line.samples, host);
        }
    }

    /// Summaries in the order of the catalogue; members of a family in the order in which they came.
    fn into_results(mut self, mode: Mode, setting: Setting) -> Results {
        self.figures.sort_by_key(|figure| catalogue::rank(&figure.name));
        let summary = |figure: &Figure, place| figure.places.get(&place)?.summary();
        let entry = |figure: &Figure| Entry {
            name: figure.name.clone(),
            mode,
            cpus: figure.cpus,
            unit: figure.unit.clone(),
            hadal: summary(figure, Place::Hadal),
            pik: summary(figure, Place::Pik),
            linux: summary(figure, Place::Linux),
            native: summary(figure, Place::Native),
        };
        Results {
            results: self.figures.iter().map(entry).collect(),
            failed: self.failed,
            skipped: self.skipped,
            settings: vec![setting],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, samples: &[f64]) -> Line {
        let (unit, overhead) = ("ns".into(), 0.0);
        Line { name: name.into(), unit, cpus: 2, samples: samples.into(), overhead, skipped: None }
    }

    #[test]
    fn turns_are_joined_by_figure_and_place() {
        let shape = Shape { cpus: 2, zones: 1 };
        let quiet = HostUse::default();
        let busy = HostUse { others: 0.5, ..quiet };
        let mut collected = Collected { wanted: catalogue::select(&[]).unwrap(), ..Collected::default() };
        collected.add(
            Place::Hadal,
            shape,
            vec![line("syscall.getppid", &[1.0]), line("not.asked", &[9.0])],
            quiet,
        );
        collected.add(Place::Linux, shape, vec![line("syscall.getppid", &[5.0])], quiet);
        collected.add(Place::Hadal, shape, vec![line("syscall.getppid", &[3.0])], busy);
        let skipped = Line { skipped: Some("why".into()), ..line("syscall.getppid", &[]) };
        collected.add(Place::Native, shape, vec![skipped.clone(), skipped], quiet);
        let results = collected.into_results(Mode::Parallel, Setting::default());
        assert_eq!((results.results.len(), results.skipped.len()), (1, 1));
        let entry = &results.results[0];
        assert_eq!((entry.hadal.as_ref().unwrap().median, entry.hadal.as_ref().unwrap().samples), (2.0, 2));
        assert_eq!(entry.times_better(Place::Hadal), Some(2.5));
        assert!(entry.is_disturbed(Place::Hadal) && !entry.is_disturbed(Place::Linux));
        assert!(entry.native.is_none());
    }

    #[test]
    fn figures_of_a_program_that_fails_later_count() {
        let good = "{\"name\":\"a.b\",\"unit\":\"ns\",\"cpus\":1,\"samples\":[1]}\n";
        let measured = Measured::with_lines(good, Some("signal 11".into())).unwrap();
        assert_eq!((measured.lines.len(), measured.failure.as_deref()), (1, Some("signal 11")));
        assert!(Measured::with_lines("", None).unwrap().failure.is_some());
        assert!(Measured::with_lines("{\"name\":\"a", None).is_err());
        assert!(Measured::with_lines("{\"name\":\"a", Some("killed".into())).unwrap().lines.is_empty());
    }

    #[test]
    fn figures_of_one_program_run_together() {
        let works = works(&catalogue::select(&[]).unwrap(), Mode::Path);
        for work in &works {
            assert_eq!(works.iter().filter(|w| (w.how, w.shape) == (work.how, work.shape)).count(), 1);
        }
    }
}
