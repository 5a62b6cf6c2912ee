// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Samples and what is said about them: median, percentiles, and enough quantiles to draw their distribution.

use serde::{Deserialize, Serialize};

use crate::host::HostUse;

/// Intervals between the quantiles that are kept.
const QUANTILE_STEPS: usize = 200;

/// A distribution in few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// The middle sample.
    pub(crate) median: f64,
    /// Fifth percentile.
    pub(crate) p5: f64,
    /// Ninety-fifth percentile.
    pub(crate) p95: f64,
    /// How many there were.
    pub(crate) samples: usize,
    /// Evenly spaced quantiles from the least to the greatest sample; a single one when all are equal. Baselines leave
    /// them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) quantiles: Vec<f64>,
    /// What others took of the host meanwhile, in the worst turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<HostUse>,
}

impl Summary {
    /// Summarises samples in any order; `None` when there are none.
    pub(crate) fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let quantiles = match least == greatest {
            true => vec![least],
            false => {
                (0..=QUANTILE_STEPS).map(|i| quantile(&sorted, i as f64 / QUANTILE_STEPS as f64)).collect()
            }
        };
        Some(Self {
            median: quantile(&sorted, 0.5),
            p5: quantile(&sorted, 0.05),
            p95: quantile(&sorted, 0.95),
            samples: sorted.len(),
            quantiles,
            host: None,
        })
    }

    /// The numbers alone, without their distribution and how they came about.
    pub(crate) fn without_distribution(&self) -> Self {
        Self { quantiles: Vec::new(), host: None, ..self.clone() }
    }

    /// Whether others took so much of the host meanwhile that times are not to be trusted.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.host.is_some_and(HostUse::is_disturbing)
    }

    /// A quantile, as far as they were kept.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        match self.quantiles.is_empty() {
            true => self.median,
            false => quantile(&self.quantiles, part),
        }
    }
}

/// A quantile of sorted samples, between two of them where it falls between two. Not for an empty list.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers_of_samples() {
        assert_eq!(Summary::of(&[3.0, 1.0, 2.0]).unwrap().median, 2.0);
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[f64::NAN]), None);
    }

    #[test]
    fn percentiles_lie_between_samples() {
        let samples: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.p5, summary.p95, summary.samples), (5.0, 95.0, 101));
        assert_eq!(summary.quantiles.len(), QUANTILE_STEPS + 1);
        assert_eq!(
            (summary.quantile(0.0), summary.quantile(0.25), summary.quantile(1.0)),
            (0.0, 25.0, 100.0)
        );
        assert!(summary.quantiles.is_sorted());
    }

    #[test]
    fn equal_samples_keep_one_quantile() {
        let summary = Summary::of(&[7.0; 500]).unwrap();
        assert_eq!(summary.quantiles, [7.0]);
        assert_eq!((summary.quantile(0.9), summary.without_distribution().quantile(0.9)), (7.0, 7.0));
    }
}
