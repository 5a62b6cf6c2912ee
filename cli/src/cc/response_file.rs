// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Response files: `@FILE` on a compiler's command line stands for the words in that file.
//!
//! They are not a shell's words, which `shlex` reads elsewhere in the command: a backslash keeps the next character inside
//! quotes of both kinds, too, and `#` begins no comment (GCC manual, "Overall Options"; clang follows it. GCC 15 reads a
//! backslash inside quotes as a shell does).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Deepest file that names another one; a file that names itself stays for the compiler to complain.
const DEPTH_MAX: u32 = 32;

/// Replaces `@FILE` by the words in that file. What cannot be read stays as it is, as compilers leave it.
pub(super) fn expand(args: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::new();
    add(&mut out, args, DEPTH_MAX);
    out
}

fn add(out: &mut Vec<OsString>, args: Vec<OsString>, depth: u32) {
    for arg in args {
        let file = arg.as_bytes().strip_prefix(b"@").filter(|_| depth > 0).map(OsStr::from_bytes);
        match file.and_then(|file| fs::read(file).ok()) {
            Some(content) => add(out, words(&content), depth - 1),
            None => out.push(arg),
        }
    }
}

/// Words of a response file: separated by white space, quotes keep it, a backslash keeps any character.
fn words(content: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(byte),
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn quotes_and_backslashes_keep_what_they_stand_before() {
        assert_eq!(words(b" a 'b c'\n\"d\\\"e\" f\\ g ''"), ["a", "b c", "d\"e", "f g", ""]);
    }

    #[test]
    fn they_are_not_the_words_of_a_shell() {
        let text = r#"-DB="p\q" '-DC=s\'t' -d #e"#;
        assert_eq!(words(text.as_bytes()), ["-DB=pq", "-DC=s't", "-d", "#e"]);
        assert_ne!(shlex::split(text).unwrap_or_default(), ["-DB=pq", "-DC=s't", "-d", "#e"]);
    }

    /// GCC shows which arguments it hands to the compiler proper: each `-D` and its value.
    #[test]
    fn gcc_reads_the_same_words() {
        if crate::paths::find_command("gcc").is_none() {
            eprintln!("skipped: no gcc on this machine");
            return;
        }
        let text = "-DA='b c'\t\"-DB=d\\\"e\" -DC=f\\ g\n\n-D'E'=#1 -DF=#x -DG=\\\\ -DH=\"'\" -DI=";
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("args");
        fs::write(&file, text).unwrap();
        let output = Command::new("gcc")
            .args(["-wrapper", "printf,<%s>\\n", "-E", "-x", "c", "/dev/null"])
            .arg(format!("@{}", file.display()))
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        let theirs: Vec<String> = lines
            .windows(2)
            .filter(|pair| pair[0] == "<-D>")
            .map(|pair| format!("-D{}", pair[1].trim_matches(['<', '>'])))
            .collect();
        assert_eq!(words(text.as_bytes()), theirs.iter().map(OsString::from).collect::<Vec<_>>(), "{said}");
        assert_eq!(theirs.len(), 8);
    }

    #[test]
    fn files_may_name_files_and_even_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let name = |file: &str| format!("@{}", dir.path().join(file).display());
        fs::write(dir.path().join("outer"), format!("a {} d", name("inner"))).unwrap();
        fs::write(dir.path().join("inner"), "'b c'").unwrap();
        fs::write(dir.path().join("self"), name("self")).unwrap();
        assert_eq!(expand(vec![name("outer").into()]), ["a", "b c", "d"]);
        assert_eq!(expand(vec![name("self").into()]), [OsString::from(name("self"))]);
        assert_eq!(expand(vec!["@/no/such/file".into()]), ["@/no/such/file"]);
    }
}
