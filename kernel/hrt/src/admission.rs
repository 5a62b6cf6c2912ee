// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a schedule was refused, in words.

use core::fmt::{self, Write};

use crate::record;

const BYTES: usize = 200;

/// A sentence that ends with a NUL, for `hrt_admission_text`.
#[repr(C)]
pub(crate) struct Text {
    bytes: [u8; BYTES],
    len: usize,
}

impl Text {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; BYTES], len: 0 }
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let len = text.len().min(BYTES - 1 - self.len);
        self.bytes[self.len..self.len + len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        self.bytes[self.len] = 0;
        Ok(())
    }
}

/// Keeps the reason of a refusal for the calling thread; what is too long is cut.
pub(crate) fn refuse(reason: &dyn fmt::Display) {
    let mut text = record::current().refusal.lock();
    *text = Text::new();
    // Writing there cannot fail.
    let _ = write!(text, "{reason}");
}

/// `admission_text`: the sentence is in the caller's record, where nobody but the caller changes it.
pub(crate) extern "C" fn admission_text() -> usize {
    let text = record::current().refusal.lock();
    text.bytes.as_ptr().addr()
}
