// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What compiler and linker say, without one warning that is about no line of the user's: a static libgomp refers to
//! `dlopen` for offloading to devices, which a machine of Hadal has not.

use std::io::{self, BufRead, Write};

/// What the two lines of the warning have in them: the place, then the warning itself.
const PLACE: &[u8] = b"libgomp.a(target.o): in function `gomp_target_init";
const WARNING: &[u8] = b"warning: Using 'dlopen' in statically linked applications";

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}

/// Copies messages line by line, as they come, but for the warning.
pub(crate) fn copy(mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    // The line before, if it may be the first of the warning.
    let mut kept: Option<Vec<u8>> = None;
    loop {
        let mut line = Vec::new();
        let is_end = from.read_until(b'\n', &mut line)? == 0;
        match kept.take() {
            Some(_) if contains(&line, WARNING) => continue,
            Some(place) => to.write_all(&place)?,
            // Some linkers say both in one line.
            None if contains(&line, PLACE) && contains(&line, WARNING) => continue,
            None => {}
        }
        if is_end {
            return to.flush();
        }
        if contains(&line, PLACE) {
            kept = Some(line);
        } else {
            to.write_all(&line)?;
            to.flush()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(text: &str) -> String {
        let mut out = Vec::new();
        copy(text.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_the_warning_of_libgomp_is_left_out() {
        let place = "/usr/bin/ld: /usr/lib/libgomp.a(target.o): in function `gomp_target_init':\n";
        let warning = "(.text+0x32c): warning: Using 'dlopen' in statically linked applications requires at runtime the \
                       shared libraries from the glibc version used for linking\n";
        let own = "/usr/bin/ld: a.o: in function `main':\n";
        assert_eq!(copied(&format!("a\n{place}{warning}b")), "a\nb");
        for text in ["", "a", &format!("{own}{warning}"), &format!("{place}{place}x\n"), place] {
            assert_eq!(copied(text), text);
        }
        assert_eq!(copied(&format!("{place}{place}{warning}")), place);
    }
}
