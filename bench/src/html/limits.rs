// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The limit study of the Nemo paper (Hale and Dinda, 2016): every way to notify another CPU beside the two that nothing
//! can beat, a raw interprocessor interrupt and a polled cache line.

use anyhow::Result;
use maud::{Markup, html};

use super::colour;
use super::figures::figure;
use super::plot::{self, Samples};
use super::table::with_unit;
use crate::goals;
use crate::place::Place;
use crate::results::{Entry, Mode, Results};

/// Ways to notify one CPU, the limits first.
const MECHANISMS: [(&str, &str); 7] = [
    ("event.ipi", "raw IPI"),
    ("event.polled", "polled line"),
    ("event.memory_wait", "memory event"),
    ("event.notify", "active message"),
    ("event.condvar_polling", "condvar, polling"),
    ("event.condvar_both_polling", "condvar, both polling"),
    ("event.condvar_halted", "condvar, halted"),
];

/// Where mechanisms are compared.
const PLACES: [Place; 2] = [Place::Hadal, Place::Linux];

/// Makes the section, if there is something for it.
pub(super) fn section(results: &Results) -> Result<Option<Markup>> {
    let measured: Vec<(&str, &Entry)> = MECHANISMS
        .iter()
        .filter_map(|(name, title)| Some((*title, results.find(name, Mode::Parallel, None)?)))
        .collect();
    if measured.is_empty() {
        return Ok(None);
    }
    let mut plots = Vec::new();
    for place in PLACES {
        let series = of_place(&measured, place);
        if !series.is_empty() {
            let title = format!("notification, {}", place.title());
            let plot = plot::distribution(&series, "ns", &title)?;
            plots.push(figure(&title, &html! { "all mechanisms on one axis" }, &plot));
        }
    }
    Ok(Some(html! {
        h3 #limits { "Limits of notification" }
        p {
            "How long after a CPU has said something does another one know? A raw IPI is the limit for whatever interrupts, \
             a polled line for whatever waits. After the Nemo study of Hale and Dinda: each mechanism in multiples of both \
             limits, in the same place and run (less is better; 1.0x is the limit)."
        }
        (table(results, &measured))
        div.plots { @for plot in &plots { (plot) } }
        (forwarded(results))
    }))
}

/// The mechanisms of one place in colours of their own.
fn of_place<'a>(measured: &[(&'a str, &'a Entry)], place: Place) -> Vec<Samples<'a>> {
    let known = measured.iter().zip(colour::SERIES).filter_map(|((label, entry), colour)| {
        let summary = entry.at(place).filter(|summary| !summary.quantiles.is_empty())?;
        Some(Samples { label, colour, summary })
    });
    known.collect()
}

fn table(results: &Results, measured: &[(&str, &Entry)]) -> Markup {
    let limit = |name, place| Some(results.find(name, Mode::Parallel, None)?.at(place)?.median);
    let times = |entry: &Entry, place, name| {
        let ratio = entry.at(place).zip(limit(name, place)).map(|(own, limit)| own.median / limit);
        ratio.filter(|ratio| ratio.is_finite()).map_or(String::new(), goals::times)
    };
    html! {
        table {
            thead {
                tr {
                    th { "mechanism" }
                    @for place in PLACES {
                        th class=(colour::of(place).name) { (place.title()) }
                        th { "of raw IPI" }
                        th { "of polled line" }
                    }
                }
            }
            tbody {
                @for (title, entry) in measured {
                    tr data-name=(entry.name) {
                        td { span.name { (title) } span.what { (entry.name) } }
                        @for place in PLACES {
                            td.busy[entry.is_disturbed(place)] {
                                @if let Some(own) = entry.at(place) { (with_unit(own.median, "ns")) }
                            }
                            td { (times(entry, place, "event.ipi")) }
                            td { (times(entry, place, "event.polled")) }
                        }
                    }
                }
            }
        }
    }
}

/// A system call that another CPU carries out beside one's own.
fn forwarded(results: &Results) -> Markup {
    let median = |name, place| Some(results.find(name, Mode::Parallel, None)?.at(place)?.median);
    let both =
        |place| Some((place, median("event.forwarded_syscall", place)?, median("syscall.getppid", place)?));
    let known: Vec<(Place, f64, f64)> = PLACES.into_iter().filter_map(both).collect();
    html! {
        @if !known.is_empty() {
            h4 { "A system call on another CPU" }
            p {
                "Forwarded by an active message and answered through a polled line"
                @for (place, there, here) in known {
                    "; " span class=(colour::of(place).name) { (place.title()) }
                    ": " (with_unit(there, "ns")) " instead of " (with_unit(here, "ns")) ", " (goals::times(there / here))
                }
                "."
            }
        }
    }
}
