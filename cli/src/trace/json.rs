// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes events in the Chrome trace format, which ui.perfetto.dev and chrome://tracing read: a JSON object with a list
//! of events, one to a line.
//!
//! A trace has millions of events: each goes to the file as it comes, and only its own line is ever in memory. serde_json
//! writes the lines; what stands around them is here.

use std::io::{self, Write};

use serde::ser::{Serialize, Serializer};
use serde_json::to_writer;

/// A time in nanoseconds since boot; the format counts microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ns(pub(crate) u64);

impl Serialize for Ns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Exact to the nanosecond for the first hundred days: a double has 53 bits, which readers use, too.
        serializer.serialize_f64(self.0 as f64 / 1000.0)
    }
}

/// A row of the picture: process and thread number of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Track {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(i64),
    Text(String),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        // JSON readers keep 53 bits.
        match i64::try_from(number) {
            Ok(small) if small < 1 << 53 => Self::Number(small),
            _ => Self::Text(format!("{number:#x}")),
        }
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// An address as an argument.
pub(crate) fn address(address: u64) -> Value {
    Value::Text(format!("{address:#x}"))
}

/// Arguments of an event.
pub(crate) type Args = Vec<(&'static str, Value)>;

/// End of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrow {
    From,
    To,
}

/// Arguments as an object.
fn object<S: Serializer>(args: &[(&'static str, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(args.iter().map(|(name, value)| (name, value)))
}

/// An event in the words of the format, whose names of fields have a letter or two.
#[derive(Default, serde::Serialize)]
struct Event<'a> {
    /// Phase: the kind of the event.
    ph: &'static str,
    pid: u32,
    tid: u32,
    ts: Ns,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Ns>,
    /// Scope of an instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    /// Which slice the end of an arrow belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(serialize_with = "object", skip_serializing_if = "<[_]>::is_empty")]
    args: &'a [(&'static str, Value)],
}

impl<'a> Event<'a> {
    fn new(ph: &'static str, track: Track, name: &'a str, ts: Ns) -> Self {
        Self { ph, pid: track.pid, tid: track.tid, ts, name, ..Self::default() }
    }
}

/// Writes a trace to `out`.
pub(crate) struct Writer<W: Write> {
    out: W,
    first: bool,
}

impl<W: Write> Writer<W> {
    /// Begins the file.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self { out, first: true })
    }

    /// Something on a track from `start` to `end`.
    pub(crate) fn slice(
        &mut self,
        track: Track,
        name: &str,
        (start, end): (Ns, Ns),
        args: &Args,
    ) -> io::Result<()> {
        let dur = Some(Ns(end.0.saturating_sub(start.0)));
        self.event(&Event { dur, args, ..Event::new("X", track, name, start) })
    }

    /// Something at one moment.
    pub(crate) fn instant(&mut self, track: Track, name: &str, at: Ns, args: &Args) -> io::Result<()> {
        self.event(&Event { s: Some("t"), args, ..Event::new("i", track, name, at) })
    }

    /// One end of the arrow with this number; it begins and ends at the slices that its ends fall into.
    pub(crate) fn arrow(&mut self, end: Arrow, id: u64, track: Track, name: &str, at: Ns) -> io::Result<()> {
        let (ph, bp) = match end {
            Arrow::From => ("s", None),
            Arrow::To => ("f", Some("e")),
        };
        self.event(&Event { bp, cat: Some("arrow"), id: Some(id), ..Event::new(ph, track, name, at) })
    }

    /// Says something about a track or its process: `thread_name`, `thread_sort_index`, `process_name`.
    pub(crate) fn describe(&mut self, track: Track, what: &str, args: &Args) -> io::Result<()> {
        self.event(&Event { args, ..Event::new("M", track, what, Ns(0)) })
    }

    /// Ends the file with facts about the whole trace.
    pub(crate) fn finish(mut self, facts: &Args) -> io::Result<()> {
        self.out.write_all(b"\n],\"otherData\":")?;
        object(facts, &mut serde_json::Serializer::new(&mut self.out))?;
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        Ok(to_writer(&mut self.out, event)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_json() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes).unwrap();
        let track = Track { pid: 1, tid: 2 };
        let args = vec![("big", Value::from(u64::MAX)), ("small", Value::from(-3_i64)), ("hex", address(16))];
        writer.slice(track, "say \"hi\"\\\n", (Ns(1_500), Ns(2_501)), &args).unwrap();
        writer.instant(track, "ä", Ns(7), &Args::new()).unwrap();
        writer.arrow(Arrow::To, 9, track, "wake", Ns(7)).unwrap();
        writer.finish(&vec![("lost", Value::from(0_u64))]).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let slice = &json["traceEvents"][0];
        assert_eq!(slice["name"], "say \"hi\"\\\n");
        assert_eq!((slice["ts"].as_f64(), slice["dur"].as_f64()), (Some(1.5), Some(1.001)));
        assert_eq!(
            (&slice["args"]["big"], &slice["args"]["small"]),
            (&"0xffffffffffffffff".into(), &(-3).into())
        );
        assert_eq!(json["traceEvents"][2]["bp"], "e");
        assert_eq!(json["otherData"]["lost"], 0);
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        // A day, ten days and a hundred of them.
        for ns in [0, 1, 999, 86_400_000_000_001, 864_000_123_456_789, 8_640_000_987_654_321] {
            let text = serde_json::to_string(&Ns(ns)).unwrap();
            assert_eq!((text.parse::<f64>().unwrap() * 1000.0).round() as u64, ns, "{text}");
        }
    }

    #[test]
    fn an_empty_trace_is_json() {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).unwrap().finish(&Args::new()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["traceEvents"].as_array().map(Vec::len), Some(0));
    }
}
