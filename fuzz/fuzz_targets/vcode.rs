// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Any bytes as a program of VCODE: loading and running it ends, within bounds of memory and work, and fast paths and
//! the gang do not change its results. Interpreter and harness are C++ (`build.rs`, `vcode/harness.cpp`).

#![no_main]

use std::ffi::c_char;

use hrt as _; // libhrt, which the interpreter calls
use libfuzzer_sys::fuzz_target;

unsafe extern "C" {
    fn hadal_fuzz_vcode(text: *const c_char, bytes: usize);
}

fuzz_target!(|data: &[u8]| {
    // SAFETY: the harness reads `bytes` bytes behind the pointer, which the slice has, and keeps no pointer.
    unsafe { hadal_fuzz_vcode(data.as_ptr().cast(), data.len()) }
});
