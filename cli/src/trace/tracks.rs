// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rows of the picture: one for each CPU, and two for each thread (its states, and what it does in the kernel).
//!
//! Slices of a row never overlap but may nest: [`Row`] keeps what is open on one, and a slice is written when it ends.

use std::io::{self, Write};

use hadal_abi::trace::Kind;

use super::json::{Args, Ns, Track, Writer};

/// Something that has begun on a row.
#[derive(Clone, Debug)]
struct Open {
    kind: Kind,
    name: String,
    since: Ns,
    args: Args,
}

/// A row and the slices that are open on it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) track: Track,
    open: Vec<Open>,
    /// End of the last slice, or the beginning of the row.
    free_from: Ns,
}

impl Row {
    pub(crate) fn new(track: Track, from: Ns) -> Self {
        Self { track, open: Vec::new(), free_from: from }
    }

    /// Opens a slice inside those that are open.
    pub(crate) fn begin(&mut self, kind: Kind, name: String, at: Ns, args: Args) {
        let since = at.max(self.free_from).max(self.open.last().map_or(Ns(0), |open| open.since));
        self.open.push(Open { kind, name, since, args });
    }

    /// Ends the innermost slice of a kind, and what is open inside of it. If there is none, its beginning is lost: it fills
    /// the row from its last slice to now, under the name that is given.
    pub(crate) fn end<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        (kind, name): (Kind, &str),
        at: Ns,
        args: Args,
    ) -> io::Result<()> {
        let Some(index) = self.open.iter().rposition(|open| open.kind == kind) else {
            if self.open.is_empty() && self.free_from < at {
                let mut args = args;
                args.push(("began", "before the trace".into()));
                out.slice(self.track, name, (self.free_from, at), &args)?;
                self.free_from = at;
            }
            return Ok(());
        };
        self.close_to(out, index + 1, at)?;
        self.open[index].args.extend(args);
        self.close_to(out, index, at)
    }

    /// Ends everything that is open.
    pub(crate) fn end_all<W: Write>(&mut self, out: &mut Writer<W>, at: Ns) -> io::Result<()> {
        self.close_to(out, 0, at)
    }

    fn close_to<W: Write>(&mut self, out: &mut Writer<W>, len: usize, at: Ns) -> io::Result<()> {
        while self.open.len() > len {
            let Some(open) = self.open.pop() else { break };
            let end = at.max(open.since).max(self.free_from);
            out.slice(self.track, &open.name, (open.since, end), &open.args)?;
            self.free_from = end;
        }
        Ok(())
    }

    /// Name of the innermost open slice of a kind.
    pub(crate) fn innermost(&self, kind: Kind) -> Option<&str> {
        self.open.iter().rev().find(|open| open.kind == kind).map(|open| open.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_nest_whatever_is_lost() {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes).unwrap();
        let mut row = Row::new(Track { pid: 1, tid: 1 }, Ns(100));
        // The beginning of a call is lost, then the end of a fault inside of a call.
        row.end(&mut out, (Kind::CallEnter, "call"), Ns(200), Args::new()).unwrap();
        row.begin(Kind::CallEnter, "read".into(), Ns(300), Args::new());
        row.begin(Kind::FaultEnter, "page fault".into(), Ns(400), Args::new());
        assert_eq!(row.innermost(Kind::CallEnter), Some("read"));
        row.end(&mut out, (Kind::CallEnter, "call"), Ns(500), Args::new()).unwrap();
        assert_eq!(row.innermost(Kind::CallEnter), None);
        out.finish(&Args::new()).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let slices: Vec<_> = json["traceEvents"].as_array().unwrap().iter().collect();
        let names: Vec<_> = slices.iter().map(|slice| slice["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["call", "page fault", "read"]);
        let times = |index: usize| (slices[index]["ts"].as_f64(), slices[index]["dur"].as_f64());
        assert_eq!(times(0), (Some(0.1), Some(0.1)));
        assert_eq!((times(1), times(2)), ((Some(0.4), Some(0.1)), (Some(0.3), Some(0.2))));
    }
}
