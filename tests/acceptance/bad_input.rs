// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section 5.6: input that cannot run. Each ends soon, with the documented status and a line that tells what is wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hadal_abi::status;
use hadal_tests::case::{expect_status, expect_texts, wrong};
use hadal_tests::elf::{self, CODE, Segment};
use hadal_tests::programs::{CWD, HELLO};
use hadal_tests::{Hadal, Outcome, TestError, Way, run, scratch};

use crate::suite::Suite;

type Input = fn(&Path) -> Result<PathBuf, TestError>;

/// Name, how the input is made, and what the error must mention beside the name of the file.
const INPUTS: &[(&str, Input, &[&str])] = &[
    ("truncated-header", |at| file(at, &elf::good()[..40]), &["truncated"]),
    ("truncated-program-headers", |at| file(at, &elf::good()[..80]), &["truncated"]),
    ("truncated-segment", |at| file(at, &elf::good()[..0x1004]), &["truncated"]),
    ("truncated-binary", truncated_binary, &["truncated"]),
    ("32-bit", |at| file(at, &elf::of_32_bits()), &["32-bit"]),
    ("aarch64", |at| file(at, &elf::executable(elf::AARCH64, CODE.address, &[CODE], 0x2000)), &["aarch64"]),
    ("empty-file", |at| file(at, b""), &["empty"]),
    ("text-file", |at| file(at, b"just some text\n"), &["elf"]),
    ("directory", |at| Ok(at.to_path_buf()), &["directory"]),
    ("missing-file", |at| Ok(at.join("input")), &["no such file"]),
    ("missing-interpreter", missing_interpreter, &["interpreter", "/lib64/no-linux-x86-64.so.2"]),
    (
        "huge-segment",
        |at| segment(at, Segment { address: 0x50_0000, memory_len: 1 << 46, ..DATA }),
        &["segment"],
    ),
    (
        "too-much-memory",
        |at| segment(at, Segment { address: 0x50_0000, memory_len: 1 << 36, ..DATA }),
        &["memory"],
    ),
    (
        "file-beyond-end",
        |at| segment(at, Segment { offset: 1 << 40, file_len: 4096, ..DATA }),
        &["truncated"],
    ),
    (
        "offset-overflow",
        |at| segment(at, Segment { offset: u64::MAX - 0xfff, file_len: 0x2000, ..DATA }),
        &["segment"],
    ),
    ("address-overflow", |at| segment(at, Segment { address: u64::MAX - 0xfff, ..DATA }), &["segment"]),
    ("kernel-address", |at| segment(at, Segment { address: 0xffff_ffff_8000_0000, ..DATA }), &["segment"]),
    ("null-page", |at| segment(at, Segment { address: 0, ..DATA }), &["segment"]),
    ("no-segments", |at| file(at, &elf::executable(elf::X86_64, CODE.address, &[], 0x2000)), &["segment"]),
    ("file-larger-than-memory", |at| segment(at, Segment { file_len: 0x2000, ..DATA }), &["segment"]),
];

const DATA: Segment = Segment { flags: 6, offset: 0, address: 0x60_0000, file_len: 0, memory_len: 0x1000 };

