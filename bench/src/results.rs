// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was measured, as a file holds it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::catalogue;
use crate::place::{LineUp, Place};
use crate::saved::{self, Unfinished};
use crate::stats::Summary;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Instructions on one CPU, exactly
    Path,
    /// Time on as many CPUs as the host has
    Parallel,
}

impl Mode {
    /// Threads of OpenMP that a machine is given, unless a figure asks for others: in path mode they share the CPU.
    pub(crate) fn team(self, cpus: u32) -> u32 {
        match self {
            Self::Path => cpus.max(2),
            Self::Parallel => cpus,
        }
    }

    /// Its name on command lines and in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Parallel => "parallel",
        }
    }
}

/// One figure on a number of CPUs, in every place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// `group.figure`.
    pub(crate) name: String,
    /// What was counted.
    pub(crate) mode: Mode,
    /// CPUs of the machine.
    pub(crate) cpus: u32,
    /// `instructions`, `ns` or `ratio`.
    pub(crate) unit: String,
    /// What each place measured.
    #[serde(flatten)]
    pub(crate) places: BTreeMap<Place, Summary>,
}

impl Entry {
    /// What one place measured.
    pub(crate) fn at(&self, place: Place) -> Option<&Summary> {
        self.places.get(&place)
    }

    /// The places that a figure of its kind has.
    pub(crate) fn line_up(&self) -> &'static LineUp {
        catalogue::line_up(&self.name)
    }

    /// What goals are about: the image, or the unmodified program where only that is measured; with OpenMP the worst of
    /// the ways that have Hadal's run-time.
    pub(crate) fn judged(&self) -> Option<&Summary> {
        self.line_up().judged.iter().find_map(|places| {
            let summaries = places.iter().filter_map(|place| self.at(*place));
            summaries.max_by(|one, other| one.median.total_cmp(&other.median))
        })
    }

    /// The best that the others of a contest measured, and where.
    pub(crate) fn best(&self, places: &[Place]) -> Option<(Place, &Summary)> {
        let known = places.iter().filter_map(|place| Some((*place, self.at(*place)?)));
        known.min_by(|one, other| one.1.median.total_cmp(&other.1.median))
    }

    /// The best peer of a place.
    pub(crate) fn peer(&self, place: Place) -> Option<(Place, &Summary)> {
        self.best(self.line_up().contest_of(place)?.theirs)
    }

    /// How many times the best peer's median is a place's.
    pub(crate) fn times_better(&self, place: Place) -> Option<f64> {
        let (here, (_, peer)) = (self.at(place)?, self.peer(place)?);
        // A difference of two measurements may be negative.
        (here.median > 0.0 && peer.median > 0.0).then(|| peer.median / here.median)
    }

    /// Whether others took so much of the host during the measurement that its times are not to be trusted. Instructions do
    /// not depend on the host.
    pub(crate) fn is_disturbed(&self, place: Place) -> bool {
        self.mode == Mode::Parallel && self.at(place).is_some_and(Summary::is_disturbed)
    }

    /// The same of any place.
    pub(crate) fn is_anywhere_disturbed(&self) -> bool {
        self.places.keys().any(|place| self.is_disturbed(*place))
    }

    /// The part of the name before the dot.
    pub(crate) fn group(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// What the measuring was done with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// What was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<Mode>,
    /// When the run began (RFC 3339).
    #[serde(default)]
    pub(crate) started: String,
    /// QEMU's line, as far as it describes the machine.
    pub(crate) machine: String,
    /// What programs of both guests found in their environment besides their own variables, as `NAME=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variable: Option<String>,
    /// QEMU's version.
    pub(crate) qemu: String,
    /// The Linux guest's packages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) linux: Option<String>,
    /// CPUs of the host.
    pub(crate) host_cores: u32,
    /// What was measured: the kernel's build and that of the benchmark programs.
    #[serde(default)]
    pub(crate) build: String,
    /// Load average of the host before and after.
    pub(crate) load: [f64; 2],
    /// Whether it was a look with few samples.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) quick: bool,
    /// Whether long programs ran side by side, in slices of time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) slices: bool,
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// A figure that is missing, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Missing {
    /// The benchmark, or the program with several.
    pub(crate) name: String,
    /// Where.
    pub(crate) place: String,
    /// Why.
    pub(crate) why: String,
}

