// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns of programs in NESL, VCODE and NDPC, and of the same by hand.

use anyhow::Result;

use super::{Measured, Session};
use crate::answers;
use crate::catalogue::languages::{self, ALONE, Language};
use crate::catalogue::openmp;
use crate::order::Turn;
use crate::place::Place;

impl Session {
    /// A program of a data-parallel language, or the same by hand. An answer that is wrong is no time.
    pub(super) fn run_language(&self, program: &'static languages::Program, turn: &Turn) -> Result<Measured> {
        let benchmark = turn.work.figures[0];
        let mut measured = match &program.peer {
            Some(peer) if !turn.place.runs_languages() => self.run_by_hand(program, peer, turn)?,
            _ => self.run_as_such(program, turn)?,
        };
        let wrong = answers::check(&mut measured.lines, program, benchmark);
        measured.failure = measured.failure.or(wrong);
        Ok(measured)
    }

    fn run_by_hand(
        &self,
        program: &languages::Program,
        peer: &openmp::Program,
        turn: &Turn,
    ) -> Result<Measured> {
        let words = program.words(turn.work.figures[0], turn.work.shape.cpus, self.order.quick);
        let by_hand = self.toolchain.openmp(peer, turn.place)?;
        let by_hand = by_hand.with_variable("OMP_NUM_THREADS", &turn.work.shape.cpus.to_string());
        let by_hand = by_hand.with_args(self.arguments(turn).into_iter().chain(words));
        Measured::of(&self.run(&by_hand, turn)?)
    }

    fn run_as_such(&self, program: &languages::Program, turn: &Turn) -> Result<Measured> {
        let (order, place, cpus) = (&self.order, turn.place, turn.work.shape.cpus);
        let (built, is_ours) = match (&order.nesl31, place) {
            (Some(interpreter), Place::Nesl31) => {
                (self.toolchain.vcode(program, order.quick, interpreter)?, false)
            }
            _ => (self.toolchain.language(program, place, order.quick)?, true),
        };
        let mut measured = Measured::default();
        let alone = program.alone();
        let is_scaled = program.is_scaled && is_ours;
        for (ending, cpu_options) in
            [("", &[][..]), (ALONE, &alone)].into_iter().take(1 + usize::from(is_scaled))
        {
            let options = program.options.iter().filter(|_| is_ours).chain(cpu_options);
            let args = built.args.iter().cloned().chain(options.map(|option| (*option).to_owned()));
            let printed = self.run(&built.with_args(args), turn)?;
            let answers = match program.language {
                Language::Nesl | Language::Ndpc if is_ours => answers::of_values(&printed.text),
                _ => answers::of_stack(&printed.text),
            };
            let lines = answers::lines(answers, program, turn.work.figures[0], ending, order.mode, cpus);
            let sizes = if ending.is_empty() { program.sizes } else { program.large() };
            // NESL 3.1 ends with status 0 after an error, too.
            let incomplete = (lines.len() < sizes.len())
                .then(|| format!("it printed {} of {} figures", lines.len(), sizes.len()));
            measured.failure = measured.failure.or(printed.failure).or(incomplete);
            measured.lines.extend(lines);
        }
        Ok(measured)
    }
}
