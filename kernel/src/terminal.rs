// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Input from the serial line, for machines without a command: a terminal in line mode.
//!
//! The port is polled, at all times since Ctrl-C is for programs that read nothing: ten milliseconds are not felt when
//! typing, ten looks a second do not disturb a program, the emulated port holds further bytes back, and no interrupt has to
//! be shared with the log. A real port loses bytes that are pasted faster.

use core::sync::atomic::{AtomicBool, Ordering};

use alloc::vec::Vec;
use hadal_shell::{Editor, Event, Reader};

use crate::{console, control, shell, stdio};

/// Between looks while somebody waits for input, and while nobody does.
const POLL_NS: u64 = 10_000_000;
const IDLE_POLL_NS: u64 = 100_000_000;
const BELL: &[u8] = b"\x07";
const SIGINT: u8 = 2;

/// Starts to read, once. False: there is no serial line.
pub(crate) fn open() -> bool {
    static OPEN: AtomicBool = AtomicBool::new(false);
    if !console::has_serial() {
        return false;
    }
    if OPEN.swap(true, Ordering::AcqRel) {
        return true;
    }
    match hadal_sched::create(read, 0, None) {
        Ok(thread) => {
            thread.keep_for_kernel();
            thread.set_priority(hadal_sched::PRIORITIES - 1);
            thread.start();
            true
        }
        Err(error) => {
            log::warn!("no thread to read the serial line: {error:?}");
            false
        }
    }
}

/// Whom the next line is for.
fn reader() -> Reader {
    if shell::is_reading() { Reader::Shell } else { Reader::Program }
}

fn read(_: usize) -> ! {
    let mut editor = Editor::new();
    loop {
        match console::read_byte() {
            Some(byte) => match editor.take(byte, reader(), &mut console::write) {
                Event::None => {}
                Event::Line(mut line) => {
                    line.push(b'\n');
                    if !stdio::supply_ahead(line) {
                        console::write(BELL);
                    }
                }
                Event::Interrupt => control::signal(SIGINT),
                Event::End => stdio::supply(Vec::new()),
            },
            None => {
                let pause_ns = if stdio::is_awaited() { POLL_NS } else { IDLE_POLL_NS };
                hadal_sched::sleep_until(hadal_time::now_ns() + pause_ns);
            }
        }
    }
}
