// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Colours of page and plots, for the light and the dark theme. All but `line` are legible as text on both backgrounds.
//!
//! The plotting library writes colours as attributes of elements. Rules of a style sheet have precedence over those, so the
//! rules made here let plots follow the theme; a plot that is taken out of the page keeps the light theme's colours.

use std::fmt::Write as _;

use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::place::Place;

/// A colour of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour {
    /// Name of its class and of its variable.
    pub(super) name: &'static str,
    light: u32,
    dark: u32,
}

const fn colour(name: &'static str, light: u32, dark: u32) -> Colour {
    Colour { name, light, dark }
}

/// Text.
pub(super) const INK: Colour = colour("ink", 0x1d_21_27, 0xe3_e7_ec);
/// Axes and lines at ticks.
pub(super) const LINE: Colour = colour("line", 0xd3_d9_df, 0x36_40_4b);

/// Places in their order, then further series of a plot.
pub(super) const SERIES: [Colour; 11] = [
    colour("hadal", 0x0b_62_bd, 0x62_ac_ff),
    colour("pik", 0x78_37_c4, 0xc2_98_ff),
    colour("linux", 0xa8_43_06, 0xf2_93_4a),
    colour("native", 0x38_6d_12, 0x7c_d9_6b),
    colour("s4", 0xa8_28_6f, 0xff_98_cc),
    colour("s5", 0x0b_68_70, 0x55_cf_d8),
    colour("s6", 0x7c_55_00, 0xe0_b0_40),
    colour("s7", 0x4a_55_63, 0xa9_b5_c2),
    colour("s8", 0x8f_2d_2d, 0xff_a2_9a),
    colour("s9", 0x2a_3f_9d, 0xa7_b4_ff),
    colour("s10", 0x5a_5a_10, 0xc6_c6_6c),
];

impl Colour {
    pub(super) fn rgb(self) -> RGBColor {
        let [_, r, g, b] = self.light.to_be_bytes();
        RGBColor(r, g, b)
    }

    /// A line of a width in units of the plot.
    pub(super) fn line(self, width: u32) -> ShapeStyle {
        self.rgb().stroke_width(width)
    }
}

/// A place's colour: another one than that of any place of the same line-up.
pub(super) fn of(place: Place) -> Colour {
    SERIES[match place {
        Place::Hadal | Place::Rtk => 0,
        Place::Pik | Place::Nesl31 => 1,
        Place::Linux | Place::LinuxLibgomp => 2,
        Place::NativeLibgomp => 3,
        Place::PikNative | Place::Ring3 => 4,
        Place::RtkClang => 10,
        Place::LinuxLibomp => 6,
        Place::LinuxLibgompPassive => 8,
        Place::LinuxLibompPassive => 9,
        Place::Native | Place::NativeHadal => 5,
        Place::NativeLibomp => 7,
    }]
}

/// The part of the style sheet that says all this.
pub(super) fn rules() -> String {
    let mut rules = String::new();
    for Colour { name, light, dark } in SERIES.into_iter().chain([INK, LINE]) {
        let _ = write!(
            rules,
            ":root {{ --{name}: light-dark(#{light:06x}, #{dark:06x}); }}\n.{name} {{ color: var(--{name}); }}\n\
             svg [fill=\"#{light:06X}\"] {{ fill: var(--{name}); }}\n\
             svg [stroke=\"#{light:06X}\"] {{ stroke: var(--{name}); }}\n"
        );
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place;

    #[test]
    fn colours_and_their_names_are_told_apart() {
        let all: Vec<Colour> = SERIES.into_iter().chain([INK, LINE]).collect();
        for (index, one) in all.iter().enumerate() {
            let same = |other: &&Colour| other.name == one.name || other.light == one.light;
            assert_eq!(all.iter().position(|other| same(&other)), Some(index), "{}", one.name);
        }
    }

    #[test]
    fn places_of_a_line_up_have_different_colours() {
        for line_up in place::LINE_UPS {
            for one in line_up.places {
                assert_eq!(
                    line_up.places.iter().filter(|other| of(**other) == of(*one)).count(),
                    1,
                    "{one:?}"
                );
            }
        }
    }
}
