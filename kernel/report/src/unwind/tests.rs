// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Backtraces of real processes: a C program stops a few calls deep, and the test looks at its memory through `/proc`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hadal_mem::space::{Name, Prot, SourceId, VmaFlags, VmaInfo};

use super::*;
use crate::elf::Content;
use crate::symbols::Names;
use crate::view::listed;

const PAUSE: &str = "34";

const SOURCE: &str = r#"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int depth;
__attribute__((noinline, noclone)) void innermost(int n) { char text[n]; text[0] = 0; pause(); depth = text[0]; }
__attribute__((noinline, noclone)) void middle(int n) { innermost(n + 16); depth++; }
__attribute__((noinline, noclone)) void outer(int n) { middle(2 * n); depth++; }
__attribute__((noinline, noclone)) int compare(const void *a, const void *b) { outer(8); return a < b; }
__attribute__((noinline, noclone)) void handler(int signo) { outer(signo); depth++; }
__attribute__((noinline, noclone)) void crash(volatile int *at) { *at = 1; depth++; }
int main(int argc, char **argv) {
    int items[] = {3, 2, 1};
    if (argv[1][0] == 's') {
        signal(SIGSEGV, handler);
        crash(NULL);
    } else {
        qsort(items, 3, sizeof items[0], compare);
    }
    return items[0];
}
"#;

/// A program with frames to look at; its files go when the test ends.
struct Program(PathBuf);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn build(options: &[&str]) -> Program {
    let name = format!("hadal-unwind-{}{}", std::process::id(), options.concat());
    let program = Program(std::env::temp_dir().join(name));
    let source = program.0.with_extension("c");
    fs::write(&source, SOURCE).unwrap();
    let status =
        Command::new("gcc").args(options).arg("-w").arg("-o").args([&program.0, &source]).status().unwrap();
    fs::remove_file(source).unwrap();
    assert!(status.success());
    program
}

struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program until it waits in `pause`; returns it with instruction and stack pointer.
fn stop(program: &Path, mode: &str) -> (Stopped, u64, u64) {
    let child = Command::new(program).arg(mode).stdout(Stdio::null()).spawn().unwrap();
    let child = Stopped(child);
    for _ in 0..500 {
        let text = fs::read_to_string(format!("/proc/{}/syscall", child.0.id())).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.first() == Some(&PAUSE) {
            let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
            return (child, number(words[8]), number(words[7]));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the program does not get to its pause");
}

fn mappings(pid: u32) -> Vec<VmaInfo> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let parse = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (start, end) = words[0].split_once('-').unwrap();
        let mut prot = Prot::empty();
        prot.set(Prot::READ, words[1].contains('r'));
        prot.set(Prot::WRITE, words[1].contains('w'));
        prot.set(Prot::EXEC, words[1].contains('x'));
        let name = match words.get(5) {
            Some(path) if path.starts_with('/') => Name::Path((*path).into()),
            Some(&"[vdso]") => Name::Static("[vdso]"),
            _ => Name::None,
        };
        VmaInfo {
            start: usize::from_str_radix(start, 16).unwrap(),
            end: usize::from_str_radix(end, 16).unwrap(),
            prot,
            shared: false,
            flags: VmaFlags::empty(),
            offset: u64::from_str_radix(words[2], 16).unwrap(),
            id: SourceId::default(),
            name,
        }
    };
    // The last page of the address space is the kernel's.
    maps.lines().map(parse).filter(|vma| vma.start < 1 << 47).collect()
}

fn open(name: &Name) -> Option<Content> {
    let Name::Path(path) = name else { return None };
    let file = File::open(&**path).ok()?;
    Some(Box::new(move |offset, buffer| file.read_exact_at(buffer, offset).is_ok()))
}

