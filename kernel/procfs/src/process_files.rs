// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The plain files of a process's or thread's directory in `/proc`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use hadal_hal::memory::fallible;
use hadal_linux::family;
use hadal_linux::process::{Process, UNLIMITED};
use hadal_linux::program::Program;
use hadal_linux::task::{NAME_LEN, Task};
use hadal_vfs::Result;

use crate::{maps, mounts, status};

/// A file: its content for a process, one of its threads, and whether it is asked for that thread alone.
pub(super) struct ProcessFile {
    pub(super) name: &'static str,
    pub(super) mode: u32,
    pub(super) content: fn(&Process, &Task, bool) -> Result<Vec<u8>>,
}

const fn public(name: &'static str, content: fn(&Process, &Task, bool) -> Result<Vec<u8>>) -> ProcessFile {
    ProcessFile { name, mode: 0o444, content }
}

const fn private(name: &'static str, content: fn(&Process, &Task, bool) -> Result<Vec<u8>>) -> ProcessFile {
    ProcessFile { name, mode: 0o400, content }
}

pub(super) static FILES: [ProcessFile; 16] = [
    private("auxv", |process, _, _| Ok(process.auxiliary.lock().clone())),
    public("cmdline", |process, _, _| texts_of(process, |program| &program.arguments)),
    public("cpuset", |_, _, _| Ok(b"/\n".to_vec())),
    private("environ", |process, _, _| texts_of(process, |program| &program.environment)),
    public("limits", |process, _, _| Ok(limits(process).into_bytes())),
    public("loginuid", |_, _, _| Ok(b"4294967295".to_vec())),
    public("maps", |process, _, _| maps::maps(process)),
    public("mountinfo", |process, _, _| Ok(mounts::mountinfo(process))),
    public("mounts", |process, _, _| Ok(mounts::mounts(process))),
    public("oom_score", |_, _, _| Ok(b"0\n".to_vec())),
    public("oom_score_adj", |_, _, _| Ok(b"0\n".to_vec())),
    public("stat", |process, task, of_thread| Ok(status::stat(process, task, of_thread))),
    public("statm", |process, _, _| Ok(status::statm(process).into_bytes())),
    public("status", |process, task, _| Ok(status::status(process, task).into_bytes())),
    public("wchan", |_, task, _| Ok(wait_channel(task).into_bytes())),
    public("numa_maps", |process, task, _| maps::numa_maps(process, task)),
];

/// The name of a thread, and a newline.
pub(super) fn comm(task: &Task) -> Vec<u8> {
    let mut text = name_of(&task.name()).to_vec();
    text.push(b'\n');
    text
}

/// The name of a thread without padding.
pub(super) fn name_of(padded: &[u8; NAME_LEN]) -> &[u8] {
    let len = padded.iter().position(|&byte| byte == 0).unwrap_or(NAME_LEN);
    &padded[..len]
}

/// Texts of a process's program: none when it has ended, and waits to be waited for.
fn texts_of(process: &Process, which: fn(&Program) -> &Vec<Vec<u8>>) -> Result<Vec<u8>> {
    if family::is_alive(process) { terminated(which(&process.program())) } else { Ok(Vec::new()) }
}

/// Texts, each with its NUL. A program chooses how long they are.
fn terminated(texts: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut all = fallible::room_for(texts.iter().map(|text| text.len() + 1).sum())?;
    for text in texts {
        all.extend_from_slice(text);
        all.push(0);
    }
    Ok(all)
}

fn wait_channel(task: &Task) -> String {
    match task.thread().waits_for().filter(|_| task.thread().is_parked()) {
        Some((what, _)) => String::from(*what),
        None => String::from("0"),
    }
}

/// Names and units of the limits, by number.
const LIMITS: [(&str, &str); 16] = [
    ("Max cpu time", "seconds"),
    ("Max file size", "bytes"),
    ("Max data size", "bytes"),
    ("Max stack size", "bytes"),
    ("Max core file size", "bytes"),
    ("Max resident set", "bytes"),
    ("Max processes", "processes"),
    ("Max open files", "files"),
    ("Max locked memory", "bytes"),
    ("Max address space", "bytes"),
    ("Max file locks", "locks"),
    ("Max pending signals", "signals"),
    ("Max msgqueue size", "bytes"),
    ("Max nice priority", ""),
    ("Max realtime priority", ""),
    ("Max realtime timeout", "us"),
];

fn limits(process: &Process) -> String {
    let values = *process.limits.lock();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:<25} {:<20} {:<20} {:<10}", "Limit", "Soft Limit", "Hard Limit", "Units");
    for ((name, unit), limit) in LIMITS.iter().zip(values) {
        let (soft, hard) = (limit_text(limit.soft), limit_text(limit.hard));
        let _ = writeln!(text, "{name:<25} {soft:<20} {hard:<20} {unit:<10}");
    }
    text
}

fn limit_text(value: u64) -> String {
    if value == UNLIMITED { String::from("unlimited") } else { alloc::format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_texts_are_terminated() {
        let texts = [b"a".to_vec(), Vec::new(), b"bc".to_vec()];
        assert_eq!(terminated(&texts).as_deref(), Ok(&b"a\0\0bc\0"[..]));
    }
}
