// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Plots as SVG, drawn by the library `plotters`: distributions, medians of a group, curves over a number.
//! [`Axis`] chooses scales and ticks.

use anyhow::Result;
use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::axis::{Axis, Room};
use super::colour::{self, Colour, INK, LINE};
use crate::place::{Place, System};
use crate::results::Entry;
use crate::stats::Summary;

/// The library places elements on whole units. Drawn so many times as large and shown smaller, curves are smooth.
const SCALE: u32 = 4;

/// Widths in pixels at which text has the size that the style sheet gives to small text.
const WIDTH: u32 = 352;
const WIDE: u32 = 720;

const TEXT: u32 = 12;
/// About the width of a character of a name with many wide ones, such as `mmap.map_touch_unmap`.
const WIDE_CHARACTER: u32 = 8;
/// Room below a plot for ticks and the axis' name.
const BELOW: u32 = 40;
/// Room on the left for a vertical axis' ticks and name.
const BESIDE: u32 = 74;
const RIGHT: u32 = 22;
const TOP: u32 = 10;
/// Between the left edge and the name of an axis, whose tallest letters the library would cut.
const EDGE: u32 = 4;
const ROW: u32 = 22;

/// Samples in a plot: their name, their colour, their distribution.
#[derive(Clone, Debug)]
pub(super) struct Samples<'a> {
    pub(super) label: &'a str,
    pub(super) colour: Colour,
    pub(super) summary: &'a Summary,
}

/// A place's medians over a number.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) place: Place,
    pub(super) points: Vec<(f64, f64)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// An SVG of this size in pixels, with a description for those who do not see it.
fn draw(size: (u32, u32), what: &str, content: impl FnOnce(&Area<'_>) -> Result<()>) -> Result<Markup> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (size.0 * SCALE, size.1 * SCALE)).into_drawing_area();
        content(&area)?;
        area.present()?;
    }
    let label = html! { (what) }.into_string().replace('"', "&quot;");
    Ok(PreEscaped(svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{label}\" "), 1)))
}

fn text<'a>() -> TextStyle<'a> {
    // The library divides sizes by 1.24 when it writes SVG.
    ("sans-serif", f64::from(TEXT * SCALE) * 1.24).into_font().color(&INK.rgb())
}

/// Room for labels of rows.
fn room_for(labels: &[&str]) -> u32 {
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    longest as u32 * WIDE_CHARACTER + 12
}

/// Axes with their names and lines at the ticks.
fn chart<'a, 'b>(
    area: &'a Area<'b>,
    (x, x_name): (Axis, &str),
    (y, y_name): (Axis, &str),
    (left, below): (u32, u32),
) -> Result<Chart<'a, 'b>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(TOP * SCALE)
        .margin_right(RIGHT * SCALE)
        .margin_left(EDGE * SCALE)
        .set_label_area_size(LabelAreaPosition::Left, (left - EDGE) * SCALE)
        .set_label_area_size(LabelAreaPosition::Bottom, below * SCALE)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    mesh.label_style(text())
        .axis_desc_style(text())
        .axis_style(LINE.line(SCALE))
        .bold_line_style(LINE.line(SCALE));
    mesh.set_all_tick_mark_size(4 * SCALE);
    if !x_name.is_empty() {
        mesh.x_desc(x_name);
    }
    if !y_name.is_empty() {
        mesh.y_desc(y_name);
    }
    mesh.draw()?;
    Ok(chart)
}

/// What an axis of a unit measures.
fn quantity_name(unit: &str) -> &str {
    match unit {
        "ns" => "time",
        unit => unit,
    }
}

