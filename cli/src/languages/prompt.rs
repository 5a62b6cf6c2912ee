// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `hadal nesl`: files and expressions of NESL, evaluated one after another in a machine that stays up.
//!
//! At a terminal it is a prompt, where a library edits the lines and keeps their history. Without one it reads forms from
//! standard input and prints the answers only. The compiler runs here, on the host; the machine gets VCODE, and keeps the
//! values.

use std::io::{self, IsTerminal, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use hadal_front::{Dialect, SourceMap, parse};
use hadal_nesl::{FormId, Outcome, Session};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use signal_hook::consts::SIGINT;

use super::args::NeslArgs;
use super::server::{Ended, Server, Slots};
use super::translate;
use crate::cc;
use crate::failure::Failure;
use crate::line_editor::TerminalMode;
use crate::paths;

/// Lines that are remembered.
const HISTORY: usize = 1000;
const HISTORY_FILE: &str = "history";
const PROMPT: &str = "nesl> ";
const PROMPT_WITHIN: &str = "   .. ";

/// Status when a form failed.
const FAILED: u8 = 1;

/// Runs `hadal nesl`; returns the status with which the command ends.
pub(crate) fn run(args: &NeslArgs) -> Result<u8, Failure> {
    if args.emit.is_some() {
        return emit(args);
    }
    let interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut evaluation = Evaluation::start(args, interactive)?;
    for file in &args.files {
        let text = translate::read(file)?;
        if evaluation.take(&file.to_string_lossy(), &text, 1)? == Next::End {
            return evaluation.end();
        }
    }
    match interactive {
        true => at_terminal(&mut evaluation)?,
        false => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
            evaluation.take("standard input", &String::from_utf8_lossy(&bytes), 1)?;
        }
    }
    evaluation.end()
}

/// `hadal nesl --emit vcode FILE`
fn emit(args: &NeslArgs) -> Result<u8, Failure> {
    let [file] = &args.files[..] else {
        return Err(Failure::Usage {
            what: format!("--emit is for one file, and {} are named", args.files.len()),
            help: "hadal nesl --emit vcode quicksort.nesl".into(),
        });
    };
    print!("{}", translate::nesl(file, &translate::read(file)?, &[])?);
    Ok(0)
}

/// Reads forms at a terminal until the input or the session ends.
fn at_terminal(evaluation: &mut Evaluation<'_>) -> Result<(), Failure> {
    println!("NESL on Hadal: a form ends with ; or $. `help;` lists the commands, `exit;` or Ctrl-D ends.");
    let config = Config::builder().max_history_size(HISTORY).context("cannot edit lines")?;
    let config = config.auto_add_history(true).history_ignore_space(true).bracketed_paste(false).build();
    let mut editor = DefaultEditor::with_config(config).context("cannot edit lines")?;
    let history = paths::cache_dir("nesl").ok().map(|dir| dir.join(HISTORY_FILE));
    if let Some(file) = &history {
        // There is none before the first form.
        let _ = editor.load_history(file);
    }
    let _terminal = TerminalMode::without_editing();
    let (mut text, mut first_line, mut line) = (String::new(), 1, 0);
    loop {
        let prompt = if text.is_empty() { PROMPT } else { PROMPT_WITHIN };
        match editor.readline(prompt) {
            Ok(read) => {
                line += 1;
                text.push_str(&read);
                text.push('\n');
                if is_incomplete(&text) {
                    continue;
                }
                if evaluation.take("input", &text, first_line)? == Next::End {
                    break;
                }
            }
            // The line that was begun is given up, as in a shell.
            Err(ReadlineError::Interrupted) => {}
            Err(_) => break,
        }
        text.clear();
        first_line = line + 1;
    }
    if let Some(file) = &history {
        // A history that cannot be kept is none; the session was all right.
        let _ = editor.save_history(file);
    }
    Ok(())
}

/// Whether a text ends inside of a form, so that another line belongs to it.
fn is_incomplete(text: &str) -> bool {
    let mut sources = SourceMap::new();
    let file = sources.add("", text);
    parse(sources.file(file), Dialect::Nesl).incomplete
}

/// Whether forms are still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Form,
    End,
}

