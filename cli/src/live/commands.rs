// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal ps`, `hadal stop` and `hadal stacks`.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::anyhow;
use hadal_abi::control::Listing;

use super::peers::{self, Peer};
use super::place::{self, Place};
use super::protocol::{self, Reply, Request};
use super::table::table;
use super::words;
use crate::args::{PsArgs, StacksArgs, StopArgs};
use crate::failure::Failure;

/// Status of these commands when a run is not there or does not answer.
const NOT_DONE: u8 = 1;

/// How long a run may take to end its machine and to write its files, beyond what its program gets.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// The directory and the runs that are listed there.
struct Runs {
    place: Option<Place>,
    peers: Vec<Peer>,
}

impl Runs {
    fn find() -> Result<Self, Failure> {
        let failed = |error| Failure::Other(anyhow!("cannot look for live runs: {error}"));
        let place = Place::open().map_err(|error| failed(error.to_string()))?;
        let peers = place.as_ref().map_or_else(|| Ok(Vec::new()), peers::list);
        Ok(Self { place, peers: peers.map_err(|error| failed(error.to_string()))? })
    }

    /// The runs that a word means: one process, or all of a program's name.
    fn named(&self, word: &str) -> Vec<&Peer> {
        if let Some(peer) =
            word.parse().ok().and_then(|pid: u32| self.peers.iter().find(|peer| peer.pid == pid))
        {
            return vec![peer];
        }
        self.peers.iter().filter(|peer| peer.info.as_ref().is_some_and(|info| info.name == word)).collect()
    }
}

/// Writes to standard output. A reader that is gone, such as `head`, does not miss it.
fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
}

fn none_text() -> String {
    format!("hadal: no live run is listed in {}\n", place::path().display())
}

/// `hadal ps`: lists the live runs, or the processes in one.
pub(crate) fn ps(args: &PsArgs) -> Result<u8, Failure> {
    if let Some(run) = &args.run {
        return list(Some(run), "hadal ps", Listing::Processes, args.wait);
    }
    let runs = Runs::find()?;
    if runs.peers.is_empty() {
        eprint!("{}", none_text());
        return Ok(0);
    }
    print(&table(&runs.peers));
    Ok(0)
}

/// `hadal stop`: ends runs and waits for their end.
pub(crate) fn stop(args: &StopArgs) -> Result<u8, Failure> {
    let runs = Runs::find()?;
    let mut missing = false;
    let mut chosen: Vec<&Peer> = Vec::new();
    for word in &args.runs {
        let named = runs.named(word);
        if named.is_empty() {
            missing = true;
            eprintln!("hadal: there is no live run {}; hadal ps lists them", words::word(word));
        }
        chosen.extend(named);
    }
    if args.all {
        chosen = runs.peers.iter().collect();
    } else if args.runs.is_empty() {
        chosen.extend(only_one(&runs, "hadal stop")?);
    }
    chosen.sort_by_key(|peer| peer.pid);
    chosen.dedup_by_key(|peer| peer.pid);
    let (request, patience) = match args.kill {
        true => (Request::Kill, END_PATIENCE),
        false => (Request::Stop { grace_ms: args.grace.as_millis() as u64 }, args.grace + END_PATIENCE),
    };
    // All are told before the end of the first is waited for.
    let told: Vec<_> = chosen
        .iter()
        .filter_map(|peer| Some((*peer, peer.ask(runs.place.as_ref()?, request, patience))))
        .collect();
    let mut all_ended = !missing && (args.all || !told.is_empty());
    for (peer, answers) in told {
        let (text, ended) = end_text(answers.and_then(wait_for_end));
        all_ended &= ended;
        print(&format!("{} {}: {text}\n", peer.pid, name(peer)));
    }
    if args.all && runs.peers.is_empty() {
        eprint!("{}", none_text());
    }
    Ok(if all_ended { 0 } else { NOT_DONE })
}

/// How a run has ended.
enum End {
    WithStatus {
        status: u8,
        killed: bool,
    },
    /// It was about to end when it was asked.
    Alone,
}

