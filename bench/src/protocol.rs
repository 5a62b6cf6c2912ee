// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a benchmark program prints: one JSON object per line and figure (`programs/bench.h` writes them). Other lines,
//! such as messages of a guest's kernel on the same console, are passed over.

use serde::Deserialize;

/// One figure as a program measured it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Line {
    /// `group.figure`.
    pub(crate) name: String,
    /// What the numbers are.
    pub(crate) unit: String,
    /// CPUs that took part.
    pub(crate) cpus: u32,
    /// In the order in which they were measured.
    #[serde(default)]
    pub(crate) samples: Vec<f64>,
    /// What was subtracted from each sample: the cost of an empty measurement.
    #[serde(default)]
    pub(crate) overhead: f64,
    /// What the computation gave, where the harness knows what that must be.
    #[serde(default)]
    pub(crate) answer: Option<i64>,
    /// Why this place has no such figure.
    #[serde(default)]
    pub(crate) skipped: Option<String>,
}

const BEGINNING: &str = "{\"name\":";

/// The figures in a program's output. A line that was cut short is an error of the run, not of the parser.
pub(crate) fn parse(output: &str) -> Result<Vec<Line>, serde_json::Error> {
    let line = |line: &str| line.find(BEGINNING).map(|start| line[start..].trim_end().to_owned());
    output.lines().filter_map(line).map(|line| serde_json::from_str(&line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_from_other_lines() {
        let output = "[ 1.0] kernel: hello\n\
            {\"name\":\"a.b\",\"unit\":\"instructions\",\"cpus\":1,\"overhead\":8,\"samples\":[1,2.5]}\r\n\
            {\"name\":\"a.c\",\"unit\":\"ns\",\"cpus\":2,\"skipped\":\"no MWAIT\"}\nend\n";
        let lines = parse(output).unwrap();
        assert_eq!((lines.len(), lines[0].samples.as_slice(), lines[0].overhead), (2, &[1.0, 2.5][..], 8.0));
        assert_eq!(lines[1].skipped.as_deref(), Some("no MWAIT"));
    }

    #[test]
    fn a_line_that_was_cut_is_an_error() {
        assert!(parse("{\"name\":\"a.b\",\"unit\":\"ns\",\"cpus\":1,\"samples\":[1,").is_err());
    }
}
