// SPDX-License-Identifier: Apache-2.0 OR MIT
//! [`Requests`]: what a session has been asked by `hadal ps`, `hadal stop` and `hadal stacks`, until it is answered.

use std::time::{Duration, Instant};

use hadal_abi::control::Listing;

use super::listener::Asker;
use super::protocol::Reply;

/// A request to end.
#[derive(Debug)]
pub(crate) struct Stop {
    /// Time for the program to end by itself; `None`: it gets none.
    pub(crate) grace: Option<Duration>,
    asker: Asker,
}

impl Stop {
    pub(super) fn new(grace: Option<Duration>, asker: Asker) -> Self {
        Self { grace, asker }
    }
}

/// A list that is on its way.
#[derive(Debug, Default)]
struct List {
    /// They wait for it.
    askers: Vec<Asker>,
    /// As much of it as has arrived.
    text: String,
}

/// The open requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    threads: List,
    processes: List,
    /// They wait for the end.
    for_end: Vec<Asker>,
    /// The grace that ends first, and when.
    grace: Option<(Duration, Instant)>,
}

impl Requests {
    fn list(&mut self, listing: Listing) -> &mut List {
        match listing {
            Listing::Threads => &mut self.threads,
            Listing::Processes => &mut self.processes,
        }
    }

    /// Notes a request for a list; returns whether the kernel is to be asked for one.
    pub(crate) fn add_list(&mut self, listing: Listing, asker: Asker, kernel_is_up: bool) -> bool {
        if !kernel_is_up {
            asker.tell(&Reply::Refused("its kernel has not started yet".into()));
            return false;
        }
        let askers = &mut self.list(listing).askers;
        askers.push(asker);
        // A list that is on its way is good for all.
        askers.len() == 1
    }

    /// Takes a piece of a list; the last one is empty, and then all who wait get the list.
    pub(crate) fn add_to_list(&mut self, listing: Listing, piece: &str) {
        let list = self.list(listing);
        list.text.push_str(piece);
        if !piece.is_empty() {
            return;
        }
        let List { askers, text } = std::mem::take(list);
        let reply = match text {
            text if text.is_empty() => Reply::Refused("no program runs in it".into()),
            text => Reply::List(text),
        };
        for asker in askers {
            asker.tell(&reply);
        }
    }

    /// Notes a request to end.
    pub(crate) fn add_stop(&mut self, stop: Stop) {
        stop.asker.tell(&Reply::Ending);
        self.for_end.push(stop.asker);
        if let Some(grace) = stop.grace
            && let Some(end) = Instant::now().checked_add(grace)
            && self.grace.is_none_or(|(_, before)| end < before)
        {
            self.grace = Some((grace, end));
        }
    }

    /// When the program has had its time, if it is to end.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.grace.map(|(_, end)| end)
    }

    /// The grace that is over at `now`.
    pub(crate) fn grace_over(&self, now: Instant) -> Option<Duration> {
        self.grace.filter(|(_, end)| now >= *end).map(|(grace, _)| grace)
    }

    /// Tells those who wait for the end that it is there, the status of the command, and whether the program did not end by
    /// itself.
    pub(crate) fn ended(self, status: u8, killed: bool) {
        for asker in self.for_end {
            asker.tell(&Reply::Ended { status, killed });
            // The connection ends with the process: by then the trace and all other files have been written.
            std::mem::forget(asker);
        }
    }
}
