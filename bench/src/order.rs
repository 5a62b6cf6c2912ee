// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a run is to measure, and the turns that make it up: each figure's program in each place, round by round, so that what
//! disturbs the host disturbs all places alike.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::args::{MachineArgs, Peer, RunArgs};
use crate::catalogue::languages::Language;
use crate::catalogue::openmp::Class;
use crate::catalogue::{self, Benchmark, How, Shape};
use crate::host;
use crate::place::{Place, System, Waiting};
use crate::results::{Mode, is_false};

/// Rounds in parallel mode unless the user says otherwise.
const PARALLEL_ROUNDS: u32 = 3;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) mode: Mode,
    names: Vec<String>,
    #[serde(default)]
    classes: Vec<Class>,
    places: Vec<Place>,
    rounds: u32,
    /// Few samples of each figure, and no machine with more CPUs than the host.
    pub(crate) quick: bool,
    /// Whether long programs run in all places at once, in slices of time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) slices: bool,
    /// Exactly what baselines hold.
    baseline: bool,
    pub(crate) machine: MachineArgs,
    /// The interpreter of NESL 3.1, where the user has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) nesl31: Option<PathBuf>,
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

/// For one program, also on a busy host; booting is in it.
const LIMIT: Duration = Duration::from_secs(900);
/// For larger sizes of NAS, which TCG computes slowly.
const LONG_LIMIT: Duration = Duration::from_secs(4 * 3600);

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
            classes: args.class.clone(),
            places: Place::all().filter(|place| is_wanted(*place, args)).collect(),
            rounds: args.rounds.unwrap_or(all_rounds),
            quick: args.quick,
            slices: args.slices,
            baseline: false,
            machine: args.machine.clone(),
            nesl31: args.nesl31.clone(),
        }
    }

    /// Every path length that is exact, on Hadal: those of one CPU.
    pub(crate) fn exact(machine: &MachineArgs) -> Self {
        Self {
            mode: Mode::Path,
            names: Vec::new(),
            classes: Vec::new(),
            places: Vec::new(),
            rounds: 1,
            quick: false,
            slices: false,
            baseline: true,
            machine: machine.clone(),
            nesl31: None,
        }
    }

    /// The benchmarks that are meant.
    pub(crate) fn chosen(&self) -> Result<Vec<&'static Benchmark>> {
        catalogue::select(&self.names, &self.classes)
    }

    /// Everything to do, in order.
    pub(crate) fn turns(&self) -> Result<Vec<Turn>> {
        let mut works = works(&self.chosen()?, self.mode);
        let most_cpus = match (self.baseline, self.quick) {
            (true, _) => 1,
            (false, true) => host::cores().max(2),
            (false, false) => u32::MAX,
        };
        works.retain(|work| work.shape.cpus <= most_cpus);
        let places = |work: &Work| {
            let measured =
                work.how.line_up().places.iter().copied().filter(|place| self.measures(work, *place));
            measured.map(|place| Turn { work: work.clone(), place }).collect::<Vec<_>>()
        };
        let turns: Vec<Turn> = (0..self.rounds).flat_map(|_| works.iter().flat_map(places)).collect();
        ensure!(!turns.is_empty(), "none of these is measured in {} mode", self.mode.name());
        ensure!(
            !self.slices || turns.iter().any(|turn| turn.work.is_long()),
            "--slices is for the NAS parallel benchmarks: hadal bench run --mode parallel nas --class W --slices"
        );
        Ok(turns)
    }

    /// Of turns that are left, how many come next at once: one, or a long program in all places.
    pub(crate) fn together(&self, left: &[Turn]) -> usize {
        let Some(first) = left.first() else { return 0 };
        if !(self.slices && first.work.is_long()) {
            return 1;
        }
        let of_the_round = |(index, turn): &(usize, &Turn)| {
            turn.work.runs_with(&first.work) && !left[..*index].iter().any(|other| other.place == turn.place)
        };
        left.iter().enumerate().take_while(of_the_round).count()
    }

    /// Whether a work is measured in a place.
    fn measures(&self, work: &Work, place: Place) -> bool {
        let exists = match (work.how, place) {
            (How::BootPath, _) => place == Place::Pik,
            (How::BootTime, _) => matches!(place, Place::Pik | Place::Linux),
            (How::Heat, Place::Hadal | Place::Ring3) => false,
            (How::Language(program), Place::Nesl31) => {
                self.nesl31.is_some() && program.language == Language::Nesl
            }
            // What a construct costs is the run-time's, whoever compiles it.
            (How::OpenMp(program), Place::RtkClang) => program.class.is_some(),
            (How::Language(program), place) if program.peer.is_none() && !place.runs_languages() => false,
            _ => match place.system() {
                // More threads than cores, each on a core of its own, cannot be had here.
                System::Host => work.shape.cpus <= host::cores(),
                // Where several CPUs take turns, Linux does not get past starting the second one.
                System::Guest if self.mode == Mode::Path => work.shape.cpus == 1,
                // With a core for each thread it is of no use.
                System::Guest if self.mode == Mode::Parallel && place.way().waiting == Waiting::Passive => {
                    work.shape.cpus > host::cores()
                }
                _ => true,
            },
        };
        exists
            && if self.baseline {
                work.how.line_up().baseline.contains(&place)
            } else {
                self.wants(work, place)
            }
    }

    fn wants(&self, work: &Work, place: Place) -> bool {
        // Of what is not a program of the harness there is no image.
        let has_image = matches!(work.how, How::Program(_) | How::OpenMp(_) | How::Language(_));
        self.places.contains(&place) || (place == Place::Pik && !has_image)
    }

    /// Whether the Linux guest is needed.
    pub(crate) fn linux(&self) -> bool {
        self.places.iter().any(|place| place.system() == System::Guest)
    }
}

