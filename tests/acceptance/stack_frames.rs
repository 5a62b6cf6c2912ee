// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The stack frames of kernel code are small: a kernel stack has 32 KiB, and nothing stops a deep call in it but the canary at
//! its end. The sizes are read from the debug kernel's instructions, which is no smaller than the release kernel.

use std::collections::BTreeMap;
use std::process::Command;

use hadal_tests::{TestError, debug_kernel};

use crate::suite::Suite;

/// Most bytes of a frame.
const LIMIT: u64 = 4096;

/// Functions with larger frames: parts of their names, bytes, and why that is no danger.
const EXCEPTIONS: &[(&str, u64, &str)] = &[
    ("hadal_hal::boot::", 10 << 10, "runs once, on the boot stack"),
    ("kernel_main", 12 << 10, "runs once, on the boot stack"),
    ("hadal_kernel::platform::Platform::read", 24 << 10, "runs once, on the boot stack"),
    ("hadal_kernel::memory::init", 16 << 10, "runs once, on the boot stack"),
    ("hadal_event::events::Events::new", 10 << 10, "runs once, on the boot stack"),
    ("hadal_mem::blocks::", 8 << 10, "runs once, on the boot stack"),
    ("spin::once::Once", 16 << 10, "the large ones run once, on the boot stack"),
    ("FromIterator", 8 << 10, "makes the caches of memory, on the boot stack"),
    (
        "virtio::console::Console::start",
        8 << 10,
        "is called by the first thread, which has done nothing else",
    ),
    (
        "mem::space::AddressSpace<M>>::fault",
        6 << 10,
        "holds the frames of a piece of a file, and calls little",
    ),
];

pub(crate) fn register(suite: &mut Suite) {
    suite.host("debug/stack-frames", check);
}

fn check() -> Result<(), TestError> {
    let kernel = debug_kernel::file()?;
    let mut objdump = Command::new("objdump");
    objdump.args(["--disassemble", "--no-show-raw-insn", "--demangle"]).arg(&kernel);
    let output = objdump.output().map_err(TestError::io("cannot run objdump (of the package binutils)"))?;
    if !output.status.success() {
        return Err(TestError::Wrong(format!("{objdump:?} ended with {}", output.status)));
    }
    let frames = frames(&String::from_utf8_lossy(&output.stdout));
    if frames.len() < 1000 {
        return Err(TestError::Wrong(format!("only {} functions have a frame", frames.len())));
    }
    let limit = |name: &str| {
        EXCEPTIONS.iter().find(|(part, _, _)| name.contains(part)).map_or(LIMIT, |&(_, bytes, _)| bytes)
    };
    let large: Vec<String> = frames
        .values()
        .filter(|(name, bytes)| *bytes > limit(name))
        .map(|(name, bytes)| format!("{name}: {bytes} bytes of {}", limit(name)))
        .collect();
    if large.is_empty() { Ok(()) } else { Err(TestError::Wrong(large.join("\n"))) }
}

/// Names and sizes of frames, by the address of their functions. What a function takes in several steps, which is how the
/// pages of a large frame are touched in order, is added up.
fn frames(disassembly: &str) -> BTreeMap<u64, (String, u64)> {
    let mut frames = BTreeMap::new();
    let mut function = None;
    for line in disassembly.lines() {
        if let Some((address, name)) = function_head(line) {
            function = Some((address, name.to_owned()));
        } else if let (Some((address, name)), Some(bytes)) = (&function, taken(line)) {
            frames.entry(*address).or_insert_with(|| (name.clone(), 0)).1 += bytes;
        }
    }
    frames
}

/// Reads `ffffffff80100000 <name>:`.
fn function_head(line: &str) -> Option<(u64, &str)> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// Bytes of stack that an instruction takes: `sub $0x18,%rsp`, or `lea -0x3000(%rsp),%r11`, the end of a loop that
/// touches page after page.
fn taken(line: &str) -> Option<u64> {
    let (_, instruction) = line.split_once(":\t")?;
    let (name, operands) = instruction.split_once(' ')?;
    let number = match name {
        "sub" => operands.trim().strip_prefix("$0x")?.strip_suffix(",%rsp")?,
        "lea" => operands.trim().strip_prefix("-0x")?.strip_suffix("(%rsp),%r11")?,
        _ => return None,
    };
    u64::from_str_radix(number, 16).ok()
}
