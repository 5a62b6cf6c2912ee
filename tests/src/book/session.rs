// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The blocks of a page run one after the other, in a directory of their own that looks like the source tree.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::console::{Command, Console, PROMPTS, Treatment};
use super::page::{Step, steps};
use super::{pattern, read};
use crate::error::TestError;
use crate::machine::{Permit, hadal_command, with_default_signals};
use crate::run::Running;
use crate::scratch;

/// A block may take this long.
const LIMIT: Duration = Duration::from_secs(300);

/// Stands in the output around the status of each command.
const MARK: char = '\u{1e}';

/// Where the reader of the book lives and works.
const READERS_HOME: &str = "/home/me";

/// Output of the block that goes on, in the page's directory.
const BACKGROUND: &str = ".background";

/// Runs the blocks of a page.
pub fn run(page: &str) -> Result<(), TestError> {
    let steps = steps(&read(page)?).map_err(|error| TestError::Wrong(format!("{page}:{error}")))?;
    let session = Session::new(page)?;
    let _permit = Permit::one();
    let mut background = None;
    for step in &steps {
        match step {
            Step::File { name, text } => {
                let path = session.directory.join(name);
                fs::write(path, text).map_err(TestError::io(format!("{page}: cannot write {name}")))?;
            }
            Step::Before { line, commands } => session.prepare(*line, commands)?,
            Step::Console(block) if matches!(block.treatment, Treatment::NotRun(_)) => {}
            Step::Console(block) if block.background => background = Some((block, session.begin(block)?)),
            Step::Console(block) => session.run(block)?,
        }
    }
    match background {
        Some((block, running)) => session.end(block, running),
        None => Ok(()),
    }
}

/// A page in progress.
struct Session<'a> {
    page: &'a str,
    directory: PathBuf,
    home: PathBuf,
}

