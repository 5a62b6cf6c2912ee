// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The results as a table for people.

use crate::goals::{self, Verdict, show};
use crate::host::DISTURBING_PART;
use crate::place::{self, Contest, LineUp, Place};
use crate::results::{Entry, Mode, Results, Setting};

/// What must stand beside every time measured under TCG.
pub(crate) const TCG_NOTE: &str = "TCG models no cost of privilege switches, TLB misses or caches: instructions are exact, \
times are worth something only as ratios of the same run.";

/// The table and what belongs below it.
pub(crate) fn text(results: &Results) -> String {
    let mut text = String::new();
    for mode in [Mode::Path, Mode::Parallel] {
        for line_up in place::LINE_UPS {
            let is_meant = |entry: &&Entry| entry.mode == mode && std::ptr::eq(entry.line_up(), line_up);
            let entries: Vec<&Entry> = results.results.iter().filter(is_meant).collect();
            if !entries.is_empty() {
                text += &one_table(mode, line_up, &entries, results);
                text.push('\n');
            }
        }
    }
    for verdict in goals::overall(results) {
        text += &format!("{}: {}\n", verdict.goal, met(&verdict));
    }
    if lacks_nesl31(results) {
        text += "NESL 3.1 was not measured: --nesl31 PATH names its interpreter of VCODE (vinterp)\n";
    }
    if results.results.iter().any(Entry::is_anywhere_disturbed) {
        text += &format!(
            "! others took more than {:.0}% of the host's CPU time meanwhile: a time not to be trusted\n",
            DISTURBING_PART * 100.0
        );
    }
    if let Some(unfinished) = &results.unfinished {
        text += &format!("UNFINISHED: {} of {} turns\n", unfinished.done, unfinished.turns);
    }
    for missing in &results.skipped {
        text += &format!("not on {}: {} ({})\n", missing.place, missing.name, missing.why);
    }
    for missing in &results.failed {
        text += &format!("FAILED on {}: {}: {}\n", missing.place, missing.name, missing.why);
    }
    for setting in &results.settings {
        text += &describe(setting);
    }
    text + TCG_NOTE + "\n"
}

/// Whether there are times of programs in NESL on the host, and none of the release to set them against.
fn lacks_nesl31(results: &Results) -> bool {
    let is_nesl = |entry: &&Entry| entry.group() == "nesl" && entry.at(Place::Native).is_some();
    let mut native = results.results.iter().filter(is_nesl).peekable();
    native.peek().is_some() && native.all(|entry| entry.at(Place::Nesl31).is_none())
}

fn met(verdict: &Verdict) -> &'static str {
    if verdict.is_met { "met" } else { "MISSED" }
}

fn one_table(mode: Mode, line_up: &LineUp, entries: &[&Entry], results: &Results) -> String {
    let is_measured = |place: &Place| entries.iter().any(|entry| entry.at(*place).is_some());
    let places: Vec<Place> = line_up.places.iter().copied().filter(is_measured).collect();
    let compared: Vec<(Place, &Contest)> = places
        .iter()
        .filter_map(|place| Some((*place, line_up.contest_of(*place)?)))
        .filter(|(_, contest)| contest.theirs.iter().any(is_measured))
        .collect();
    let mut head = vec![format!("{} mode: median [p5 .. p95]", mode.name()), "CPUs".into(), "unit".into()];
    head.extend(places.iter().map(|place| place.title().to_owned()));
    let ratio = |(place, contest): &(Place, &Contest)| format!("{}/{}", contest.against, place.way().short);
    head.extend(compared.iter().map(ratio));
    head.push("goal".into());
    let mut rows = vec![head];
    for entry in entries {
        let mut row = vec![entry.name.clone(), entry.cpus.to_string(), entry.unit.clone()];
        row.extend(places.iter().map(|place| cell(entry, *place)));
        let times = |(place, _): &(Place, _)| entry.times_better(*place).map_or(String::new(), goals::times);
        row.extend(compared.iter().map(times));
        let verdicts = goals::judge(entry, results);
        let verdicts: Vec<String> =
            verdicts.iter().map(|verdict| format!("{}: {}", verdict.goal, met(verdict))).collect();
        row.push(verdicts.join("; "));
        rows.push(row);
    }
    align(&rows)
}

