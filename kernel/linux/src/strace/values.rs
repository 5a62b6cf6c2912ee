// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One argument as text.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use super::Arg;
use super::flags::{self, FlagSet};
use super::signature::Words;
use crate::signal::number;
use crate::{Errno, Result, memory};

/// Bytes of data that are shown.
const DATA_SHOWN: usize = 32;
/// Bytes of a path that are shown.
const PATH_SHOWN: usize = 4096;

/// Appends argument `index` of a call; `result` is known for those that show what the call has stored.
pub(super) fn show(line: &mut String, arg: &Arg, words: &Words, index: usize, result: Result<usize>) {
    let word = words[index];
    // Writing to a string cannot fail.
    let _ = match arg {
        Arg::Int => write!(line, "{}", word as u32 as i32),
        Arg::Word => write!(line, "{}", word as isize),
        Arg::Size => write!(line, "{word}"),
        Arg::Hex if word == 0 => line.write_str("0"),
        Arg::Hex => write!(line, "{word:#x}"),
        Arg::Octal => write!(line, "{:#05o}", word as u32).map(|()| fix_octal(line)),
        Arg::Address => address(line, word),
        Arg::Directory if word as u32 as i32 == flags::AT_FDCWD => line.write_str("AT_FDCWD"),
        Arg::Directory => write!(line, "{}", word as u32 as i32),
        Arg::Path => path(line, word),
        Arg::Input(len_index) => data(line, word, words[*len_index]),
        Arg::Output => match result {
            Ok(count) => data(line, word, count),
            Err(_) => address(line, word),
        },
        Arg::Flags(set) => flag_set(line, set, word as u64),
        Arg::Choice(names) => choice(line, names, word as u64),
        Arg::Signal => signal(line, word),
        Arg::Time => time(line, word),
        Arg::SocketAddress(len_index) => socket_address(line, word, words[*len_index]),
        Arg::Pair => match result {
            Ok(_) => pair(line, word),
            Err(_) => address(line, word),
        },
        Arg::CloneArgs => clone_args(line, word),
    };
}

/// `{:#o}` of Rust starts with `0o`, which is not how C writes it.
fn fix_octal(line: &mut String) {
    if let Some(at) = line.rfind("0o") {
        line.replace_range(at..at + 2, "0");
    }
}

fn address(line: &mut String, word: usize) -> core::fmt::Result {
    if word == 0 { line.write_str("NULL") } else { write!(line, "{word:#x}") }
}

fn path(line: &mut String, word: usize) -> core::fmt::Result {
    match memory::read_string(&mut memory::Text::new(), word, PATH_SHOWN, Errno::ENAMETOOLONG) {
        Ok(text) => {
            quoted(line, text);
            Ok(())
        }
        Err(_) => address(line, word),
    }
}

fn data(line: &mut String, word: usize, len: usize) -> core::fmt::Result {
    let mut bytes = [0; DATA_SHOWN];
    let shown = &mut bytes[..len.min(DATA_SHOWN)];
    if memory::read_bytes(word, shown).is_err() {
        return address(line, word);
    }
    quoted(line, shown);
    if len > DATA_SHOWN { line.write_str("...") } else { Ok(()) }
}

/// Appends bytes as a C string literal.
fn quoted(line: &mut String, bytes: &[u8]) {
    line.push('"');
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' | b'\\' => line.extend(['\\', char::from(byte)]),
            b'\n' => line.push_str("\\n"),
            b'\t' => line.push_str("\\t"),
            b'\r' => line.push_str("\\r"),
            0x20..0x7f => line.push(char::from(byte)),
            _ => {
                // Short, unless a digit follows that would be taken for part of it.
                let digit_next = bytes.get(index + 1).is_some_and(u8::is_ascii_digit);
                let _ = if digit_next { write!(line, "\\{byte:03o}") } else { write!(line, "\\{byte:o}") };
            }
        }
    }
    line.push('"');
}

fn flag_set(line: &mut String, set: &FlagSet, word: u64) -> core::fmt::Result {
    let word = if set.is_int { u64::from(word as u32) } else { word };
    let mut rest = word & !set.base_mask;
    let mut parts: Vec<&str> = Vec::new();
    let base = word & set.base_mask;
    let named = set.base.iter().find(|&&(value, _)| value == base);
    match named {
        Some((_, name)) => parts.push(name),
        None => rest |= base,
    }
    for &(bits, name) in set.flags {
        if bits != 0 && rest & bits == bits {
            parts.push(name);
            rest &= !bits;
        }
    }
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            line.push('|');
        }
        line.push_str(part);
    }
    match (parts.is_empty(), rest) {
        (true, 0) => line.write_str("0"),
        (false, 0) => Ok(()),
        (true, rest) => write!(line, "{rest:#x}"),
        (false, rest) => write!(line, "|{rest:#x}"),
    }
}

