// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns signals to this process into events, so that they can be passed on to the program in the guest.

use std::fs;
use std::io;
use std::sync::mpsc::Sender;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::channel::Event;

/// Starts to forward the signals by which a user or a system asks a program to end, and if it `has_terminal`, those by which a
/// terminal asks it to stop and tells of its size.
///
/// Signals that this process was told to ignore (by `nohup`, or as a background job) stay ignored.
pub(crate) fn forward(events: Sender<Event>, has_terminal: bool) -> io::Result<()> {
    let ignored = ignored_mask(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    let of_terminals: &[i32] = if has_terminal { &[SIGTSTP, SIGWINCH] } else { &[] };
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].iter().chain(of_terminals).copied();
    let wanted = wanted.filter(|s| ignored >> (s - 1) & 1 == 0);
    let mut signals = Signals::new(wanted)?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if events.send(Event::HostSignal(signal as u8)).is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// The `SigIgn` mask in the text of `/proc/self/status`: bit n-1 is signal n.
fn ignored_mask(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored_mask("Name:\thadal\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored_mask(""), 0);
    }
}
