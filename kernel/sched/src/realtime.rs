// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real-time schedules: what a thread may ask for, and why it may be refused.
//!
//! Real-time threads precede all others of their CPU, those that were admitted precede the aperiodic ones. A real-time thread
//! is bound to the CPU whose time it was promised; binding it elsewhere or giving it a [`crate::Policy`] ends the promise.

use core::fmt;

/// What a thread asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realtime {
    /// `work_ns` of CPU time in each `period_ns`, from `start_ns` (monotonic; 0 is now) on, each by the end of its period. A
    /// thread that uses up its time waits for the next period.
    Periodic {
        /// Length of a period.
        period_ns: u64,
        /// CPU time in each.
        work_ns: u64,
        /// Begin of the first.
        start_ns: u64,
    },
    /// `work_ns` of CPU time once, within `deadline_ns` from `start_ns` (monotonic; 0 is now) on; then the thread is an
    /// ordinary one.
    Sporadic {
        /// CPU time in all.
        work_ns: u64,
        /// When it is done, relative to the start.
        deadline_ns: u64,
        /// Begin.
        start_ns: u64,
    },
    /// When no admitted thread wants the CPU, the earliest deadline first. Promises nothing, so is never refused.
    Aperiodic {
        /// Relative to `start_ns`; orders the aperiodic threads of a CPU.
        deadline_ns: u64,
        /// Begin (monotonic; 0 is now).
        start_ns: u64,
    },
}

/// Shortest period or deadline: below, timer interrupts and switches would take more than the reserve.
pub const PERIOD_LEAST_NS: u64 = 100_000;
/// Least work: what an interrupt and two switches may take.
pub const WORK_LEAST_NS: u64 = 10_000;
/// Longest period or deadline: 100 days, so that sums of times fit in their words.
pub const PERIOD_MOST_NS: u64 = 100 * 24 * 3600 * 1_000_000_000;
/// How much of a CPU may be promised, in millionths. The rest is for interrupts, switches, and threads without a promise.
pub const UTILISATION_LIMIT_PPM: u64 = 900_000;

/// Why a thread or group was not admitted. Shows as a sentence with the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The period (or relative deadline) is shorter than [`PERIOD_LEAST_NS`] or longer than [`PERIOD_MOST_NS`].
    Period {
        /// What was asked for.
        period_ns: u64,
    },
    /// The work is less than [`WORK_LEAST_NS`] or more than the period.
    Work {
        /// What was asked for.
        work_ns: u64,
        /// In this time.
        period_ns: u64,
    },
    /// The CPU has promised too much to others.
    Utilisation {
        /// Which one.
        cpu: usize,
        /// What was asked for, in millionths of the CPU.
        asked_ppm: u64,
        /// What others were promised.
        promised_ppm: u64,
    },
    /// A member of a group could start too late, because others that were admitted on its CPU come first.
    Skew {
        /// Which one.
        cpu: usize,
        /// By how much at worst, or more.
        delay_ns: u64,
        /// What the group bears.
        skew_ns: u64,
    },
    /// The deadline has passed.
    Late {
        /// Nanoseconds ago.
        by_ns: u64,
    },
    /// The members of a group asked for different schedules.
    Differs,
    /// No memory to remember it.
    NoMemory,
}

/// Millionths as per cent with two places.
struct Share(u64);

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{:02} %", self.0 / 10_000, self.0 / 100 % 100)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Period { period_ns } if period_ns < PERIOD_LEAST_NS => {
                write!(out, "a period of {period_ns} ns is shorter than the least, {PERIOD_LEAST_NS} ns")
            }
            Self::Period { period_ns } => {
                write!(out, "a period of {period_ns} ns is longer than the most, {PERIOD_MOST_NS} ns")
            }
            Self::Work { work_ns, .. } if work_ns < WORK_LEAST_NS => {
                write!(out, "{work_ns} ns of work are less than the least, {WORK_LEAST_NS} ns")
            }
            Self::Work { work_ns, period_ns } => {
                write!(out, "{work_ns} ns of work do not fit into a period of {period_ns} ns")
            }
            Self::Utilisation { cpu, asked_ppm, promised_ppm } => write!(
                out,
                "CPU {cpu} cannot give {}: {} are promised to others, and the limit is {}",
                Share(asked_ppm),
                Share(promised_ppm),
                Share(UTILISATION_LIMIT_PPM)
            ),
            Self::Skew { cpu, delay_ns, skew_ns } => write!(
                out,
                "on CPU {cpu} others could delay a member of the group by {delay_ns} ns, which bears {skew_ns} ns"
            ),
            Self::Late { by_ns } => write!(out, "the deadline passed {by_ns} ns ago"),
            Self::Differs => write!(out, "the members of the group asked for different schedules"),
            Self::NoMemory => write!(out, "no memory is left to admit another thread"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal;
    use std::string::ToString;

    #[test]
    fn a_refusal_says_why() {
        let refusal = Refusal::Utilisation { cpu: 3, asked_ppm: 400_000, promised_ppm: 612_345 };
        assert_eq!(
            refusal.to_string(),
            "CPU 3 cannot give 40.00 %: 61.23 % are promised to others, and the limit is 90.00 %"
        );
        assert!(Refusal::Work { work_ns: 5, period_ns: 9 }.to_string().starts_with("5 ns of work are less"));
    }
}