fn cell(entry: &Entry, place: Place) -> String {
    let show = |value| show(value, &entry.unit);
    let Some(summary) = entry.at(place) else { return String::new() };
    let mark = if entry.is_disturbed(place) { "!" } else { "" };
    match summary.p5 == summary.p95 {
        true => format!("{}{mark}", show(summary.median)),
        false => format!("{} [{} .. {}]{mark}", show(summary.median), show(summary.p5), show(summary.p95)),
    }
}

/// Columns of equal width, names and goals to the left, numbers to the right; a line below the head.
fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| match column == 0 || column + 1 == columns {
                true => format!("{cell:width$}"),
                false => format!("{cell:>width$}"),
            })
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
        if index == 0 {
            text += &format!("{}\n", "-".repeat(widths.iter().sum::<usize>() + 2 * (columns - 1)));
        }
    }
    text
}

/// What was measured with.
fn describe(setting: &Setting) -> String {
    let quick = if setting.quick { "Quick:   few samples, for a first look\n" } else { "" };
    let mut text = format!("{quick}Machine: {}\n", setting.machine);
    if !setting.build.is_empty() {
        text += &format!("Build:   {}\n", setting.build);
    }
    if let Some(linux) = &setting.linux {
        text += &format!("Linux:   {linux}\n");
    }
    if let Some(variable) = &setting.variable {
        text += &format!("Given:   {variable} to the programs of both guests\n");
    }
    if setting.slices {
        text += "Slices:  of NAS, all places at once, one of which ran at a time; times are what each was given\n";
    }
    text + &format!(
        "Host:    {}, {} cores, load {:.1} before and {:.1} after\n",
        setting.qemu, setting.host_cores, setting.load[0], setting.load[1]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostUse;
    use crate::results::tests::entry;

    #[test]
    fn columns_are_aligned_and_goals_judged() {
        let results = Results {
            results: vec![
                entry("boot.entry_to_main", Mode::Path, 1, &[7.0], &[13.0]),
                entry("syscall.getppid", Mode::Path, 1, &[151.0], &[1700.0]),
            ],
            settings: vec![Setting {
                host_cores: 2,
                variable: Some("A=b".into()),
                slices: true,
                ..Setting::default()
            }],
            ..Results::default()
        };
        let text = text(&results);
        let lines: Vec<&str> = text.lines().collect();
        let end_of = |line: &str, part: &str| line.find(part).unwrap() + part.len();
        assert_eq!(end_of(lines[0], "Linux guest"), end_of(lines[3], "1700"), "{text}");
        assert!(
            lines[2].ends_with("1.9x  <= 3,000,000: met") && lines[3].ends_with("<= 120: MISSED"),
            "{text}"
        );
        assert!(!text.contains("native") && text.contains("2 cores") && text.contains("TCG models no"));
        assert!(text.contains("Given:   A=b to the programs of both guests\nSlices:  of NAS, all"), "{text}");
    }

    #[test]
    fn times_of_a_busy_host_are_marked() {
        let busy = HostUse { others: 0.2, ..HostUse::default() };
        let marked = |mode| {
            let mut entry = entry("a.b", mode, 2, &[7.0], &[13.0]);
            entry.places.get_mut(&Place::Linux).unwrap().host = Some(busy);
            text(&Results { results: vec![entry], ..Results::default() })
        };
        let times = marked(Mode::Parallel);
        assert!(times.contains("  13!  ") && times.contains("! others took more than 5%"), "{times}");
        let instructions = marked(Mode::Path);
        assert!(!instructions.contains('!'), "{instructions}");
    }
}