pub(crate) fn register(suite: &mut Suite) {
    suite.hadal("bad-input/good-elf-runs", |name| {
        let directory = scratch::empty_directory(name)?;
        expect_status(&hadal(&directory).run(&file(&directory, &elf::good())?, &[])?, 0)
    });
    suite.hadal("bad-input/odd-segments-load", odd_segments);
    for &(kind, input, texts) in INPUTS {
        suite.hadal(format!("bad-input/{kind}"), move |name| {
            let directory = scratch::empty_directory(name)?;
            let path = input(&directory)?;
            let outcome = hadal(&directory).run(&path, &[])?;
            let expected = match kind {
                "directory" => status::NOT_EXECUTABLE,
                "missing-file" => status::NOT_FOUND,
                _ => status::CANNOT_START,
            };
            expect_failure(&outcome, expected)?;
            let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            expect_texts(&outcome, &[&file_name])?;
            expect_texts(&outcome, texts)
        });
    }
    for (option, value) in
        [("--cpus", "0"), ("--cpus", "many"), ("--memory", "1M"), ("--memory", "lots"), ("--numa", "0")]
    {
        suite.hadal(format!("bad-input/{}-{value}", &option[2..]), move |name| {
            let directory = scratch::empty_directory(name)?;
            let outcome = Hadal::plain()
                .cwd(&directory)
                .with(option, value)
                .run(&HELLO.build(Way::GccDynamic)?, &[])?;
            expect_status(&outcome, i32::from(status::USAGE))?;
            expect_texts(&outcome, &[option, value])
        });
    }
    for (name, options, text) in [
        ("nodes", ["2", "4", "1G"], "more nodes than CPUs"),
        ("node-memory", ["8", "8", "64M"], "for each node"),
        ("cpu-memory", ["255", "1", "127M"], "for each CPU"),
    ] {
        suite.hadal(format!("bad-input/machine-{name}"), move |name| {
            let directory = scratch::empty_directory(name)?;
            let [cpus, nodes, memory] = options;
            let hadal = Hadal::plain().cwd(&directory).with("--cpus", cpus);
            let hadal = hadal.with("--numa", nodes).with("--memory", memory);
            let outcome = hadal.run(&HELLO.build(Way::GccDynamic)?, &[])?;
            expect_failure(&outcome, status::CANNOT_START)?;
            expect_texts(&outcome, &[text, "help: "])
        });
    }
    suite.hadal("bad-input/missing-library", missing_library);
    suite.hadal("bad-input/unknown-option", |name| {
        let directory = scratch::empty_directory(name)?;
        let outcome =
            hadal(&directory).option("--no-such-option").run(&HELLO.build(Way::GccDynamic)?, &[])?;
        expect_status(&outcome, i32::from(status::USAGE))
    });
    suite.hadal("bad-input/working-directory-missing", |name| {
        let directory = scratch::empty_directory(name)?;
        let hadal = hadal(&directory).with("--cwd", directory.join("none"));
        let outcome = hadal.run(&CWD.build(Way::GccDynamic)?, &[])?;
        expect_texts(&outcome, &["hadal: ", "none"])?;
        if (119..=125).contains(&outcome.status) {
            Ok(())
        } else {
            Err(wrong("not a status of Hadal's own", &outcome))
        }
    });
    suite.hadal("bad-input/source-does-not-compile", |name| {
        let directory = scratch::empty_directory(name)?;
        let path = directory.join("wrong.c");
        fs::write(&path, "int main(void) { return missing_name; }\n")
            .map_err(TestError::io("cannot write"))?;
        let outcome = hadal(&directory).run(&path, &[])?;
        expect_failure(&outcome, status::COMPILE)?;
        expect_texts(&outcome, &["wrong.c", "missing_name"])
    });
    suite.hadal("bad-input/qemu-missing", |name| {
        let directory = scratch::empty_directory(name)?;
        let hadal = hadal(&directory).with("--qemu", "/no/such/qemu");
        let outcome = hadal.run(&HELLO.build(Way::GccDynamic)?, &[])?;
        expect_failure(&outcome, status::QEMU)?;
        expect_texts(&outcome, &["/no/such/qemu"])
    });
}

fn hadal(directory: &Path) -> Hadal {
    Hadal::new(1).cwd(directory).limit(Duration::from_secs(20))
}

fn expect_failure(outcome: &Outcome, status: u8) -> Result<(), TestError> {
    expect_status(outcome, i32::from(status))?;
    if !outcome.stderr_text().lines().any(|line| line.starts_with("hadal: ")) {
        return Err(wrong("no line of standard error starts with \"hadal: \"", outcome));
    }
    if outcome.stdout.is_empty() { Ok(()) } else { Err(wrong("something is on standard output", outcome)) }
}

