// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starting: instructions from the kernel's entry to the program, and time from the command to its end.
//!
//! A QEMU plugin (`plugin/path.c`) counts; the clock of `-icount` cannot, because it also advances while a CPU waits.
//! The counts are those of all CPUs together, which take turns in one thread of QEMU's. Between two runs the numbers
//! differ by a few thousand: the host answers requests for files when it can, so the CPU is interrupted at different
//! places.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};

use crate::catalogue::Shape;
use crate::hadal::{self, Hadal};
use crate::initramfs::Init;
use crate::linux::Guest;
use crate::packages::Linux;
use crate::place::Place;
use crate::protocol::Line;
use crate::results::Mode;
use crate::toolchain::{Program, Toolchain};
use crate::{host, timed};

/// Runs of each kind: the counts hardly vary.
const PATH_RUNS: u32 = 5;
/// Runs of each kind in a turn.
const TIME_RUNS: u32 = 3;

/// For a host that others use, too.
const RUN_LIMIT: Duration = Duration::from_secs(60);
/// On a busy host QEMU's turns of several CPUs now and then stand still; such a run is made again.
const ATTEMPTS: u32 = 3;

const SOURCE: &str = "bench/programs/hello.c";
const GREETING: &str = "hello\n";

/// How QEMU runs several CPUs in turns, and counts. Of two accelerators it takes the first. Time goes on while all CPUs
/// wait: if it jumped, time-outs would pass while the host answers.
const COUNTING: &str = "-accel tcg,thread=single -icount shift=0";

/// The processor of path mode, where the bytes of `rep movsb` are not to be counted one by one. Of two it takes the last.
const COUNTING_CPU: &str = "-cpu max,erms=off,fsrm=off";

/// The note in which a kernel names its PVH entry.
const XEN_NOTE_PHYS32_ENTRY: u32 = 18;

/// A command that the `hadal` command runs in QEMU's place: QEMU with the plugin, counting.
fn counting_qemu(qemu: &str, plugin: &str) -> Result<String> {
    let words = shlex::try_join([qemu]).context("a NUL in a path")?;
    let plugin = shlex::try_join([plugin]).context("a NUL in a path")?;
    Ok(format!("#!/bin/sh\nexec {words} {COUNTING} -plugin {plugin} \"$@\" {COUNTING_CPU}\n"))
}

/// Instructions to a program, static and dynamic.
pub(crate) fn path(hadal: &Hadal, toolchain: &Toolchain, shape: Shape) -> Result<Vec<Line>> {
    let plugin = toolchain.counting_plugin(plugin_api(&host::first_line_of(hadal.qemu(), "--version")?)?)?;
    let fixed = toolchain.compile("hello-static", SOURCE, &["-static"])?;
    let mut lines = vec![count_runs(hadal, &plugin, &fixed, shape, "boot.entry_to_main", |counts| {
        counts.to_first_instruction
    })?];
    if shape.cpus == 1 {
        let dynamic = toolchain.compile("hello", SOURCE, &[])?;
        lines.push(count_runs(hadal, &plugin, &dynamic, shape, "boot.entry_to_main_dynamic", |counts| {
            counts.to_own_entry
        })?);
    }
    Ok(lines)
}

fn count_runs(
    hadal: &Hadal,
    plugin: &Path,
    program: &Program,
    shape: Shape,
    name: &str,
    choose: impl Fn(&Counts) -> u64,
) -> Result<Line> {
    let places = Places::find(hadal, program, shape)?;
    let runs = (0..PATH_RUNS).map(|_| Ok(choose(&count(hadal, plugin, program, shape, &places)?) as f64));
    let samples = runs.collect::<Result<_>>()?;
    let (name, unit) = (name.to_owned(), "instructions".to_owned());
    Ok(Line { name, unit, cpus: shape.cpus, samples, overhead: 0.0, answer: None, skipped: None })
}

/// Time from command to exit of a dynamic hello.
pub(crate) fn time(
    hadal: &Hadal,
    toolchain: &Toolchain,
    linux: Option<&Linux>,
    place: Place,
    shape: Shape,
) -> Result<Vec<Line>> {
    let hello = toolchain.compile("hello", SOURCE, &[])?;
    let guest = match place {
        Place::Linux => {
            let linux = linux.context("the Linux guest was not asked for")?;
            let line = hadal.qemu_line(Mode::Parallel, shape)?;
            Some(Guest::new(linux, &line, "", Init::Bare, std::slice::from_ref(&hello))?)
        }
        _ => None,
    };
    let mut samples = Vec::new();
    // The first run of each fills the host's file cache and is not counted.
    for _ in 0..=TIME_RUNS {
        let ended = match &guest {
            Some(guest) => guest.run()?,
            None => hadal::checked(hadal.run(Mode::Parallel, shape, &[], &hello.words())?)?,
        };
        ensure!(ended.stdout.contains(GREETING), "hello printed {:?}", ended.stdout);
        samples.push(ended.seconds * 1e9);
    }
    samples.remove(0);
    let (name, unit) = ("boot.time".to_owned(), "ns".to_owned());
    Ok(vec![Line { name, unit, cpus: shape.cpus, samples, overhead: 0.0, answer: None, skipped: None }])
}

/// Addresses that the way to a program passes, in this order; they are the same in every run.
struct Places {
    kernel_entry: u64,
    /// Of the interpreter, if there is one.
    first_instruction: u64,
    /// The ELF file's entry, after the interpreter.
    own_entry: u64,
}

