// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program in its place: the command that runs it, and what it printed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Session;
use crate::hadal::GRACE;
use crate::initramfs::Init;
use crate::linux::{self, Guest};
use crate::native;
use crate::order::Turn;
use crate::place::{Place, Runtime, System};
use crate::timed::{self, Ended};
use crate::toolchain::Program;

/// A program that is ready to run.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) command: Command,
    limit: Duration,
    file: PathBuf,
    /// Has the files that the command names.
    guest: Option<Guest>,
}

impl Session {
    /// Prepares a program for its place; `limit` is what it may take, by the host's clock.
    pub(super) fn ready(&self, program: &Program, turn: &Turn, limit: Duration) -> Result<Ready> {
        let Turn { work, place } = turn;
        let mut guest = None;
        let (command, limit) = match place.system() {
            System::Image | System::Pik | System::Isolated => {
                let options = hadal_options(turn, program);
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let (mode, words) = (self.order.mode, program.words());
                let command = self.hadal.command_within(limit, mode, work.shape, &options, &words);
                (command, limit + GRACE)
            }
            System::Host => (native::command(program, self.toolchain.programs()), limit),
            System::Guest => {
                let linux = self.linux.as_ref().context("the Linux guest was not asked for")?;
                let line = self.hadal.qemu_line(self.order.mode, work.shape)?;
                let programs = std::slice::from_ref(program);
                let new = Guest::new(linux, &line, work.linux_parameters, Init::Mounts, programs)?;
                (guest.insert(new).command(), limit)
            }
        };
        Ok(Ready { command, limit, file: program.file.clone(), guest })
    }
}

impl Ready {
    /// Runs it to its end, whatever that is.
    pub(super) fn run(&mut self) -> Result<Printed> {
        let ended = timed::run(&mut self.command, self.limit)?;
        Ok(self.printed(ended))
    }

    /// What it printed.
    pub(super) fn printed(&self, ended: Ended) -> Printed {
        match self.guest {
            Some(_) => self.printed_in_guest(&ended),
            None => {
                let failure =
                    (!ended.status.success()).then(|| format!("{}\n{}", ended.status, ended.stderr));
                Printed { text: ended.stdout, failure }
            }
        }
    }

    fn printed_in_guest(&self, ended: &Ended) -> Printed {
        let (text, status) = linux::outputs(&ended.stdout).into_iter().next().unwrap_or_default();
        let failure = match status {
            Some(0) => None,
            Some(status) => Some(format!("{} ended with {status}\n{text}", self.file.display())),
            None => Some(format!("the guest ended early\n{text}{}", ended.stderr)),
        };
        Printed { text, failure }
    }
}

/// What a program printed, and why it failed, if it did.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) text: String,
    pub(super) failure: Option<String>,
}

/// What `hadal run` is told besides the machine.
fn hadal_options(turn: &Turn, program: &Program) -> Vec<String> {
    let is_native = |place: Place| place.system() == System::Pik && place.way().runtime == Runtime::Hadal;
    let native = is_native(turn.place).then(|| "--omp=native".to_owned());
    let isolated = (turn.place.system() == System::Isolated).then(|| "--ring=3".to_owned());
    let variables = program.env.iter().map(|(name, value)| format!("--env={name}={value}"));
    native.into_iter().chain(isolated).chain(variables).collect()
}
