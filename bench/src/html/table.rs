// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A group's table: medians and ranges of every place, ratios, goals. Members of a family but one are folded.

use maud::{Markup, html};

use super::colour;
use super::families::Family;
use crate::catalogue;
use crate::goals::{self, show};
use crate::place::{LineUp, Place};
use crate::results::{Entry, Results};

/// A space at which no line ends.
const NO_BREAK: &str = "\u{a0}";

/// Places in which one of the results was measured.
pub(super) fn places_of(entries: &[&Entry]) -> Vec<Place> {
    Place::all().filter(|place| entries.iter().any(|entry| entry.at(*place).is_some())).collect()
}

/// The table of a group.
pub(super) fn group(families: &[Family<'_>], line_up: &LineUp, results: &Results) -> Markup {
    let all: Vec<&Entry> = families.iter().flat_map(|family| family.members.iter().copied()).collect();
    let columns = columns(&all, line_up);
    let folded = || families.iter().filter(|family| family.members.len() > 1);
    let number_folded: usize = folded().map(|family| family.members.len()).sum();
    html! {
        table {
            (head(&columns))
            tbody {
                @for family in families { (row(family.shown(), &columns, goal_of(family, results))) }
            }
        }
        @if number_folded > 0 {
            details {
                summary { "all " (number_folded) " rows of the figures with several numbers of CPUs or sizes" }
                table {
                    (head(&columns))
                    tbody {
                        @for entry in folded().flat_map(|family| &family.members) {
                            (row(entry, &columns, goal(entry, results)))
                        }
                    }
                }
            }
        }
    }
}

/// A place, and whether ratios stand beside its values.
struct Column {
    place: Place,
    is_compared: bool,
}

fn columns(entries: &[&Entry], line_up: &LineUp) -> Vec<Column> {
    let places = places_of(entries);
    let is_compared = |place| is_compared(place, &places, line_up);
    places.iter().map(|place| Column { place: *place, is_compared: is_compared(*place) }).collect()
}

fn is_compared(place: Place, places: &[Place], line_up: &LineUp) -> bool {
    let contest = line_up.contest_of(place);
    contest.is_some_and(|contest| contest.theirs.iter().any(|peer| places.contains(peer)))
}

fn head(columns: &[Column]) -> Markup {
    html! {
        thead {
            tr {
                th { "figure" }
                th { "CPUs" }
                @for Column { place, is_compared } in columns {
                    @let width = if *is_compared { "2" } else { "1" };
                    th class=(colour::of(*place).name) colspan=(width) { (place.title()) }
                }
                th.goal { "goal" }
            }
        }
    }
}

fn row(entry: &Entry, columns: &[Column], goal: Markup) -> Markup {
    html! {
        tr data-name=(entry.name) {
            td { span.name { (entry.name) } span.what { (catalogue::describe(&entry.name)) } }
            td { (entry.cpus) }
            @for Column { place, is_compared } in columns {
                td.busy[entry.is_disturbed(*place)] { (value(entry, *place)) }
                @if *is_compared {
                    @let is_busy = entry.is_disturbed(*place)
                        || entry.peer(*place).is_some_and(|(peer, _)| entry.is_disturbed(peer));
                    td.ratio.busy[is_busy] { (ratio(entry, *place)) }
                }
            }
            td.goal { (goal) }
        }
    }
}

/// A median and, where samples differ, their range.
fn value(entry: &Entry, place: Place) -> Markup {
    html! {
        @if let Some(summary) = entry.at(place) {
            span.value { (with_unit(summary.median, &entry.unit)) }
            @if summary.p5 != summary.p95 { span.range { (range(summary.p5, summary.p95, &entry.unit)) } }
        }
    }
}

/// A value; a time has its unit, on the same line.
pub(super) fn with_unit(value: f64, unit: &str) -> String {
    let text = show(value, unit).replace(' ', NO_BREAK);
    if unit == "ns" && !text.ends_with('s') { text + NO_BREAK + "ns" } else { text }
}

/// Two values; a unit that they share stands once.
fn range(from: f64, to: f64, unit: &str) -> String {
    let (from, to) = (with_unit(from, unit), with_unit(to, unit));
    match (from.split_once(NO_BREAK), to.split_once(NO_BREAK)) {
        (Some((number, from_unit)), Some((_, to_unit))) if from_unit == to_unit => format!("{number} – {to}"),
        _ => format!("{from} – {to}"),
    }
}

/// How many times the median of the best peer is a place's.
fn ratio(entry: &Entry, place: Place) -> Markup {
    let (Some(times), Some(here), Some((_, peer))) =
        (entry.times_better(place), entry.at(place), entry.peer(place))
    else {
        return html! {};
    };
    let overlap = here.p5 <= peer.p95 && peer.p5 <= here.p95;
    let class = match () {
        () if overlap => "even",
        () if times < 1.0 => "bad",
        () => "good",
    };
    html! { span class=(class) { (goals::times(times)) } }
}

fn goal(entry: &Entry, results: &Results) -> Markup {
    html! {
        @for verdict in goals::judge(entry, results) {
            @if verdict.is_met { span.good { (verdict.goal) ": met" } } @else { span.bad { (verdict.goal) ": missed" } }
            " "
        }
    }
}

/// The goal of the shown member, and how many of the folded ones miss theirs.
fn goal_of(family: &Family<'_>, results: &Results) -> Markup {
    let (_, folded) = family.members.split_last().unwrap_or((&family.members[0], &[]));
    let missed = folded
        .iter()
        .filter(|entry| goals::judge(entry, results).iter().any(|verdict| !verdict.is_met))
        .count();
    html! {
        (goal(family.shown(), results))
        @if missed > 0 { " " span.bad { "(missed in " (missed) " folded rows)" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place;
    use crate::results::Mode;
    use crate::results::tests::entry;

    #[test]
    fn times_have_units_and_share_them() {
        assert_eq!((with_unit(7.0, "ns"), with_unit(7.0, "instructions")), ("7\u{a0}ns".into(), "7".into()));
        assert_eq!(range(7.0, 9.0, "ns"), "7 – 9\u{a0}ns");
        assert_eq!(range(7.0, 20_000.0, "ns"), "7\u{a0}ns – 20\u{a0}us");
        assert_eq!(range(7.0, 9.0, "instructions"), "7 – 9");
    }

    #[test]
    fn a_ratio_says_whether_it_is_good() {
        let of = |hadal: &[f64], linux: &[f64]| {
            ratio(&entry("a.b", Mode::Path, 1, hadal, linux), Place::Hadal).into_string()
        };
        assert_eq!(of(&[2.0], &[110.0]), "<span class=\"good\">55x</span>");
        assert_eq!(of(&[10.0], &[8.0]), "<span class=\"bad\">0.8x</span>");
        assert_eq!(of(&[1.0, 3.0], &[2.0, 4.0]), "<span class=\"even\">1.5x</span>");
        assert_eq!((of(&[0.0], &[1.0]), of(&[1.0], &[])), (String::new(), String::new()));
    }

    #[test]
    fn members_of_a_family_are_folded_and_their_misses_told() {
        let entries = [1, 8].map(|cpus| {
            entry("boot.entry_to_main", Mode::Path, cpus, &[[9e9, 5.0][usize::from(cpus == 8)]], &[])
        });
        let all: Vec<&Entry> = entries.iter().collect();
        let page = group(&Family::all(&all), &place::STANDARD, &Results::default()).into_string();
        assert!(page.contains("all 2 rows") && page.contains("missed in 1 folded rows"), "{page}");
        assert_eq!(page.matches("<tr data-name").count(), 3);
        assert!(!page.contains("Linux guest"));
    }
}
