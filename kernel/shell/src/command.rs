// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of the shell.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Characters of a wrong word that are shown: input may be anything, and have no line ends.
const SHOWN_CHARS: usize = 60;

/// What `help` prints.
pub const HELP: &str = "\
help              this list
processes         every process: parent, state, threads, CPU time, memory, command
threads           every thread: state, CPU, policy, priority, run time, what it waits for
cpus              every CPU: idle time, interrupts, threads that wait for it
memory            every zone of memory, and the kernel's heap
run [ARGS...]     the program, with these arguments or those that it was given; the shell waits for its end
counters          everything that the kernel counts
trace on|off      record events on every CPU (with `hadal shell --trace FILE` the host gets them at the end)
modules           files that came with the kernel
log LEVEL         what the kernel logs: off, error, warn, info, debug, trace, or MODULE=LEVEL, separated by commas
halt              end the machine
";

/// Every command with the words that may follow it; the arguments of [`TAKES_FILES`] are the program's.
pub(crate) const COMMANDS: [(&str, &[&str]); 11] = [
    ("help", &[]),
    ("processes", &[]),
    ("threads", &[]),
    ("cpus", &[]),
    ("memory", &[]),
    ("run", &[]),
    ("counters", &[]),
    ("trace", &["on", "off"]),
    ("modules", &[]),
    ("log", &["off", "error", "warn", "info", "debug", "trace"]),
    ("halt", &[]),
];

/// The command whose arguments may be names of files.
pub(crate) const TAKES_FILES: &str = "run";

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `help`
    Help,
    /// `processes`, or `ps`
    Processes,
    /// `threads`
    Threads,
    /// `cpus`
    Cpus,
    /// `memory`
    Memory,
    /// `run`, with arguments if any were given.
    Run(Vec<String>),
    /// `counters`
    Counters,
    /// `trace on` is true.
    Trace(bool),
    /// `modules`
    Modules,
    /// `log`, with a filter.
    Log(String),
    /// `halt`
    Halt,
}

/// Why a line is no command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// There is no such command.
    Unknown(String),
    /// A quote is not closed.
    Quote,
    /// The command takes other arguments, as in this example.
    Arguments(&'static str),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(word) => write!(f, "{word:.SHOWN_CHARS$}: no such command (help lists them)"),
            Self::Quote => f.write_str("a quote is not closed"),
            Self::Arguments(usage) => write!(f, "usage: {usage}"),
        }
    }
}

/// Reads a line; `None` for one without words.
pub fn parse(line: &str) -> Result<Option<Command>, Wrong> {
    let words = shlex::split(line).ok_or(Wrong::Quote)?;
    let Some((name, arguments)) = words.split_first() else { return Ok(None) };
    let alone =
        |command, usage| if arguments.is_empty() { Ok(command) } else { Err(Wrong::Arguments(usage)) };
    let command = match name.as_str() {
        "help" | "?" => Command::Help,
        "processes" | "ps" => alone(Command::Processes, "processes")?,
        "threads" => alone(Command::Threads, "threads")?,
        "cpus" => alone(Command::Cpus, "cpus")?,
        "memory" => alone(Command::Memory, "memory")?,
        "run" => Command::Run(arguments.to_vec()),
        "counters" => alone(Command::Counters, "counters")?,
        "trace" => match arguments {
            [word] if word == "on" => Command::Trace(true),
            [word] if word == "off" => Command::Trace(false),
            _ => return Err(Wrong::Arguments("trace on|off")),
        },
        "modules" => alone(Command::Modules, "modules")?,
        "log" => match arguments {
            [filter] => Command::Log(filter.clone()),
            _ => return Err(Wrong::Arguments("log LEVEL, or log MODULE=LEVEL,...")),
        },
        "halt" | "exit" | "quit" => alone(Command::Halt, "halt")?,
        other => return Err(Wrong::Unknown(other.to_string())),
    };
    Ok(Some(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(parse("  "), Ok(None));
        assert_eq!(parse("threads"), Ok(Some(Command::Threads)));
        assert_eq!(parse(" trace  on "), Ok(Some(Command::Trace(true))));
        assert_eq!(parse("log warn,mem=debug"), Ok(Some(Command::Log("warn,mem=debug".into()))));
        let run = Command::Run(["-n", "two words", ""].map(String::from).to_vec());
        assert_eq!(parse("run -n 'two words' \"\""), Ok(Some(run)));
    }

    #[test]
    fn wrong_lines_say_why() {
        assert_eq!(parse("ls"), Err(Wrong::Unknown("ls".into())));
        assert_eq!(parse("run 'x"), Err(Wrong::Quote));
        let long = parse(&"x".repeat(1 << 16)).unwrap_err().to_string();
        assert_eq!(long, alloc::format!("{}: no such command (help lists them)", "x".repeat(SHOWN_CHARS)));
        for line in ["trace", "trace maybe", "log", "halt now", "cpus 3"] {
            assert!(matches!(parse(line), Err(Wrong::Arguments(_))), "{line}");
        }
    }

    #[test]
    fn help_lists_every_command() {
        let names: Vec<_> = HELP.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(names, COMMANDS.map(|(name, _)| name));
        for (name, words) in COMMANDS {
            assert!(!matches!(parse(name), Err(Wrong::Unknown(_))), "{name}");
            for word in words {
                assert!(parse(&alloc::format!("{name} {word}")).is_ok(), "{name} {word}");
            }
        }
    }
}
