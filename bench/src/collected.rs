// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The samples of the turns so far, and the results that they make. A run that is saved before its end keeps them in its file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Shape};
use crate::host::HostUse;
use crate::place::Place;
use crate::protocol::Line;
use crate::results::{Entry, Missing, Mode, Results};
use crate::stats::Summary;

/// Samples of all turns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Collected {
    figures: Vec<Figure>,
    failed: Vec<Missing>,
    skipped: Vec<Missing>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Figure {
    name: String,
    cpus: u32,
    unit: String,
    places: BTreeMap<Place, Samples>,
}

/// What all turns of one place gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// Adds what a turn printed.
    pub(crate) fn add(&mut self, place: Place, shape: Shape, lines: Vec<Line>, host: HostUse) {
        for line in lines {
            if let Some(why) = line.skipped {
                let missing = Missing { name: line.name, place: place.title().to_owned(), why };
                if !self.skipped.contains(&missing) {
                    self.skipped.push(missing);
                }
                continue;
            }
            let same = |figure: &Figure| figure.name == line.name && figure.cpus == shape.cpus;
            let index = self.figures.iter().position(same).unwrap_or_else(|| {
                let (name, cpus, unit) = (line.name, shape.cpus, line.unit);
                self.figures.push(Figure { name, cpus, unit, places: BTreeMap::new() });
                self.figures.len() - 1
            });
            self.figures[index].places.entry(place).or_default().add(line.samples, host);
        }
    }

    /// Notes what failed, once.
    pub(crate) fn fail(&mut self, missing: Missing) {
        if !self.failed.contains(&missing) {
            self.failed.push(missing);
        }
    }

    /// Summaries in the order of the catalogue; members of a family in the order in which they came.
    pub(crate) fn results(&self, mode: Mode) -> Results {
        let summary = |(place, samples): (&Place, &Samples)| Some((*place, samples.summary()?));
        let entry = |figure: &Figure| Entry {
            name: figure.name.clone(),
            mode,
            cpus: figure.cpus,
            unit: figure.unit.clone(),
            places: figure.places.iter().filter_map(summary).collect(),
        };
        let mut results: Vec<Entry> = self.figures.iter().map(entry).collect();
        results.sort_by_key(|entry| catalogue::rank(&entry.name));
        Results { results, failed: self.failed.clone(), skipped: self.skipped.clone(), ..Results::default() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn line(name: &str, samples: &[f64]) -> Line {
        let (unit, overhead) = ("ns".into(), 0.0);
        Line {
            name: name.into(),
            unit,
            cpus: 2,
            samples: samples.into(),
            overhead,
            answer: None,
            skipped: None,
        }
    }

    #[test]
    fn turns_are_joined_by_figure_and_place() {
        let shape = Shape { cpus: 2, zones: 1 };
        let quiet = HostUse::default();
        let busy = HostUse { others: 0.5, ..quiet };
        let mut collected = Collected::default();
        collected.add(Place::Hadal, shape, vec![line("syscall.getppid", &[1.0])], quiet);
        collected.add(Place::Linux, shape, vec![line("syscall.getppid", &[5.0])], quiet);
        // As if the run had been interrupted here.
        let saved = serde_json::to_string(&collected).unwrap();
        let mut collected: Collected = serde_json::from_str(&saved).unwrap();
        collected.add(Place::Hadal, shape, vec![line("syscall.getppid", &[3.0])], busy);
        let skipped = Line { skipped: Some("why".into()), ..line("syscall.getppid", &[]) };
        collected.add(Place::Native, shape, vec![skipped.clone(), skipped], quiet);
        let results = collected.results(Mode::Parallel);
        assert_eq!((results.results.len(), results.skipped.len()), (1, 1));
        let entry = &results.results[0];
        let image = entry.at(Place::Hadal).unwrap();
        assert_eq!((image.median, image.samples), (2.0, 2));
        assert_eq!(entry.times_better(Place::Hadal), Some(2.5));
        assert!(entry.is_disturbed(Place::Hadal) && !entry.is_disturbed(Place::Linux));
        assert!(entry.at(Place::Native).is_none());
    }
}
