// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace of a run: when it is recorded, and how it reaches the host at the end.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use hadal_abi::control::{GuestMessage, HEADER_LEN, Header};
use hadal_abi::trace::{Head, Kind, PIECE_HEAD_LEN, PieceHead, RECORD_LEN, ThreadName, Timestamp};
use hadal_hal::cpu;
use hadal_hal::cpu::tsc;
use hadal_hal::interrupts::irq;
use hadal_hal::trap;
use hadal_linux::task::Task;
use hadal_linux::traps;
use hadal_trace::ring::Ring;

use crate::{control, symbols};

/// Records in a piece. The frame with them fits in one buffer of the channel, and on any stack.
const PIECE_RECORDS: usize = 62;
const FRAME_LEN: usize = HEADER_LEN + PIECE_HEAD_LEN + PIECE_RECORDS * RECORD_LEN;
/// Names in a frame.
const NAMES: usize = 512;

/// Begins to record; says why if it cannot.
pub(crate) fn start(buffer_bytes: u64) -> Result<(), String> {
    let cpus = cpu::count();
    hadal_trace::prepare(cpus, buffer_bytes as usize).map_err(|hadal_trace::NoMemory| {
        let mib = buffer_bytes >> 20;
        format!("no memory for trace buffers of {mib} MiB on each of {cpus} CPUs (--trace-buffer)")
    })?;
    control::send(&GuestMessage::TraceStart(Head {
        start: now(),
        idle_threads: (0..cpus).map(hadal_sched::idle_thread).collect(),
        vectors: vectors(),
    }));
    // From here on calls may be recorded at any time.
    trap::set_system_call(traps::watched_system_call);
    hadal_trace::set_enabled(true);
    Ok(())
}

/// Turns the recording off and on again while the machine runs; returns whether it is on now. Without [`start`] it stays
/// off.
pub(crate) fn set_recording(on: bool) -> bool {
    let was_on = hadal_trace::enabled();
    if hadal_trace::set_enabled(on) || !was_on {
        return on && hadal_trace::enabled();
    }
    // What was under way goes on unseen.
    let Timestamp { tsc, .. } = now();
    for cpu in 0..hadal_trace::rings().len() {
        hadal_trace::record(cpu, tsc, hadal_sched::idle_thread(cpu), Kind::Stop, [0; 2]);
    }
    false
}

/// The interrupt vectors that have an owner, by the name of that.
fn vectors() -> Vec<(u8, String)> {
    let own = irq::NAMES.iter().map(|&(vector, name)| (vector, name.into()));
    let of_program = irq::PROGRAM_IPIS.map(|vector| (vector, format!("IPI {vector:#x} of the program")));
    let devices = (0..).map_while(irq::source).map(|source| (source.vector(), source.name()));
    own.chain(of_program).chain(devices).collect()
}

fn now() -> Timestamp {
    Timestamp { tsc: tsc::read(), ns: hadal_time::now_ns() }
}

/// Ends the recording and sends it; nothing if there is none.
pub(crate) fn finish() {
    hadal_trace::set_enabled(false);
    let end = now();
    for (cpu, ring) in hadal_trace::rings().iter().enumerate() {
        for_each_piece(cpu, ring, end, |frame| {
            control::send_frame(frame);
            true
        });
    }
    if !hadal_trace::rings().is_empty() {
        send_names();
    }
}

/// The same for a kernel that has failed: without memory, locks and names. Stops when the channel does not take it.
pub(crate) fn finish_polled() {
    hadal_trace::set_enabled(false);
    let end = now();
    let mut rings = hadal_trace::rings().iter().enumerate();
    if rings.all(|(cpu, ring)| for_each_piece(cpu, ring, end, control::send_frame_polled)) {
        control::flush_polled();
    }
}

/// Makes frames of a CPU's records, at least one, until `send` says that there is no point.
fn for_each_piece(cpu: usize, ring: &Ring, end: Timestamp, mut send: impl FnMut(&[u8]) -> bool) -> bool {
    let head = PieceHead { cpu: cpu as u32, made: ring.made(), end }.to_bytes();
    let mut frame = [0; FRAME_LEN];
    let mut next = ring.oldest();
    loop {
        let mut len = HEADER_LEN + PIECE_HEAD_LEN;
        frame[HEADER_LEN..len].copy_from_slice(&head);
        while len < FRAME_LEN && next < ring.made() {
            // A record that its CPU was about to write when recording ended is missed.
            if let Some(words) = ring.read(next) {
                for (place, word) in frame[len..len + RECORD_LEN].as_chunks_mut::<8>().0.iter_mut().zip(words)
                {
                    *place = word.to_le_bytes();
                }
                len += RECORD_LEN;
            }
            next += 1;
        }
        let Some(header) = Header::trace_records(len - HEADER_LEN) else { return false };
        frame[..HEADER_LEN].copy_from_slice(&header.to_bytes());
        if !send(&frame[..len]) {
            return false;
        }
        if next >= ring.made() {
            return true;
        }
    }
}

/// Sends the names of all threads, those that have ended included. A thread of the kernel is called after its function.
fn send_names() {
    let mut named = hadal_sched::threads().filter_map(|thread| {
        let name = Task::of(thread).name();
        let len = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let of_program = len > 0;
        let name = match of_program {
            true => String::from_utf8_lossy(&name[..len]).into_owned(),
            false => symbols::function(thread.entry() as u64)?,
        };
        Some(ThreadName { thread: thread.id(), name, of_program })
    });
    loop {
        // A part at a time: memory may be short.
        let part: Vec<_> = named.by_ref().take(NAMES).collect();
        if part.is_empty() {
            break;
        }
        control::send(&GuestMessage::TraceThreads(part));
    }
}
