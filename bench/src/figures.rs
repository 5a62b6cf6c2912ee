// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was measured: samples, medians, goals, the table for people and the file for machines.

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::timed::Cost;

/// Numbers of one side, in the order in which they were measured.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Samples {
    values: Vec<f64>,
    /// What the whole run took, where that was measured.
    costs: Vec<Cost>,
}

impl Samples {
    pub(crate) fn push(&mut self, value: f64, cost: Cost) {
        self.values.push(value);
        self.costs.push(cost);
    }

    pub(crate) fn push_count(&mut self, count: u64) {
        self.values.push(count as f64);
    }

    fn median(&self) -> f64 {
        median(&self.values)
    }

    fn cpu_median(&self) -> Option<f64> {
        let seconds: Vec<f64> = self.costs.iter().map(|cost| cost.cpu_seconds).collect();
        (!seconds.is_empty()).then(|| median(&seconds))
    }

    fn least(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn json(&self) -> Result<Value> {
        Ok(json!({
            "median": self.median(),
            "least": self.least(),
            "most": self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "cpu_seconds_median": self.cpu_median(),
            "samples": serde_json::to_value(self).context("cannot write samples")?,
        }))
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// What the numbers are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Seconds,
    Instructions,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Instructions => "instructions",
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.3} s"),
            Self::Instructions => format!("{value:.0}"),
        }
    }
}

/// When a figure is good enough.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// At most this part of Linux's median.
    Ratio(f64),
    /// At most this.
    AtMost(f64),
    /// Shown for information.
    None,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) hadal: Samples,
    pub(crate) linux: Option<Samples>,
    pub(crate) goal: Goal,
}

impl Figure {
    fn ratio(&self) -> Option<f64> {
        self.linux.as_ref().map(|linux| self.hadal.median() / linux.median())
    }

    pub(crate) fn is_met(&self) -> bool {
        match self.goal {
            Goal::Ratio(most) => self.ratio().is_some_and(|ratio| ratio <= most),
            Goal::AtMost(most) => self.hadal.median() <= most,
            Goal::None => true,
        }
    }

    fn goal_text(&self) -> String {
        let verdict = if self.is_met() { "met" } else { "MISSED" };
        match self.goal {
            Goal::Ratio(most) => format!("ratio <= {most}: {verdict}"),
            Goal::AtMost(most) => format!("<= {}: {verdict}", self.unit.show(most)),
            Goal::None => String::new(),
        }
    }

    fn row(&self) -> [String; 5] {
        let show = |samples: &Samples| {
            format!("{} ({})", self.unit.show(samples.median()), self.unit.show(samples.least()))
        };
        let linux = self.linux.as_ref().map_or(String::new(), show);
        let ratio = self.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}"));
        [self.name.clone(), show(&self.hadal), linux, ratio, self.goal_text()]
    }

    fn json(&self) -> Result<Value> {
        Ok(json!({
            "name": self.name,
            "unit": self.unit.name(),
            "hadal": self.hadal.json()?,
            "linux": self.linux.as_ref().map(Samples::json).transpose()?,
            "ratio": self.ratio(),
            "goal": self.goal_text(),
            "met": self.is_met(),
        }))
    }
}

/// Everything of one session.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) linux: Option<String>,
    pub(crate) qemu: String,
    pub(crate) host_cores: u32,
    pub(crate) load_before: f64,
    pub(crate) load_after: f64,
    pub(crate) figures: Vec<Figure>,
}

impl Results {
    /// The table for people.
    pub(crate) fn table(&self) -> String {
        let head = ["figure: median (least)", "Hadal", "Linux guest", "ratio", "goal"].map(str::to_owned);
        let rows: Vec<[String; 5]> =
            std::iter::once(head).chain(self.figures.iter().map(Figure::row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        let mut text = String::new();
        for (index, [name, hadal, linux, ratio, goal]) in rows.iter().enumerate() {
            let [w0, w1, w2, w3, _] = widths;
            text += format!("{name:w0$}  {hadal:>w1$}  {linux:>w2$}  {ratio:>w3$}  {goal}").trim_end();
            text.push('\n');
            if index == 0 {
                text += &format!("{}\n", "-".repeat(widths.iter().sum::<usize>() + 8));
            }
        }
        text += &format!("Machine: {}\n", self.machine);
        if let Some(linux) = &self.linux {
            text += &format!("Linux:   {linux}\n");
        }
        text += &format!(
            "Host:    {}, {} cores, load {:.1} before and {:.1} after\n",
            self.qemu, self.host_cores, self.load_before, self.load_after
        );
        text + "TCG models no cost of privilege switches, TLB or caches.\n"
    }

    /// The file for machines, with every sample.
    pub(crate) fn json(&self) -> Result<String> {
        let figures: Vec<Value> = self.figures.iter().map(Figure::json).collect::<Result<_>>()?;
        let value = json!({
            "machine": self.machine,
            "linux": self.linux,
            "qemu": self.qemu,
            "host_cores": self.host_cores,
            "load_before": self.load_before,
            "load_after": self.load_after,
            "figures": figures,
        });
        Ok(serde_json::to_string_pretty(&value).context("cannot write the results")? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Samples {
        Samples { values: values.to_vec(), costs: Vec::new() }
    }

    #[test]
    fn medians_of_odd_and_even_numbers_of_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn goals_are_judged_by_medians() {
        let figure = |goal, linux| Figure {
            name: "f".into(),
            unit: Unit::Seconds,
            hadal: samples(&[1.0, 9.0, 1.0]),
            linux,
            goal,
        };
        assert!(figure(Goal::Ratio(0.25), Some(samples(&[4.0]))).is_met());
        assert!(!figure(Goal::Ratio(0.25), Some(samples(&[3.0]))).is_met());
        assert!(!figure(Goal::Ratio(0.25), None).is_met());
        assert!(figure(Goal::AtMost(1.0), None).is_met());
        assert!(!figure(Goal::AtMost(0.5), None).is_met());
    }

    #[test]
    fn the_table_has_aligned_columns() {
        let figure = Figure {
            name: "path".into(),
            unit: Unit::Instructions,
            hadal: samples(&[1_900_000.0]),
            linux: None,
            goal: Goal::AtMost(5e6),
        };
        let results = Results {
            machine: "qemu -M q35".into(),
            linux: None,
            qemu: "QEMU 7.2".into(),
            host_cores: 2,
            load_before: 0.0,
            load_after: 1.0,
            figures: vec![figure],
        };
        let table = results.table();
        let lines: Vec<&str> = table.lines().collect();
        let end_of = |line: &str, text: &str| line.find(text).unwrap() + text.len();
        assert_eq!(end_of(lines[0], "  Hadal"), end_of(lines[2], "1900000 (1900000)"));
        assert!(lines[2].contains("<= 5000000: met"), "{table}");
        assert!(results.json().unwrap().contains("\"met\": true"));
    }
}
