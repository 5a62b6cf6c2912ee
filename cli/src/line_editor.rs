// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of `hadal shell` at a terminal: keys are edited here, by a library, with a history that outlives the machine.
//!
//! The kernel prints its prompt and asks for a command ([`GuestMessage::CommandRequest`]) only if standard input is a
//! terminal. The program's own input never comes by here.
//!
//! [`GuestMessage::CommandRequest`]: hadal_abi::control::GuestMessage::CommandRequest

use std::env;
use std::fs;
use std::path::PathBuf;

use hadal_shell::PROMPT;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::config::{CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};

/// Commands that are remembered.
const HISTORY: usize = 1000;
const HISTORY_FILE: &str = "shell-history";
/// Terminals that cannot move the cursor (the library would print the prompt again).
const DUMB: [&str; 4] = ["", "dumb", "cons25", "emacs"];

/// Reads commands from the terminal.
pub(crate) struct LineEditor {
    editor: Editor<Words, FileHistory>,
    /// Where the history is kept, if there is a place.
    history: Option<PathBuf>,
}

impl LineEditor {
    /// An editor with the history of earlier shells; `None` where standard output is no terminal on which lines can be
    /// edited.
    pub(crate) fn open() -> Option<Self> {
        let terminal = env::var("TERM").unwrap_or_default();
        if DUMB.contains(&terminal.as_str()) || !rustix::termios::isatty(rustix::stdio::stdout()) {
            return None;
        }
        // A terminal that is left in the middle of a line must not stay in a mode of the library's.
        let config = Config::builder().max_history_size(HISTORY).ok()?.bracketed_paste(false);
        let config = config.auto_add_history(true).history_ignore_space(true);
        let config = config.completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config).ok()?;
        editor.set_helper(Some(Words { files: FilenameCompleter::new() }));
        let history = history_file();
        if let Some(file) = &history {
            // There is none before the first command.
            let _ = editor.load_history(file);
        }
        Some(Self { editor, history })
    }

    /// Reads a line, with its end; empty at the end of input. The prompt stands on the terminal already, and is printed over.
    pub(crate) fn read(&mut self) -> Vec<u8> {
        loop {
            match self.editor.readline(PROMPT) {
                Ok(line) => {
                    self.remember();
                    return (line + "\n").into_bytes();
                }
                // Ctrl-C drops the line, as in every shell.
                Err(ReadlineError::Interrupted) => {}
                Err(_) => return Vec::new(),
            }
        }
    }

    /// Writes new lines of the history. A place that cannot be written is no reason to disturb the user: the history then
    /// ends with the machine.
    fn remember(&mut self) {
        let Some(file) = &self.history else { return };
        if let Some(dir) = file.parent() {
            let _ = fs::create_dir_all(dir);
        }
        let _ = self.editor.append_history(file);
    }
}

/// `hadal/shell-history` below `XDG_STATE_HOME` or `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("hadal").join(HISTORY_FILE))
}

/// What the Tab key may put in: the shell's commands with their words, and names of files as arguments of the program.
struct Words {
    files: FilenameCompleter,
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let completion = hadal_shell::complete(&line[..pos]);
        if completion.files {
            return self.files.complete_path(line, pos);
        }
        let whole = |word: &&str| Pair { display: (*word).to_owned(), replacement: format!("{word} ") };
        Ok((completion.start, completion.words.iter().map(whole).collect()))
    }
}

impl Helper for Words {}
impl Highlighter for Words {}
impl Hinter for Words {
    type Hint = String;
}
impl Validator for Words {}

/// The terminal's mode, restored when this is dropped: a machine may end while a line is being edited.
#[derive(Debug)]
pub(crate) struct TerminalMode(Option<Termios>);

impl TerminalMode {
    /// Notes the mode of standard input, if that is a terminal.
    pub(crate) fn save() -> Self {
        Self(tcgetattr(rustix::stdio::stdin()).ok())
    }

    /// Notes it, and turns the terminal's own editing of lines off: what is typed while nobody reads waits, unseen, for the
    /// next who edits a line.
    pub(crate) fn without_editing() -> Self {
        let saved = Self::save();
        if let Some(mode) = &saved.0 {
            let mut mode = mode.clone();
            mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, &mode);
        }
        saved
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        if let Some(mode) = &self.0 {
            let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, mode);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    fn completions(line: &str) -> (usize, Vec<String>) {
        let history = DefaultHistory::new();
        let words = Words { files: FilenameCompleter::new() };
        let (start, pairs) = words.complete(line, line.len(), &Context::new(&history)).unwrap();
        (start, pairs.into_iter().map(|pair| pair.replacement).collect())
    }

    #[test]
    fn commands_and_their_words_are_completed() {
        assert_eq!(completions("th"), (0, vec!["threads ".to_owned()]));
        assert_eq!(completions("trace o"), (6, vec!["on ".to_owned(), "off ".to_owned()]));
        assert_eq!(completions("threads x").1, [""; 0]);
    }

    #[test]
    fn arguments_of_the_program_are_files() {
        let (start, found) = completions("run -n /etc/pass");
        assert_eq!(start, 7);
        assert!(found.contains(&"/etc/passwd".to_owned()), "{found:?}");
    }
}
