// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the boot brought: modules and the kernel's command line (`hadal/hrt/module.h`).
//!
//! A program in ring 0 reads both where they are, in the kernel's half of the address space; neither ever moves or ends.

use alloc::ffi::CString;
use alloc::vec::Vec;

use hadal_hal::memory::user;
use spin::Once;

use crate::status::{Code, Status, code};

/// A file that came with the kernel.
#[derive(Debug)]
pub struct Module {
    /// Its name.
    pub name: CString,
    /// Its content.
    pub content: &'static [u8],
}

struct Brought {
    modules: Vec<Module>,
    command_line: CString,
}

static BROUGHT: Once<Brought> = Once::new();

/// Says what there is, once and before the program starts.
pub fn set(modules: Vec<Module>, command_line: CString) {
    BROUGHT.call_once(|| Brought { modules, command_line });
}

/// The modules, in the order of their indices.
pub fn modules() -> &'static [Module] {
    BROUGHT.get().map_or(&[], |brought| &brought.modules)
}

/// `struct hrt_module`: name, data, length.
const MODULE_WORDS: usize = 3;

/// `module`: writes the description with this index, as much of it as the caller knows.
pub(crate) extern "C" fn module(index: u32, out: usize, out_bytes: u64) -> Code {
    let write = || {
        let module = modules().get(index as usize).ok_or(Status::NoDevice)?;
        let words = [
            module.name.as_ptr().expose_provenance(),
            module.content.as_ptr().expose_provenance(),
            module.content.len(),
        ];
        let mut bytes = [0; MODULE_WORDS * size_of::<usize>()];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        let len = usize::try_from(out_bytes).unwrap_or(usize::MAX).min(bytes.len());
        Ok(user::copy_to(out, &bytes[..len])?)
    };
    code(write())
}

/// `command_line`: its address; an empty text before [`set`].
pub(crate) extern "C" fn command_line() -> usize {
    BROUGHT.get().map_or(c"".as_ptr(), |brought| brought.command_line.as_ptr()).expose_provenance()
}