fn choice(line: &mut String, names: &[(u64, &str)], word: u64) -> core::fmt::Result {
    match names.iter().find(|&&(value, _)| value as u32 == word as u32) {
        Some((_, name)) => line.write_str(name),
        None => write!(line, "{:#x}", word as u32),
    }
}

fn signal(line: &mut String, word: usize) -> core::fmt::Result {
    match u8::try_from(word).ok().and_then(number::name) {
        Some(name) => line.write_str(name),
        None => write!(line, "{}", word as u32 as i32),
    }
}

fn time(line: &mut String, word: usize) -> core::fmt::Result {
    if word == 0 {
        return address(line, word);
    }
    match memory::read::<[i64; 2]>(word) {
        Ok([seconds, nanoseconds]) => write!(line, "{{tv_sec={seconds}, tv_nsec={nanoseconds}}}"),
        Err(_) => address(line, word),
    }
}

/// Those of `AF_UNIX` by name; an abstract one has an `@`, as in strace.
fn socket_address(line: &mut String, word: usize, len: usize) -> core::fmt::Result {
    const UNIX: u16 = 1;
    const FAMILY_BYTES: usize = 2;
    let mut bytes = [0; FAMILY_BYTES + 108];
    let shown = &mut bytes[..len.min(FAMILY_BYTES + 108)];
    if memory::read_bytes(word, shown).is_err() {
        return address(line, word);
    }
    let Some((family, name)) = shown.split_first_chunk::<FAMILY_BYTES>() else { return address(line, word) };
    match u16::from_ne_bytes(*family) {
        UNIX => line.push_str("{sa_family=AF_UNIX"),
        other => return write!(line, "{{sa_family={other}}}"),
    }
    match name {
        [] => {}
        [0, name @ ..] => {
            line.push_str(", sun_path=@");
            quoted(line, name);
        }
        path => {
            line.push_str(", sun_path=");
            quoted(line, path.split(|&byte| byte == 0).next().unwrap_or(path));
        }
    }
    line.write_str("}")
}

fn pair(line: &mut String, word: usize) -> core::fmt::Result {
    match memory::read::<[i32; 2]>(word) {
        Ok([first, second]) => write!(line, "[{first}, {second}]"),
        Err(_) => address(line, word),
    }
}

/// The words of `struct clone_args` that matter.
fn clone_args(line: &mut String, word: usize) -> core::fmt::Result {
    const FLAGS: usize = 0;
    const STACK: usize = 5;
    const STACK_SIZE: usize = 6;
    const TLS: usize = 7;
    let Ok(words) = memory::read::<[u64; 8]>(word) else { return address(line, word) };
    line.write_str("{flags=")?;
    flag_set(line, &flags::CLONE, words[FLAGS])?;
    write!(line, ", stack={:#x}, stack_size={:#x}, tls={:#x}}}", words[STACK], words[STACK_SIZE], words[TLS])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(show: impl FnOnce(&mut String)) -> String {
        let mut line = String::new();
        show(&mut line);
        line
    }

    #[test]
    fn bytes_are_quoted_as_in_c() {
        assert_eq!(with(|line| quoted(line, b"a\"b\\\n\t")), r#""a\"b\\\n\t""#);
        assert_eq!(with(|line| quoted(line, b"\0\x011\xff")), r#""\0\0011\377""#);
    }

    #[test]
    fn flags_show_what_is_left_over() {
        let show = |set: &FlagSet, word| with(|line| flag_set(line, set, word).unwrap());
        assert_eq!(show(&flags::OPEN, 0), "O_RDONLY");
        assert_eq!(show(&flags::OPEN, 0o2000102), "O_RDWR|O_CREAT|O_CLOEXEC");
        assert_eq!(show(&flags::OPEN, 0x4000_0001), "O_WRONLY|0x40000000");
        assert_eq!(show(&flags::PROT, 0), "PROT_NONE");
        assert_eq!(show(&flags::PROT, 5), "PROT_READ|PROT_EXEC");
        assert_eq!(show(&flags::AT, 0), "0");
        assert_eq!(show(&flags::CLONE, 0x100 | 17), "SIGCHLD|CLONE_VM");
        assert_eq!(show(&flags::CLONE, 0x100), "CLONE_VM");
    }

    #[test]
    fn modes_are_octal() {
        let show = |mode| with(|line| show(line, &Arg::Octal, &[mode, 0, 0, 0, 0, 0], 0, Ok(0)));
        assert_eq!((show(0o644), show(0o1777), show(0)), ("0644".into(), "01777".into(), "0000".into()));
    }
}
