// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `socket(2)`: makes a socket that is not connected.
//!
//! Honoured: nothing.
//!
//! Refused: every domain (`EAFNOSUPPORT`): there is no network, and sockets come in pairs (`socketpair`).

use core::sync::atomic::{AtomicBool, Ordering};

use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "{}: there is no network: socket() of domain {} is EAFNOSUPPORT",
            call.process.executable.escape_ascii(),
            call.int(0)
        );
    }
    Err(Errno::EAFNOSUPPORT)
}
