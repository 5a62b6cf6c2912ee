// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of the top level.

use super::{Outcome, Session};
use hadal_front::ast::{Command, Ident};
use hadal_front::typed;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Files load each other at most this deep; more is a file that loads itself.
const MAX_LOAD_DEPTH: usize = 20;

const HELP: &str = "\
A form ends with ; or $:
  exp                              evaluates; the value is known as `it`
  name = exp                       binds a name, or the names of a pattern
  function name(pattern) = exp     defines a function
  datatype name(type)              defines a type with one constructor
Commands:
  load \"file\"                      takes the forms of a file
  describe name                    tells a name's type and purpose
  apropos word                     lists the names that have the word in them
  show code name                   shows the source of a function
  show status | bugs | config      tells about this session
  set arg_check on | off           run-time checks
  set verbose on | off             more messages
  set print_length n               how many elements of a sequence are printed
  dump vcode \"file\" exp            writes the VCODE of an expression
  exit                             ends the session
";

impl Session {
    pub(super) fn command(&mut self, command: typed::Command, out: &mut Vec<Outcome>) {
        let text = |text: &str| Outcome::Text(format!("{text}\n"));
        match command {
            typed::Command::DumpVcode(file, value) => {
                let before = self.checker.clone();
                let outcome = self.value(value, before);
                out.push(match outcome {
                    Outcome::Value(form) => self.dump_vcode(&String::from_utf8_lossy(&file), form),
                    other => other,
                });
            }
            typed::Command::FileVariable(_) => out.push(Outcome::Error(
                "error: variables kept in a file (|=) are not supported: use write_object_to_file and \
                 read_object_from_file\n"
                    .to_owned(),
            )),
            typed::Command::Background(_) => out.push(Outcome::Error(
                "error: evaluation in the background (&=) is not supported: bind the name with =\n".to_owned(),
            )),
            typed::Command::Other(command) => match command {
                Command::Help => out.push(Outcome::Text(HELP.to_owned())),
                Command::Exit => out.push(Outcome::Exit),
                Command::Load(file) => self.load_file(&String::from_utf8_lossy(&file), out),
                Command::Describe(name) => out.push(match self.describe(&name.name) {
                    Some(answer) => Outcome::Text(answer),
                    None => unknown(&name),
                }),
                Command::Apropos(word) => out.push(Outcome::Text(self.apropos(&word.name))),
                Command::ShowCode(name) => out.push(match self.show_code(&name.name) {
                    Some(answer) => Outcome::Text(answer),
                    None => unknown(&name),
                }),
                Command::Show(what) => out.push(Outcome::Text(self.show(&what.name))),
                Command::SetSwitch(name, on) => out.push(match &*name.name {
                    "arg_check" => {
                        self.settings.arg_check = on;
                        text(if on { "run-time checks are on" } else { "run-time checks are off" })
                    }
                    "verbose" => {
                        self.settings.verbose = on;
                        text(if on { "verbose" } else { "not verbose" })
                    }
                    other => Outcome::Error(format!(
                        "error: there is no switch {other}; there are arg_check and verbose\n"
                    )),
                }),
                Command::SetNumber(name, value) => out.push(match &*name.name {
                    "print_length" => {
                        self.settings.print_length = value;
                        text(&format!("sequences print up to {value} elements"))
                    }
                    "memory_size" => text("memory grows as it is needed; memory_size has no effect"),
                    other => Outcome::Error(format!("error: there is no setting {other}; there is print_length\n")),
                }),
                Command::Trace(..) => out.push(Outcome::Error(
                    "error: set trace is not supported: use print_debug in the function, or trace the VCODE \
                     machine\n"
                        .to_owned(),
                )),
                Command::Profile(..) => out.push(Outcome::Error(
                    "error: set profile is not supported: use time(exp), or the statistics of the VCODE machine\n"
                        .to_owned(),
                )),
                Command::DumpWorld(_) => out.push(Outcome::Error(
                    "error: dump world is not supported: keep definitions in a file and load it\n".to_owned(),
                )),
                Command::DumpVcode(..) | Command::FileVariable(..) | Command::Background(..) => {
                    out.push(Outcome::Error("error: this command needs an expression\n".to_owned()));
                }
            },
        }
    }

