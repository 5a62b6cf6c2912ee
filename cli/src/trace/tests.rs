// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From made-up records to the events of the picture.

use hadal_abi::trace::{Head, Kind, Left, PieceHead, Record, ThreadName, Timestamp, pair, text_words};
use serde_json::Value;

use super::convert::convert;
use super::names::Names;
use super::recording::Recording;

/// A record with its time in nanoseconds.
type Made = (u64, Kind, u32, u64, u64);

const IDLE: [u32; 2] = [0, 1];

/// The picture of what two CPUs recorded; the first has lost `lost` records.
fn picture(cpus: [&[Made]; 2], lost: u64) -> Vec<Value> {
    let start = Timestamp { tsc: 0, ns: 0 };
    let end = Timestamp { tsc: 10_000, ns: 10_000 };
    let head = Head { start, idle_threads: IDLE.to_vec(), vectors: vec![(0xf1, "reschedule".into())] };
    let names = vec![ThreadName { thread: 5, name: "main".into(), of_program: true }];
    let mut recording = Recording { head: Some(head), names, ..Recording::default() };
    for (cpu, records) in (0..).zip(cpus) {
        let lost = if cpu == 0 { lost } else { 0 };
        let made = records.len() as u64 + lost;
        let mut piece = PieceHead { cpu, made, end }.to_bytes().to_vec();
        for (number, &(time, kind, thread, a, b)) in (lost..).zip(records) {
            let words = [time, Record::tag(kind, thread, number), a, b];
            piece.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        assert!(recording.add_piece(&piece));
    }
    let names = Names::new(recording.head.as_ref(), None);
    let mut json = Vec::new();
    convert(&mut recording, &names, "program", &mut json).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["otherData"]["lost records"], lost);
    json["traceEvents"].as_array().unwrap().clone()
}

fn ns(value: &Value) -> u64 {
    (value.as_f64().unwrap() * 1000.0).round() as u64
}

/// Slices of a row: name, start, end.
fn slices(events: &[Value], pid: u64, tid: u64) -> Vec<(String, u64, u64)> {
    let on_row = events.iter().filter(|event| (&event["pid"], &event["tid"]) == (&pid.into(), &tid.into()));
    let slice = |event: &Value| {
        let start = ns(&event["ts"]);
        (event["name"].as_str().unwrap().to_owned(), start, start + ns(&event["dur"]))
    };
    let mut slices: Vec<_> = on_row.filter(|event| event["ph"] == "X").map(slice).collect();
    slices.sort_by_key(|&(_, start, end)| (start, std::cmp::Reverse(end)));
    slices
}

fn named(slices: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    slices.iter().map(|&(name, start, end)| (name.to_owned(), start, end)).collect()
}

/// A handler of the program runs wherever its event comes: what it says on an idle CPU is on that CPU's row.
#[test]
fn marks_of_a_handler_on_an_idle_cpu() {
    let [low, high] = text_words(b"handled");
    let second: &[Made] = &[
        (1000, Kind::EventEnter, 1, 3, 0),
        (1100, Kind::Mark, 1, low, high),
        (1200, Kind::FaultEnter, 1, 0x1000, 14),
        (1300, Kind::FaultExit, 1, 14, 0),
        (1400, Kind::EventExit, 1, 3, 0),
        (1500, Kind::Mark, 5, low, high),
    ];
    let events = picture([&[], second], 0);
    let rows: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "handled")
        .map(|event| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap(), ns(&event["ts"])))
        .collect();
    assert_eq!(rows, [(1, 2, 1100), (2, 2, 1500)]);
    let inside = slices(&events, 1, 2);
    assert!(inside.contains(&("page fault".to_owned(), 1200, 1300)), "{inside:?}");
}

