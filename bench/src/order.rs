// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run is to measure, and the turns that make it up: each figure's program in each place, round by round, so that what
//! disturbs the host disturbs all places alike.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::args::{MachineArgs, Peer, RunArgs};
use crate::catalogue::{self, Benchmark, How, Shape};
use crate::host;
use crate::results::{Mode, Place};

/// Rounds in parallel mode unless the user says otherwise.
const PARALLEL_ROUNDS: u32 = 3;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) mode: Mode,
    names: Vec<String>,
    pik: bool,
    pub(crate) linux: bool,
    native: bool,
    rounds: u32,
    /// Few samples of each figure, and no machine with more CPUs than the host.
    pub(crate) quick: bool,
    /// Leaves out machines of several CPUs.
    one_cpu: bool,
    pub(crate) machine: MachineArgs,
}

/// What is run as one: the figures of one program on one machine.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) how: How,
    pub(crate) shape: Shape,
    /// For the kernel of the Linux guest, besides those that it always has.
    pub(crate) linux_parameters: &'static str,
    pub(crate) figures: Vec<&'static str>,
}

/// A work in a place.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) work: Work,
    pub(crate) place: Place,
}

impl Order {
    /// What the command line asks for.
    pub(crate) fn of(args: &RunArgs) -> Self {
        let all_rounds = match args.mode {
            Mode::Parallel if !args.quick => PARALLEL_ROUNDS,
            _ => 1,
        };
        Self {
            mode: args.mode,
            names: args.names.clone(),
            pik: args.has_peer(Peer::Pik),
            linux: args.has_peer(Peer::Linux),
            native: args.mode == Mode::Parallel && args.has_peer(Peer::Native),
            rounds: args.rounds.unwrap_or(all_rounds),
            quick: args.quick,
            one_cpu: false,
            machine: args.machine.clone(),
        }
    }

    /// Every path length that is exact, on Hadal: those of one CPU.
    pub(crate) fn exact(machine: &MachineArgs) -> Self {
        let (mode, names, machine) = (Mode::Path, Vec::new(), machine.clone());
        Self {
            mode,
            names,
            pik: true,
            linux: false,
            native: false,
            rounds: 1,
            quick: false,
            one_cpu: true,
            machine,
        }
    }

    /// The benchmarks that are meant.
    pub(crate) fn chosen(&self) -> Result<Vec<&'static Benchmark>> {
        catalogue::select(&self.names)
    }

    /// Everything to do, in order.
    pub(crate) fn turns(&self) -> Result<Vec<Turn>> {
        let mut works = works(&self.chosen()?, self.mode);
        let most_cpus = match (self.one_cpu, self.quick) {
            (true, _) => 1,
            (false, true) => host::cores().max(2),
            (false, false) => u32::MAX,
        };
        works.retain(|work| work.shape.cpus <= most_cpus);
        let places = |work: &Work| {
            let measured = Place::ALL.into_iter().filter(|place| self.measures(work, *place));
            measured.map(|place| Turn { work: work.clone(), place }).collect::<Vec<_>>()
        };
        let turns: Vec<Turn> = (0..self.rounds).flat_map(|_| works.iter().flat_map(places)).collect();
        ensure!(!turns.is_empty(), "none of these is measured in {} mode", self.mode.name());
        Ok(turns)
    }

    /// Whether a work is measured in a place.
    fn measures(&self, work: &Work, place: Place) -> bool {
        let exists = match (work.how, place) {
            (How::BootPath, _) => place == Place::Pik,
            (How::BootTime, _) => matches!(place, Place::Pik | Place::Linux),
            (How::Heat, Place::Hadal) => false,
            // More threads than cores, each on a core of its own, cannot be had here.
            (_, Place::Native) => work.shape.cpus <= host::cores(),
            // Where several CPUs take turns, Linux does not get past starting the second one.
            (_, Place::Linux) if self.mode == Mode::Path => work.shape.cpus == 1,
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
}

impl Work {
    /// Whether both are figures of one program on one machine.
    fn runs_with(&self, other: &Self) -> bool {
        let key = |work: &Self| (work.how, work.shape, work.linux_parameters);
        key(self) == key(other)
    }

    /// The program, or the figure where there is none.
    pub(crate) fn name(&self) -> &'static str {
        match self.how {
            How::Program(name) => name,
            _ => self.figures[0],
        }
    }
}

