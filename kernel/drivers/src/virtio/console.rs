// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The console device (section 5.3): a stream of bytes each way, over which the control channel runs.
//!
//! The stream is port 1 of a device with several ports, else port 0. QEMU keeps port 0 for its `virtconsole`, which
//! throws bytes away when the host reads slowly; its `virtserialport` waits instead, and can be any port but 0.
//!
//! Both directions have a fixed pool of buffers. A writer copies into free ones and goes on; it sleeps only while all of
//! them are with the device, so a program's output overlaps with its work. The device fills the receive buffers in order.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hadal_hal::cpu::{self, hold};
use hadal_hal::memory::frames::Block;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_mem::frames::{self, ZonePolicy};
use hadal_sync::{Mutex, WaitMode, WaitQueue};

use super::device::{Device, Doorbell, Driver, Failure, Queue, Running};
use super::memory::Segment;
use crate::pci::Function;
use crate::{Closed, DriverError};

const FEATURE_MULTIPORT: u64 = 1 << 1;
/// Queues of port 0.
const RECEIVE_QUEUE: u16 = 0;
const TRANSMIT_QUEUE: u16 = 1;
/// Where the driver sends control messages, with several ports.
const CONTROL_QUEUE: u16 = 3;
/// Queues of port 1.
const RECEIVE_QUEUE_1: u16 = 4;
const TRANSMIT_QUEUE_1: u16 = 5;

/// A control message: port (4 bytes), event (2), value (2).
const CONTROL_BYTES: usize = 8;
/// Says that the driver is there, that it takes port 1, and that port 1 is open. The device's own messages, which only
/// tell of ports that come and go, have no queue and are dropped.
const CONTROL_MESSAGES: [[u8; CONTROL_BYTES]; 3] =
    [[0, 0, 0, 0, 0, 0, 1, 0], [1, 0, 0, 0, 3, 0, 1, 0], [1, 0, 0, 0, 6, 0, 1, 0]];

const FRAME_BYTES: usize = 4096;

/// What QEMU reads from its character device at a time.
const RECEIVE_BYTES: usize = 4096;
const RECEIVE_BUFFERS: u16 = 16;
const TRANSMIT_BYTES: usize = 8192;
const TRANSMIT_BUFFERS: u16 = 32;

/// Looks at a lock or at the queue before the panic path gives up; in the order of a second.
const POLLS: usize = 20_000_000;

/// Buffers of equal size in one block of frames that is never freed.
#[derive(Clone, Copy)]
struct Pool {
    block: &'static Block,
    bytes: usize,
}

impl Pool {
    fn new(count: u16, bytes: usize) -> Result<Self, DriverError> {
        let frames = (usize::from(count) * bytes).div_ceil(FRAME_BYTES).next_power_of_two();
        let order = frames.trailing_zeros() as u8;
        let block = frames::global().alloc(order, ZonePolicy::Local).ok_or(DriverError::NoMemory)?;
        Ok(Self { block: block.into_block().leak(), bytes })
    }

    fn at(&self, buffer: u16) -> usize {
        usize::from(buffer) * self.bytes
    }

    fn segment(&self, buffer: u16, len: usize, device_writes: bool) -> Segment {
        Segment::of_block(self.block, self.at(buffer), len, device_writes)
    }
}

struct Transmit {
    queue: Queue,
    pool: Pool,
    free: Vec<u16>,
    /// Buffers that the device has not finished with.
    in_flight: u16,
}

impl Transmit {
    fn reclaim(&mut self) {
        while let Some(done) = self.queue.take_completion() {
            self.free.push(done.token);
            self.in_flight -= 1;
        }
    }

    fn take_buffer(&mut self) -> Option<u16> {
        if self.free.is_empty() {
            self.reclaim();
            self.queue.disable_interrupt();
        }
        self.free.pop()
    }

    fn add(&mut self, buffer: u16, len: usize) {
        // The queue has an entry for every buffer of the pool.
        if self.queue.add(&[self.pool.segment(buffer, len, false)], buffer) {
            self.in_flight += 1;
        }
    }

