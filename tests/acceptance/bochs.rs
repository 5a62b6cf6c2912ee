// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A second judge: bochs, whose processors have what QEMU's translator lacks. Each machine starts from an ISO image of one
//! program. Most of it is for `hadal test --all`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use hadal_tests::bochs::{Bochs, Disc, MODELS};
use hadal_tests::case::expect_status;
use hadal_tests::machine::hadal;
use hadal_tests::programs::{
    AFFINITY, CALLS, DETACHED, EXIT_SPIN, HELLO, HRT_EVENTS, HRT_TIMERS, LOST_STACK, MANY, POINTERS, PREEMPT,
    Program, REDZONE, SIGNAL_VECTORS,
};
use hadal_tests::{Case, TestError, Way, run, scratch};

use crate::suite::Suite;

/// A virtual second takes some real ones for each CPU, and those have to be shared with other tests.
const LIMIT: Duration = Duration::from_secs(1800);
/// The last line that the kernel writes when a program has ended.
const ENDED: &str = "hadal: the program ended with status ";
/// The last line of the boot sector `bochs/monitor.s`.
const END_OF_CASES: &str = "end of the cases";

/// A program and its arguments.
type Line = (&'static str, &'static Program, Way, &'static [&'static str]);

/// What each machine runs.
const LINES: &[Line] = &[
    ("hello", &HELLO, Way::GccDynamic, &[]),
    ("openmp", &MANY, Way::GccDynamic, &["8"]),
    ("timers", &HRT_TIMERS, Way::GccDynamic, &[]),
    ("messages-and-memory", &HRT_EVENTS, Way::GccDynamic, &[]),
    ("preempt-vectors", &PREEMPT, Way::GccDynamic, &["vectors", "8"]),
    ("signal-vectors", &SIGNAL_VECTORS, Way::GccDynamic, &["4"]),
    ("preempt-fsbase", &PREEMPT, Way::GccDynamic, &["fsbase", "8"]),
    ("redzone-timer", &REDZONE, Way::GccDynamic, &["timer"]),
    ("redzone-pending", &REDZONE, Way::GccDynamic, &["pending"]),
    ("redzone-signal", &REDZONE, Way::GccDynamic, &["signal"]),
    ("redzone-altstack", &REDZONE, Way::GccDynamic, &["altstack"]),
    ("call-keeps-registers", &CALLS, Way::GccDynamic, &[]),
    ("call-without-stack", &LOST_STACK, Way::GccDynamic, &[]),
    ("detached-threads", &DETACHED, Way::MuslStatic, &["200"]),
    ("exit-while-spinning", &EXIT_SPIN, Way::GccDynamic, &["3"]),
    ("bad-pointers", &POINTERS, Way::GccDynamic, &[]),
    ("affinity", &AFFINITY, Way::GccDynamic, &[]),
];

/// What the kernel chooses on a model with two CPUs: texts of its line in the boot log.
const PATHS: [(&str, &[&str]); 4] = [
    ("corei7_skylake_x", &["x2APIC", "TSC deadline", "idle: MWAIT", "AVX-512"]),
    ("ryzen", &["xAPIC", "APIC timer, one-shot", "idle: MWAIT", "x87, SSE, AVX;"]),
    ("phenom_8650_toliman", &["xAPIC", "APIC timer, one-shot", "idle: MWAIT", "FXSAVE"]),
    ("athlon64_venice", &["xAPIC", "APIC timer, one-shot", "idle: HLT", "FXSAVE"]),
];

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal_slow("bochs/monitor-loses-stores", monitor);
    suite.hadal_slow("bochs/corei7_skylake_x/2cpus/paths", |name| paths(name, PATHS[0].0, PATHS[0].1));
    for (model, texts) in &PATHS[1..] {
        suite.hadal_in_all(format!("bochs/{model}/2cpus/paths"), move |name| paths(name, model, texts));
    }
    for model in MODELS {
        for cpus in [1, 2, 4] {
            for &line in LINES {
                let name = format!("bochs/{model}/{cpus}cpus/{}", line.0);
                suite.hadal_in_all(name, move |name| program(name, model, cpus, line));
            }
        }
    }
}

/// Bochs loses stores to monitored words; why is at the head of the boot sector. A kernel that depends on none must live with
/// that, which all other tests here show.
fn monitor(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let diskette = boot_sector(&directory)?;
    let machine = Bochs { model: MODELS[0], cpus: 2, disc: Disc::Diskette(diskette) };
    let shown = machine.run(&directory, END_OF_CASES, LIMIT)?;
    let answers: Vec<&str> = shown.lines().filter_map(|line| Some(line.rsplit_once(": ")?.1)).collect();
    if answers == ["noticed", "lost", "noticed", "lost", "noticed"] {
        return Ok(());
    }
    Err(TestError::Wrong(format!(
        "this bochs does not do what decision 0031 says of bochs 2.7: correct the decision, CAVEATS.md and this test\n{shown}"
    )))
}

