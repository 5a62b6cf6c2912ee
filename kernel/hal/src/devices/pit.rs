// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 8254 interval timer, as a counter of known frequency for machines without a better one.
//!
//! Channel 2 (the loudspeaker's) runs freely over 16 bits and interrupts nobody. Reading it takes three port
//! accesses; it wraps every 55 ms. Channel 0 is the program's, and only read here.

use spin::Once;

use crate::cpu::port::{in8, out8};
use crate::sync::{Rank, SpinLock};

/// Counts per second, rounded: the PC's 14.31818 MHz crystal over 12.
pub const HZ: u32 = 1_193_182;

const CHANNEL_0: u16 = 0x40;
const CHANNEL_2: u16 = 0x42;
const COMMAND: u16 = 0x43;
const SPEAKER: u16 = 0x61;

/// Channel 2, both bytes, rate generator, binary.
const COMMAND_RATE_2: u8 = 0xb4;
const COMMAND_LATCH_2: u8 = 0x80;
/// Channel 0, both bytes, rate generator, binary.
const COMMAND_RATE_0: u8 = 0x34;
/// Channel 0, both bytes, interrupt on terminal count, binary.
const COMMAND_ONCE_0: u8 = 0x30;
const COMMAND_LATCH_0: u8 = 0x00;
const SPEAKER_GATE: u8 = 1 << 0;
const SPEAKER_ON: u8 = 1 << 1;
/// Reads after which a counter that has not moved counts as absent; each takes about 3 us on real hardware.
const LIVENESS_READS: u32 = 1000;

/// Held from the command until both bytes are read.
static CHANNEL_0_READER: SpinLock<()> = SpinLock::ranked(Rank::Last, ());
/// Whether channel 0 counts, after the first read has seen to it.
static CHANNEL_0_COUNTS: Once<bool> = Once::new();

/// Ends the interrupts that the firmware has channel 0 raise: it counts to its end once, unless [`read_channel_0`] starts it
/// over.
pub fn stop_channel_0() {
    out8(COMMAND, COMMAND_ONCE_0);
    out8(CHANNEL_0, 1);
    out8(CHANNEL_0, 0);
}

/// The counter of channel 0, counting down; `None` when nothing counts there. The first read starts it over 65536 counts,
/// unless the firmware or the program has started it already. Its interrupt stays masked until somebody takes the line.
pub fn read_channel_0() -> Option<u16> {
    let _reader = CHANNEL_0_READER.lock();
    let moves = || {
        let first = latch_channel_0();
        (0..LIVENESS_READS).any(|_| latch_channel_0() != first)
    };
    let counts = *CHANNEL_0_COUNTS.call_once(|| {
        moves() || {
            out8(COMMAND, COMMAND_RATE_0);
            out8(CHANNEL_0, 0);
            out8(CHANNEL_0, 0);
            moves()
        }
    });
    counts.then(latch_channel_0)
}

fn latch_channel_0() -> u16 {
    out8(COMMAND, COMMAND_LATCH_0);
    let low = in8(CHANNEL_0);
    u16::from_le_bytes([low, in8(CHANNEL_0)])
}

/// A freely running channel 2.
#[derive(Clone, Copy, Debug)]
pub struct Pit(());

impl Pit {
    /// Starts the counter; `None` when nothing counts there.
    pub fn start() -> Option<Self> {
        out8(SPEAKER, in8(SPEAKER) & !SPEAKER_ON | SPEAKER_GATE);
        out8(COMMAND, COMMAND_RATE_2);
        // A start value of zero means 65536.
        out8(CHANNEL_2, 0);
        out8(CHANNEL_2, 0);
        let timer = Self(());
        let first = timer.read();
        (0..LIVENESS_READS).any(|_| timer.read() != first).then_some(timer)
    }

    /// The counter, counting upwards and wrapping at 65536.
    pub fn read(&self) -> u16 {
        out8(COMMAND, COMMAND_LATCH_2);
        let low = in8(CHANNEL_2);
        let high = in8(CHANNEL_2);
        // The hardware counts down.
        u16::from_le_bytes([low, high]).wrapping_neg()
    }
}