    fn send(&mut self, buffer: u16, len: usize) {
        self.add(buffer, len);
        self.queue.ring_doorbell();
    }
}

/// What a message brings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing, or an answer that may take any time.
    None,
    /// An answer as soon as the host has read it, of one receive buffer at most.
    AtOnce,
}

/// A received buffer that was not read to its end.
#[derive(Clone, Copy)]
struct Unread {
    buffer: u16,
    position: usize,
    end: usize,
}

struct Receive {
    queue: Queue,
    pool: Pool,
    unread: Option<Unread>,
}

impl Receive {
    /// Copies what is there into `target` and gives emptied buffers back to the device.
    fn read(&mut self, target: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < target.len() {
            let Some(mut unread) = self.unread.take().or_else(|| self.next()) else { break };
            let count = (unread.end - unread.position).min(target.len() - filled);
            let source = self.pool.at(unread.buffer) + unread.position;
            self.pool.block.read(source, &mut target[filled..filled + count]);
            filled += count;
            unread.position += count;
            if unread.position < unread.end {
                self.unread = Some(unread);
            } else {
                self.queue.add(&[self.pool.segment(unread.buffer, RECEIVE_BYTES, true)], unread.buffer);
            }
        }
        self.queue.ring_doorbell();
        filled
    }

    fn next(&mut self) -> Option<Unread> {
        let done = self.queue.take_completion()?;
        let end = (done.written as usize).min(RECEIVE_BYTES);
        Some(Unread { buffer: done.token, position: 0, end })
    }
}

struct Port {
    /// Held for the length of a message, and by whoever waits for the transmit queue.
    writer: Mutex<()>,
    transmit: SpinLock<Transmit>,
    transmit_pool: Pool,
    space: WaitQueue,
    receive: SpinLock<Receive>,
    arrived: WaitQueue,
    /// The device has the beginning of a message whose end is still to come.
    inside_message: AtomicBool,
    /// What interrupts have announced since the machine was last held.
    announced: Announced,
    failure: Failure,
    messages: AtomicU64,
}

/// Events that interrupts of the device have announced.
#[derive(Default)]
struct Announced {
    sent: AtomicBool,
    arrived: AtomicBool,
}

impl Driver for Port {
    fn on_queue_interrupt(&self) {
        if self.transmit.lock().queue.has_completion() {
            self.announced.sent.store(true, Ordering::Relaxed);
            self.space.wake_all();
        }
        if self.receive.lock().queue.has_completion() {
            self.announced.arrived.store(true, Ordering::Relaxed);
            self.arrived.wake_all();
        }
    }

    fn on_failure(&self) {
        self.failure.set();
        self.space.wake_all();
        self.arrived.wake_all();
    }
}

/// The byte channel to the host.
pub struct Console {
    port: Arc<Port>,
    running: Running,
}

impl Console {
    // A function of its own, so that its large frame is no part of its caller's.
    #[inline(never)]
    pub(crate) fn start(function: Function) -> Result<Self, DriverError> {
        let device = Device::open(function, FEATURE_MULTIPORT)?;
        let has_ports = device.has_feature(FEATURE_MULTIPORT);
        let (receive_queue, transmit_queue) =
            if has_ports { (RECEIVE_QUEUE_1, TRANSMIT_QUEUE_1) } else { (RECEIVE_QUEUE, TRANSMIT_QUEUE) };
        let control = if has_ports { Some(device.queue(CONTROL_QUEUE, 4)?) } else { None };
        let mut receive = Receive {
            queue: device.queue(receive_queue, RECEIVE_BUFFERS)?,
            pool: Pool::new(RECEIVE_BUFFERS, RECEIVE_BYTES)?,
            unread: None,
        };
        let mut transmit = Transmit {
            queue: device.queue(transmit_queue, TRANSMIT_BUFFERS)?,
            pool: Pool::new(TRANSMIT_BUFFERS, TRANSMIT_BYTES)?,
            free: (0..TRANSMIT_BUFFERS).rev().collect(),
            in_flight: 0,
        };
        transmit.queue.disable_interrupt();
        for buffer in 0..RECEIVE_BUFFERS {
            receive.queue.add(&[receive.pool.segment(buffer, RECEIVE_BYTES, true)], buffer);
        }
        let port = Arc::new(Port {
            writer: Mutex::new(()),
            transmit_pool: transmit.pool,
            transmit: SpinLock::ranked(Rank::DeviceQueue, transmit),
            space: WaitQueue::new(),
            receive: SpinLock::ranked(Rank::DeviceQueue, receive),
            arrived: WaitQueue::new(),
            inside_message: AtomicBool::new(false),
            announced: Announced::default(),
            failure: Failure::default(),
            messages: AtomicU64::new(0),
        });
        let running = device.start(&port)?;
        // No doorbell before the device is started.
        port.receive.lock().queue.ring_doorbell();
        if let Some(control) = control {
            open_port(control)?;
        }
        Ok(Self { port, running })
    }

