// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Plots as SVG: cumulative distributions, boxes, curves over a number. Colours are classes of the page's style.

use std::fmt::Write as _;

use super::escape;
use crate::goals::{number, show};
use crate::stats::Summary;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 230.0;
/// Room for the text of axes.
const LEFT: f64 = 48.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 32.0;

/// Of two values with a greater ratio, a linear axis would not show the smaller one.
const LOGARITHMIC_FROM: f64 = 8.0;

/// Values along one direction of a plot.
#[derive(Clone, Copy, Debug)]
struct Axis {
    least: f64,
    greatest: f64,
    logarithmic: bool,
    start: f64,
    end: f64,
}

impl Axis {
    /// An axis for values between two pixels.
    fn new(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let greatest = values.fold(f64::NEG_INFINITY, f64::max);
        let logarithmic = least > 0.0 && greatest / least >= LOGARITHMIC_FROM;
        if logarithmic {
            return Self { least: least / 1.1, greatest: greatest * 1.1, logarithmic, start, end };
        }
        let margin = ((greatest - least) * 0.05).max(greatest.abs() * 0.02).max(1e-9);
        Self { least: least - margin, greatest: greatest + margin, logarithmic, start, end }
    }

    fn place(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.logarithmic { v.max(self.least).ln() } else { v };
        let part = (scale(value) - scale(self.least)) / (scale(self.greatest) - scale(self.least));
        self.start + part.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Round values, at most eight.
    fn ticks(&self) -> Vec<f64> {
        let inside = |value: &f64| (self.least..=self.greatest).contains(value);
        if self.logarithmic {
            let decades = self.least.log10().floor() as i32..=self.greatest.log10().ceil() as i32;
            let powers: Vec<f64> = decades.map(|power| 10_f64.powi(power)).collect();
            let with = |factors: &'static [f64]| {
                let all = powers.iter().flat_map(|power| factors.iter().map(move |factor| power * factor));
                all.filter(inside).collect::<Vec<f64>>()
            };
            let fine = with(&[1.0, 2.0, 5.0]);
            return if fine.len() <= 7 { fine } else { with(&[1.0]) };
        }
        let rough = (self.greatest - self.least) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|factor| factor * power).find(|step| *step >= rough);
        let step = step.unwrap_or(power);
        let first = (self.least / step).ceil() as i64;
        (0..8).map(|i| (first + i) as f64 * step).filter(inside).collect()
    }
}

/// One thing in a plot: its name, the class of its colour, what is shown.
#[derive(Clone, Debug)]
pub(super) struct Series<'a, T> {
    pub(super) label: &'a str,
    pub(super) class: &'a str,
    pub(super) data: T,
}

fn open() -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">")
}

fn horizontal_axis(svg: &mut String, axis: &Axis, bottom: f64, text: impl Fn(f64) -> String) {
    let _ = write!(svg, "<path class=\"axis\" d=\"M{LEFT} {bottom}H{}\"/>", WIDTH - RIGHT);
    let mut free_from = 0.0;
    for tick in axis.ticks() {
        let (x, label) = (axis.place(tick), text(tick));
        let _ = write!(svg, "<path class=\"axis\" d=\"M{x:.1} {TOP}V{}\"/>", bottom + 4.0);
        let half = label.chars().count() as f64 * 3.2;
        if x - half >= free_from {
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 17.0
            );
            free_from = x + half + 4.0;
        }
    }
}

fn vertical_axis(svg: &mut String, axis: &Axis, text: impl Fn(f64) -> String) {
    for tick in axis.ticks() {
        let y = axis.place(tick);
        let _ = write!(svg, "<path class=\"axis\" d=\"M{LEFT} {y:.1}H{}\"/>", WIDTH - RIGHT);
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 5.0,
            y + 4.0,
            text(tick)
        );
    }
}

fn keys<'a>(svg: &mut String, keys: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut x = LEFT;
    for (label, class) in keys {
        let _ = write!(svg, "<text class=\"key {class}\" x=\"{x:.0}\" y=\"13\">{}</text>", escape(label));
        x += label.chars().count() as f64 * 6.6 + 12.0;
    }
}

