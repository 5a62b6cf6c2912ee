// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page with plots: one file that needs no other. It is complete without its script.
//!
//! [`svg`] draws; [`limits`] is the section about the cost of notification. Here is the rest: ratios, distributions,
//! curves.

mod limits;
mod svg;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::catalogue;
use crate::goals::{self, show};
use crate::results::{Entry, Mode, Place, Results};
use crate::stats::Summary;
use crate::table::TCG_NOTE;
use svg::Series;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Writes the page.
pub(crate) fn write(results: &Results, file: &Path) -> Result<()> {
    fs::write(file, page(results)).with_context(|| format!("cannot write {}", file.display()))
}

/// Text as HTML, also inside an attribute.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Class of a place's colour.
fn class(place: Place) -> &'static str {
    match place {
        Place::Hadal => "hadal",
        Place::Pik => "pik",
        Place::Linux => "linux",
        Place::Native => "native",
    }
}

fn page(results: &Results) -> String {
    let mut body = String::new();
    for mode in [Mode::Path, Mode::Parallel] {
        ratios(&mut body, results, mode);
    }
    limits::section(&mut body, results);
    distributions(&mut body, results);
    scaling(&mut body, results);
    missing(&mut body, results);
    let (met, judged) = verdicts(results);
    let goals = if judged == 0 { String::new() } else { format!("<p>{met} of {judged} goals are met.</p>") };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>hadal bench</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>hadal bench</h1>\n{goals}\
         <p class=\"note\">{TCG_NOTE} Whatever is called slow or fast here is so in number of steps.</p>\n{}\
         <nav><a href=\"#path\">instructions</a><a href=\"#parallel\">times</a><a href=\"#limits\">limits of \
         notification</a><a href=\"#distributions\">distributions</a><a href=\"#scaling\">scaling</a>\
         <input id=\"filter\" placeholder=\"filter\"/> <button id=\"theme\">light / dark</button></nav>\n\
         {body}<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        settings(results)
    )
}

fn verdicts(results: &Results) -> (usize, usize) {
    let all: Vec<_> = results.results.iter().filter_map(|entry| goals::judge(entry, results)).collect();
    (all.iter().filter(|verdict| verdict.is_met).count(), all.len())
}

fn settings(results: &Results) -> String {
    let mut text = String::new();
    for setting in &results.settings {
        let _ = writeln!(
            text,
            "<p class=\"machine\">{}<br/>{}, {} host cores, load {:.1} before and {:.1} after<br/>{}</p>",
            escape(&setting.machine),
            escape(&setting.qemu),
            setting.host_cores,
            setting.load[0],
            setting.load[1],
            escape(setting.linux.as_deref().unwrap_or("no Linux guest")),
        );
    }
    text
}

/// The table of a mode.
fn ratios(body: &mut String, results: &Results, mode: Mode) {
    let entries: Vec<&Entry> = results.results.iter().filter(|entry| entry.mode == mode).collect();
    if entries.is_empty() {
        return;
    }
    let (title, unit) = match mode {
        Mode::Path => ("Instructions on one CPU", "instructions"),
        Mode::Parallel => ("Times on several CPUs", "ns"),
    };
    let _ = write!(
        body,
        "<h2 id=\"{}\">{title}</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>figure ({unit})</th><th>CPUs</th>\
         <th>Hadal image</th><th>Hadal pik</th><th>Linux guest</th><th>native</th><th>image beside Linux</th><th class=\"text\">goal</th>\
         <th class=\"text\">what</th></tr></thead>\n<tbody>\n",
        mode.name()
    );
    for entry in entries {
        let verdict = goals::judge(entry, results).map_or(String::new(), |verdict| {
            let (class, word) = if verdict.is_met { ("met", "met") } else { ("missed", "missed") };
            format!("<span class=\"{class}\">{}: {word}</span>", escape(&verdict.goal))
        });
        let cells: String =
            Place::ALL.iter().map(|place| format!("<td>{}</td>", cell(entry, *place))).collect();
        let _ = writeln!(
            body,
            "<tr data-name=\"{name}\"><td>{name}</td><td>{}</td>{cells}<td>{}</td><td class=\"text\">{verdict}</td>\
             <td class=\"text\">{}</td></tr>",
            entry.cpus,
            entry.times_better(Place::Hadal).map_or(String::new(), goals::times),
            escape(catalogue::describe(&entry.name)),
            name = escape(&entry.name),
        );
    }
    body.push_str("</tbody></table></div>\n");
}

