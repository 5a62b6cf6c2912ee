// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the boot brought along: modules and the command line.

use std::ffi::CStr;
use std::ptr;

use crate::error::check;
use crate::ffi;

/// A file that the boot put into memory.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Its name.
    pub name: &'static CStr,
    /// Its content.
    pub data: &'static [u8],
}

/// The pointer that a field of a C structure has.
fn address<T>(field: u64) -> *const T {
    ptr::with_exposed_provenance(field as usize)
}

/// All modules, in the order in which the boot named them.
pub fn all() -> impl Iterator<Item = Module> {
    (0..).map_while(|index| {
        let mut raw = ffi::Module { name: 0, data: 0, bytes: 0 };
        // SAFETY: the structure has the C one's layout, and is the caller's.
        check(unsafe { ffi::hrt_rs_module(index, &raw mut raw) }).ok()?;
        // SAFETY: the interface promises a string and that many bytes, read-only for as long as the machine runs.
        Some(unsafe {
            let data = std::slice::from_raw_parts(address(raw.data), usize::try_from(raw.bytes).ok()?);
            Module { name: CStr::from_ptr(address(raw.name)), data }
        })
    })
}

/// The kernel's command line.
#[must_use]
pub fn command_line() -> &'static CStr {
    // SAFETY: never NULL, and a string for as long as the machine runs; on Linux a variable of the environment, which stays
    // unless the program changes it, and that is unsafe.
    unsafe { CStr::from_ptr(ffi::hrt_rs_command_line()) }
}