    fn dump_vcode(&mut self, file: &str, form: super::FormId) -> Outcome {
        let text = self.closed_program(form);
        self.forget(form);
        match text {
            Ok(text) => match std::fs::write(file, text) {
                Ok(()) => Outcome::Text(format!("VCODE is in {file}\n")),
                Err(error) => Outcome::Error(format!("error: cannot write {file}: {error}\n")),
            },
            Err(message) => Outcome::Error(message),
        }
    }

    /// A program that evaluates a form and, before it, all forms it may use.
    fn closed_program(&self, form: super::FormId) -> Result<String, String> {
        let request = self.compile_expression(form)?;
        if request.inputs.is_empty() {
            return Ok(request.text);
        }
        self.compile_program(&(0..=form).collect::<Vec<_>>())
    }

    fn load_file(&mut self, file: &str, out: &mut Vec<Outcome>) {
        if self.load_depth >= MAX_LOAD_DEPTH {
            out.push(Outcome::Error(format!(
                "error: {file} is loaded over and over: does a file load itself?\n"
            )));
            return;
        }
        let mut tries: Vec<PathBuf> = Vec::new();
        for name in [file.to_owned(), format!("{file}.nesl")] {
            tries.extend(self.directory.iter().map(|directory| directory.join(&name)));
            tries.push(PathBuf::from(name));
        }
        let found = tries.iter().find(|path| path.is_file()).cloned();
        let read = match &found {
            Some(path) => std::fs::read(path).map_err(|error| error.to_string()),
            None => Err("there is no such file".to_owned()),
        };
        match (found, read) {
            (Some(path), Ok(bytes)) => {
                let text = match String::from_utf8(bytes) {
                    Ok(text) => text,
                    Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
                };
                self.load_depth += 1;
                out.extend(self.load(&path.to_string_lossy(), &text).outcomes);
                self.load_depth -= 1;
            }
            (_, Err(error)) => out.push(Outcome::Error(format!("error: cannot load {file}: {error}\n"))),
            (None, Ok(_)) => {}
        }
    }

    /// A name's type, the text that describes it, and where it is defined; none if nothing has this name.
    #[must_use]
    pub fn describe(&self, name: &str) -> Option<String> {
        let name = name.to_lowercase();
        let global = self.checker.lookup(&name)?;
        let mut answer = format!("{} : {}\n", global.name, global.scheme);
        if let Some(text) = &global.text {
            let _ = writeln!(answer, "  {}", String::from_utf8_lossy(text));
        }
        let (file, line, _) = self.sources.position(global.span);
        let _ = writeln!(answer, "  defined in {file}, line {line}");
        Some(answer)
    }

    /// The names that have a word in them, with their types.
    #[must_use]
    pub fn apropos(&self, word: &str) -> String {
        let word = word.to_lowercase();
        let mut answer = String::new();
        for global in self.checker.names() {
            let writable = global.name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if writable && global.name.contains(&word) {
                let _ = writeln!(answer, "{} : {}", global.name, global.scheme);
            }
        }
        if answer.is_empty() {
            answer = format!("no name has {word} in it\n");
        }
        answer
    }

    fn show_code(&self, name: &str) -> Option<String> {
        let global = self.checker.lookup(name)?;
        match self.definitions.globals.get(&global.id) {
            Some(crate::elaborate::Definition::Function(function)) => {
                Some(format!("{}\n", self.sources.snippet(function.span)))
            }
            _ => Some(format!("{name} is not a function written in NESL\n")),
        }
    }

    fn show(&self, what: &str) -> String {
        let switch = |on: bool| if on { "on" } else { "off" };
        match what {
            "status" => format!(
                "arg_check {}\nverbose {}\nprint_length {}\nvalues {}\n",
                switch(self.settings.arg_check),
                switch(self.settings.verbose),
                self.settings.print_length,
                self.forms.len()
            ),
            "bugs" => {
                "graphics are not part of this system; input and output are for serial code\n".to_owned()
            }
            "config" => "int: 32 bits; float: IEEE double; target: VCODE\n".to_owned(),
            other => format!("there is nothing to show about {other}; try status, bugs, config or code\n"),
        }
    }
}

fn unknown(name: &Ident) -> Outcome {
    Outcome::Error(format!("error: nothing has the name {}; try apropos\n", name.name))
}