fn cell(entry: &Entry, place: Place) -> String {
    let show = |value| show(value, &entry.unit);
    entry.at(place).map_or(String::new(), |summary| match summary.p5 == summary.p95 {
        true => show(summary.median),
        false => format!(
            "{} <span class=\"range\">{} .. {}</span>",
            show(summary.median),
            show(summary.p5),
            show(summary.p95)
        ),
    })
}

/// What each place measured of a figure, as far as its distribution is known.
fn places(entry: &Entry) -> Vec<Series<'static, &Summary>> {
    let series = |place: Place| {
        let data = entry.at(place).filter(|summary| !summary.quantiles.is_empty())?;
        Some(Series { label: place.title(), class: class(place), data })
    };
    Place::ALL.into_iter().filter_map(series).collect()
}

fn figure(name: &str, caption: &str, plot: &str) -> String {
    format!(
        "<figure data-name=\"{0}\"><figcaption>{0} <span>{1}</span></figcaption>{plot}</figure>\n",
        escape(name),
        escape(caption)
    )
}

/// Boxes and cumulative distributions of all times, by group.
fn distributions(body: &mut String, results: &Results) {
    let varies = |entry: &&Entry| {
        places(entry).iter().any(|series| series.data.quantiles.len() > 1) && entry.mode == Mode::Parallel
    };
    let entries: Vec<&Entry> = results.results.iter().filter(varies).collect();
    if entries.is_empty() {
        return;
    }
    body.push_str("<h2 id=\"distributions\">Distributions</h2>\n<p>Left: part of the samples that took at most so long. \
                   Right: median, quartiles, and the 5th to the 95th percentile.</p>\n");
    let mut groups: Vec<&str> = entries.iter().map(|entry| entry.group()).collect();
    groups.dedup();
    for group in groups {
        let _ = write!(body, "<h3>{}</h3>\n<div class=\"plots\">\n", escape(group));
        for entry in entries.iter().filter(|entry| entry.group() == group) {
            let caption = format!("{} CPUs, {}", entry.cpus, entry.unit);
            let series = places(entry);
            body.push_str(&figure(&entry.name, &caption, &svg::distribution(&series, &entry.unit)));
            body.push_str(&figure(&entry.name, &caption, &svg::boxes(&series, &entry.unit)));
        }
        body.push_str("</div>\n");
    }
}

/// Medians over the number of CPUs, or over the number that members of a family have in their names.
fn scaling(body: &mut String, results: &Results) {
    let mut plots = String::new();
    let mut seen: Vec<(String, Mode)> = Vec::new();
    for entry in &results.results {
        let key = (family(&entry.name).0.to_owned(), entry.mode);
        if seen.contains(&key) {
            continue;
        }
        let same = |other: &&Entry| (family(&other.name).0, other.mode) == (key.0.as_str(), key.1);
        let members: Vec<&Entry> = results.results.iter().filter(same).collect();
        let by_cpus = members.iter().all(|member| family(&member.name).1.is_none());
        let at = |member: &Entry| match family(&member.name).1 {
            Some(number) => number,
            None => f64::from(member.cpus),
        };
        let series: Vec<_> = Place::ALL
            .into_iter()
            .map(|place| Series {
                label: place.title(),
                class: class(place),
                data: members.iter().filter_map(|m| Some((at(m), m.at(place)?.median))).collect::<Vec<_>>(),
            })
            .filter(|series| series.data.len() > 1)
            .collect();
        if !series.is_empty() {
            let over = if by_cpus { "over CPUs" } else { "over N" };
            let caption = format!("{}, {over}, {} mode", entry.unit, entry.mode.name());
            plots += &figure(&key.0, &caption, &svg::curves(&series, &entry.unit));
        }
        seen.push(key);
    }
    if !plots.is_empty() {
        let _ = write!(body, "<h2 id=\"scaling\">Scaling</h2>\n<div class=\"plots\">\n{plots}</div>\n");
    }
}

