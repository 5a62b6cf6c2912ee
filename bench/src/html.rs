// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page with tables and plots: one file that needs no other. It is complete without its script.
//!
//! Sections by mode, in them by group: [`table`] has the numbers, [`figures`] the plots, which [`plot`] draws. [`families`]
//! says which rows are folded; [`limits`] is the section about the cost of notification; [`colour`] has both themes.

mod axis;
mod colour;
mod families;
mod figures;
mod limits;
mod plot;
mod table;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::goals;
use crate::place::{self, LineUp};
use crate::results::{Entry, Missing, Mode, Results, Setting};
use crate::table::TCG_NOTE;
use families::Family;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Writes the page.
pub(crate) fn write(results: &Results, file: &Path) -> Result<()> {
    fs::write(file, page(results)?.into_string()).with_context(|| format!("cannot write {}", file.display()))
}

fn page(results: &Results) -> Result<Markup> {
    let sections = [Mode::Path, Mode::Parallel].map(|mode| Section::of(results, mode));
    let mut body = Vec::new();
    for section in &sections {
        body.push(section.body(results)?);
    }
    Ok(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "hadal bench" }
                style { (PreEscaped(colour::rules())) (PreEscaped(STYLE)) }
            }
            body {
                h1 { "hadal bench" }
                (warnings(results))
                (summary(results))
                @for section in &sections { (section.links()) }
                nav {
                    input #filter placeholder="filter by name" aria-label="filter by name";
                    button #theme { "light / dark" }
                }
                (how_to_read(results))
                @for section in &body { (section) }
                (missing("Failed", &results.failed))
                (missing("Not measured", &results.skipped))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    })
}

/// One mode's results by group.
struct Section<'a> {
    mode: Mode,
    groups: Vec<(&'a str, Vec<&'a Entry>)>,
}

impl<'a> Section<'a> {
    fn of(results: &'a Results, mode: Mode) -> Self {
        let mut groups: Vec<(&str, Vec<&Entry>)> = Vec::new();
        for entry in results.results.iter().filter(|entry| entry.mode == mode) {
            match groups.iter_mut().find(|(name, _)| *name == entry.group()) {
                Some((_, entries)) => entries.push(entry),
                None => groups.push((entry.group(), vec![entry])),
            }
        }
        Self { mode, groups }
    }

    fn title(&self) -> &'static str {
        match self.mode {
            Mode::Path => "Instructions",
            Mode::Parallel => "Times",
        }
    }

    fn anchor(&self, group: &str) -> String {
        format!("{}-{group}", self.mode.name())
    }

    fn links(&self) -> Markup {
        html! {
            @if !self.groups.is_empty() {
                nav {
                    b { (self.title()) }
                    @for (group, _) in &self.groups { a href={ "#" (self.anchor(group)) } { (group) } }
                }
            }
        }
    }

    /// A group's figures of a line-up, which have the same places.
    fn figures(&self, entries: &[&Entry], line_up: &LineUp, results: &Results) -> Result<Markup> {
        let is_meant = |entry: &&&Entry| std::ptr::eq(entry.line_up(), line_up);
        let entries: Vec<&Entry> = entries.iter().filter(is_meant).copied().collect();
        if entries.is_empty() {
            return Ok(html! {});
        }
        let families = Family::all(&entries);
        Ok(html! {
            div.pair {
                div { (table::group(&families, line_up, results)) }
                (figures::medians(&families)?)
            }
            (figures::series(&families, self.mode)?)
        })
    }

    fn body(&self, results: &Results) -> Result<Markup> {
        let mut groups = Vec::new();
        for (name, entries) in &self.groups {
            let limits = match (self.mode, *name) {
                (Mode::Parallel, "event") => limits::section(results)?,
                _ => None,
            };
            groups.push(html! {
                section {
                    h3 #(self.anchor(name)) { (name) }
                    @for line_up in place::LINE_UPS { (self.figures(entries, line_up, results)?) }
                    @if let Some(limits) = limits { (limits) }
                }
            });
        }
        let explanation = match self.mode {
            Mode::Path => {
                "Path mode: instructions on a machine whose instructions are counted one by one. The same run gives \
                           the same numbers again; where a range stands below a median, the operation itself takes several \
                           paths."
            }
            Mode::Parallel => {
                "Parallel mode: times on machines with several CPUs. A distribution shows which share of the \
                               samples took at most so long; below it, on the same axis, a bar is the median, a box the \
                               quartiles, and a line reaches from the 5th to the 95th percentile."
            }
        };
        Ok(html! {
            @if !groups.is_empty() {
                h2 #(self.mode.name()) { (self.title()) }
                p { (explanation) }
                @for group in &groups { (group) }
            }
        })
    }
}

/// What forbids to cite numbers of this page.
fn warnings(results: &Results) -> Markup {
    let busy = results.results.iter().filter(|entry| entry.is_anywhere_disturbed()).count();
    html! {
        @if results.unfinished.is_some() {
            p.warning { b { "Unfinished run." } " Figures are missing, and others have fewer samples than they will have." }
        }
        @if results.settings.iter().any(|setting| setting.quick) {
            p.warning { b { "Quick run." } " Few samples and turns: a look at the order of magnitude, not figures to cite." }
        }
        @if busy > 0 {
            p.warning {
                b { "Busy host." } " " (busy) " of " (results.results.len()) " results, marked red like this, were measured \
                while other processes took CPU time from the machine. Measure them again on a quiet host."
            }
        }
    }
}

