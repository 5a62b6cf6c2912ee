// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A long program in all its places at once, in slices of time.

use std::process::{self, Command};

use anyhow::{Result, anyhow, bail};

use super::ready::Ready;
use super::{Measured, Session};
use crate::catalogue::How;
use crate::order::Turn;
use crate::slices::{self, Timed};

impl Session {
    /// Measures turns of one program; what each gave, in their order.
    pub(super) fn measure_side_by_side(&self, turns: &[Turn]) -> Vec<Result<Measured>> {
        let ready: Vec<Result<Ready>> =
            turns.iter().map(|turn| self.long_program(turn, turns.len() as u32)).collect();
        let commands = ready.iter().map(|ready| match ready {
            Ok(ready) => Ok(self.bound(&ready.command)),
            Err(_) => Err(anyhow!("it is not ready")),
        });
        let timed = slices::run(commands, turns[0].work.limit());
        let measured = |(ready, timed): (Result<Ready>, Result<Timed>)| of_timed(&ready?, timed?);
        ready.into_iter().zip(timed).map(measured).collect()
    }

    /// A program of which so many run at once: while one does, the clocks of the others go on.
    fn long_program(&self, turn: &Turn, at_once: u32) -> Result<Ready> {
        match turn.work.how {
            How::OpenMp(program) => {
                self.ready(&self.openmp(program, turn)?, turn, turn.work.limit() * at_once)
            }
            _ => bail!("only programs of OpenMP run in slices"),
        }
    }

    /// The same command, ended when this process has ended.
    fn bound(&self, command: &Command) -> Command {
        let mut bound = Command::new("/proc/self/exe");
        bound.arg(self.exec_in_child).arg(process::id().to_string());
        bound.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => bound.env(name, value),
                None => bound.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            bound.current_dir(directory);
        }
        bound
    }
}

/// The time that a program took by its own clock counts the time of the others; it is that which it was given.
fn of_timed(ready: &Ready, Timed { ended, clock }: Timed) -> Result<Measured> {
    let mut measured = Measured::of(&ready.printed(ended))?;
    match clock {
        Some(clock) => {
            for line in &mut measured.lines {
                line.samples = vec![clock.as_nanos() as f64];
            }
        }
        None => {
            measured.lines.clear();
            measured.failure.get_or_insert_with(|| "its clock was never stopped".to_owned());
        }
    }
    Ok(measured)
}