/// Thread 5 on CPU 0 makes thread 6, which CPU 1 wakes up for, runs and waits in a system call.
#[test]
fn rows_and_arrows() {
    let [name_low, name_high] = text_words(b"worker");
    let first: &[Made] = &[
        (1000, Kind::CallEnter, 5, 435, 0),
        (1100, Kind::ThreadCreate, 5, 6, 0xffff_ffff_8000_0000),
        (1150, Kind::ThreadName, 6, name_low, name_high),
        (1200, Kind::Wake, 5, pair(6, 1), 0),
        (1250, Kind::IpiSend, 5, 1, 0xf1),
        (1300, Kind::CallExit, 5, 7, 0),
    ];
    let second: &[Made] = &[
        (1400, Kind::InterruptEnter, 1, 0xf1, 0x1234),
        (1500, Kind::InterruptExit, 1, 0xf1, 0),
        (1600, Kind::Switch, 1, pair(6, Left::Ready as u32), 0),
        (1700, Kind::CallEnter, 6, 202, 0x1000),
        (1800, Kind::Switch, 6, pair(1, Left::Waiting as u32), 0),
    ];
    let events = picture([first, second], 0);
    assert_eq!(slices(&events, 1, 1), named(&[("main", 0, 10_000)]));
    let expected =
        [("idle", 0, 1600), ("reschedule", 1400, 1500), ("worker", 1600, 1800), ("idle", 1800, 10_000)];
    assert_eq!(slices(&events, 1, 2), named(&expected));
    // Rows 1 and 2 are those of thread 5, rows 3 and 4 those of thread 6.
    assert_eq!(slices(&events, 2, 1), named(&[("running", 0, 10_000)]));
    assert_eq!(slices(&events, 2, 2), named(&[("clone3", 1000, 1300)]));
    let expected = [("ready", 1200, 1600), ("running", 1600, 1800), ("waiting", 1800, 10_000)];
    assert_eq!(slices(&events, 2, 3), named(&expected));
    assert_eq!(slices(&events, 2, 4), named(&[("futex", 1700, 10_000)]));
    let arrows: Vec<_> = events.iter().filter(|event| event["cat"] == "arrow").collect();
    let of = |phase: &str, name: &str| {
        let mut all = arrows.iter().filter(|event| event["ph"] == phase && event["name"] == name);
        all.next().map(|event| (event["id"].as_u64(), event["pid"].as_u64(), ns(&event["ts"]))).unwrap()
    };
    assert_eq!(arrows.len(), 4);
    assert_eq!((of("s", "wake").2, of("f", "wake").2), (1200, 1600));
    assert_eq!((of("s", "reschedule").2, of("f", "reschedule").2), (1250, 1400));
    assert_eq!(of("s", "wake").0, of("f", "wake").0);
    let waiting = events.iter().find(|event| event["name"] == "waiting").unwrap();
    assert_eq!(waiting["args"]["in"], "futex");
}

/// Two wake-ups of a thread before it runs: it is ready once.
#[test]
fn woken_twice_is_ready_once() {
    let first: &[Made] = &[(1100, Kind::ThreadCreate, 5, 6, 0), (1200, Kind::Wake, 5, pair(6, 1), 0)];
    let second: &[Made] =
        &[(1300, Kind::Wake, 1, pair(6, 1), 0), (1600, Kind::Switch, 1, pair(6, Left::Ready as u32), 0)];
    let events = picture([first, second], 0);
    let expected = [("ready", 1200, 1600), ("running", 1600, 10_000)];
    assert_eq!(slices(&events, 2, 3), named(&expected));
}

/// A CPU whose first records are lost: its row begins with the first that is left, in the middle of a call.
#[test]
fn lost_records_leave_no_holes() {
    let first: &[Made] = &[
        (5000, Kind::CallExit, 5, 0, 0),
        (6000, Kind::Switch, 5, pair(7, Left::Ready as u32), 0),
        (7000, Kind::Switch, 7, pair(5, Left::Ended as u32), 0),
    ];
    let events = picture([first, &[]], 100);
    let expected = [("main", 5000, 6000), ("kernel thread", 6000, 7000), ("main", 7000, 10_000)];
    assert_eq!(slices(&events, 1, 1), named(&expected));
    assert_eq!(slices(&events, 1, 2), named(&[("idle", 0, 10_000)]));
    let expected = [("running", 5000, 6000), ("ready", 6000, 7000), ("running", 7000, 10_000)];
    assert_eq!(slices(&events, 2, 1)[..2], named(&expected)[..2]);
    assert!(events.iter().any(|event| event["name"] == "older records are lost"));
}

/// Whoever is woken before it has quite gone to sleep is ready, not waiting.
#[test]
fn a_wake_up_overtakes_a_switch() {
    let first: &[Made] = &[
        (1100, Kind::Switch, 5, pair(0, Left::Waiting as u32), 0),
        (1200, Kind::Switch, 0, pair(5, Left::Ready as u32), 0),
    ];
    let events = picture([first, &[(1000, Kind::Wake, 1, pair(5, 0), 0)]], 0);
    let expected = [("running", 0, 1100), ("ready", 1100, 1200), ("running", 1200, 10_000)];
    assert_eq!(slices(&events, 2, 1), named(&expected));
}