/// Whether the command line asks for a place. Images are always measured.
fn is_wanted(place: Place, args: &RunArgs) -> bool {
    match (place.system(), place.way().waiting) {
        (System::Image, _) => true,
        (System::Pik, _) => args.has_peer(Peer::Pik),
        (System::Isolated, _) => args.has_peer(Peer::Ring3),
        (System::Guest, Waiting::Default) => args.has_peer(Peer::Linux),
        (System::Guest, Waiting::Passive) => args.has_peer(Peer::Passive),
        (System::Host, _) => args.mode == Mode::Parallel && args.has_peer(Peer::Native),
    }
}

impl Work {
    /// Whether both are figures of one program on one machine.
    fn runs_with(&self, other: &Self) -> bool {
        let key = |work: &Self| (work.how, work.shape, work.linux_parameters);
        key(self) == key(other)
    }

    /// Whether it runs for long, and says when its timed part starts and stops.
    fn is_long(&self) -> bool {
        matches!(self.how, How::OpenMp(program) if program.class.is_some())
    }

    /// How long it may take.
    pub(crate) fn limit(&self) -> Duration {
        match self.how {
            How::OpenMp(program) if program.class > Some(Class::W) => LONG_LIMIT,
            _ => LIMIT,
        }
    }

    /// The program, or the figure where there is none.
    pub(crate) fn name(&self) -> &'static str {
        match self.how {
            How::Program(name) => name,
            How::OpenMp(program) => program.name,
            How::Language(program) => program.name,
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

/// Turns that are taken at once, for people.
pub(crate) fn title(turns: &[Turn]) -> String {
    match turns {
        [turn, _] => format!("{} and another place in slices", turn.title()),
        [turn, _, ..] => format!("{} and {} others in slices", turn.title(), turns.len() - 1),
        turns => turns.iter().map(Turn::title).collect(),
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
    use crate::place::{OPENMP, Runtime};

    pub(crate) fn order(mode: Mode, quick: bool) -> Order {
        let machine = MachineArgs { qemu: "q".into(), accel: "tcg".into(), memory: "1G".into() };
        let places = Place::all().filter(|place| place.way().waiting == Waiting::Default).collect();
        Order { mode, quick, places, baseline: false, rounds: 2, ..Order::exact(&machine) }
    }

    #[test]
    fn figures_of_one_program_run_together() {
        let works = works(&catalogue::select(&[], &[]).unwrap(), Mode::Path);
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
        order.places.retain(|place| place.system() != System::Pik);
        let turns = order.turns().unwrap();
        let of = |place| turns.iter().filter(move |turn| turn.place == place);
        assert!(of(Place::Pik).all(|turn| turn.work.how == How::BootPath) && of(Place::Pik).count() > 0);
        assert!(of(Place::Hadal).all(|turn| turn.work.how != How::BootPath));
        let mut in_turns = turns.iter().filter(|turn| turn.work.shape.cpus > 1);
        assert!(in_turns.all(|turn| turn.place.system() != System::Guest));
    }

    #[test]
    fn a_baseline_has_the_paths_of_one_cpu_that_are_hadals() {
        let machine = order(Mode::Path, false).machine;
        for turn in Order::exact(&machine).turns().unwrap() {
            let is_hadals = !matches!(turn.place.system(), System::Guest | System::Host);
            assert!(turn.work.shape.cpus == 1 && is_hadals);
            assert!(!matches!(turn.work.how, How::OpenMp(_)) || turn.place.way().runtime == Runtime::Hadal);
        }
    }

    #[test]
    fn passive_guests_are_measured_where_threads_share_cores() {
        let mut order = order(Mode::Parallel, false);
        order.places = Place::all().collect();
        let turns = order.turns().unwrap();
        let passive = |turn: &&Turn| turn.place.way().waiting == Waiting::Passive;
        assert!(turns.iter().filter(passive).all(|turn| turn.work.shape.cpus > host::cores()));
        assert!(host::cores() >= 8 || turns.iter().any(|turn| passive(&turn)));
    }

    #[test]
    fn programs_in_languages_have_the_peers_that_there_are() {
        let mut order = order(Mode::Parallel, false);
        let turns = |order: &Order| order.turns().unwrap();
        let is_nesl31 = |turn: &Turn| turn.place == Place::Nesl31;
        assert!(!turns(&order).iter().any(is_nesl31));
        order.nesl31 = Some("vinterp".into());
        let with = turns(&order);
        assert!(with.iter().filter(|turn| is_nesl31(turn)).count() > 0);
        let is_nesl = |turn: &Turn| matches!(turn.work.how, How::Language(program) if program.language == Language::Nesl);
        assert!(with.iter().filter(|turn| is_nesl31(turn)).all(is_nesl));
        // What is in VCODE has nothing to be set against.
        order.mode = Mode::Path;
        let scalar =
            turns(&order).into_iter().filter(|turn| turn.work.figures == ["nesl.scalar_instruction"]);
        assert!(scalar.map(|turn| turn.place).all(|place| matches!(place, Place::Hadal | Place::Native)));
    }

    #[test]
    fn long_programs_run_in_all_places_of_a_round_at_once() {
        let mut order = order(Mode::Parallel, false);
        order.names = ["nas.ep", "noise.fixed_work", "nas.is"].map(str::to_owned).to_vec();
        order.classes = vec![Class::S];
        let apart = order.turns().unwrap();
        assert_eq!((order.together(&apart), order.together(&[])), (1, 0));
        order.slices = true;
        let (mut left, mut together) = (&apart[..], Vec::new());
        while !left.is_empty() {
            let (now, rest) = left.split_at(order.together(left));
            let places: Vec<Place> = now.iter().map(|turn| turn.place).collect();
            assert!(places.is_sorted_by(|one, other| one < other), "{places:?}");
            assert!(now.iter().all(|turn| turn.work.runs_with(&now[0].work)));
            together.push(now.len());
            left = rest;
        }
        let ways = OPENMP.places.iter().filter(|place| place.way().waiting == Waiting::Default).count();
        assert_eq!(together.iter().filter(|turns| **turns == ways).count(), 4, "{together:?}");
        assert!(together.contains(&1), "{together:?}");
        // Of one program alone, rounds follow each other.
        order.names.truncate(1);
        assert_eq!(order.together(&order.turns().unwrap()), ways);
        order.names = vec!["noise.fixed_work".to_owned()];
        assert!(order.turns().unwrap_err().to_string().contains("--slices is for the NAS"));
    }

    #[test]
    fn an_order_is_the_same_after_it_was_saved() {
        let order = order(Mode::Path, true);
        let saved = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&saved).unwrap(), order);
    }
}