/// Waits until the run's process is gone.
fn wait_for_end(mut answers: BufReader<UnixStream>) -> io::Result<End> {
    let mut end = End::Alone;
    loop {
        match protocol::receive(&mut answers) {
            Ok(Some(Reply::Ended { status, killed })) => end = End::WithStatus { status, killed },
            Ok(Some(_)) => {}
            Ok(None) => return Ok(end),
            // It is over, although files are still being written.
            Err(_) if matches!(end, End::WithStatus { .. }) => return Ok(end),
            Err(error) => return Err(error),
        }
    }
}

/// What became of a run, for people, and whether it has ended.
fn end_text(end: io::Result<End>) -> (String, bool) {
    match end {
        Ok(End::WithStatus { status, killed: false }) => (format!("ended with status {status}"), true),
        Ok(End::WithStatus { status, killed: true }) => {
            (format!("its machine was ended, the status is {status}"), true)
        }
        Ok(End::Alone) => ("has ended".into(), true),
        Err(error) if is_silence(&error) => {
            ("does not answer (is its command suspended?); kill -KILL ends it".into(), false)
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => ("has ended".into(), true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => ("has ended".into(), true),
        Err(error) => (format!("cannot be asked: {error}"), false),
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// `hadal stacks`: prints where the threads of a run are.
pub(crate) fn stacks(args: &StacksArgs) -> Result<u8, Failure> {
    list(args.run.as_deref(), "hadal stacks", Listing::Threads, args.wait)
}

/// Prints a list of what is in a run, whose kernel may take so long to answer.
fn list(run: Option<&str>, command: &str, listing: Listing, patience: Duration) -> Result<u8, Failure> {
    let runs = Runs::find()?;
    let chosen = match run {
        None => only_one(&runs, command)?,
        Some(word) => match runs.named(word)[..] {
            [] => {
                eprintln!("hadal: there is no live run {}; hadal ps lists them", words::word(word));
                None
            }
            [peer] => Some(peer),
            _ => {
                return Err(several(&runs, &format!("several runs have the name {}", words::word(word))));
            }
        },
    };
    let (Some(peer), Some(place)) = (chosen, &runs.place) else { return Ok(NOT_DONE) };
    let answer = peer
        .ask(place, Request::List(listing), patience)
        .and_then(|mut answers| protocol::receive::<Reply>(&mut answers));
    let why = match answer {
        Ok(Some(Reply::List(list))) => {
            print(&words::lines(&list));
            return Ok(0);
        }
        Ok(Some(Reply::Refused(why))) => words::lines(&why),
        Ok(_) => "it has ended".to_owned(),
        Err(error) if is_silence(&error) => format!(
            "no answer within {patience:?} (--wait TIME waits longer): its kernel hangs, or the command is suspended; \
             hadal stop --kill ends it"
        ),
        Err(error) => error.to_string(),
    };
    eprintln!("hadal: {} {}: {why}", peer.pid, name(peer));
    Ok(NOT_DONE)
}

/// The run that is meant when none is named.
fn only_one<'a>(runs: &'a Runs, command: &str) -> Result<Option<&'a Peer>, Failure> {
    match &runs.peers[..] {
        [] => {
            eprint!("{}", none_text());
            Ok(None)
        }
        [peer] => Ok(Some(peer)),
        _ => Err(several(runs, &format!("{command}: there are several live runs"))),
    }
}

/// The failure that lists the runs that may be meant.
fn several(runs: &Runs, what: &str) -> Failure {
    eprint!("{}", table(&runs.peers));
    Failure::Usage { what: what.to_owned(), help: "name one of them by its PID".into() }
}

fn name(peer: &Peer) -> String {
    peer.info.as_ref().map_or_else(|| "?".to_owned(), |info| words::word(&info.name))
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::peer;
    use super::*;

    #[test]
    fn names_are_safe_for_terminals() {
        assert_eq!(name(&peer(1, "a\n\u{1b}b", &[])), r#""a\n\u{1b}b""#);
    }

    #[test]
    fn a_word_names_a_process_or_programs() {
        let peers = vec![peer(7, "heat", &[]), peer(8, "heat", &[]), peer(9, "7", &[])];
        let runs = Runs { place: None, peers };
        let named = |word| runs.named(word).iter().map(|peer| peer.pid).collect::<Vec<_>>();
        assert_eq!(named("heat"), [7, 8]);
        assert_eq!(named("7"), [7]);
        assert!(named("hea").is_empty());
    }
}
