// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The limit study of the Nemo paper (Hale and Dinda, 2016): every way to notify another CPU beside the two that nothing
//! can beat, a raw interprocessor interrupt and a polled cache line.

use std::fmt::Write as _;

use super::svg::{self, Series};
use super::{class, escape, figure, places};
use crate::goals::show;
use crate::results::{Entry, Mode, Place, Results};
use crate::stats::Summary;

/// Ways to notify one CPU, the limits first.
const MECHANISMS: [(&str, &str); 7] = [
    ("event.ipi", "raw IPI"),
    ("event.polled", "polled line"),
    ("event.memory_wait", "memory event"),
    ("event.notify", "active message"),
    ("event.condvar_wake_kick", "condvar, kick"),
    ("event.condvar_wake", "condvar, no kick"),
    ("event.condvar_halted", "condvar, halted"),
];

const BROADCASTS: [&str; 4] =
    ["event.message_last", "event.message_spread", "event.broadcast_last", "event.broadcast_spread"];

/// Writes the section, if there is something for it.
pub(super) fn section(body: &mut String, results: &Results) {
    let measured: Vec<(&str, &Entry)> = MECHANISMS
        .iter()
        .filter_map(|(name, title)| Some((*title, results.find(name, Mode::Parallel, None)?)))
        .collect();
    if measured.is_empty() {
        return;
    }
    body.push_str(
        "<h2 id=\"limits\">Limits of notification</h2>\n<p>How long after a CPU has said something does another one know? \
         A raw IPI is the limit for whatever interrupts, a polled line for whatever waits. After the Nemo study of Hale \
         and Dinda: each mechanism in multiples of both limits, in the same place and run.</p>\n",
    );
    table(body, results, &measured);
    body.push_str("<div class=\"plots\">\n");
    for place in [Place::Hadal, Place::Linux] {
        let series = of_place(&measured, place);
        if !series.is_empty() {
            let caption = format!("{}: all mechanisms, ns", place.title());
            body.push_str(&figure("event", &caption, &svg::distribution(&series, "ns")));
            body.push_str(&figure("event", &caption, &svg::boxes(&series, "ns")));
        }
    }
    for entry in BROADCASTS.iter().filter_map(|name| results.find(name, Mode::Parallel, None)) {
        let caption = format!("broadcast to {} CPUs, ns", entry.cpus - 1);
        body.push_str(&figure(&entry.name, &caption, &svg::distribution(&places(entry), "ns")));
    }
    body.push_str("</div>\n");
    forwarded(body, results);
}

/// The mechanisms of one place in colours of their own.
fn of_place<'a>(measured: &[(&'a str, &'a Entry)], place: Place) -> Vec<Series<'a, &'a Summary>> {
    const CLASSES: [&str; 7] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];
    let known = measured.iter().zip(CLASSES).filter_map(|((label, entry), class)| {
        let data = entry.at(place).filter(|summary| !summary.quantiles.is_empty())?;
        Some(Series { label, class, data })
    });
    known.collect()
}

fn table(body: &mut String, results: &Results, measured: &[(&str, &Entry)]) {
    body.push_str("<div class=\"wide\"><table>\n<thead><tr><th>mechanism</th>");
    for place in [Place::Hadal, Place::Linux] {
        let _ = write!(
            body,
            "<th class=\"{}\">{}, ns</th><th>/ raw IPI</th><th>/ polled line</th>",
            class(place),
            place.title()
        );
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    let median = |name, place| Some(results.find(name, Mode::Parallel, None)?.at(place)?.median);
    for (title, entry) in measured {
        let _ = write!(body, "<tr><td>{} ({})</td>", escape(title), escape(&entry.name));
        for place in [Place::Hadal, Place::Linux] {
            let own = entry.at(place).map(|summary| summary.median);
            let times = |limit| {
                let ratio = own.zip(median(limit, place)).map(|(own, limit)| own / limit);
                ratio.filter(|ratio| ratio.is_finite()).map_or(String::new(), |ratio| format!("{ratio:.2}"))
            };
            let _ = write!(
                body,
                "<td>{}</td><td>{}</td><td>{}</td>",
                own.map_or(String::new(), |own| show(own, "ns")),
                times("event.ipi"),
                times("event.polled")
            );
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>\n");
}

/// A system call that another CPU carries out beside one's own.
fn forwarded(body: &mut String, results: &Results) {
    let find = |name| results.find(name, Mode::Parallel, None);
    let (Some(forwarded), Some(own)) = (find("event.forwarded_syscall"), find("syscall.getppid")) else {
        return;
    };
    let _ = write!(
        body,
        "<h3>A system call on another CPU</h3>\n<p>Forwarded by an active message and answered through a polled line"
    );
    for place in [Place::Hadal, Place::Linux] {
        if let (Some(there), Some(here)) = (forwarded.at(place), own.at(place)) {
            let _ = write!(
                body,
                "; <span class=\"{}\">{}</span>: {} ns instead of {} ns, {:.1} times",
                class(place),
                place.title(),
                show(there.median, "ns"),
                show(here.median, "ns"),
                there.median / here.median
            );
        }
    }
    body.push_str(".</p>\n");
}
