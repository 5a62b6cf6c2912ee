// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 16550 serial port, polled: the kernel's log and the way out of a panic.
//!
//! [`Serial`] is the port with its receiver; [`raw_write`] writes to [`COM1`] from any state of the machine.
//! Every wait is bounded: a port that stops accepting bytes loses them, it never stops the kernel.

use crate::cpu;
use crate::cpu::port::{in8, out8};

/// I/O port of the first serial line.
pub const COM1: u16 = 0x3f8;

/// Data; low half of the divisor while the latch bit is set.
const DATA: u16 = 0;
/// Interrupt enables; high half of the divisor while the latch bit is set.
const INTERRUPTS: u16 = 1;
const FIFO_CONTROL: u16 = 2;
const LINE_CONTROL: u16 = 3;
const MODEM_CONTROL: u16 = 4;
const LINE_STATUS: u16 = 5;

const FIFO_ENABLE_AND_CLEAR: u8 = 0x07;
const LINE_8N1: u8 = 0x03;
const LINE_DIVISOR_LATCH: u8 = 0x80;
const MODEM_READY: u8 = 0x03;
const MODEM_LOOPBACK: u8 = 0x10;
const STATUS_RECEIVED: u8 = 1 << 0;
const STATUS_SEND_EMPTY: u8 = 1 << 5;

/// 115200 baud.
const DIVISOR: [u8; 2] = [1, 0];
/// Bytes that the transmitter takes once it is empty.
const FIFO_BYTES: usize = 16;
/// A full transmitter drains in 1.4 ms at 115200 baud; a poll takes about 1 us.
const SEND_POLLS: u32 = 100_000;
/// Sent round the loop to see whether there is a port.
const PROBE: u8 = 0xae;

/// A serial port.
#[derive(Debug)]
pub struct Serial {
    base: u16,
}

impl Serial {
    /// The port at this I/O address, not yet touched.
    pub const fn new(base: u16) -> Self {
        Self { base }
    }

    /// Sets the line up at 115200 baud, 8N1, interrupts off; false when there is no such port.
    pub fn init(&mut self) -> bool {
        if self.register(LINE_STATUS) == 0xff {
            return false;
        }
        self.set_register(INTERRUPTS, 0);
        self.set_register(LINE_CONTROL, LINE_DIVISOR_LATCH);
        self.set_register(DATA, DIVISOR[0]);
        self.set_register(INTERRUPTS, DIVISOR[1]);
        self.set_register(LINE_CONTROL, LINE_8N1);
        self.set_register(FIFO_CONTROL, FIFO_ENABLE_AND_CLEAR);
        self.set_register(MODEM_CONTROL, MODEM_LOOPBACK | MODEM_READY);
        self.set_register(DATA, PROBE);
        let answered = (0..SEND_POLLS).any(|_| self.register(LINE_STATUS) & STATUS_RECEIVED != 0);
        let present = answered && self.register(DATA) == PROBE;
        self.set_register(MODEM_CONTROL, MODEM_READY);
        // Takes back what the received byte has started: the port would complain of one that nobody reads, and under
        // `--icount` that is a timer to which the clock of a halted machine jumps.
        self.set_register(FIFO_CONTROL, FIFO_ENABLE_AND_CLEAR);
        present
    }

    /// Sends the bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        send(self.base, bytes);
    }

    /// The next received byte, if one is waiting.
    pub fn read_byte(&mut self) -> Option<u8> {
        (self.register(LINE_STATUS) & STATUS_RECEIVED != 0).then(|| self.register(DATA))
    }

    fn register(&self, register: u16) -> u8 {
        in8(self.base + register)
    }

    fn set_register(&self, register: u16, value: u8) {
        out8(self.base + register, value);
    }
}

/// Sends bytes to [`COM1`] whoever else is using it: for panics. Without a port they go nowhere.
pub fn raw_write(bytes: &[u8]) {
    send(COM1, bytes);
}

fn send(base: u16, bytes: &[u8]) {
    for chunk in bytes.chunks(FIFO_BYTES) {
        let ready = (0..SEND_POLLS).any(|_| {
            let ready = in8(base + LINE_STATUS) & STATUS_SEND_EMPTY != 0;
            if !ready {
                cpu::relax();
            }
            ready
        });
        if !ready {
            return;
        }
        for &byte in chunk {
            out8(base + DATA, byte);
        }
    }
}
