// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What programs of the data-parallel languages print: for each size the answer and the seconds of each sample, the first of
//! which warms up. They become the lines that programs in C print by themselves.

use crate::catalogue::languages::{Program, Size};
use crate::protocol::Line;
use crate::results::Mode;

const NS_PER_SECOND: f64 = 1e9;

/// The answer of a size, and seconds of all samples.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    answer: i64,
    seconds: Vec<f64>,
}

/// Values as the languages print them: `figure = (7, [0.5, 0.25]) : int, [float]`, the brackets only in NESL.
pub(crate) fn of_values(output: &str) -> Vec<Answer> {
    let pieces: Vec<&str> = output.split('[').collect();
    let answer = |pair: &[&str]| {
        let before = pair[0].trim_end().trim_end_matches(',');
        let word = before.rsplit([' ', '\n', '(', '=']).next()?;
        let inside = pair[1].split(']').next()?;
        let seconds: Result<Vec<f64>, _> = inside.split(',').map(|number| number.trim().parse()).collect();
        Some(Answer { answer: word.parse().ok()?, seconds: seconds.ok()? })
    };
    pieces.windows(2).filter_map(answer).collect()
}

/// The stack of VCODE as NESL 3.1 prints it: `( 7 )`, `[ 2 ]`, `( 5.0e-01 2.5e-01 )`.
pub(crate) fn of_stack(output: &str) -> Vec<Answer> {
    let vector = |part: &str| {
        let inside = part.split(')').next()?;
        inside.split_whitespace().map(|number| number.parse().ok()).collect::<Option<Vec<f64>>>()
    };
    let vectors: Vec<Vec<f64>> = output.split('(').skip(1).filter_map(vector).collect();
    let answer = |pair: &[Vec<f64>]| Answer {
        // INT has 32 bits, which a double holds.
        answer: pair[0].first().map_or(i64::MIN, |number| *number as i64),
        seconds: pair[1].clone(),
    };
    vectors.chunks_exact(2).map(answer).collect()
}

/// Lines of figures, one for each size of a program.
pub(crate) fn lines(
    answers: Vec<Answer>,
    program: &Program,
    benchmark: &str,
    ending: &str,
    mode: Mode,
    cpus: u32,
) -> Vec<Line> {
    let line = |(size, answer): (&Size, Answer)| {
        let sample = |seconds: &f64| seconds * NS_PER_SECOND / f64::from(size.operations);
        Line {
            name: format!("{benchmark}{}{ending}", size.suffix),
            // Where instructions are counted, one takes one nanosecond of every clock.
            unit: if mode == Mode::Path { "instructions".into() } else { "ns".into() },
            cpus,
            samples: answer.seconds.iter().skip(1).map(sample).collect(),
            overhead: 0.0,
            answer: Some(answer.answer),
            skipped: None,
        }
    };
    let sizes = if ending.is_empty() { program.sizes } else { program.large() };
    sizes.iter().zip(answers).map(line).collect()
}

/// Keeps the figures whose answer is right; what is wrong with the others.
pub(crate) fn check(lines: &mut Vec<Line>, program: &Program, benchmark: &str) -> Option<String> {
    let mut wrong = None;
    lines.retain(|line| {
        let expected = program.size_of(benchmark, &line.name).map(|size| i64::from(size.answer));
        let is_right = expected.is_some() && line.answer == expected;
        if !is_right {
            wrong = Some(format!("{}: the answer is {:?}, not {expected:?}", line.name, line.answer));
        }
        is_right
    });
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{BENCHMARKS, How};

    fn quicksort() -> &'static Program {
        let named = BENCHMARKS.iter().find(|benchmark| benchmark.name == "nesl.quicksort").unwrap();
        let How::Language(program) = named.how else { panic!("a program of NESL") };
        program
    }

    #[test]
    fn values_of_both_languages_are_read() {
        let nesl = "figure = (-7, [0.5, 2.5E-1]) : int, [float]\n";
        let ndpc = "figure_short =\n8, [0.125, 9.4E-4]\n: int, [float]\n";
        let answers = of_values(&[nesl, ndpc].concat());
        assert_eq!(answers[0], Answer { answer: -7, seconds: vec![0.5, 0.25] });
        assert_eq!(answers[1], Answer { answer: 8, seconds: vec![0.125, 9.4e-4] });
        assert_eq!(answers.len(), 2);
        assert!(of_values("RUNTIME ERROR: Divide by zero.\n").is_empty());
    }

    #[test]
    fn stacks_are_read() {
        let answers = of_stack("( -7 )\n[ 2 ]\n( 5.00000000000000e-01 2.5e-01 )\n( 8 )\n[ 1 ]\n( 1.0 )\n");
        assert_eq!(answers[0], Answer { answer: -7, seconds: vec![0.5, 0.25] });
        assert_eq!(answers[1], Answer { answer: 8, seconds: vec![1.0] });
        assert!(of_stack("").is_empty() && of_stack("( F )\n[ 1 ]\n").is_empty());
    }

    #[test]
    fn samples_are_times_of_one_computation_without_the_first() {
        let answers = vec![
            Answer { answer: 1, seconds: vec![9.0, 0.5] },
            Answer { answer: 2, seconds: vec![9.0, 2e-6, 4e-6] },
        ];
        let of = |ending| lines(answers.clone(), quicksort(), "nesl.quicksort", ending, Mode::Parallel, 2);
        let both = of("");
        assert_eq!((both[0].name.as_str(), both[0].samples.as_slice()), ("nesl.quicksort", &[5e8][..]));
        assert_eq!(both[1].name, "nesl.quicksort_short");
        assert_eq!(both[1].samples, [100.0, 200.0]);
        let alone = of("_1");
        assert_eq!((alone.len(), alone[0].name.as_str()), (1, "nesl.quicksort_1"));
    }

    #[test]
    fn a_wrong_answer_is_no_time() {
        let line = |name: &str, answer| Line { answer, ..crate::collected::tests::line(name, &[1.0]) };
        let [large, short] = [0, 1].map(|index| i64::from(quicksort().sizes[index].answer));
        let mut lines = vec![
            line("nesl.quicksort", Some(large)),
            line("nesl.quicksort_short", Some(short + 1)),
            line("nesl.quicksort_1", None),
        ];
        let wrong = check(&mut lines, quicksort(), "nesl.quicksort");
        assert_eq!((lines.len(), lines[0].name.as_str()), (1, "nesl.quicksort"));
        assert!(wrong.is_some());
        assert_eq!(check(&mut lines, quicksort(), "nesl.quicksort"), None);
    }
}
