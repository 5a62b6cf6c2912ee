// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scheduler on simulated CPUs (`hal::sim`): its own source, random plans, random schedules.
//!
//! `hadal-sim --schedules N --seed S` plays N schedules, in batches that are processes of their own: a batch is a machine of
//! 2 to 4 CPUs, and its schedules follow each other on it, so that control blocks are used again. What fails is found again
//! by the batch's seed, which is printed.
#![forbid(unsafe_code)]

mod plan;
mod play;

use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::Instant;

use hadal_hal::cpu;
use hadal_hal::interrupts::irq;
use hadal_hal::interrupts::irq::Off;
use hadal_hal::sim::{self, Course, Random};

/// Schedules of a batch.
const BATCH: u64 = 5_000;
/// Steps of a schedule that has no end: hundreds of times those of others.
const STEPS_MOST: u64 = 3_000_000;

#[derive(Clone, Copy, Debug)]
struct Options {
    schedules: u64,
    seed: u64,
    /// This process is a batch.
    batch: bool,
    /// The schedule of a batch whose plan is printed.
    shows: Option<u64>,
}

static OPTIONS: OnceLock<Options> = OnceLock::new();

fn options() -> Result<Options, String> {
    let mut options = Options { schedules: 20_000, seed: 1, batch: false, shows: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            value.parse().map_err(|_| format!("{word}: {value} is no number"))
        };
        match word.as_str() {
            "--schedules" => options.schedules = number()?,
            "--seed" => options.seed = number()?,
            "--show" => options.shows = Some(number()?),
            "--batch" => options.batch = true,
            _ => {
                return Err(format!("hadal-sim [--schedules N] [--seed S] [--batch [--show K]], not {word}"));
            }
        }
    }
    Ok(options)
}

fn course(random: &Random) -> Course {
    Course {
        seed: random.next(),
        switches_log2: random.below(8) as u32,
        buffers: random.once_in(1),
        stalls: random.once_in(1),
        monitor: false,
        tables: false,
        steps_most: STEPS_MOST,
    }
}

/// The reschedule and the timer interrupt, as the trap layer calls them. Of the looks for spinning, two of three find a loop.
fn handle(vector: u8, off: Off<'_>) {
    match vector {
        irq::VECTOR_TIMER => {
            hadal_sched::look_for_spinning(off, || (!sim::steps().is_multiple_of(3)).then_some(1));
            hadal_sched::on_timer_interrupt(off);
        }
        _ => hadal_sched::on_reschedule_interrupt(off),
    }
}

/// First code of each CPU.
fn start(cpu: usize) -> ! {
    if cpu > 0 {
        hadal_sched::join();
    }
    hadal_sched::init();
    match hadal_sched::create(root, 0, None) {
        Ok(thread) => thread.start(),
        Err(error) => sim::fail(&format!("no root: {error:?}")),
    }
    hadal_sched::enter_idle_loop()
}

/// The thread that plays one plan after the other.
fn root(_: usize) -> ! {
    let options = OPTIONS.get().copied().unwrap_or_else(|| sim::fail("no options"));
    let random = Random::new(options.seed);
    for schedule in 0..options.schedules {
        sim::set_course(course(&random));
        sim::note("schedule", [schedule, 0]);
        let plan = plan::make(&random, cpu::count());
        if options.shows == Some(schedule) {
            println!("{plan:#?}");
        }
        play::play(plan);
    }
    sim::stop()
}

/// This process is a machine.
fn batch(options: Options) {
    let random = Random::new(!options.seed);
    let monitor = random.once_in(1);
    if random.once_in(2) {
        hadal_sched::set_cores(1);
    }
    let tables = random.once_in(1);
    let course = Course { monitor, tables, ..course(&random) };
    sim::run(2 + random.below(3), course, handle, start);
}

/// Plays all batches; returns whether none failed.
fn all(options: Options) -> Result<bool, String> {
    let begin = Instant::now();
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let (mut played, mut seed) = (0, options.seed);
    while played < options.schedules {
        let count = BATCH.min(options.schedules - played);
        let (count_word, seed_word) = (count.to_string(), seed.to_string());
        let words = ["--batch", "--schedules", &count_word, "--seed", &seed_word];
        let status = Command::new(&this).args(words).status().map_err(|error| error.to_string())?;
        if !status.success() {
            println!("seed {seed} failed: hadal-sim {}", words.join(" "));
            return Ok(false);
        }
        played += count;
        seed += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{played} schedules in {seconds:.1} s, {:.0} in a second", played as f64 / seconds);
    Ok(true)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => *OPTIONS.get_or_init(|| options),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    if options.batch {
        batch(options);
        return ExitCode::SUCCESS;
    }
    match all(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
