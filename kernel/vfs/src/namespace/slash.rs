// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the names of a path end: the search for a slash, eight bytes at a time.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW << 7;
const SLASHES: u64 = LOW * b'/' as u64;
const WORD: usize = size_of::<u64>();

/// The number of bytes in front of the first zero byte of a word, from the lowest on; `WORD` if there is none.
#[inline]
fn before_zero(word: u64) -> usize {
    // A borrow only reaches bytes above the first zero byte, so the lowest mark is right.
    let marks = word.wrapping_sub(LOW) & !word & HIGH;
    marks.trailing_zeros() as usize / 8
}

/// The position of the first slash at or behind `from`, or the length of the text if there is none.
#[inline]
pub(super) fn next(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let len = before_zero(u64::from_le_bytes(*word) ^ SLASHES);
        if len < WORD {
            return at + len;
        }
        at += WORD;
    }
    match (text.len().saturating_sub(at), text.last_chunk()) {
        (0, _) => text.len(),
        // Zeros come in behind the bytes that are left, so the end is found like a slash.
        (left, Some(word)) => at + before_zero((u64::from_le_bytes(*word) ^ SLASHES) >> (8 * (WORD - left))),
        (_, None) => text[at..].iter().position(|&byte| byte == b'/').map_or(text.len(), |len| at + len),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_search_by_bytes_finds(
            text in proptest::collection::vec(
                prop_oneof![4 => any::<u8>(), 1 => Just(b'/'), 1 => Just(b'.'), 1 => Just(b'0'), 1 => Just(0xaf)],
                0..40,
            ),
        ) {
            for from in 0..=text.len() {
                let len = text[from..].iter().position(|&byte| byte == b'/');
                prop_assert_eq!(next(&text, from), len.map_or(text.len(), |len| from + len));
            }
        }
    }
}
