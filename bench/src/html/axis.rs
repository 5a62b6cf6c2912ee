// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Axes of plots: their scale, their ticks and what stands at these. [`Axis`] is a coordinate of the plotting library.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{IntoLogRange, LogCoord};

use crate::goals::number;

/// Of two values with a greater ratio, a linear axis would not show the smaller one.
const LOGARITHMIC_FROM: f64 = 8.0;

/// About the width in pixels of a character of a label.
const CHARACTER: u32 = 7;

/// Values along one direction of a plot.
#[derive(Clone)]
pub(super) struct Axis {
    scale: Scale,
    range: Range<f64>,
    ticks: Vec<(f64, String)>,
}

#[derive(Clone)]
enum Scale {
    Linear(RangedCoordf64),
    /// The coordinate is made from the range when needed: the library's cannot be copied.
    Logarithmic,
}

/// How long an axis is, and how much of it a label takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    /// Pixels from left to right.
    Across(u32),
    /// Pixels from bottom to top.
    Up(u32),
}

impl Room {
    fn pixels(self) -> f64 {
        let (Self::Across(pixels) | Self::Up(pixels)) = self;
        f64::from(pixels)
    }

    /// Pixels of the axis that a label needs, with a gap.
    fn of_label(self, label: &str) -> f64 {
        match self {
            Self::Across(_) => f64::from(CHARACTER) * label.chars().count() as f64 + 10.0,
            Self::Up(_) => 18.0,
        }
    }
}

impl Axis {
    /// An axis for measured values of a unit.
    pub(super) fn of(values: impl IntoIterator<Item = f64>, unit: &str, room: Room) -> Self {
        let (least, greatest) = bounds(values);
        if least > 0.0 && greatest / least >= LOGARITHMIC_FROM {
            let range = least / 1.15..greatest * 1.15;
            let choices = decimal_ticks(&range);
            return Self::new(Scale::Logarithmic, range, choices, |value| quantity(value, unit), room);
        }
        let margin = ((greatest - least) * 0.05).max(greatest.abs() * 0.02).max(1e-9);
        Self::linear(least - margin..greatest + margin, unit, room)
    }

    /// The same for values whose size is compared: a linear axis begins at 0.
    pub(super) fn from_zero(values: impl IntoIterator<Item = f64>, unit: &str, room: Room) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let (least, greatest) = bounds(values.iter().copied());
        match least <= 0.0 || greatest / least < LOGARITHMIC_FROM {
            true => Self::linear(least.min(0.0)..(greatest * 1.1).max(1e-9), unit, room),
            false => Self::of(values, unit, room),
        }
    }

    fn linear(range: Range<f64>, unit: &str, room: Room) -> Self {
        let coordinate: RangedCoordf64 = range.clone().into();
        let choices = (2..=8).rev().map(|most: usize| coordinate.key_points(most)).collect();
        Self::new(Scale::Linear(coordinate), range, choices, |value| quantity(value, unit), room)
    }

    /// Numbers that double rather than grow by steps, such as numbers of CPUs, with ticks at these numbers.
    pub(super) fn doubling(values: impl IntoIterator<Item = f64>, room: Room) -> Self {
        let mut all: Vec<f64> = values.into_iter().collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let (least, greatest) = bounds(all.iter().copied());
        let powers: Vec<f64> = all.iter().copied().filter(|value| value.log2().fract() == 0.0).collect();
        let thinned = |step| powers.iter().copied().step_by(step).collect();
        let choices = vec![all.clone(), thinned(1), thinned(2), thinned(4)];
        Self::new(Scale::Logarithmic, least / 1.15..greatest * 1.15, choices, number, room)
    }

    /// Parts of a whole, 0 to 1.
    pub(super) fn percent() -> Self {
        let range = -0.02..1.02;
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, format!("{:.0}%", part * 100.0)));
        Self { scale: Scale::Linear(range.clone().into()), range, ticks: ticks.into() }
    }

    /// One row for each label, the first at the top. The middle of row `i` is [`Self::row`].
    pub(super) fn rows(labels: &[&str]) -> Self {
        let range = 0.0..labels.len() as f64;
        let ticks = labels.iter().enumerate();
        let ticks =
            ticks.map(|(index, label)| (Self::row(index, labels.len()), (*label).to_owned())).collect();
        Self { scale: Scale::Linear(range.clone().into()), range, ticks }
    }

    /// Middle of a row of so many.
    pub(super) fn row(index: usize, rows: usize) -> f64 {
        (rows - index) as f64 - 0.5
    }

    /// The first choice of ticks whose labels have room, or the last.
    fn new(
        scale: Scale,
        range: Range<f64>,
        choices: Vec<Vec<f64>>,
        label: impl Fn(f64) -> String,
        room: Room,
    ) -> Self {
        let mut axis = Self { scale, range, ticks: Vec::new() };
        for choice in choices {
            if axis.ticks.len() >= 2 && axis.has_room(room) {
                break;
            }
            axis.ticks = choice.into_iter().map(|value| (value, label(value))).collect();
        }
        axis
    }

    fn has_room(&self, room: Room) -> bool {
        let place = |value: f64| f64::from(self.map(&value, (0, room.pixels() as i32)));
        self.ticks.windows(2).all(|pair| {
            let needed = (room.of_label(&pair[0].1) + room.of_label(&pair[1].1)) / 2.0;
            place(pair[1].0) - place(pair[0].0) >= needed
        })
    }
}