    /// Writes one message; see [`Console::write_vectored`].
    pub fn write_all(&self, data: &[u8]) -> Result<(), Closed> {
        self.write_vectored(&[data])
    }

    /// Writes the parts as one message: no other writer's bytes come between. Returns when everything is copied into
    /// the queue, and sleeps while the queue is full. For threads only.
    pub fn write_vectored(&self, parts: &[&[u8]]) -> Result<(), Closed> {
        self.write(parts, Answer::None)
    }

    /// [`Console::write_all`] for a question that the host answers at once: where the machine stands still while the host
    /// works, it does so until the answer has come. Otherwise nothing waits for it here.
    pub fn ask(&self, question: &[u8]) -> Result<(), Closed> {
        self.write(&[question], Answer::AtOnce)
    }

    fn write(&self, parts: &[&[u8]], answer: Answer) -> Result<(), Closed> {
        let _turn = self.port.writer.lock();
        self.port.messages.fetch_add(1, Ordering::Relaxed);
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        let mut open: Option<(u16, usize)> = None;
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                let (buffer, used) = match open.take() {
                    Some(open) => open,
                    None => (self.port.wait_for_buffer()?, 0),
                };
                let count = rest.len().min(TRANSMIT_BYTES - used);
                self.port.fill(buffer, used, &rest[..count]);
                rest = &rest[count..];
                left -= count;
                if left == 0 || used + count == TRANSMIT_BYTES {
                    let answer = if left == 0 { answer } else { Answer::None };
                    self.port.send(buffer, used + count, left > 0, answer);
                } else {
                    open = Some((buffer, used + count));
                }
            }
        }
        Ok(())
    }

    /// Sleeps until the host has taken everything that was written before. For threads only.
    pub fn flush(&self) -> Result<(), Closed> {
        let _turn = self.port.writer.lock();
        self.port.wait(|transmit| {
            transmit.reclaim();
            (transmit.in_flight == 0).then_some(())
        })
    }

    /// Writes without sleeping and without waiting for anybody for long: for reports of a machine that is going down,
    /// with interrupts off. Returns `false` when bytes were lost, or when the other side will find them inside a message
    /// that another thread had begun.
    pub fn write_polled(&self, data: &[u8]) -> bool {
        let inside = self.port.inside_message.load(Ordering::Relaxed);
        for chunk in data.chunks(TRANSMIT_BYTES) {
            let Some(buffer) = self.port.poll(Transmit::take_buffer) else { return false };
            self.port.fill(buffer, 0, chunk);
            let sent = self.port.poll(|transmit| {
                transmit.send(buffer, chunk.len());
                Some(())
            });
            if sent.is_none() {
                return false;
            }
        }
        !inside
    }

    /// Waits, for about a second at most, until the host has taken everything; returns whether it has.
    pub fn flush_polled(&self) -> bool {
        let empty = self.port.poll(|transmit| {
            transmit.reclaim();
            (transmit.in_flight == 0).then_some(())
        });
        empty.is_some()
    }

    /// Reads what has arrived into `buffer`, at least one byte; sleeps while there is none. For threads only.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize, Closed> {
        let port = &self.port;
        let arrived = port.arrived.wait_until(None, WaitMode::Uninterruptible, || {
            if port.failure.is_set() {
                return Some(Err(Closed));
            }
            let mut receive = port.receive.lock();
            loop {
                let count = receive.read(buffer);
                if count > 0 || buffer.is_empty() {
                    return Some(Ok(count));
                }
                if !receive.queue.enable_interrupt() {
                    return None;
                }
            }
        });
        arrived.unwrap_or(Err(Closed))
    }

    /// Reads what has arrived into `buffer`; zero when there is nothing.
    pub fn try_read(&self, buffer: &mut [u8]) -> usize {
        self.port.receive.lock().read(buffer)
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// Messages written.
    pub(crate) fn messages(&self) -> u64 {
        self.port.messages.load(Ordering::Relaxed)
    }
}