impl<'a> Session<'a> {
    fn new(page: &'a str) -> Result<Self, TestError> {
        let directory = scratch::empty_directory(&format!("book/{page}"))?;
        let home = directory.join(".home");
        let link = |from: &Path, to: &Path| {
            symlink(from, to).map_err(TestError::io(format!("cannot make the link {}", to.display())))
        };
        for entry in fs::read_dir(scratch::workspace()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name != "hadal" && name != "target" && name != ".git" {
                link(&entry.path(), &directory.join(name))?;
            }
        }
        link(&scratch::target(), &directory.join("target"))?;
        // The reader's `./hadal` is a script that builds the command; here it is built.
        let command = hadal_command()?;
        link(&command, &directory.join("hadal"))?;
        let commands = directory.join(".bin");
        for made in [&home, &commands] {
            fs::create_dir(made).map_err(TestError::io(format!("cannot make {}", made.display())))?;
        }
        for name in ["hadal", "hadal-cc", "hadal-cxx", "hadal-c++", "hadal-fc"] {
            let path = command.with_file_name(name);
            if path.exists() {
                link(&path, &commands.join(name))?;
            }
        }
        // What other tests have compiled need not be compiled again.
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| own_home(".cache"));
        if let Some(cache) = cache {
            fs::create_dir_all(&cache).map_err(TestError::io(format!("cannot make {}", cache.display())))?;
            link(&cache, &home.join(".cache"))?;
        }
        Ok(Self { page, directory, home })
    }

    /// Starts a shell. The machines of the book have two CPUs, and memory that every host has.
    fn shell(&self, script: &str) -> Result<Running, TestError> {
        let mut shell = with_default_signals(Path::new("bash"));
        let search = std::env::var("PATH").unwrap_or_default();
        shell.current_dir(&self.directory).args(["-c", script]);
        shell.env("PATH", format!("{}:{search}", self.directory.join(".bin").display()));
        shell.env("BACKGROUND", self.directory.join(BACKGROUND));
        shell.env("HADAL_CPUS", "2").env("HADAL_MEMORY", "1G").env("HOME", &self.home);
        // Live runs of other tests are none of the reader's.
        shell.env("XDG_RUNTIME_DIR", &self.home);
        shell.env("LC_ALL", "C.UTF-8").env("TERM", "dumb").env_remove("XDG_CACHE_HOME");
        // Cargo sets it for its tests, and programs would look for their libraries there.
        shell.env_remove("LD_LIBRARY_PATH");
        // Rust's tools are in the home of whoever runs the tests.
        for (variable, name) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            if let (None, Some(path)) = (std::env::var_os(variable), own_home(name)) {
                shell.env(variable, path);
            }
        }
        Running::start(shell, b"")
    }

    fn prepare(&self, line: usize, commands: &str) -> Result<(), TestError> {
        let outcome = self.shell(&format!("set -e\n{commands}"))?.finish(LIMIT)?;
        if outcome.status == 0 {
            return Ok(());
        }
        Err(self.wrong(line, &format!("the preparation failed:\n{outcome}")))
    }

    fn run(&self, block: &Console) -> Result<(), TestError> {
        let outcome = self.block(block, "")?.finish(LIMIT)?;
        self.check(block, &outcome.stdout_text())
    }

    /// Starts the commands of a block, which print on a terminal as they do for the reader.
    fn block(&self, block: &Console, redirection: &str) -> Result<Running, TestError> {
        let file = format!(".block-{}.sh", block.line);
        fs::write(self.directory.join(&file), script(block))
            .map_err(TestError::io("cannot write the block's commands"))?;
        self.shell(&format!("script --quiet --flush --command 'bash {file}' /dev/null {redirection}"))
    }

    /// Starts a block that goes on, and waits until it has printed something.
    fn begin(&self, block: &Console) -> Result<Running, TestError> {
        let running = self.block(block, "> \"$BACKGROUND\"")?;
        let deadline = Instant::now() + LIMIT;
        while self.background_output().is_empty() {
            if Instant::now() > deadline {
                return Err(self.wrong(block.line, "nothing is printed"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// Waits for the end of such a block.
    fn end(&self, block: &Console, running: Running) -> Result<(), TestError> {
        running.finish(LIMIT)?;
        self.check(block, &self.background_output())
    }

    fn background_output(&self) -> String {
        let bytes = fs::read(self.directory.join(BACKGROUND)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Compares what the commands of a block have printed with what it shows.
    fn check(&self, block: &Console, printed: &str) -> Result<(), TestError> {
        // A terminal ends its lines in two characters.
        let mut printed = printed.replace("\r\n", "\n");
        for directory in [&self.home, &self.directory] {
            printed = printed.replace(&*directory.to_string_lossy(), READERS_HOME);
        }
        let mut parts = printed.split(MARK);
        for command in &block.commands {
            let output = parts.next().unwrap_or_default();
            let Some(status) = parts.next() else {
                return Err(self.wrong(command.line, &format!("the command ended the shell:\n{output}")));
            };
            if status != "0" {
                let text = format!("`{}` ended with status {status}:\n{output}", command.text);
                return Err(self.wrong(command.line, &text));
            }
            if block.treatment == Treatment::Compared && block.shows_output() {
                pattern::compare(&command.output, block.numbers, &without_prompts(command, output))
                    .map_err(|error| self.wrong(command.line, &format!("`{}`\n{error}", command.text)))?;
            }
        }
        Ok(())
    }

    fn wrong(&self, line: usize, text: &str) -> TestError {
        TestError::Wrong(format!("{}:{line}: {text}", self.page))
    }
}

/// A directory in the home of whoever runs the tests.
fn own_home(name: &str) -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| Path::new(&home).join(name))
}

/// The commands of a block for one shell. Their input is no terminal: it has an end.
fn script(block: &Console) -> String {
    // On a terminal of this size nothing wraps lines, or asks for a key between pages.
    let mut script = String::from("stty columns 1000 rows 1000 <&1\nexec < /dev/null\n");
    for command in &block.commands {
        // The braces end on a line of their own: the command may end with a comment.
        let _ = write!(script, "{{ {}\n}}", command.text);
        if !command.input.is_empty() {
            let _ = write!(script, " <<'{MARK}'\n{}\n{MARK}", command.input.join("\n"));
        }
        let _ = writeln!(script, "\nprintf '{MARK}%d{MARK}' $?");
    }
    script
}

/// Output without the prompts of a program whose input is no terminal, and without what came before the first prompt
/// where the page begins with it.
fn without_prompts(command: &Command, output: &str) -> String {
    if command.input.is_empty() {
        return output.to_owned();
    }
    let first = PROMPTS.iter().filter_map(|prompt| output.find(prompt)).min();
    let output = &output[if command.hidden { first.unwrap_or(0) } else { 0 }..];
    let lines = output.lines().map(|mut line| {
        while let Some(rest) = PROMPTS.iter().find_map(|prompt| line.strip_prefix(prompt)) {
            line = rest;
        }
        line.to_owned() + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(directory: &Path) -> Session<'static> {
        Session { page: "page.md", directory: directory.to_owned(), home: directory.join("home") }
    }

    fn run_block(session: &Session<'_>, source: &str) -> Result<(), String> {
        for step in steps(source).unwrap() {
            if let Step::Console(block) = step {
                session.run(&block).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    #[test]
    fn commands_are_run_and_compared() {
        let directory = tempfile::tempdir().unwrap();
        let session = session(directory.path());
        let right = "```console\n$ echo one; echo two >&2\none\ntwo\n$ x=1 # a comment\n$ echo $x $HADAL_CPUS\n1 2\n```\n";
        assert_eq!(run_block(&session, right), Ok(()));
        let error = run_block(&session, "\n```console\n$ echo a\na\n$ echo b\nc\n```\n").unwrap_err();
        assert!(error.starts_with("page.md:5: `echo b`\n"), "{error}");
        let error = run_block(&session, "```console\n$ false\n```\n").unwrap_err();
        assert!(error.contains("status 1"), "{error}");
        let error = run_block(&session, "```console\n$ exit 0\n```\n").unwrap_err();
        assert!(error.contains("ended the shell"), "{error}");
        // Without any output the block shows commands only.
        assert_eq!(run_block(&session, "```console\n$ echo a\n```\n"), Ok(()));
        assert_eq!(run_block(&session, "```console\n$ echo $HOME/x\n/home/me/x\n```\n"), Ok(()));
    }

    #[test]
    fn lines_behind_a_prompt_are_typed() {
        let directory = tempfile::tempdir().unwrap();
        let session = session(directory.path());
        assert_eq!(run_block(&session, "```console\n$ cat\nhadal> a\na\nhadal> b c\nb c\n```\n"), Ok(()));
        let within =
            "<!-- console within: echo banner; printf '(gdb) '; cat -->\n```console\n(gdb) x\nx\n```\n";
        assert_eq!(run_block(&session, within), Ok(()));
    }
}
