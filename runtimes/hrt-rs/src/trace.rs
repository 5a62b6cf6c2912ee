// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Marks of the program in the trace of a run (`hadal run --trace`).

use crate::ffi;

/// Bytes of a mark's text that are kept.
pub const TEXT_BYTES: usize = hadal_hrt_abi::trace::TRACE_TEXT_BYTES;

/// Shows a text in the trace, at this moment in the row of the calling thread. A longer text is cut, and one with a NUL ends
/// there. Does nothing without a trace, and on Linux.
///
/// ```
/// hrt::trace::mark("second phase");
/// ```
pub fn mark(text: &str) {
    let mut bytes = [0_u8; TEXT_BYTES + 1];
    let len = text.len().min(TEXT_BYTES);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    // SAFETY: the last byte is a NUL, and the text is not kept.
    unsafe { ffi::hrt_rs_trace_mark(bytes.as_ptr().cast()) }
}