impl Places {
    fn find(hadal: &Hadal, program: &Program, shape: Shape) -> Result<Self> {
        let kernel = hadal.qemu_line(Mode::Parallel, shape)?.kernel;
        let ended = hadal.run(Mode::Parallel, shape, &["--log", "info"], &program.words())?;
        let log = hadal::checked(ended)?.stderr;
        let (first_instruction, moved_by) = start_in_log(&log)?;
        let file = read(&program.file)?;
        let header = FileHeader64::<LittleEndian>::parse(&*file).context("not an ELF program")?;
        let own_entry = header.e_entry(LittleEndian) + moved_by;
        Ok(Self { kernel_entry: pvh_entry(&read(&kernel)?)?, first_instruction, own_entry })
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Start address and load offset, from the kernel's line about them.
fn start_in_log(log: &str) -> Result<(u64, u64)> {
    let line =
        log.lines().find_map(|line| line.split_once("program starts at ")).context("no start in the log")?.1;
    let mut numbers = line.split(|c: char| !c.is_ascii_alphanumeric()).filter_map(|word| {
        let digits = word.strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok()
    });
    Ok((numbers.next().context("no address in the log")?, numbers.next().unwrap_or(0)))
}

/// Where QEMU enters a kernel.
fn pvh_entry(kernel: &[u8]) -> Result<u64> {
    let header = FileHeader64::<LittleEndian>::parse(kernel).context("the kernel is not an ELF file")?;
    for segment in
        header.program_headers(LittleEndian, kernel).context("the kernel has no program headers")?
    {
        let Ok(Some(mut notes)) = segment.notes(LittleEndian, kernel) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"Xen" && note.n_type(LittleEndian).0 == XEN_NOTE_PHYS32_ENTRY {
                let bytes = note.desc().first_chunk().context("the kernel's PVH note is short")?;
                return Ok(u64::from(u32::from_le_bytes(*bytes)));
            }
        }
    }
    bail!("the kernel has no PVH entry")
}

struct Counts {
    to_first_instruction: u64,
    to_own_entry: u64,
}

/// One run under the plugin.
fn count(hadal: &Hadal, plugin: &Path, program: &Program, shape: Shape, places: &Places) -> Result<Counts> {
    let dir = tempfile::tempdir().context("cannot make a directory for the counts")?;
    let (out, qemu) = (dir.path().join("counts"), dir.path().join("qemu"));
    let mut option = format!("{},out={}", escape_commas(plugin.as_os_str()), escape_commas(out.as_os_str()));
    for address in [places.kernel_entry, places.first_instruction, places.own_entry] {
        option += &format!(",at={address:#x}");
    }
    fs::write(&qemu, counting_qemu(&hadal.qemu().to_string_lossy(), &option)?)
        .context("cannot write a script")?;
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).context("cannot write a script")?;
    let qemu = qemu.to_str().context("the directory for temporary files is not UTF-8")?;
    let mut command = hadal.command(Mode::Parallel, shape, &["--qemu", qemu], &program.words());
    let mut ended = timed::run(&mut command, RUN_LIMIT);
    for _ in 1..ATTEMPTS {
        if ended.is_err() {
            ended = timed::run(&mut command, RUN_LIMIT);
        }
    }
    hadal::checked(ended?)?;
    let text = fs::read_to_string(&out).context("the plugin counted nothing")?;
    let at =
        |address: u64| count_at(&text, address).with_context(|| format!("{address:#x} was never reached"));
    let entry = at(places.kernel_entry)?;
    Ok(Counts {
        to_first_instruction: at(places.first_instruction)? - entry,
        to_own_entry: at(places.own_entry)? - entry,
    })
}

fn count_at(text: &str, address: u64) -> Option<u64> {
    let mark = format!("{address:#x} ");
    text.lines().find_map(|line| line.strip_prefix(&mark)?.parse().ok())
}

/// A value inside a QEMU option list, where a comma is written twice.
fn escape_commas(value: &OsStr) -> String {
    value.to_string_lossy().replace(',', ",,")
}

/// The oldest version of the plugin interface that a QEMU takes.
fn plugin_api(version: &str) -> Result<u32> {
    let number = version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let major = number.and_then(|number| number.split('.').next()?.parse::<u32>().ok());
    let major = major.with_context(|| format!("no version of QEMU in '{version}'"))?;
    Ok(if major < 9 { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_in_the_log() {
        let log = "[ 0.1] cpu0 info: 2 CPUs\n[ 0.2] kernel: program starts at 0x7f10, moved by 0x5000\n";
        assert_eq!(start_in_log(log).unwrap(), (0x7f10, 0x5000));
        assert!(start_in_log("nothing").is_err());
    }

    #[test]
    fn counts_by_address() {
        let text = "0x100050 57\n0x401000 1957\n";
        assert_eq!(
            (count_at(text, 0x100050), count_at(text, 0x401000), count_at(text, 0x10)),
            (Some(57), Some(1957), None)
        );
    }

    #[test]
    fn a_machine_is_made_to_count() {
        let script = counting_qemu("/opt/my qemu", "/p.so,out=/o").unwrap();
        let line = script.lines().last().unwrap();
        assert!(line.starts_with("exec '/opt/my qemu' -accel tcg,thread=single -icount"), "{line}");
        assert!(
            line.contains("/p.so,out=/o") && line.ends_with(" \"$@\" -cpu max,erms=off,fsrm=off"),
            "{line}"
        );
    }

    #[test]
    fn versions_of_the_plugin_interface() {
        assert_eq!(plugin_api("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)").unwrap(), 1);
        assert_eq!(plugin_api("QEMU emulator version 10.0.2").unwrap(), 2);
        assert!(plugin_api("no").is_err());
    }
}