/// Part of the samples (upwards) that are at most so large (to the right).
pub(super) fn distribution(series: &[Series<'_, &Summary>], unit: &str) -> String {
    let values = series.iter().flat_map(|one| one.data.quantiles.iter().copied());
    let x = Axis::new(values, LEFT, WIDTH - RIGHT);
    let y = Axis { least: 0.0, greatest: 1.0, logarithmic: false, start: HEIGHT - BOTTOM, end: TOP };
    let mut svg = open();
    vertical_axis(&mut svg, &y, |part| format!("{:.0}%", part * 100.0));
    horizontal_axis(&mut svg, &x, HEIGHT - BOTTOM, |value| show(value, unit));
    for one in series {
        let quantiles = &one.data.quantiles;
        let mut path = format!("M{:.1} {:.1}", x.place(quantiles[0]), y.place(0.0));
        let last = (quantiles.len() - 1).max(1) as f64;
        for (index, value) in quantiles.iter().enumerate() {
            let _ = write!(path, "L{:.1} {:.1}", x.place(*value), y.place(index as f64 / last));
        }
        if quantiles.len() == 1 {
            let _ = write!(path, "V{:.1}", y.place(1.0));
        }
        let title = format!("{}: median {}", one.label, show(one.data.median, unit));
        let _ = write!(
            svg,
            "<path class=\"curve {}\" d=\"{path}\"><title>{}</title></path>",
            one.class,
            escape(&title)
        );
    }
    keys(&mut svg, series.iter().map(|one| (one.label, one.class)));
    svg + "</svg>"
}

/// Median, quartiles and 5 to 95 percent of each, one below the other.
pub(super) fn boxes(series: &[Series<'_, &Summary>], unit: &str) -> String {
    const ROW: f64 = 26.0;
    const LABELS: f64 = 150.0;
    let values = series.iter().flat_map(|one| [one.data.p5, one.data.median, one.data.p95]);
    let x = Axis::new(values, LABELS, WIDTH - RIGHT);
    let bottom = TOP + ROW * series.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\">", bottom + BOTTOM);
    horizontal_axis(&mut svg, &x, bottom, |value| show(value, unit));
    for (index, one) in series.iter().enumerate() {
        let middle = TOP + ROW * (index as f64 + 0.5);
        let at = |value: f64| x.place(value);
        let [low, q1, median, q3, high] = [
            at(one.data.p5),
            at(one.data.quantile(0.25)),
            at(one.data.median),
            at(one.data.quantile(0.75)),
            at(one.data.p95),
        ];
        let title = format!(
            "{}: median {}, 5% {}, 95% {}",
            one.label,
            show(one.data.median, unit),
            show(one.data.p5, unit),
            show(one.data.p95, unit)
        );
        let (top, height) = (middle - 8.0, 16.0);
        let _ = write!(
            svg,
            "<g class=\"{class}\"><title>{title}</title><text class=\"key\" x=\"{label_x}\" y=\"{label_y:.1}\" \
             text-anchor=\"end\">{label}</text><path class=\"curve\" d=\"M{low:.1} {middle:.1}H{high:.1}\"/>\
             <rect class=\"box\" x=\"{q1:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height}\"/>\
             <path class=\"median\" d=\"M{median:.1} {top:.1}v{height}\"/></g>",
            class = one.class,
            title = escape(&title),
            label_x = LABELS - 8.0,
            label_y = middle + 4.0,
            label = escape(one.label),
            width = (q3 - q1).max(1.0),
        );
    }
    svg + "</svg>"
}

/// Medians (upwards) over a number (to the right).
pub(super) fn curves(series: &[Series<'_, Vec<(f64, f64)>>], unit: &str) -> String {
    let points = || series.iter().flat_map(|one| one.data.iter());
    let x = Axis::new(points().map(|point| point.0), LEFT + 16.0, WIDTH - RIGHT);
    let y = Axis::new(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
    let mut svg = open();
    vertical_axis(&mut svg, &y, |value| show(value, unit));
    horizontal_axis(&mut svg, &x, HEIGHT - BOTTOM, number);
    for one in series {
        let mut path = String::new();
        for (index, (at, value)) in one.data.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", x.place(*at), y.place(*value));
        }
        let _ = write!(svg, "<g class=\"{}\"><path class=\"curve\" d=\"{path}\"/>", one.class);
        for (at, value) in &one.data {
            let title = format!("{}: {} at {}", one.label, show(*value, unit), number(*at));
            let _ = write!(
                svg,
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{}</title></circle>",
                x.place(*at),
                y.place(*value),
                escape(&title)
            );
        }
        svg.push_str("</g>");
    }
    keys(&mut svg, series.iter().map(|one| (one.label, one.class)));
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_choose_their_scale_and_round_ticks() {
        let near = Axis::new([100.0, 150.0].into_iter(), 0.0, 100.0);
        assert!(!near.logarithmic);
        assert_eq!(near.ticks(), [100.0, 120.0, 140.0]);
        let far = Axis::new([10.0, 9000.0].into_iter(), 0.0, 100.0);
        assert!(far.logarithmic);
        assert_eq!(far.ticks(), [10.0, 100.0, 1000.0]);
        assert!(far.place(10.0) < far.place(300.0) && far.place(300.0) < far.place(9000.0));
    }

    #[test]
    fn values_that_are_all_the_same_have_an_axis() {
        for value in [0.0, 7.0, -3.0] {
            let axis = Axis::new([value, value].into_iter(), 0.0, 100.0);
            assert!(axis.place(value).is_finite() && axis.least < axis.greatest);
        }
    }
}