/// An executable file with these bytes.
fn file(directory: &Path, bytes: &[u8]) -> Result<PathBuf, TestError> {
    let path = directory.join("input");
    let describe = || format!("cannot write {}", path.display());
    fs::write(&path, bytes).map_err(TestError::io(describe()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(TestError::io(describe()))?;
    Ok(path)
}

/// The right executable with one more segment.
fn segment(directory: &Path, segment: Segment) -> Result<PathBuf, TestError> {
    file(directory, &elf::executable(elf::X86_64, CODE.address, &[CODE, segment], 0x2000))
}

/// Segments that share a page, in both orders, with alignments that mean nothing: they load as on Linux.
fn odd_segments(name: &str) -> Result<(), TestError> {
    /// mov edi, [0x401900]; add edi, [0x402000]; mov [0x401904], edi; mov eax, 231 (exit_group); syscall
    const EXIT_WITH_DATA: [u8; 28] = [
        0x8b, 0x3c, 0x25, 0x00, 0x19, 0x40, 0x00, 0x03, 0x3c, 0x25, 0x00, 0x20, 0x40, 0x00, 0x89, 0x3c, 0x25,
        0x04, 0x19, 0x40, 0x00, 0xb8, 0xe7, 0x00, 0x00, 0x00, 0x0f, 0x05,
    ];
    const VALUE: u8 = 42;
    const ALIGN_AT: [usize; 2] = [64 + 48, 64 + 56 + 48];
    let directory = scratch::empty_directory(name)?;
    let code = Segment { flags: 7, file_len: 0x900, memory_len: 0x900, ..CODE };
    let data = Segment { flags: 7, offset: 0x1900, address: 0x40_1900, file_len: 0x100, memory_len: 0x1800 };
    for segments in [[code, data], [data, code]] {
        let mut bytes = elf::executable(elf::X86_64, CODE.address, &segments, 0x2000);
        bytes[0x1000..0x1000 + EXIT_WITH_DATA.len()].copy_from_slice(&EXIT_WITH_DATA);
        bytes[0x1900] = VALUE;
        for (at, align) in ALIGN_AT.into_iter().zip([3_u64, 0x12_3456]) {
            bytes[at..at + 8].copy_from_slice(&align.to_le_bytes());
        }
        let path = file(&directory, &bytes)?;
        let linux = Command::new(&path).status().map_err(TestError::io("cannot start the program"))?;
        if linux.code() != Some(i32::from(VALUE)) {
            return Err(TestError::Wrong(format!("on Linux: {linux}")));
        }
        expect_status(&hadal(&directory).run(&path, &[])?, i32::from(VALUE))?;
    }
    Ok(())
}

fn hello_bytes() -> Result<Vec<u8>, TestError> {
    let hello = HELLO.build(Way::GccDynamic)?;
    fs::read(&hello).map_err(TestError::io(format!("cannot read {}", hello.display())))
}

fn truncated_binary(directory: &Path) -> Result<PathBuf, TestError> {
    let bytes = hello_bytes()?;
    file(directory, &bytes[..bytes.len().min(0x2800)])
}

/// The hello program with one string of it replaced by another of the same length.
fn replaced(directory: &Path, from: &[u8], to: &[u8]) -> Result<PathBuf, TestError> {
    let mut bytes = hello_bytes()?;
    match bytes.windows(from.len()).position(|window| window == from) {
        Some(at) if from.len() == to.len() => bytes[at..at + to.len()].copy_from_slice(to),
        _ => return Err(TestError::Wrong("the hello program is not as expected".to_owned())),
    }
    file(directory, &bytes)
}

fn missing_interpreter(directory: &Path) -> Result<PathBuf, TestError> {
    replaced(directory, b"/lib64/ld-linux-x86-64.so.2", b"/lib64/no-linux-x86-64.so.2")
}

/// The dynamic linker of the system has the last word, as on Linux; the command warns before.
fn missing_library(name: &str) -> Result<(), TestError> {
    let directory = scratch::empty_directory(name)?;
    let program = replaced(&directory, b"libc.so.6\0", b"libz.so.6\0")?;
    let linux = run::run(Command::new(&program), b"", Duration::from_secs(20))?;
    let outcome = hadal(&directory).run(&program, &[])?;
    expect_status(&outcome, linux.status)?;
    expect_texts(&outcome, &["hadal: ", "libz.so.6", linux.stderr_text().trim()])
}