/// A figure's family and its number in it: `thread.sequence_64` is 64 of `thread.sequence`.
fn family(name: &str) -> (&str, Option<f64>) {
    let member =
        name.rsplit_once('_').and_then(|(family, number)| Some((family, Some(number.parse().ok()?))));
    member.unwrap_or((name, None))
}

fn missing(body: &mut String, results: &Results) {
    if results.failed.is_empty() && results.skipped.is_empty() {
        return;
    }
    body.push_str("<h2>Not measured</h2>\n<ul>\n");
    for missing in results.failed.iter().chain(&results.skipped) {
        let _ = writeln!(
            body,
            "<li>{} on {}: {}</li>",
            escape(&missing.name),
            escape(&missing.place),
            escape(&missing.why)
        );
    }
    body.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Missing;
    use crate::results::tests::entry;

    fn sample() -> Results {
        let spread: Vec<f64> = (1..200).map(f64::from).collect();
        let mut results = vec![
            entry("thread.create", Mode::Path, 1, &[400.0], &[42200.0]),
            entry("event.ipi", Mode::Parallel, 2, &spread, &[500.0, 900.0]),
            entry("event.polled", Mode::Parallel, 2, &spread, &spread),
            entry("event.notify", Mode::Parallel, 2, &spread, &[]),
            entry("event.forwarded_syscall", Mode::Parallel, 2, &[5.0], &[50.0]),
            entry("syscall.getppid", Mode::Parallel, 2, &[1.0], &[3.0]),
        ];
        results.extend(
            [1, 2, 4].map(|cpus| entry("boot.time", Mode::Parallel, cpus, &[f64::from(cpus) * 1e8], &[])),
        );
        results.extend(
            [2, 64].map(|n| entry(&format!("thread.sequence_{n}"), Mode::Path, 1, &[f64::from(n)], &[1.0])),
        );
        let why = "a <b> & \"c\"".to_owned();
        let failed = vec![Missing { name: "x.y".into(), place: "Linux guest".into(), why }];
        Results { results, failed, ..Results::default() }
    }

    /// Checks that every tag is closed in the right order; names it if not.
    fn check_nesting(page: &str) {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = page;
        while let Some((_, after)) = rest.split_once('<') {
            let (tag, after) = after.split_once('>').expect("a tag ends");
            rest = after;
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
            if tag.starts_with('!') || tag.ends_with('/') {
                continue;
            }
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "</{name}>");
                continue;
            }
            open.push(name);
            // Neither holds markup.
            if name == "style" || name == "script" {
                rest = &rest[rest.find(&format!("</{name}>")).expect("it is closed")..];
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }

    #[test]
    fn the_page_is_well_formed_and_stands_alone() {
        for results in [sample(), Results::default()] {
            let page = page(&results);
            check_nesting(&page);
            for elsewhere in ["http:", "https:", " src=", "@import", "url(", "NaN", "inf"] {
                assert!(!page.contains(elsewhere), "{elsewhere}");
            }
        }
    }

    #[test]
    fn every_kind_of_plot_is_there() {
        let page = page(&sample());
        for part in [
            "42,200",
            "id=\"limits\"",
            "id=\"distributions\"",
            "id=\"scaling\"",
            "over CPUs",
            "over N",
            "class=\"box\"",
            "a &lt;b&gt; &amp; &quot;c&quot;",
            "goals are met",
            "TCG models no cost",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn families_have_numbers() {
        assert_eq!(family("thread.sequence_64"), ("thread.sequence", Some(64.0)));
        assert_eq!(family("thread.create_join"), ("thread.create_join", None));
    }
}