/// A run of the harness.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The figures.
    pub(crate) results: Vec<Entry>,
    /// What failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<Missing>,
    /// What a place does not offer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) skipped: Vec<Missing>,
    /// One for each mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) settings: Vec<Setting>,
    /// What a run that has not ended yet needs to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unfinished: Option<Box<Unfinished>>,
}

impl Results {
    /// The figure of this name in a mode, on that many CPUs or, with `None`, on the most.
    pub(crate) fn find(&self, name: &str, mode: Mode, cpus: Option<u32>) -> Option<&Entry> {
        let fits = |entry: &&Entry| {
            entry.name == name && entry.mode == mode && cpus.is_none_or(|cpus| cpus == entry.cpus)
        };
        self.results.iter().filter(fits).max_by_key(|entry| entry.cpus)
    }

    /// Reads files and joins them; later ones win where both have a figure.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self> {
        let mut all = Self::default();
        for file in files {
            all.take(saved::read(file)?);
        }
        if all.results.is_empty() {
            bail!(
                "no results in {}",
                files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
            );
        }
        Ok(all)
    }

    fn take(&mut self, other: Self) {
        for entry in other.results {
            let same = |old: &Entry| (&old.name, old.mode, old.cpus) == (&entry.name, entry.mode, entry.cpus);
            self.results.retain(|old| !same(old));
            self.results.push(entry);
        }
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
        self.unfinished = other.unfinished.or(self.unfinished.take());
        for setting in other.settings {
            if !self.settings.contains(&setting) {
                self.settings.push(setting);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn entry(name: &str, mode: Mode, cpus: u32, hadal: &[f64], linux: &[f64]) -> Entry {
        let unit = match mode {
            Mode::Path => "instructions",
            Mode::Parallel => "ns",
        };
        Entry {
            name: name.into(),
            mode,
            cpus,
            unit: unit.into(),
            places: [(Place::Hadal, hadal), (Place::Linux, linux)]
                .into_iter()
                .filter_map(|(place, samples)| Some((place, Summary::of(samples)?)))
                .collect(),
        }
    }

    #[test]
    fn the_file_has_the_published_form() {
        let results = Results {
            results: vec![entry("thread.create", Mode::Path, 1, &[400.0, 400.0], &[42200.0])],
            ..Results::default()
        };
        let json: serde_json::Value = serde_json::from_str(&results.json().unwrap()).unwrap();
        let first = &json["results"][0];
        assert_eq!((&first["name"], &first["mode"]), (&"thread.create".into(), &"path".into()));
        assert_eq!((&first["cpus"], &first["unit"]), (&1.into(), &"instructions".into()));
        assert_eq!(first["hadal"]["median"], 400.0);
        assert_eq!((&first["hadal"]["samples"], &first["linux"]["p95"]), (&2.into(), &42200.0.into()));
        assert!(first.get("native").is_none());
        let again: Results = serde_json::from_str(&results.json().unwrap()).unwrap();
        assert_eq!(again.results[0].places, results.results[0].places);
    }

    #[test]
    fn files_join_and_the_last_wins() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, entries: Vec<Entry>| {
            let file = dir.path().join(name);
            Results { results: entries, ..Results::default() }.write(&file).unwrap();
            file
        };
        let first = write(
            "1",
            vec![entry("a.b", Mode::Path, 1, &[1.0], &[]), entry("a.c", Mode::Path, 1, &[2.0], &[])],
        );
        let second = write("2", vec![entry("a.b", Mode::Path, 1, &[3.0], &[])]);
        let joined = Results::read(&[first, second]).unwrap();
        assert_eq!(joined.results.len(), 2);
        assert_eq!(joined.find("a.b", Mode::Path, None).unwrap().judged().unwrap().median, 3.0);
        assert!(Results::read(&[dir.path().join("3")]).is_err());
    }

    #[test]
    fn the_most_cpus_are_found_first() {
        let results = Results {
            results: [1, 8, 2].map(|cpus| entry("x.y", Mode::Parallel, cpus, &[1.0], &[])).into(),
            ..Results::default()
        };
        assert_eq!(results.find("x.y", Mode::Parallel, None).unwrap().cpus, 8);
        assert_eq!(results.find("x.y", Mode::Parallel, Some(2)).unwrap().cpus, 2);
        assert!(results.find("x.y", Mode::Path, None).is_none());
    }
}