fn summary(results: &Results) -> Markup {
    let verdicts: Vec<_> = results
        .results
        .iter()
        .flat_map(|entry| goals::judge(entry, results))
        .chain(goals::overall(results))
        .collect();
    let met = verdicts.iter().filter(|verdict| verdict.is_met).count();
    html! {
        @if !verdicts.is_empty() { p { (met) " of " (verdicts.len()) " goals are met." } }
        @for verdict in goals::overall(results) { p { (verdict.goal) } }
        @for setting in &results.settings { (describe(setting)) }
    }
}

/// What was measured with.
fn describe(setting: &Setting) -> Markup {
    let [before, after] = setting.load;
    html! {
        dl {
            @if let Some(mode) = setting.mode {
                dt { "run" }
                dd { b { (mode.name()) " mode" } ", begun " (setting.started) @if setting.quick { ", quick" } @if setting.slices { ", NAS in slices" } }
            }
            dt { "machine" } dd { code { (setting.machine) } }
            @if let Some(variable) = &setting.variable {
                dt { "given to programs of both guests" } dd { code { (variable) } }
            }
            dt { "QEMU" } dd { (setting.qemu) }
            dt { "Linux guest" } dd { (setting.linux.as_deref().unwrap_or("none")) }
            @if !setting.build.is_empty() { dt { "build" } dd { (setting.build) } }
            dt { "host" } dd { (setting.host_cores) " cores, load " (format!("{before:.1} before, {after:.1} after")) }
        }
    }
}

/// What the numbers mean and what they cannot say.
fn how_to_read(results: &Results) -> Markup {
    let entries: Vec<&Entry> = results.results.iter().collect();
    html! {
        details open {
            summary { "How to read the numbers" }
            dl {
                @for place in table::places_of(&entries) {
                    dt class=(colour::of(place).name) { (place.title()) } dd { (place.way().what) }
                }
                dt { "1,200" } dd { "median of all samples; below it the 5th and the 95th percentile, if they differ" }
                dt { span.good { "55x" } } dd { "the median of the Linux guest, or of its best OpenMP run-time, is 55 times this one: Hadal is better" }
                dt { span.bad { "0.8x" } } dd { "it is 0.8 times this one: Linux is better" }
                dt { span.even { "1.1x" } } dd { "no difference can be claimed: the ranges overlap" }
                dt.busy { "red" } dd { "others used the host meanwhile; do not trust the time" }
                dt { "goal" } dd { "what the project wants of the image's median, or of the unmodified program's where there is no image; with OpenMP, of the worse of RTK and pik --omp=native" }
                dt { "limits" }
                dd {
                    (TCG_NOTE) " What is called fast or slow here is so in number of steps, not in nanoseconds of real \
                    hardware."
                }
            }
        }
    }
}

/// What is missing, one line for each reason.
fn missing(title: &str, all: &[Missing]) -> Markup {
    let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for Missing { name, place, why } in all {
        match reasons.iter_mut().find(|reason| (reason.0, reason.1) == (place, why)) {
            Some((_, _, names)) => names.push(name),
            None => reasons.push((place, why, vec![name])),
        }
    }
    html! {
        @if !reasons.is_empty() {
            h2 { (title) }
            ul { @for (place, why, names) in &reasons { li { b { (names.join(", ")) } " on " (place) ": " (why) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let missing = |name: &str| Missing {
            name: name.into(),
            place: "Linux guest".into(),
            why: "a <b> & \"c\"".to_owned(),
        };
        let settings =
            vec![Setting { machine: "-M q35".into(), variable: Some("A=b".into()), ..Setting::default() }];
        Results { results, failed: vec![missing("x.y"), missing("x.z")], settings, ..Results::default() }
    }

    fn text(results: &Results) -> String {
        page(results).expect("the page is made").into_string()
    }

    #[test]
    fn the_page_stands_alone() {
        for results in [sample(), Results::default()] {
            let page = text(&results);
            // SVG names its namespace, which nothing is fetched from.
            let page = page.replace("http://www.w3.org/2000/svg", "");
            for elsewhere in ["http:", "https:", " src=", "@import", "url(", "NaN", "inf\""] {
                assert!(!page.contains(elsewhere), "{elsewhere}");
            }
        }
    }

    #[test]
    fn every_part_is_there() {
        let page = text(&sample());
        for part in [
            "42,200",
            ">106x<",
            "id=\"limits\"",
            "href=\"#path-thread\"",
            "id=\"parallel-boot\"",
            "medians over CPUs",
            "medians over N",
            "share of samples",
            "A system call on another CPU",
            "<b>x.y, x.z</b> on Linux guest: a &lt;b&gt; &amp; &quot;c&quot;",
            "goals are met",
            "TCG models no cost",
            "A=b",
            "-M q35",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("Quick run") && !page.contains("Busy host"));
    }

    #[test]
    fn quick_runs_are_marked() {
        let mut results = sample();
        let setting = &mut results.settings[0];
        (setting.quick, setting.mode, setting.started) =
            (true, Some(Mode::Path), "2026-11-23T05:19:53Z".into());
        let page = text(&results);
        let parts = ["Quick run", "path mode", "begun 2026-11-23T05:19:53Z, quick"];
        assert!(parts.iter().all(|part| page.contains(part)));
        assert!(!page.contains("Unfinished run"));
    }
}
