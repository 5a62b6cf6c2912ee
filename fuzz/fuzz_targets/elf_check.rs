// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command's check of a program's file before it boots a machine, against the kernel's own reading of
//! it: what the command lets pass, the kernel must be able to place.
#![no_main]
#![allow(dead_code, reason = "modules of the command are compiled here, of which one function is called")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::LazyLock;

use hadal_linux::loader::{HEAD_LEN, Image};
use libfuzzer_sys::fuzz_target;

#[rustfmt::skip] // as part of the command
#[path = "../../cli/src/elf.rs"]
mod elf;
#[path = "elf_input.rs"]
mod elf_input;
#[rustfmt::skip] // as part of the command
#[path = "../../cli/src/program_image.rs"]
mod program_image;
#[rustfmt::skip] // as part of the command
#[path = "../../cli/src/script.rs"]
mod script;
#[rustfmt::skip] // as part of the command
#[path = "../../cli/src/values.rs"]
mod values;

/// A file in memory, and a path to it.
static FILE: LazyLock<(File, PathBuf)> = LazyLock::new(|| {
    let fd = rustix::fs::memfd_create("input", rustix::fs::MemfdFlags::empty()).unwrap();
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd()).into();
    (fd.into(), path)
});

fn check(bytes: &[u8]) {
    let (file, path) = &*FILE;
    file.set_len(0).unwrap();
    file.write_all_at(bytes, 0).unwrap();
    match elf::inspect(path) {
        Ok(found) => {
            let _ = found.check_program();
            let _ = found.check_memory(values::Bytes(1 << 30));
            let image = Image::parse(&bytes[..bytes.len().min(HEAD_LEN)], bytes.len() as u64);
            if let Err(error) = image {
                panic!("the kernel refuses what the command accepts: {error:?}\n{found:?}");
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty() && error.help().is_none_or(|help| !help.is_empty()))
        }
    }
}

fuzz_target!(|data: &[u8]| {
    check(data);
    check(&elf_input::with_header(data));
});
