// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interpreter of VCODE as a machine that stays up and runs one program after another (`vcode --serve`).
//!
//! A request is a line `run BYTES SLOT... > SLOT`, then the text; or `drop SLOT`; or `length ELEMENTS`. Values stay in the machine, in numbered slots. What a program
//! prints arrives as it is printed; the byte [`END`] and a status end the answer.

use std::env;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;

use super::args::NeslArgs;
use super::program;
use crate::args::Place;
use crate::failure::Failure;
use crate::native;

/// Ends an answer: the record separator of ASCII, which no value prints.
const END: u8 = 0x1e;

/// The machine.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What a program is run with: the slots of values that it uses, and the slot that keeps its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) inputs: Vec<usize>,
    pub(super) output: Option<usize>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It ran to its end.
    Well,
    /// The program failed, and has said why.
    Badly,
    /// The machine is gone.
    Gone,
}

impl Server {
    /// Starts the machine; it boots while the caller goes on.
    pub(super) fn start(args: &NeslArgs) -> Result<Self, Failure> {
        let own = env::current_exe().context("cannot find this command's own file")?;
        let mut command = Command::new(own);
        command.arg("run");
        if args.place == Place::Linux {
            let given = [("--cpus", args.cpus.is_some()), ("--memory", args.memory.is_some())];
            if let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                return Err(native::without_machine(option));
            }
            command.args(["--place", "linux"]);
        }
        if let Some(cpus) = args.cpus {
            command.arg("--cpus").arg(cpus.to_string());
        }
        if let Some(memory) = args.memory {
            command.arg("--memory").arg(memory.to_memory_option());
        }
        command.arg(program::interpreter()?).arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the machine")?;
        let requests = child.stdin.take().context("the machine has no input")?;
        let answers = BufReader::new(child.stdout.take().context("the machine has no output")?);
        Ok(Self { child, requests, answers })
    }

    /// Runs a program; what it prints goes to `printed`.
    pub(super) fn run(
        &mut self,
        text: &str,
        slots: &Slots,
        printed: &mut impl Write,
    ) -> Result<Ended, Failure> {
        self.ask(&request(text, slots), printed)
    }

    /// Forgets the value of a slot.
    pub(super) fn forget(&mut self, slot: usize) -> Result<Ended, Failure> {
        self.ask(&format!("drop {slot}\n"), &mut io::sink())
    }

    /// Sets how many elements of a sequence are printed.
    pub(super) fn print_at_most(&mut self, elements: i64) -> Result<Ended, Failure> {
        self.ask(&format!("length {elements}\n"), &mut io::sink())
    }

    fn ask(&mut self, request: &str, printed: &mut impl Write) -> Result<Ended, Failure> {
        match self.requests.write_all(request.as_bytes()).and_then(|()| self.requests.flush()) {
            Ok(()) => self.answer(printed),
            Err(_) => Ok(Ended::Gone),
        }
    }

    fn answer(&mut self, printed: &mut impl Write) -> Result<Ended, Failure> {
        loop {
            let Ok(bytes) = self.answers.fill_buf() else { return Ok(Ended::Gone) };
            if bytes.is_empty() {
                return Ok(Ended::Gone);
            }
            let end = bytes.iter().position(|&byte| byte == END);
            let len = end.unwrap_or(bytes.len());
            printed.write_all(&bytes[..len]).and_then(|()| printed.flush()).context("cannot print")?;
            self.answers.consume(end.map_or(len, |at| at + 1));
            if end.is_some() {
                let mut status = String::new();
                let read = self.answers.read_line(&mut status);
                return Ok(match (read, status.trim_end()) {
                    (Ok(_), "0") => Ended::Well,
                    (Ok(_), "1") => Ended::Badly,
                    _ => Ended::Gone,
                });
            }
        }
    }

    /// Lets the machine end, as it does when there is no more input, and gives the status of its command.
    pub(super) fn end(self) -> Option<i32> {
        let Self { mut child, requests, answers } = self;
        drop((requests, answers));
        child.wait().ok()?.code()
    }
}

/// The text of a request.
fn request(text: &str, slots: &Slots) -> String {
    let mut request = format!("run {}", text.len());
    for slot in &slots.inputs {
        let _ = write!(request, " {slot}");
    }
    match slots.output {
        Some(slot) => drop(write!(request, " > {slot}")),
        None => request.push_str(" > -"),
    }
    request.push('\n');
    request.push_str(text);
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_their_slots() {
        let slots = Slots { inputs: vec![3, 1], output: Some(7) };
        assert_eq!(request("FUNC A RET", &slots), "run 10 3 1 > 7\nFUNC A RET");
        assert_eq!(request("", &Slots::default()), "run 0 > -\n");
    }
}
