// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One console block: commands, what is typed into them, what they print.

/// Prompts of programs that a console block may type into.
pub const PROMPTS: [&str; 2] = ["hadal> ", "(gdb) "];

/// What becomes of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It is run, each command must succeed, and the output is compared if the block shows any.
    Compared,
    /// It is run and each command must succeed; the output is not compared, for this reason.
    NotCompared(String),
    /// It cannot be run in a test, for this reason.
    NotRun(String),
}

/// A block of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Console {
    /// Line of its fence in the page, from 1.
    pub line: usize,
    /// What is done with it.
    pub treatment: Treatment,
    /// Numbers in its output are examples: only their form is compared.
    pub numbers: bool,
    /// The block goes on while those below it run.
    pub background: bool,
    /// Its commands, in order.
    pub commands: Vec<Command>,
}

/// One command line with what belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Line in the page, from 1.
    pub line: usize,
    /// What a shell gets.
    pub text: String,
    /// Lines typed into the program that it starts.
    pub input: Vec<String>,
    /// Lines that are shown below it, without those that are typed.
    pub output: Vec<String>,
    /// The command is not shown: the block begins within the program.
    pub hidden: bool,
}

impl Console {
    /// True if the block shows any output.
    #[must_use]
    pub fn shows_output(&self) -> bool {
        self.commands.iter().any(|command| !command.output.is_empty())
    }
}

/// The commands of a block. `line` is that of the fence; `within` is a command that is not shown, into which the block
/// types from its first line on.
pub fn commands(text: &str, line: usize, within: Option<String>) -> Result<Vec<Command>, String> {
    let mut commands: Vec<Command> = Vec::new();
    commands.extend(within.map(|text| Command { line, text, hidden: true, ..Command::default() }));
    let mut lines = (line + 1..).zip(text.lines());
    while let Some((line, shown)) = lines.next() {
        if let Some(first) = shown.strip_prefix("$ ") {
            let mut text = first.to_owned();
            while text.ends_with('\\') {
                let (_, next) = lines.next().ok_or_else(|| format!("{line}: the command has no end"))?;
                text.push('\n');
                text.push_str(next);
            }
            commands.push(Command { line, text, ..Command::default() });
            continue;
        }
        let command = commands
            .last_mut()
            .ok_or_else(|| format!("{line}: output without a command: begin commands with `$ `"))?;
        match PROMPTS.iter().find_map(|prompt| shown.strip_prefix(prompt)) {
            Some(typed) => command.input.push(typed.to_owned()),
            None => command.output.push(shown.to_owned()),
        }
    }
    if commands.is_empty() {
        return Err(format!("{line}: a console block without a command"));
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_input_and_output() {
        let text = "$ one \\\n    two\nout\n\n$ hadal shell\nhadal> help\nlist\nhadal> halt\n";
        let found = commands(text, 10, None).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, found[0].text.as_str()), (11, "one \\\n    two"));
        assert_eq!(found[0].output, ["out", ""]);
        assert_eq!((found[1].line, found[1].input.clone()), (15, vec!["help".into(), "halt".into()]));
        assert_eq!(found[1].output, ["list"]);
    }

    #[test]
    fn a_block_may_begin_within_a_program() {
        assert!(commands("(gdb) continue\n", 1, None).is_err());
        let found = commands("(gdb) continue\nstopped\n", 1, Some("gdb a".into())).unwrap();
        assert!(found[0].hidden);
        assert_eq!(
            (found[0].input.as_slice(), found[0].output.as_slice()),
            (&["continue".into()][..], &["stopped".into()][..])
        );
    }

    #[test]
    fn a_block_without_a_command_is_an_error() {
        assert!(commands("", 1, None).is_err());
        assert!(commands("hadal run a\n", 1, None).is_err());
    }
}