fn bounds(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(start, |(least, greatest), value| (least.min(value), greatest.max(value)))
}

/// Round numbers in a range, the finest choice first: 1, 2 and 5 times the powers of ten, and ever fewer.
fn decimal_ticks(range: &Range<f64>) -> Vec<Vec<f64>> {
    let decades = range.start.log10().floor() as i32..=range.end.log10().ceil() as i32;
    let ticks = |factors: &[f64], step: usize| -> Vec<f64> {
        let powers = decades.clone().step_by(step).map(|power| 10_f64.powi(power));
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
        all.filter(|value| range.contains(value)).collect()
    };
    vec![
        ticks(&[1.0, 2.0, 5.0], 1),
        ticks(&[1.0, 3.0], 1),
        ticks(&[1.0], 1),
        ticks(&[1.0], 2),
        ticks(&[1.0], 3),
        ticks(&[1.0], 6),
    ]
}

/// A value at a tick, in few characters.
fn quantity(value: f64, unit: &str) -> String {
    // From which value on, in which size, with which name.
    let sizes: [(f64, f64, &str); 4] = match unit {
        "ns" => [(1e9, 1e9, " s"), (1e6, 1e6, " ms"), (1e3, 1e3, " us"), (0.0, 1.0, " ns")],
        _ => [(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"), (0.0, 1.0, "")],
    };
    let (_, size, name) = sizes.into_iter().find(|(from, ..)| value.abs() >= *from).unwrap_or(sizes[3]);
    let text = format!("{:.3}", value / size);
    match text.trim_end_matches('0').trim_end_matches('.') {
        "0" | "-0" => "0".to_owned(),
        digits => format!("{digits}{name}"),
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        match &self.scale {
            Scale::Linear(coordinate) => coordinate.map(value, pixels),
            Scale::Logarithmic => LogCoord::from(self.range.clone().log_scale()).map(value, pixels),
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // The library asks a second time for fainter lines between these.
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.ticks.iter().map(|(value, _)| *value).collect(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(tick, _)| tick == value).map_or(String::new(), |(_, label)| label.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    const ROOM: Room = Room::Across(260);

    #[test]
    fn near_values_get_a_linear_axis_and_far_ones_a_logarithmic() {
        assert_eq!(labels(&Axis::of([100.0, 150.0], "ns", ROOM)), ["100 ns", "120 ns", "140 ns"]);
        assert_eq!(labels(&Axis::of([10.0, 9e6], "ns", ROOM)), ["100 ns", "10 us", "1 ms"]);
        assert_eq!(labels(&Axis::of([30.0, 300.0], "ns", ROOM)), ["50 ns", "100 ns", "200 ns"]);
    }

    #[test]
    fn labels_do_not_meet() {
        let wide = Axis::of([1.0, 900.0], "ns", Room::Across(900));
        let narrow = Axis::of([1.0, 900.0], "ns", Room::Across(200));
        let upright = Axis::of([1.0, 900.0], "ns", Room::Up(150));
        assert!(wide.ticks.len() > upright.ticks.len() && upright.ticks.len() > narrow.ticks.len());
        let room = Room::Across(120);
        assert!(Axis::of([1.0, 1e12], "ns", room).has_room(room));
    }

    #[test]
    fn greater_values_lie_further_and_within_the_axis() {
        for axis in [Axis::of([1.0, 5e4], "ns", ROOM), Axis::of([4.0, 7.0], "ns", ROOM)] {
            let places: Vec<i32> = [4.0, 5.0, 7.0].iter().map(|value| axis.map(value, (0, 1000))).collect();
            assert!(places.is_sorted() && places[0] > 0 && places[2] < 1000, "{places:?}");
        }
    }

    #[test]
    fn sizes_are_compared_from_zero() {
        assert_eq!(Axis::from_zero([80.0, 100.0], "", ROOM).range.start, 0.0);
        assert!(Axis::from_zero([1.0, 100.0], "", ROOM).range.start > 0.0);
    }

    #[test]
    fn values_that_are_all_the_same_have_an_axis() {
        for value in [0.0, 7.0, -3.0] {
            for axis in [Axis::of([value, value], "", ROOM), Axis::from_zero([value], "", ROOM)] {
                assert!(axis.range.start < axis.range.end && axis.range.contains(&value), "{value}");
            }
        }
    }

    #[test]
    fn numbers_of_cpus_are_ticks_themselves() {
        assert_eq!(labels(&Axis::doubling([8.0, 1.0, 2.0, 3.0, 2.0], ROOM)), ["1", "2", "3", "8"]);
        let many = Axis::doubling((1..=32).map(f64::from), ROOM);
        assert_eq!(labels(&many), ["1", "2", "4", "8", "16", "32"]);
    }

    #[test]
    fn quantities_are_short() {
        let times = [(0.0, "0"), (950.0, "950 ns"), (1200.0, "1.2 us"), (2e7, "20 ms"), (3e9, "3 s")];
        assert!(times.iter().all(|(value, text)| quantity(*value, "ns") == *text));
        let counts = [(7000.0, "7000"), (20_000.0, "20k"), (3e6, "3M")];
        assert!(counts.iter().all(|(value, text)| quantity(*value, "instructions") == *text));
    }
}
