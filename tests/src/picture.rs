// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads what `hadal run --trace` wrote, and checks what must hold for every trace.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use serde_json::Value;

use crate::error::TestError;

/// Process number of the CPUs' rows; those of threads are in process 2.
const CPUS: u64 = 1;
const THREADS: u64 = 2;

/// Process and thread number of a row.
type Row = (u64, u64);

/// A slice; times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Slice {
    /// What it is called.
    pub name: String,
    /// When it begins.
    pub start: u64,
    /// When it ends.
    pub end: u64,
    /// Its arguments.
    pub args: Value,
}

/// Slices that do not nest: an empty one comes before another that begins at the same time.
fn in_sequence<'a>(slices: impl Iterator<Item = &'a Slice>) -> Vec<&'a Slice> {
    let mut slices: Vec<_> = slices.collect();
    slices.sort_by_key(|slice| (slice.start, slice.end));
    slices
}

/// A trace.
#[derive(Debug, Default)]
pub struct Picture {
    rows: BTreeMap<Row, Vec<Slice>>,
    names: HashMap<Row, String>,
    /// Name and row of each instant.
    instants: Vec<(String, Row)>,
    /// Both ends of each arrow: row and time.
    arrows: HashMap<u64, [Vec<(Row, u64)>; 2]>,
    facts: Value,
}

fn ns(value: &Value) -> Result<u64, String> {
    value.as_f64().map(|us| (us * 1000.0).round() as u64).ok_or_else(|| format!("no time: {value}"))
}

impl Picture {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TestError> {
        let bytes = std::fs::read(path).map_err(TestError::io(format!("cannot read {}", path.display())))?;
        Self::parse(&bytes).map_err(TestError::Wrong)
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"))?;
        let mut picture = Self { facts: json["otherData"].clone(), ..Self::default() };
        for event in json["traceEvents"].as_array().ok_or("no events")? {
            picture.add(event)?;
        }
        for slices in picture.rows.values_mut() {
            slices.sort_by_key(|slice| (slice.start, Reverse(slice.end)));
        }
        Ok(picture)
    }

    fn add(&mut self, event: &Value) -> Result<(), String> {
        let number = |key: &str| event[key].as_u64().ok_or_else(|| format!("no {key}: {event}"));
        let name = event["name"].as_str().ok_or_else(|| format!("no name: {event}"))?;
        let row = (number("pid")?, number("tid")?);
        match event["ph"].as_str() {
            Some("X") => {
                let start = ns(&event["ts"])?;
                let end = start + ns(&event["dur"])?;
                let slice = Slice { name: name.to_owned(), start, end, args: event["args"].clone() };
                self.rows.entry(row).or_default().push(slice);
            }
            Some("i") => self.instants.push((name.to_owned(), row)),
            Some(end @ ("s" | "f")) => {
                let ends = self.arrows.entry(number("id")?).or_default();
                ends[usize::from(end == "f")].push((row, ns(&event["ts"])?));
            }
            Some("M") if name == "thread_name" => {
                self.names.insert(row, event["args"]["name"].as_str().unwrap_or_default().to_owned());
            }
            Some("M") => {}
            other => return Err(format!("unknown phase {other:?}")),
        }
        Ok(())
    }

    /// Checks what must hold for every trace of a machine with this many CPUs.
    pub fn check(&self, cpus: u64) -> Result<(), TestError> {
        self.facts_are_right(cpus)
            .and_then(|()| self.slices_nest())
            .and_then(|()| self.switches_alternate(cpus))
            .and_then(|()| self.states_follow_each_other())
            .and_then(|()| self.running_threads_have_a_cpu())
            .and_then(|()| self.arrows_have_two_ends())
            .map_err(TestError::Wrong)
    }

