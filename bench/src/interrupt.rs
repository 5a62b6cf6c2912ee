// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ctrl-C and SIGTERM during a run: the turn under way is given up, the turns before it are kept.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGTERM};

/// What the handlers leave.
struct Arrival {
    /// The last signal; 0 before.
    signal: Arc<AtomicUsize>,
    /// Readable from the first signal on: nobody reads it.
    pipe: UnixStream,
}

static ARRIVAL: OnceLock<Arrival> = OnceLock::new();

/// From now on these signals do not end the process; [`signal`] tells them.
pub(crate) fn catch() -> Result<()> {
    if ARRIVAL.get().is_none() {
        // Two callers at once would only register twice.
        let arrival = register().context("cannot catch signals")?;
        let _ = ARRIVAL.set(arrival);
    }
    Ok(())
}

fn register() -> io::Result<Arrival> {
    let (pipe, end) = UnixStream::pair()?;
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGINT, SIGTERM] {
        // The number before the byte: whoever sees the pipe readable sees the signal.
        signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        signal_hook::low_level::pipe::register(number, end.try_clone()?)?;
    }
    Ok(Arrival { signal, pipe })
}

/// The signal that asks for the end, if one has come.
pub(crate) fn signal() -> Option<u8> {
    let number = ARRIVAL.get()?.signal.load(Ordering::SeqCst);
    u8::try_from(number).ok().filter(|number| *number != 0)
}

/// Becomes readable with the first signal; `None` while none is caught.
pub(crate) fn pipe() -> Option<BorrowedFd<'static>> {
    Some(ARRIVAL.get()?.pipe.as_fd())
}