/// A session of the compiler and the machine that evaluates its forms.
struct Evaluation<'a> {
    args: &'a NeslArgs,
    session: Session,
    server: Option<Server>,
    /// Definitions are announced, too, and a value that fails does not end a text.
    interactive: bool,
    failed: bool,
    /// As the machine was told last.
    print_length: i64,
    /// Values of earlier forms went with a machine that ended.
    first_kept: FormId,
    /// Ctrl-C came. It goes to the machine, too, and ends it.
    interrupted: Arc<AtomicBool>,
}

impl<'a> Evaluation<'a> {
    fn start(args: &'a NeslArgs, interactive: bool) -> Result<Self, Failure> {
        let interrupted = Arc::new(AtomicBool::new(false));
        if interactive {
            signal_hook::flag::register(SIGINT, Arc::clone(&interrupted)).context("cannot handle Ctrl-C")?;
        }
        // It boots while the first form is typed and compiled.
        let server = Some(Server::start(args)?);
        let mut session = Session::new();
        session.set_colour(cc::shows_colours());
        let print_length = session.print_length();
        Ok(Self {
            args,
            session,
            server,
            interactive,
            failed: false,
            print_length,
            first_kept: 0,
            interrupted,
        })
    }

    /// Takes the forms of a text, and evaluates those that have values.
    fn take(&mut self, name: &str, text: &str, first_line: u32) -> Result<Next, Failure> {
        let loaded = self.session.load_at_line(name, text, first_line);
        for outcome in loaded.outcomes {
            match outcome {
                Outcome::Defined { name, ty } if self.interactive => println!("{name} = fn : {ty}"),
                Outcome::Defined { .. } => {}
                Outcome::Text(text) => print!("{text}"),
                Outcome::Error(text) => {
                    eprintln!("{}", text.trim_end());
                    self.failed = true;
                }
                Outcome::Value(form) => self.evaluate(form)?,
                Outcome::Exit => return Ok(Next::End),
            }
        }
        Ok(Next::Form)
    }

    fn evaluate(&mut self, form: FormId) -> Result<(), Failure> {
        let request = match self.session.compile_expression(form) {
            Ok(request) => request,
            Err(message) => {
                eprintln!("{}", message.trim_end());
                self.failed = true;
                self.session.forget(form);
                return Ok(());
            }
        };
        if request.inputs.iter().any(|&input| input < self.first_kept) {
            eprintln!("hadal: this uses a value that went with the machine that ended: bind it again");
            self.failed = true;
            self.session.forget(form);
            return Ok(());
        }
        let slots = Slots { inputs: request.inputs, output: Some(request.output) };
        let length = self.session.print_length();
        let is_new = self.print_length != length || self.server.is_none();
        self.print_length = length;
        let server = self.server()?;
        if is_new {
            server.print_at_most(length)?;
        }
        let ended = server.run(&request.text, &slots, &mut io::stdout())?;
        if ended == Ended::Well {
            return self.drop_unused();
        }
        self.failed = true;
        self.session.forget(form);
        if ended == Ended::Gone {
            let status = self.server.take().and_then(Server::end);
            self.begin_anew(form, status);
        }
        Ok(())
    }

    /// Forgets values that no name means any more. A form that has failed gives the names back that it would have bound, so that
    /// this comes behind those that have not.
    fn drop_unused(&mut self) -> Result<(), Failure> {
        let kept = self.first_kept;
        let unused = self.session.unused_slots();
        let server = self.server()?;
        for slot in unused.into_iter().filter(|&slot| slot >= kept) {
            server.forget(slot)?;
        }
        Ok(())
    }

    fn server(&mut self) -> Result<&mut Server, Failure> {
        if self.server.is_none() {
            self.server = Some(Server::start(self.args)?);
        }
        Ok(self.server.as_mut().context("the machine was just started")?)
    }

    /// The machine is gone, and with it all values up to this form's.
    fn begin_anew(&mut self, form: FormId, status: Option<i32>) {
        let why = match (self.interrupted.swap(false, Ordering::Relaxed), status) {
            (true, _) => "interrupted".to_owned(),
            (false, Some(status)) => format!("the machine ended with status {status}"),
            (false, None) => "the machine was ended by a signal".to_owned(),
        };
        eprintln!("hadal: {why}; another one starts, without the values that were bound");
        self.first_kept = form + 1;
    }

    fn end(mut self) -> Result<u8, Failure> {
        let ended = self.server.take().and_then(Server::end);
        match (self.failed, ended) {
            (true, _) => Ok(FAILED),
            (false, Some(0)) => Ok(0),
            (false, status) => Ok(status.map_or(FAILED, |status| status as u8)),
        }
    }
}