/// Sends the control messages; nothing waits for them to be taken.
fn open_port(mut control: Queue) -> Result<(), DriverError> {
    let pool = Pool::new(CONTROL_MESSAGES.len() as u16, CONTROL_BYTES)?;
    control.disable_interrupt();
    for (buffer, message) in (0..).zip(CONTROL_MESSAGES) {
        pool.block.write(pool.at(buffer), &message);
        control.add(&[pool.segment(buffer, CONTROL_BYTES, false)], buffer);
    }
    control.ring_doorbell();
    Ok(())
}

impl Port {
    /// Copies into a buffer that the caller has taken.
    fn fill(&self, buffer: u16, offset: usize, data: &[u8]) {
        let pool = self.transmit_pool;
        pool.block.write(pool.at(buffer) + offset, data);
    }

    /// Gives a filled buffer to the device.
    fn send(&self, buffer: u16, len: usize, inside_message: bool, answer: Answer) {
        let mut transmit = self.transmit.lock();
        self.inside_message.store(inside_message, Ordering::Relaxed);
        if !hold::is_wanted() {
            return transmit.send(buffer, len);
        }
        // One interrupt ends the hold: that of the buffer, or that of the answer, before which the buffer was sent.
        let news = match answer {
            Answer::None => {
                transmit.queue.enable_interrupt();
                &self.announced.sent
            }
            Answer::AtOnce => &self.announced.arrived,
        };
        news.store(false, Ordering::Relaxed);
        transmit.add(buffer, len);
        let doorbell = transmit.queue.due_doorbell();
        drop(transmit);
        let ring = || doorbell.into_iter().for_each(Doorbell::ring);
        hold::until_answered(ring, || news.load(Ordering::Relaxed) || self.failure.is_set());
        let mut transmit = self.transmit.lock();
        transmit.reclaim();
        transmit.queue.disable_interrupt();
    }

    fn wait_for_buffer(&self) -> Result<u16, Closed> {
        self.wait(Transmit::take_buffer)
    }

    /// Sleeps until `ready` gives a value. The caller holds `writer`, so one thread at a time waits here and its wish
    /// for an interrupt is not undone by another.
    fn wait<T>(&self, ready: impl Fn(&mut Transmit) -> Option<T>) -> Result<T, Closed> {
        let outcome = self.space.wait_until(None, WaitMode::Uninterruptible, || {
            if self.failure.is_set() {
                return Some(Err(Closed));
            }
            let mut transmit = self.transmit.lock();
            loop {
                if let Some(value) = ready(&mut transmit) {
                    return Some(Ok(value));
                }
                if !transmit.queue.enable_interrupt() {
                    return None;
                }
            }
        });
        outcome.unwrap_or(Err(Closed))
    }

    /// Spins, a bounded number of times, until the lock is free and `ready` gives a value.
    fn poll<T>(&self, mut ready: impl FnMut(&mut Transmit) -> Option<T>) -> Option<T> {
        (0..POLLS).find_map(|_| {
            let value = self.transmit.try_lock().and_then(|mut transmit| ready(&mut transmit));
            if value.is_none() {
                cpu::relax();
            }
            value
        })
    }
}