/// The names of the functions of a stopped program, innermost first. `memory` says whether its memory may be read or only
/// its stack.
fn functions(program: &Program, mode: &str, all_memory: bool) -> Vec<String> {
    let (child, ip, sp) = stop(&program.0, mode);
    let memory = File::open(format!("/proc/{}/mem", child.0.id())).unwrap();
    let maps = mappings(child.0.id());
    let code: Vec<_> = maps
        .iter()
        .filter(|vma| !vma.prot.contains(Prot::WRITE))
        .map(|vma| vma.start as u64..vma.end as u64)
        .collect();
    let read = move |address: u64, buffer: &mut [u8]| {
        let resident = all_memory || !code.iter().any(|range| range.contains(&address));
        resident && memory.read_exact_at(buffer, address).is_ok()
    };
    let view = View::new(listed(maps), Box::new(read), Box::new(open));
    let frames = frames(&view, Registers::new(ip, sp, None));
    let names = Names::of(&view, frames.iter());
    let name = |frame: &Frame| {
        let place = names.get(frame.address).unwrap();
        format!("{}{}", place.function().unwrap_or("?"), if frame.guessed { " guessed" } else { "" })
    };
    frames.iter().map(name).collect()
}

fn assert_chain(found: &[String], wanted: &[&str]) {
    let start = found.iter().position(|name| name == wanted[0]);
    let Some(start) = start else { panic!("no {} in {found:?}", wanted[0]) };
    let mut rest = found[start..].iter();
    for name in wanted {
        assert!(rest.any(|found| found == name), "no {name} in {found:?}");
    }
    assert!(start <= 2, "{found:?}");
}

const CALLS: [&str; 4] = ["innermost", "middle", "outer", "compare"];
const SIGNAL: [&str; 6] = ["innermost", "middle", "outer", "handler", "crash", "main"];

#[test]
fn dynamic_programs() {
    let program = build(&["-O2"]);
    let found = functions(&program, "calls", true);
    assert_chain(&found, &[&CALLS[..], &["qsort_r", "main"]].concat());
    assert!(found.iter().all(|name| !name.ends_with("guessed")), "{found:?}");
    assert_chain(&functions(&program, "signal", true), &SIGNAL);
}

#[test]
fn programs_whose_tables_are_not_in_memory() {
    let program = build(&["-O1"]);
    assert_chain(&functions(&program, "calls", false), &[&CALLS[..], &["main"]].concat());
}

#[test]
fn static_programs() {
    let program = build(&["-O2", "-static"]);
    assert_chain(&functions(&program, "calls", true), &[&CALLS[..], &["main"]].concat());
    assert_chain(&functions(&program, "signal", true), &SIGNAL);
}

#[test]
fn programs_without_tables() {
    let program = build(&["-O2", "-static", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]);
    let found = functions(&program, "calls", true);
    // Frames of the program's own code can only be guessed.
    for name in ["middle", "outer", "compare"] {
        assert!(found.iter().any(|found| found.starts_with(name)), "{found:?}");
    }
}

#[test]
fn garbage_ends_the_walk() {
    let code = VmaInfo {
        start: 0x1_0000,
        end: 0x2_0000,
        prot: Prot::READ | Prot::EXEC,
        shared: false,
        flags: VmaFlags::empty(),
        offset: 0,
        id: SourceId::default(),
        name: Name::None,
    };
    // Every word of memory is an address after a call.
    let read = |_: u64, buffer: &mut [u8]| {
        let pattern = 0x1_8000u64.to_le_bytes();
        buffer.iter_mut().zip(pattern.iter().cycle()).for_each(|(to, from)| *to = *from);
        if buffer.len() == 7 {
            buffer[2] = 0xe8;
        }
        true
    };
    let view = View::new(listed([code].into()), Box::new(read), Box::new(|_| None));
    for registers in [
        Registers::new(0x1_4000, u64::MAX - 7, Some(0)),
        Registers::new(0, 3, Some(u64::MAX)),
        Registers::new(0x1_0000, 0x5000, Some(0x6000)),
    ] {
        assert!(frames(&view, registers).len() <= MAX_FRAMES);
    }
}
