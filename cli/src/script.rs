// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scripts: files whose first line, `#!`, names the program that interprets them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) use hadal_abi::script::MOST_NESTED;
use hadal_abi::script::{HEAD_LEN, Line, LineError, is_blank, parse};

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

impl From<Line<'_>> for Script {
    fn from(line: Line<'_>) -> Self {
        Self {
            interpreter: PathBuf::from(OsStr::from_bytes(line.interpreter)),
            argument: line.argument.map(|argument| OsStr::from_bytes(argument).to_owned()),
        }
    }
}

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

/// Reads the first line of a file; `None` if it is no script.
pub(crate) fn read(file: &Path) -> io::Result<Option<Result<Script, LineError>>> {
    let mut head = Vec::new();
    File::open(file)?.take(HEAD_LEN as u64).read_to_end(&mut head)?;
    Ok(parse(&head).map(|line| line.map(Script::from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn env_becomes_its_command() {
        let command = |line: &str| {
            let words = Script::from(parse(line.as_bytes()).unwrap().unwrap()).command_of_env()?;
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
}