/// A cumulative distribution and, on the same axis below it, quartiles (box), median (bar), 5th and 95th percentile
/// (line).
pub(super) fn distribution(series: &[Samples<'_>], unit: &str, what: &str) -> Result<Markup> {
    const UPPER: u32 = 160;
    let labels: Vec<&str> = series.iter().map(|one| one.label).collect();
    let left = room_for(&labels).max(BESIDE);
    let values = || series.iter().flat_map(|one| one.summary.quantiles.iter().copied());
    let x = || Axis::of(values(), unit, Room::Across(WIDTH - left - RIGHT));
    let size = (WIDTH, UPPER + ROW * series.len() as u32 + BELOW + TOP);
    draw(size, what, |area| {
        let (upper, lower) = area.split_vertically(UPPER * SCALE);
        let mut curves = chart(&upper, (x(), ""), (Axis::percent(), "share of samples"), (left, 0))?;
        for one in series {
            let quantiles = &one.summary.quantiles;
            let last = (quantiles.len() - 1).max(1) as f64;
            let mut points: Vec<(f64, f64)> =
                quantiles.iter().enumerate().map(|(index, value)| (*value, index as f64 / last)).collect();
            // All samples were equal.
            if let [(value, _)] = points[..] {
                points.push((value, 1.0));
            }
            curves.draw_series(LineSeries::new(points, one.colour.line(2 * SCALE)))?;
        }
        let mut boxes = chart(&lower, (x(), quantity_name(unit)), (Axis::rows(&labels), ""), (left, BELOW))?;
        for (index, one) in series.iter().enumerate() {
            let y = Axis::row(index, series.len());
            let at = |part: f64| one.summary.quantile(part);
            let line = |from: (f64, f64), to: (f64, f64), pixels: u32| {
                PathElement::new([from, to], one.colour.line(pixels * SCALE))
            };
            let corners = || [(at(0.25), y - 0.3), (at(0.75), y + 0.3)];
            boxes.draw_series([line((one.summary.p5, y), (one.summary.p95, y), 1)])?;
            boxes.draw_series([Rectangle::new(corners(), one.colour.rgb().mix(0.3).filled())])?;
            boxes.draw_series([Rectangle::new(corners(), one.colour.line(SCALE))])?;
            let median = one.summary.median;
            boxes.draw_series([line((median, y - 0.36), (median, y + 0.36), 3)])?;
        }
        Ok(())
    })
}

/// Medians of several figures, one row for each; a line from the 5th to the 95th percentile.
pub(super) fn medians(rows: &[&Entry], unit: &str, what: &str) -> Result<Markup> {
    let labels: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let left = room_for(&labels);
    let values = rows.iter().flat_map(|row| row.places.values());
    let values = values.flat_map(|summary| [summary.p5, summary.median, summary.p95]);
    let x = Axis::from_zero(values, unit, Room::Across(WIDE - left - RIGHT));
    draw((WIDE, ROW * rows.len() as u32 + BELOW + TOP), what, |area| {
        let mut chart = chart(area, (x, quantity_name(unit)), (Axis::rows(&labels), ""), (left, BELOW))?;
        for (index, row) in rows.iter().enumerate() {
            let y = Axis::row(index, rows.len());
            // Hadal's on top, where marks meet.
            for (place, summary) in row.places.iter().rev().map(|(place, summary)| (*place, summary)) {
                let spread = [(summary.p5, y), (summary.p95, y)];
                chart.draw_series([PathElement::new(spread, colour::of(place).line(SCALE))])?;
                mark(&mut chart, place, (summary.median, y))?;
            }
        }
        Ok(())
    })
}

/// A place's mark: what it runs on is told without colours too.
fn mark(chart: &mut Chart<'_, '_>, place: Place, at: (f64, f64)) -> Result<()> {
    let colour = colour::of(place);
    let size = 5 * SCALE;
    match place.system() {
        System::Image => chart.draw_series([Circle::new(at, size, colour.rgb().filled())]).map(drop)?,
        System::Pik => chart.draw_series([TriangleMarker::new(at, size, colour.rgb().filled())]).map(drop)?,
        System::Isolated => {
            chart.draw_series([TriangleMarker::new(at, size, colour.line(2 * SCALE))]).map(drop)?;
        }
        System::Guest => chart.draw_series([Cross::new(at, size, colour.line(2 * SCALE))]).map(drop)?,
        System::Host => chart.draw_series([Circle::new(at, size, colour.line(2 * SCALE))]).map(drop)?,
    }
    Ok(())
}

/// What the marks mean.
pub(super) fn key(places: &[Place]) -> Markup {
    let sign = |place: &Place| match place.system() {
        System::Image => "●",
        System::Pik => "▲",
        System::Isolated => "△",
        System::Guest => "✕",
        System::Host => "○",
    };
    html! {
        span.key { @for place in places { span class=(colour::of(*place).name) { (sign(place)) " " (place.title()) } " " } }
    }
}

/// Medians over a number.
pub(super) fn curves(curves: &[Curve], over: &str, unit: &str, what: &str) -> Result<Markup> {
    const HEIGHT: u32 = 240;
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let x = Axis::doubling(points().map(|point| point.0), Room::Across(WIDTH - BESIDE - RIGHT));
    let y = Axis::from_zero(points().map(|point| point.1), unit, Room::Up(HEIGHT - BELOW - TOP));
    draw((WIDTH, HEIGHT), what, |area| {
        let mut chart = chart(area, (x, over), (y, quantity_name(unit)), (BESIDE, BELOW))?;
        for Curve { place, points } in curves.iter().rev() {
            chart.draw_series(LineSeries::new(points.iter().copied(), colour::of(*place).line(2 * SCALE)))?;
            for point in points {
                mark(&mut chart, *place, *point)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Mode;
    use crate::results::tests::entry;

    fn summary(samples: &[f64]) -> Summary {
        Summary::of(samples).expect("samples")
    }

    #[test]
    fn every_drawn_colour_is_the_style_sheets() {
        let rules = colour::rules();
        let (few, many) = (summary(&[5.0]), summary(&[1.0, 2.0, 900.0]));
        let series = [("a", &few), ("<b>", &many)].map(|(label, summary)| Samples {
            label,
            colour: colour::SERIES[1],
            summary,
        });
        let svg = distribution(&series, "ns", "\"x\" & y").unwrap().into_string();
        assert!(svg.contains("aria-label=\"&quot;x&quot; &amp; y\"") && svg.contains("&lt;b&gt;"), "{svg}");
        for drawn in svg.split("=\"#").skip(1).map(|rest| &rest[..6]) {
            assert!(rules.contains(&format!("\"#{drawn}\"")), "{drawn} has no rule");
        }
    }

    #[test]
    fn marks_of_all_places_are_drawn() {
        let mut row = entry("x.y", Mode::Path, 1, &[5.0, 7.0], &[6.0]);
        let summary = row.places[&Place::Hadal].clone();
        row.places = Place::all().map(|place| (place, summary.clone())).collect();
        let svg = medians(&[&row], "instructions", "medians").unwrap().into_string();
        assert!(svg.contains("instructions") && svg.contains("x.y"));
        for place in Place::all() {
            let RGBColor(r, g, b) = colour::of(place).rgb();
            assert!(svg.contains(&format!("#{r:02X}{g:02X}{b:02X}")), "{place:?}");
        }
        let points = vec![(1.0, 2.0), (4.0, 3.0)];
        let points = [Place::Hadal, Place::Linux].map(|place| Curve { place, points: points.clone() });
        assert!(curves(&points, "CPUs", "ns", "curves").unwrap().into_string().contains("CPUs"));
    }
}