impl Turn {
    /// For people.
    pub(crate) fn title(&self) -> String {
        let cpus = match self.work.shape.cpus {
            1 => "1 CPU".to_owned(),
            cpus => format!("{cpus} CPUs"),
        };
        let parameters = match (self.place, self.work.linux_parameters) {
            (Place::Linux, parameters) if !parameters.is_empty() => format!(" with {parameters}"),
            _ => String::new(),
        };
        format!("{} on {cpus}: {}{parameters}", self.work.name(), self.place.title())
    }

    /// The same for turns that take equally long, in any run.
    pub(crate) fn key(&self, order: &Order) -> String {
        let Shape { cpus, zones } = self.work.shape;
        let quick = if order.quick { " quick" } else { "" };
        let figures = self.work.figures.len();
        let mode = order.mode.name();
        format!("{mode}{quick} {} {figures} {cpus} {zones} {}", self.work.name(), self.place.title())
    }
}

/// The chosen benchmarks by program and machine, in the order of the catalogue.
fn works(chosen: &[&'static Benchmark], mode: Mode) -> Vec<Work> {
    let mut works: Vec<Work> = Vec::new();
    for benchmark in chosen {
        for shape in benchmark.shapes(mode, host::cores()) {
            let (how, linux_parameters) = (benchmark.how, benchmark.linux_parameters);
            let new = Work { how, shape, linux_parameters, figures: vec![benchmark.name] };
            match works.iter_mut().find(|work| work.runs_with(&new)) {
                Some(work) => work.figures.push(benchmark.name),
                None => works.push(new),
            }
        }
    }
    works
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn order(mode: Mode, quick: bool) -> Order {
        let machine = MachineArgs { qemu: "q".into(), accel: "tcg".into(), memory: "1G".into() };
        Order { mode, quick, one_cpu: false, linux: true, native: true, rounds: 2, ..Order::exact(&machine) }
    }

    #[test]
    fn figures_of_one_program_run_together() {
        let works = works(&catalogue::select(&[]).unwrap(), Mode::Path);
        for work in &works {
            assert_eq!(works.iter().filter(|other| work.runs_with(other)).count(), 1);
        }
        let polling: Vec<&Work> = works.iter().filter(|work| work.linux_parameters == "idle=poll").collect();
        assert_eq!(polling.len(), 1);
        assert_eq!(polling[0].figures, ["event.condvar_both_polling"]);
    }

    #[test]
    fn every_round_has_every_turn_in_the_same_order() {
        let order = order(Mode::Parallel, false);
        let titles: Vec<String> = order.turns().unwrap().iter().map(Turn::title).collect();
        let (first, second) = titles.split_at(titles.len() / 2);
        assert_eq!(first, second);
        let of_event: Vec<&String> = first.iter().filter(|title| title.starts_with("event on")).collect();
        assert!(of_event.len() >= 3 && of_event[0].ends_with("image") && of_event[1].ends_with("pik"));
    }

    #[test]
    fn a_quick_run_has_no_machine_larger_than_the_host() {
        let most = |quick| {
            let turns = order(Mode::Parallel, quick).turns().unwrap();
            turns.iter().map(|turn| turn.work.shape.cpus).max()
        };
        assert_eq!(most(true), Some(host::cores().max(2)));
        assert!(most(false) >= Some(8));
    }

    #[test]
    fn unmodified_programs_are_measured_where_there_is_no_image() {
        let mut order = order(Mode::Path, false);
        order.pik = false;
        let turns = order.turns().unwrap();
        let of = |place| turns.iter().filter(move |turn| turn.place == place);
        assert!(of(Place::Pik).all(|turn| turn.work.how == How::BootPath) && of(Place::Pik).count() > 0);
        assert!(of(Place::Hadal).all(|turn| turn.work.how != How::BootPath));
        let mut in_turns = turns.iter().filter(|turn| turn.work.shape.cpus > 1);
        assert!(in_turns.all(|turn| turn.place != Place::Linux));
    }

    #[test]
    fn an_order_is_the_same_after_it_was_saved() {
        let order = order(Mode::Path, true);
        let saved = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&saved).unwrap(), order);
    }
}
