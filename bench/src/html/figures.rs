// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A group's figures: medians beside each other, curves over a number, distributions.

use anyhow::Result;
use maud::{Markup, html};

use super::colour;
use super::families::{Family, Over};
use super::plot::{self, Curve, Samples};
use super::table::places_of;
use crate::place::Place;
use crate::results::{Entry, Mode};

/// Curves and distributions of a group.
pub(super) fn series(families: &[Family<'_>], mode: Mode) -> Result<Markup> {
    let mut plots = Vec::new();
    for family in families {
        plots.extend(curves(family)?);
    }
    if mode == Mode::Parallel {
        for family in families {
            plots.extend(distribution(family.shown())?);
        }
    }
    Ok(html! { @if !plots.is_empty() { div.plots { @for plot in plots { (plot) } } } })
}

/// A plot below its title; both stay together.
pub(super) fn figure(name: &str, caption: &Markup, plot: &Markup) -> Markup {
    html! { figure data-name=(name) { figcaption { b { (name) } " " span { (caption) } } (plot) } }
}

fn cpus(entry: &Entry) -> String {
    match entry.cpus {
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    }
}

/// Says that a result is of a busy host.
fn busy(entries: &[&Entry]) -> Markup {
    html! { @if entries.iter().any(|entry| entry.is_anywhere_disturbed()) { " " strong.bad { "busy host" } } }
}

/// Medians of all figures of a group that have the same unit as the first, where there are several.
pub(super) fn medians(families: &[Family<'_>]) -> Result<Markup> {
    let Some(unit) = families.first().map(|family| family.shown().unit.as_str()) else { return Ok(html! {}) };
    let shown: Vec<&Entry> = families.iter().map(Family::shown).filter(|entry| entry.unit == unit).collect();
    if shown.len() < 2 {
        return Ok(html! {});
    }
    let plot = plot::medians(&shown, unit, &format!("Medians of {} figures in {unit}", shown.len()))?;
    Ok(html! {
        figure.wide {
            figcaption { b { "medians" } " " (plot::key(&places_of(&shown))) }
            (plot)
        }
    })
}

/// Medians of a family over its number.
fn curves(family: &Family<'_>) -> Result<Option<Markup>> {
    let over = match family.over {
        Over::Cpus => "CPUs",
        Over::Number => "N",
    };
    let curve = |place| {
        let points = family.numbered().filter_map(|(number, entry)| Some((number, entry.at(place)?.median)));
        Curve { place, points: points.collect() }
    };
    let curves: Vec<Curve> = Place::all().map(curve).filter(|curve| curve.points.len() > 1).collect();
    if curves.is_empty() {
        return Ok(None);
    }
    let places: Vec<Place> = curves.iter().map(|curve| curve.place).collect();
    let what = format!("Medians of {} over {over}", family.name);
    let plot = plot::curves(&curves, over, &family.shown().unit, &what)?;
    let caption = html! { "medians over " (over) (busy(&family.members)) br; (plot::key(&places)) };
    Ok(Some(figure(family.name, &caption, &plot)))
}

/// The distribution of a figure, if its samples differ.
fn distribution(entry: &Entry) -> Result<Option<Markup>> {
    let samples = |place: Place| {
        let summary = entry.at(place).filter(|summary| !summary.quantiles.is_empty())?;
        Some(Samples { label: place.title(), colour: colour::of(place), summary })
    };
    let series: Vec<Samples<'_>> = Place::all().filter_map(samples).collect();
    if !series.iter().any(|samples| samples.summary.quantiles.len() > 1) {
        return Ok(None);
    }
    let plot = plot::distribution(&series, &entry.unit, &format!("Distribution of {}", entry.name))?;
    let least = series.iter().map(|samples| samples.summary.samples).min().unwrap_or(0);
    let caption = html! { (cpus(entry)) ", at least " (least) " samples" (busy(&[entry])) };
    Ok(Some(figure(&entry.name, &caption, &plot)))
}