    /// A fact about the whole trace.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<u64> {
        self.facts[name].as_u64()
    }

    /// All slices with a name on rows of threads, or of CPUs.
    pub fn slices<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Slice> {
        self.rows.values().flatten().filter(move |slice| slice.name == name)
    }

    /// How many instants have a name.
    #[must_use]
    pub fn instants(&self, name: &str) -> usize {
        self.instants.iter().filter(|(own, _)| own == name).count()
    }

    /// What the CPUs ran: the names of their slices, each as often as it comes.
    pub fn run_by_cpus(&self) -> impl Iterator<Item = &str> {
        let of_cpus = self.rows.iter().filter(|(row, _)| row.0 == CPUS);
        of_cpus.flat_map(|(_, slices)| slices).map(|slice| slice.name.as_str())
    }

    /// The names of all rows.
    pub fn row_names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    fn facts_are_right(&self, cpus: u64) -> Result<(), String> {
        let rows = self.rows.keys().filter(|row| row.0 == CPUS).count() as u64;
        if self.fact("cpus") != Some(cpus) || rows != cpus {
            return Err(format!("{rows} rows for {cpus} CPUs: {}", self.facts));
        }
        match self.rows.keys().find(|row| !self.names.contains_key(row)) {
            Some(row) => Err(format!("row {row:?} has no name")),
            None => Ok(()),
        }
    }

    /// Two slices of a row are apart, or one contains the other.
    fn slices_nest(&self) -> Result<(), String> {
        for (row, slices) in &self.rows {
            let mut open: Vec<&Slice> = Vec::new();
            for slice in slices {
                open.retain(|outer| outer.end > slice.start);
                if let Some(outer) = open.iter().find(|outer| outer.end < slice.end) {
                    return Err(format!("on row {row:?} {outer:?} and {slice:?} overlap"));
                }
                open.push(slice);
            }
        }
        Ok(())
    }

    /// What a CPU runs: slices without a hole.
    fn runs(&self, row: Row) -> Vec<&Slice> {
        in_sequence(self.rows[&row].iter().filter(|slice| slice.args["thread"].is_u64()))
    }

    fn switches_alternate(&self, cpus: u64) -> Result<(), String> {
        for row in (1..=cpus).map(|cpu| (CPUS, cpu)) {
            let mut before: Option<&Slice> = None;
            for slice in self.runs(row) {
                if before.is_some_and(|before| before.end != slice.start) {
                    return Err(format!("CPU row {row:?}: {before:?}, then {slice:?}"));
                }
                before = Some(slice);
            }
        }
        Ok(())
    }

    /// Rows of states have odd numbers, those behind them are what the threads do in the kernel.
    fn states(&self) -> impl Iterator<Item = (&Row, Vec<&Slice>)> {
        let of_states = self.rows.iter().filter(|((pid, tid), _)| *pid == THREADS && tid % 2 == 1);
        of_states.map(|(row, slices)| (row, in_sequence(slices.iter())))
    }

    fn states_follow_each_other(&self) -> Result<(), String> {
        let allowed: HashSet<_> = HashSet::from([
            ("running", "ready"),
            ("running", "waiting"),
            ("ready", "running"),
            ("waiting", "ready"),
        ]);
        for (row, slices) in self.states() {
            for pair in slices.windows(2) {
                let follow = allowed.contains(&(pair[0].name.as_str(), pair[1].name.as_str()));
                // A wake-up may be among the records that are lost.
                let lost = self.fact("lost records") != Some(0);
                if !(follow || lost) || pair[0].end != pair[1].start {
                    return Err(format!("row {row:?}: {:?}, then {:?}", pair[0], pair[1]));
                }
            }
        }
        Ok(())
    }

    fn running_threads_have_a_cpu(&self) -> Result<(), String> {
        for (row, slices) in self.states() {
            for slice in slices.iter().filter(|slice| slice.name == "running") {
                let cpu = slice.args["cpu"].as_u64().ok_or("a running thread names its CPU")?;
                let same = |run: &&Slice| (run.start, run.end) == (slice.start, slice.end);
                if !self.runs((CPUS, cpu + 1)).iter().any(same) {
                    return Err(format!("row {row:?}: CPU {cpu} did not run {slice:?}"));
                }
            }
        }
        Ok(())
    }

    fn arrows_have_two_ends(&self) -> Result<(), String> {
        for (id, [from, to]) in &self.arrows {
            let ([(from_row, sent)], [(to_row, received)]) = (&from[..], &to[..]) else {
                return Err(format!("arrow {id}: {from:?} to {to:?}"));
            };
            let in_slice = |row: &Row, at: u64| {
                self.rows.get(row).is_some_and(|slices| slices.iter().any(|s| s.start <= at && at <= s.end))
            };
            if sent > received || !in_slice(from_row, *sent) || !in_slice(to_row, *received) {
                return Err(format!("arrow {id} goes from {from:?} to {to:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(events: &str) -> Result<Picture, String> {
        Picture::parse(format!("{{\"traceEvents\":[{events}],\"otherData\":{{\"cpus\":1}}}}").as_bytes())
    }

    fn slice(tid: u64, name: &str, start: u64, end: u64) -> String {
        let (ts, dur) = (start as f64 / 1000.0, (end - start) as f64 / 1000.0);
        format!(
            r#"{{"ph":"X","pid":1,"tid":{tid},"name":"{name}","ts":{ts},"dur":{dur},"args":{{"thread":1}}}}"#
        )
    }

    #[test]
    fn overlaps_and_holes_are_found() {
        let name = r#"{"ph":"M","pid":1,"tid":1,"ts":0,"name":"thread_name","args":{"name":"CPU 0"}}"#;
        let check = |slices: &[String]| parse(&format!("{},{name}", slices.join(","))).unwrap().check(1);
        assert!(check(&[slice(1, "a", 0, 10), slice(1, "b", 10, 20)]).is_ok());
        assert!(check(&[slice(1, "a", 0, 10), slice(1, "b", 5, 20)]).is_err());
        assert!(check(&[slice(1, "a", 0, 10), slice(1, "b", 11, 20)]).is_err());
        assert!(check(&[slice(2, "a", 0, 10)]).is_err());
        assert!(parse("{\"ph\":\"?\"}").is_err());
        assert!(Picture::parse(b"{").is_err());
    }
}
