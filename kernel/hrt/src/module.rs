// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the boot brought: modules and the kernel's command line (`hadal/hrt/module.h`).
//!
//! A program in ring 0 reads both where they are, in the kernel's half of the address space; neither ever moves or ends.

use alloc::ffi::CString;
use alloc::vec::Vec;

use hadal_hrt_abi::module as abi;
use spin::Once;

use crate::memory_of_program::write_prefix;
use crate::status::{Code, Status, code};

/// A file that came with the kernel.
#[derive(Debug)]
pub struct Module {
    /// Its name.
    pub name: CString,
    /// Its content.
    pub content: &'static [u8],
}

struct BootInput {
    modules: Vec<Module>,
    command_line: CString,
}

static BOOT_INPUT: Once<BootInput> = Once::new();

/// Says what there is, once and before the program starts.
pub fn set(modules: Vec<Module>, command_line: CString) {
    BOOT_INPUT.call_once(|| BootInput { modules, command_line });
}

/// The modules, in the order of their indices.
pub fn modules() -> &'static [Module] {
    BOOT_INPUT.get().map_or(&[], |input| &input.modules)
}

/// `module`: writes the description with this index, as much of it as the caller knows.
pub(crate) extern "C" fn module(index: u32, out: usize, out_bytes: u64) -> Code {
    let write = || {
        let module = modules().get(index as usize).ok_or(Status::NoDevice)?;
        let description = abi::Module {
            name: module.name.as_ptr().expose_provenance() as u64,
            data: module.content.as_ptr().expose_provenance() as u64,
            bytes: module.content.len() as u64,
        };
        write_prefix(out, &description, out_bytes)
    };
    code(write())
}

/// `command_line`: its address; an empty text before [`set`].
pub(crate) extern "C" fn command_line() -> usize {
    BOOT_INPUT.get().map_or(c"".as_ptr(), |input| input.command_line.as_ptr()).expose_provenance()
}
