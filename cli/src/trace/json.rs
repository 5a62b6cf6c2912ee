// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes events in the Chrome trace format, which ui.perfetto.dev and chrome://tracing read: a JSON object with a list
//! of events, one to a line.

use std::io::{self, Write};

/// A time in nanoseconds since boot; the format counts microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ns(pub(crate) u64);

/// A row of the picture: process and thread number of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Track {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        self.begin("X", track, name, start)?;
        self.out.write_all(b",\"dur\":")?;
        self.microseconds(Ns(end.0.saturating_sub(start.0)))?;
        self.end(args)
    }

    /// Something at one moment.
    pub(crate) fn instant(&mut self, track: Track, name: &str, at: Ns, args: &Args) -> io::Result<()> {
        self.begin("i", track, name, at)?;
        self.out.write_all(b",\"s\":\"t\"")?;
        self.end(args)
    }

    /// One end of the arrow with this number; it begins and ends at the slices that its ends fall into.
    pub(crate) fn arrow(&mut self, end: Arrow, id: u64, track: Track, name: &str, at: Ns) -> io::Result<()> {
        match end {
            Arrow::From => self.begin("s", track, name, at)?,
            Arrow::To => {
                self.begin("f", track, name, at)?;
                self.out.write_all(b",\"bp\":\"e\"")?;
            }
        }
        write!(self.out, ",\"cat\":\"arrow\",\"id\":{id}")?;
        self.end(&Args::new())
    }

    /// Says something about a track or its process: `thread_name`, `thread_sort_index`, `process_name`.
    pub(crate) fn describe(&mut self, track: Track, what: &str, args: &Args) -> io::Result<()> {
        self.begin("M", track, what, Ns(0))?;
        self.end(args)
    }

    /// Ends the file with facts about the whole trace.
    pub(crate) fn finish(mut self, facts: &Args) -> io::Result<()> {
        self.out.write_all(b"\n],\"otherData\":")?;
        self.object(facts)?;
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }

    fn begin(&mut self, phase: &str, track: Track, name: &str, at: Ns) -> io::Result<()> {
        self.out.write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        write!(self.out, "{{\"ph\":\"{phase}\",\"pid\":{},\"tid\":{},\"ts\":", track.pid, track.tid)?;
        self.microseconds(at)?;
        self.out.write_all(b",\"name\":")?;
        self.text(name)
    }

    fn end(&mut self, args: &Args) -> io::Result<()> {
        if !args.is_empty() {
            self.out.write_all(b",\"args\":")?;
            self.object(args)?;
        }
        self.out.write_all(b"}")
    }

    fn microseconds(&mut self, Ns(ns): Ns) -> io::Result<()> {
        write!(self.out, "{}.{:03}", ns / 1000, ns % 1000)
    }

    fn object(&mut self, args: &Args) -> io::Result<()> {
        for (index, (name, value)) in args.iter().enumerate() {
            self.out.write_all(if index == 0 { b"{" } else { b"," })?;
            self.text(name)?;
            self.out.write_all(b":")?;
            match value {
                Value::Number(number) => write!(self.out, "{number}")?,
                Value::Text(text) => self.text(text)?,
            }
        }
        self.out.write_all(if args.is_empty() { b"{}" } else { b"}" })
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(b"\"")?;
        for c in text.chars() {
            match c {
                '"' | '\\' => write!(self.out, "\\{c}")?,
                c if c.is_control() => write!(self.out, "\\u{:04x}", u32::from(c))?,
                c => write!(self.out, "{c}")?,
            }
        }
        self.out.write_all(b"\"")
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
    fn an_empty_trace_is_json() {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).unwrap().finish(&Args::new()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["traceEvents"].as_array().map(Vec::len), Some(0));
    }
}
