// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scripts: files whose first line, `#!`, names the program that interprets them (execve(2)). The line is read as Linux reads
//! it.

use core::fmt;

/// Bytes of a file that are looked at (`BINPRM_BUF_SIZE`).
pub const HEAD_LEN: usize = 256;

/// Most scripts that interpret each other.
pub const MOST_NESTED: usize = 5;

/// What the first line of a script says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Path of the interpreter, as written.
    pub interpreter: &'a [u8],
    /// All the rest of the line, if there is any, as one argument.
    pub argument: Option<&'a [u8]>,
}

/// Why a first line names no interpreter: Linux answers `ENOEXEC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineError {
    /// There is no name.
    NoName,
    /// The name does not end in [`HEAD_LEN`] bytes.
    TooLong,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoName => "is a script whose first line names no interpreter",
            Self::TooLong => {
                "is a script whose first line is longer than 255 bytes before the interpreter's name ends"
            }
        })
    }
}

impl core::error::Error for LineError {}

/// Whether a byte separates the words of the line.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Reads the first bytes of a file, [`HEAD_LEN`] of them if it has so many; `None` if it is no script.
pub fn parse(head: &[u8]) -> Option<Result<Line<'_>, LineError>> {
    let head = &head[..head.len().min(HEAD_LEN)];
    let text = head.strip_prefix(b"#!")?;
    let line = match text.iter().position(|&byte| byte == b'\n') {
        Some(end) => &text[..end],
        // Behind a short file Linux sees zeros, which end the name.
        None if head.len() < HEAD_LEN => text,
        None => {
            let name = text.trim_ascii_start();
            if !name.iter().any(|&byte| is_blank(byte) || byte == 0) {
                return Some(Err(LineError::TooLong));
            }
            text
        }
    };
    let line = &line[..line.iter().position(|&byte| byte == 0).unwrap_or(line.len())];
    let start = line.iter().position(|&byte| !is_blank(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    let line = &line[start..end];
    if line.is_empty() {
        return Some(Err(LineError::NoName));
    }
    let (interpreter, rest) =
        line.split_at(line.iter().position(|&byte| is_blank(byte)).unwrap_or(line.len()));
    let argument = rest.iter().position(|&byte| !is_blank(byte)).map(|start| &rest[start..]);
    Some(Ok(Line { interpreter, argument }))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn line<'a>(interpreter: &'a str, argument: Option<&'a str>) -> Option<Result<Line<'a>, LineError>> {
        Some(Ok(Line { interpreter: interpreter.as_bytes(), argument: argument.map(str::as_bytes) }))
    }

    #[test]
    fn lines_are_read_as_linux_reads_them() {
        assert_eq!(parse(b"#!/bin/sh\necho"), line("/bin/sh", None));
        assert_eq!(parse(b"#! \t/bin/sh  -e  x \t\n"), line("/bin/sh", Some("-e  x")));
        assert_eq!(parse(b"#!/bin/sh"), line("/bin/sh", None));
        assert_eq!(parse(b"#!/bin/sh\0 -e"), line("/bin/sh", None));
        assert_eq!(parse(b"#!/bin/sh\r\n"), line("/bin/sh\r", None));
        assert_eq!(parse(b"#!\n/bin/sh\n"), Some(Err(LineError::NoName)));
        assert_eq!(parse(b"#! \t \n"), Some(Err(LineError::NoName)));
        assert_eq!(parse(b"#!"), Some(Err(LineError::NoName)));
        assert_eq!(parse(b"echo\n#!/bin/sh"), None);
        assert_eq!(parse(b"#"), None);
    }

    #[test]
    fn long_lines_are_cut_off_behind_the_name() {
        let text = |name: usize, rest: &str| format!("#!/{}{rest}", "x".repeat(name));
        assert_eq!(parse(text(300, "").as_bytes()), Some(Err(LineError::TooLong)));
        let long = text(10, &format!(" {}", "y".repeat(300)));
        let cut = parse(long.as_bytes()).expect("a script").expect("a name");
        assert_eq!(cut.argument.map(<[u8]>::len), Some(HEAD_LEN - 2 - 11 - 1));
    }
}
