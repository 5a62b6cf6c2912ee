// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Path length: instructions that one CPU executes between places of the way from the kernel's entry to the
//! program.
//!
//! A QEMU plugin (`plugin/path.c`, compiled here) counts; the clock of `-icount` cannot, because it also
//! advances while the CPU waits. Between two runs the numbers differ by a few thousand: the host answers
//! requests for files when it can, so the CPU is interrupted at different places.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};

use crate::figures::{Figure, Goal, Samples, Unit};
use crate::hadal::{self, Hadal};
use crate::programs::Program;
use crate::{host, timed};

/// The count hardly varies.
pub(crate) const ENOUGH_RUNS: u32 = 5;

/// Most instructions up to the program's first one.
const GOAL_INSTRUCTIONS: f64 = 5e6;

const RUN_LIMIT: Duration = Duration::from_secs(120);

/// In the environment of the `hadal` command: the QEMU to become, and the plugin's option.
const QEMU_VARIABLE: &str = "HADAL_BENCH_QEMU";
const PLUGIN_VARIABLE: &str = "HADAL_BENCH_PLUGIN";

/// The note in which a kernel names its PVH entry.
const XEN_NOTE_PHYS32_ENTRY: u32 = 18;

/// When this process was started in QEMU's place: becomes QEMU, with the plugin. Returns only why it could
/// not.
pub(crate) fn become_qemu_if_asked() -> Option<io::Error> {
    let (qemu, plugin) = (env::var_os(QEMU_VARIABLE)?, env::var_os(PLUGIN_VARIABLE)?);
    Some(Command::new(qemu).args(env::args_os().skip(1)).arg("-plugin").arg(plugin).exec())
}

pub(crate) fn measure(hadal: &Hadal, runs: u32) -> Result<Vec<Figure>> {
    let dir = tempfile::tempdir().context("cannot make a directory for the plugin")?;
    let plugin = compile_plugin(hadal.qemu(), dir.path())?;
    let fixed = Program::compile("hello-static", "bench/programs/hello.c", &["-static"])?;
    let dynamic = Program::compile("hello", "bench/programs/hello.c", &[])?;
    let goal = Goal::AtMost(GOAL_INSTRUCTIONS);
    let mut figures = Vec::new();
    for (program, kind) in [(&fixed, "static"), (&dynamic, "dynamic")] {
        let places = Places::find(hadal, program)?;
        let (mut to_start, mut to_own) = (Samples::default(), Samples::default());
        for run in 1..=runs {
            let counts = count(hadal, &plugin, program, &places)?;
            to_start.push_count(counts.to_first_instruction);
            to_own.push_count(counts.to_own_entry);
            eprintln!("path {kind} {run}/{runs}: {} instructions", counts.to_first_instruction);
        }
        let figure = |name: &str, hadal, goal| Figure {
            name: format!("path: kernel entry to {name}, {kind} hello"),
            unit: Unit::Instructions,
            hadal,
            linux: None,
            goal,
        };
        figures.push(figure("the first instruction", to_start, goal));
        if places.own_entry != places.first_instruction {
            figures.push(figure("the program's own entry, after ld.so", to_own, Goal::None));
        }
    }
    Ok(figures)
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
    fn find(hadal: &Hadal, program: &Program) -> Result<Self> {
        let kernel = hadal.qemu_line(&program.words())?.kernel;
        let log = hadal.run(&["--log", "info"], &program.words())?.stderr;
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
fn count(hadal: &Hadal, plugin: &Path, program: &Program, places: &Places) -> Result<Counts> {
    let out = plugin.with_extension("txt");
    let mut option = escape_commas(plugin.as_os_str());
    option.push(",out=");
    option.push(escape_commas(out.as_os_str()));
    for address in [places.kernel_entry, places.first_instruction, places.own_entry] {
        option.push(format!(",at={address:#x}"));
    }
    let this_program = env::current_exe().context("cannot find this program's file")?;
    let mut command = hadal.counting_command(&this_program, &program.words());
    command.env(QEMU_VARIABLE, hadal.qemu()).env(PLUGIN_VARIABLE, option);
    hadal::checked(timed::run(&mut command, RUN_LIMIT)?)?;
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
fn escape_commas(value: &OsStr) -> OsString {
    value.to_string_lossy().replace(',', ",,").into()
}

fn compile_plugin(qemu: &Path, dir: &Path) -> Result<PathBuf> {
    let file = dir.join("path.so");
    let version = host::first_line_of(qemu, "--version")?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", "-o"]).arg(&file);
    compiler.arg(format!("-DPLUGIN_API={}", plugin_api(&version)?));
    compiler.arg(host::repository().join("bench/plugin/path.c"));
    host::run_tool(&mut compiler, "install gcc and libc6-dev")?;
    Ok(file)
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
    fn versions_of_the_plugin_interface() {
        assert_eq!(plugin_api("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)").unwrap(), 1);
        assert_eq!(plugin_api("QEMU emulator version 10.0.2").unwrap(), 2);
        assert!(plugin_api("no").is_err());
    }
}
