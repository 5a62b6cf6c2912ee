// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the guest recorded, as it arrives, and then in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hadal_abi::trace::{Head, Kind, PieceHead, RECORD_LEN, Record, ThreadName, Timestamp};

use super::json::Ns;

/// The records of one CPU, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuRecords {
    /// Records that the CPU made, with those that are lost.
    pub(crate) made: u64,
    /// Those that have arrived, as they stand on the wire: there may be millions.
    bytes: Vec<[u8; RECORD_LEN]>,
}

impl CpuRecords {
    /// Records that were overwritten, or were being made when recording ended.
    pub(crate) fn lost(&self) -> u64 {
        self.made.saturating_sub(self.bytes.len() as u64)
    }
}

/// Turns time-stamps into nanoseconds since boot: on the line through the two moments that are known on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Timestamp,
    ticks: u64,
    ns: u64,
}

impl Clock {
    pub(crate) fn time(&self, tsc: u64) -> Ns {
        let since = i128::from(tsc) - i128::from(self.start.tsc);
        let ns = i128::from(self.start.ns) + since * i128::from(self.ns) / i128::from(self.ticks);
        Ns(ns.max(0) as u64)
    }
}

/// A recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    /// Set when recording began.
    pub(crate) head: Option<Head>,
    pub(crate) cpus: Vec<CpuRecords>,
    /// When it ended.
    pub(crate) end: Timestamp,
    /// Names of threads; the records have those that were given while it ran.
    pub(crate) names: Vec<ThreadName>,
}

impl Recording {
    /// Takes a piece that arrived; returns whether it is one.
    pub(crate) fn add_piece(&mut self, piece: &[u8]) -> bool {
        let Some((head, records)) = PieceHead::split(piece) else { return false };
        let index = head.cpu as usize;
        // The head names all CPUs; a number beyond is damage.
        if self.head.as_ref().is_none_or(|head| index >= head.idle_threads.len()) {
            return false;
        }
        if self.cpus.len() <= index {
            self.cpus.resize(index + 1, CpuRecords::default());
        }
        let cpu = &mut self.cpus[index];
        cpu.made = head.made;
        cpu.bytes.extend_from_slice(records);
        self.end = head.end;
        true
    }

    /// The clock of its time-stamps.
    pub(crate) fn clock(&self) -> Clock {
        let start = self.head.as_ref().map(|head| head.start).unwrap_or_default();
        Clock {
            start,
            ticks: self.end.tsc.saturating_sub(start.tsc).max(1),
            ns: self.end.ns.saturating_sub(start.ns),
        }
    }

    /// Brings each CPU's records into the order of time: an interrupt may have recorded something between the look at the
    /// clock and the record of what it interrupted.
    pub(crate) fn sort(&mut self) {
        for cpu in &mut self.cpus {
            cpu.bytes.sort_by_key(time_of);
        }
    }

    /// The thread that a CPU ran first; after [`Recording::sort`].
    pub(crate) fn first_thread(&self, cpu: usize) -> Option<u32> {
        let records = self.cpus.get(cpu)?.bytes.iter().filter_map(Record::from_bytes);
        // The name of a thread may be that of another one.
        records.filter(|record| record.kind != Kind::ThreadName).map(|record| record.thread).next()
    }

    /// All records with their CPUs in the order of time; after [`Recording::sort`].
    pub(crate) fn in_order(&self) -> InOrder<'_> {
        let heads = self.cpus.iter().enumerate();
        let first = heads.filter_map(|(index, cpu)| Some(Reverse((time_of(cpu.bytes.first()?), index))));
        InOrder { next: first.collect(), positions: vec![0; self.cpus.len()], cpus: &self.cpus }
    }
}

fn time_of(record: &[u8; RECORD_LEN]) -> u64 {
    let [word, ..] = record.as_chunks::<8>().0 else { return 0 };
    u64::from_le_bytes(*word)
}

/// See [`Recording::in_order`].
pub(crate) struct InOrder<'a> {
    /// Time of the next record of each CPU that has one.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    positions: Vec<usize>,
    cpus: &'a [CpuRecords],
}

impl Iterator for InOrder<'_> {
    type Item = (usize, Record);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Reverse((_, cpu)) = self.next.pop()?;
            let position = &mut self.positions[cpu];
            let bytes = &self.cpus[cpu].bytes[*position];
            *position += 1;
            if let Some(following) = self.cpus[cpu].bytes.get(*position) {
                self.next.push(Reverse((time_of(following), cpu)));
            }
            if let Some(record) = Record::from_bytes(bytes) {
                return Some((cpu, record));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(time: u64, number: u64) -> [u8; RECORD_LEN] {
        let words = [time, Record::tag(Kind::Mark, 1, number), 0, 0];
        words.map(u64::to_le_bytes).concat().try_into().unwrap()
    }

    #[test]
    fn pieces_of_all_cpus_are_merged_by_time() {
        let start = Timestamp { tsc: 100, ns: 1000 };
        let head = Head { start, idle_threads: vec![0, 1], ..Head::default() };
        let mut recording = Recording { head: Some(head), ..Recording::default() };
        let end = Timestamp { tsc: 200, ns: 1200 };
        for (cpu, times) in [(1, [150, 110, 190]), (0, [120, 130, 180])] {
            let mut piece = PieceHead { cpu, made: 5, end }.to_bytes().to_vec();
            for (number, time) in times.into_iter().enumerate() {
                piece.extend(record(time, number as u64));
            }
            assert!(recording.add_piece(&piece));
        }
        assert!(!recording.add_piece(&PieceHead { cpu: 2, made: 0, end }.to_bytes()));
        assert!(!recording.add_piece(&[0; 7]));
        assert_eq!(recording.cpus.iter().map(CpuRecords::lost).sum::<u64>(), 4);
        assert_eq!([100, 150, 90].map(|tsc| recording.clock().time(tsc)), [Ns(1000), Ns(1100), Ns(980)]);
        recording.sort();
        let merged: Vec<_> = recording.in_order().map(|(cpu, record)| (cpu, record.time)).collect();
        assert_eq!(merged, [(1, 110), (0, 120), (0, 130), (1, 150), (0, 180), (1, 190)]);
    }
}
