// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of small numbers as `/sys` and `/proc` write them: lists (`0-3,8`) and masks (`1,0000000f`).

use alloc::string::String;
use core::fmt::Write;

/// The list of the numbers below `count` for which `contains` holds.
pub fn list(count: usize, contains: impl Fn(usize) -> bool) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < count {
        if !contains(at) {
            at += 1;
            continue;
        }
        let first = at;
        while at < count && contains(at) {
            at += 1;
        }
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = match at - first {
            1 => write!(text, "{comma}{first}"),
            _ => write!(text, "{comma}{first}-{}", at - 1),
        };
    }
    text
}

/// The mask of the numbers below `count` for which `contains` holds: hexadecimal, in groups of 32 bits, highest first, as
/// many digits as `count` bits need.
pub fn mask(count: usize, contains: impl Fn(usize) -> bool) -> String {
    let mut text = String::new();
    let groups = count.div_ceil(32).max(1);
    for group in (0..groups).rev() {
        let bits = 32.min(count - (32 * group).min(count)).max(1);
        let word = (0..bits).filter(|bit| contains(32 * group + bit)).fold(0u32, |word, bit| word | 1 << bit);
        let digits = if group + 1 == groups { bits.div_ceil(4) } else { 8 };
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{word:0digits$x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_ranges() {
        assert_eq!(list(4, |_| true), "0-3");
        assert_eq!(list(1, |_| true), "0");
        assert_eq!(list(4, |_| false), "");
        assert_eq!(list(10, |n| n != 2 && n != 4 && n < 9), "0-1,3,5-8");
        assert_eq!(list(255, |n| n % 2 == 0 && n < 6), "0,2,4");
    }

    #[test]
    fn masks_have_as_many_digits_as_there_are_cpus() {
        assert_eq!(mask(1, |_| true), "1");
        assert_eq!(mask(4, |n| n == 1), "2");
        assert_eq!(mask(6, |_| true), "3f");
        assert_eq!(mask(32, |_| true), "ffffffff");
        assert_eq!(mask(40, |n| n == 39), "80,00000000");
        assert_eq!(mask(64, |n| n < 4), "00000000,0000000f");
        assert_eq!(
            mask(255, |_| true),
            "7fffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff"
        );
    }
}
