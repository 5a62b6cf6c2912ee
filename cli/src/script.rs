// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scripts: files whose first line, `#!`, names the program that interprets them. The line is read as Linux reads it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of a file that Linux looks at (`BINPRM_BUF_SIZE`).
const HEAD_LEN: usize = 256;

/// Most scripts that interpret each other, as on Linux.
pub(crate) const MOST_NESTED: usize = 5;

/// What the first line of a script says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The interpreter, as written.
    pub(crate) interpreter: PathBuf,
    /// All the rest of the line, if there is any, as one argument.
    pub(crate) argument: Option<OsString>,
}

/// Characters that `env -S` gives a meaning (env(1)).
const SPLIT_SYNTAX: &[u8] = b"\\'\"$#";

impl Script {
    /// The command that `env` would become, with the arguments in front of the script's name; `None` where the interpreter is
    /// another, or has something else to do first: options, settings, quotes.
    pub(crate) fn command_of_env(&self) -> Option<Vec<OsString>> {
        if !["/usr/bin/env", "/bin/env"].iter().any(|env| self.interpreter == Path::new(env)) {
            return None;
        }
        let argument = self.argument.as_ref()?.as_bytes();
        let words: Vec<&[u8]> = match argument.strip_prefix(b"-S") {
            Some(split) if split.iter().any(|byte| SPLIT_SYNTAX.contains(byte)) => return None,
            Some(split) => split.split(|&byte| is_blank(byte)).filter(|word| !word.is_empty()).collect(),
            None => vec![argument],
        };
        let name = words.first()?;
        let is_name =
            !name.starts_with(b"-") && !name.contains(&b'=') && !name.iter().any(|&byte| is_blank(byte));
        is_name.then(|| words.iter().map(|word| OsStr::from_bytes(word).to_owned()).collect())
    }
}

/// Why a first line names no interpreter: Linux answers `ENOEXEC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScriptError {
    #[error("is a script whose first line names no interpreter")]
    NoName,
    #[error("is a script whose first line is longer than 255 bytes before the interpreter's name ends")]
    TooLong,
}

/// Reads the first line of a file; `None` if it is no script.
pub(crate) fn read(file: &Path) -> io::Result<Option<Result<Script, ScriptError>>> {
    let mut head = Vec::new();
    File::open(file)?.take(HEAD_LEN as u64).read_to_end(&mut head)?;
    Ok(parse(&head))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Reads the first bytes of a file.
fn parse(head: &[u8]) -> Option<Result<Script, ScriptError>> {
    let text = head.strip_prefix(b"#!")?;
    let line = match text.iter().position(|&byte| byte == b'\n') {
        Some(end) => &text[..end],
        // Behind a short file Linux sees zeros, which end the name.
        None if head.len() < HEAD_LEN => text,
        None => {
            let name = text.trim_ascii_start();
            if !name.iter().any(|&byte| is_blank(byte) || byte == 0) {
                return Some(Err(ScriptError::TooLong));
            }
            text
        }
    };
    let line = &line[..line.iter().position(|&byte| byte == 0).unwrap_or(line.len())];
    let start = line.iter().position(|&byte| !is_blank(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    let line = &line[start..end];
    if line.is_empty() {
        return Some(Err(ScriptError::NoName));
    }
    let (name, rest) = line.split_at(line.iter().position(|&byte| is_blank(byte)).unwrap_or(line.len()));
    let argument = rest.iter().position(|&byte| !is_blank(byte)).map(|start| &rest[start..]);
    Some(Ok(Script {
        interpreter: PathBuf::from(OsStr::from_bytes(name)),
        argument: argument.map(|argument| OsStr::from_bytes(argument).to_owned()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(interpreter: &str, argument: Option<&str>) -> Option<Result<Script, ScriptError>> {
        let argument = argument.map(OsString::from);
        Some(Ok(Script { interpreter: interpreter.into(), argument }))
    }

    #[test]
    fn lines_are_read_as_linux_reads_them() {
        assert_eq!(parse(b"#!/bin/sh\necho"), script("/bin/sh", None));
        assert_eq!(parse(b"#! \t/bin/sh  -e  x \t\n"), script("/bin/sh", Some("-e  x")));
        assert_eq!(parse(b"#!/bin/sh"), script("/bin/sh", None));
        assert_eq!(parse(b"#!/bin/sh\0 -e"), script("/bin/sh", None));
        assert_eq!(parse(b"#!/bin/sh\r\n"), script("/bin/sh\r", None));
        assert_eq!(parse(b"#!\n/bin/sh\n"), Some(Err(ScriptError::NoName)));
        assert_eq!(parse(b"#! \t \n"), Some(Err(ScriptError::NoName)));
        assert_eq!(parse(b"#!"), Some(Err(ScriptError::NoName)));
        assert_eq!(parse(b"echo\n#!/bin/sh"), None);
        assert_eq!(parse(b"#"), None);
    }

    #[test]
    fn env_becomes_its_command() {
        let command = |line: &str| {
            let words = parse(line.as_bytes()).unwrap().unwrap().command_of_env()?;
            Some(words.iter().map(|word| word.to_str().unwrap().to_owned()).collect::<Vec<_>>().join("|"))
        };
        assert_eq!(command("#!/usr/bin/env python3\n").as_deref(), Some("python3"));
        assert_eq!(command("#! /bin/env  sh\n").as_deref(), Some("sh"));
        assert_eq!(command("#!/usr/bin/env -S python3 -u  -O\n").as_deref(), Some("python3|-u|-O"));
        for other in
            ["/bin/sh x", "/usr/bin/env", "/usr/bin/env -i sh", "/usr/bin/env A=b", "/usr/bin/env sh -e"]
        {
            assert_eq!(command(&format!("#!{other}\n")), None);
        }
        for other in ["-S", "-S -i sh", "-S A=b sh", "-S sh 'a b'", "-S ${SHELL}"] {
            assert_eq!(command(&format!("#!/usr/bin/env {other}\n")), None);
        }
    }

    #[test]
    fn long_lines_are_cut_off_behind_the_name() {
        let line = |name: usize, rest: &str| {
            let text = format!("#!/{}{rest}", "x".repeat(name));
            text.as_bytes()[..text.len().min(HEAD_LEN)].to_vec()
        };
        assert_eq!(parse(&line(300, "")), Some(Err(ScriptError::TooLong)));
        let cut = parse(&line(10, &format!(" {}", "y".repeat(300)))).unwrap().unwrap();
        assert_eq!(cut.argument.map(|argument| argument.len()), Some(HEAD_LEN - 2 - 11 - 1));
    }
}