/// Assembles `bochs/monitor.s`.
fn boot_sector(directory: &Path) -> Result<PathBuf, TestError> {
    let source = scratch::workspace().join("tests/programs/bochs/monitor.s");
    let (object, image) = (directory.join("monitor.o"), directory.join("monitor.img"));
    let mut assemble = Command::new("as");
    assemble.arg("--32").arg("-o").arg(&object).arg(source);
    expect_status(&run::run(assemble, b"", LIMIT)?, 0)?;
    let mut link = Command::new("ld");
    link.args(["-m", "elf_i386", "-Ttext", "0x7c00", "--oformat", "binary", "-o"]).arg(&image).arg(object);
    expect_status(&run::run(link, b"", LIMIT)?, 0)?;
    const DISKETTE_BYTES: u64 = 1_474_560;
    let file = std::fs::File::options().write(true).open(&image);
    file.and_then(|file| file.set_len(DISKETTE_BYTES)).map_err(TestError::io("cannot fill the diskette"))?;
    Ok(image)
}

/// The kernel takes the paths that are meant to be tried on a model, and a team of threads works on them.
fn paths(name: &str, model: &'static str, texts: &[&str]) -> Result<(), TestError> {
    let shown = start(name, model, 2, &LINES[1])?;
    let log = shown.lines().find(|line| line.contains("interrupt controller: ")).unwrap_or_default();
    match texts.iter().find(|text| !log.contains(*text)) {
        None => expect_as_on_linux(name, &LINES[1], &shown),
        Some(text) => Err(TestError::Wrong(format!("the kernel does not say {text:?}\n{shown}"))),
    }
}

fn program(name: &str, model: &'static str, cpus: u32, line: Line) -> Result<(), TestError> {
    let shown = start(name, model, cpus, &line)?;
    expect_as_on_linux(name, &line, &shown)
}

fn start(name: &str, model: &'static str, cpus: u32, line: &Line) -> Result<String, TestError> {
    let directory = scratch::empty_directory(name)?;
    let shown = Bochs { model, cpus, disc: Disc::Iso(image(line)?) }.run(&directory, ENDED, LIMIT)?;
    // Some programs make a call that does not exist, on purpose.
    let is_meant = |line: &str| line.contains(" info ") || line.contains("system call 9999 (unknown)");
    let complaints: Vec<&str> = shown.lines().filter(|line| is_log(line) && !is_meant(line)).collect();
    if complaints.is_empty() {
        return Ok(shown);
    }
    Err(TestError::Wrong(format!("the kernel complains\n{}\n{shown}", complaints.join("\n"))))
}

/// The image of a program, made once: every machine starts from the same.
fn image(line: &Line) -> Result<PathBuf, TestError> {
    static MADE: Mutex<Option<HashMap<&str, PathBuf>>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let made = made.get_or_insert_default();
    let &(subject, program, way, arguments) = line;
    if let Some(iso) = made.get(subject) {
        return Ok(iso.clone());
    }
    let directory = scratch::empty_directory(&format!("bochs-images-{subject}"))?;
    let iso = directory.join("program.iso");
    let (iso_text, file) = (iso.to_string_lossy(), program.build(way)?);
    let file_text = file.to_string_lossy();
    // A machine that is turned off ends the emulator before it has written its serial line's last bytes.
    let options = ["image", "--log", "info", "--append", "stay", "--iso", &iso_text, &file_text];
    let mut command = options.to_vec();
    command.extend(arguments);
    expect_status(&hadal(&command, &directory, LIMIT)?, 0)?;
    made.insert(subject, iso.clone());
    Ok(iso)
}

/// The program has ended well and has written what it writes on Linux. Where it writes what the processor lacks, that counts.
fn expect_as_on_linux(name: &str, line: &Line, shown: &str) -> Result<(), TestError> {
    let &(_, program, way, arguments) = line;
    let directory = scratch::empty_directory(&format!("{name}-linux"))?;
    let linux = Case::new(name, program, way, 1).args(arguments).on_linux(&directory)?;
    let program = shown.lines().take_while(|line| !line.starts_with(ENDED));
    let written: Vec<&str> = program.filter(|line| !is_log(line)).collect();
    let expected = linux.stdout_text();
    let lacks = written.iter().any(|line| line.starts_with("the processor has no "));
    let is_right = lacks || written.iter().copied().eq(expected.lines());
    if is_right && shown.contains(&format!("{ENDED}{}", linux.status)) {
        return Ok(());
    }
    Err(TestError::Wrong(format!(
        "the program writes other things than on Linux, which are\n{linux}\n{shown}"
    )))
}

/// Whether a line is one of the kernel's log.
fn is_log(line: &str) -> bool {
    line.starts_with('[') && line.contains("] cpu")
}
