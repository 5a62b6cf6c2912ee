// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of the top level.

use std::sync::Arc;

use super::{Parser, Result};
use crate::Dialect;
use crate::ast::{Command, Ident};
use crate::token::TokenKind;

impl Parser {
    /// A command, if one begins here. The words of commands are not reserved, so that what follows decides.
    pub(super) fn command(&mut self) -> Result<Option<Command>> {
        let TokenKind::Ident(word) = self.kind() else { return Ok(None) };
        if self.dialect != Dialect::Nesl {
            return Ok(None);
        }
        let word = word.clone();
        let next = self.kind_after().clone();
        let command = match (&*word, &next) {
            (_, TokenKind::Symbol("|=")) => self.assigning(Command::FileVariable)?,
            (_, TokenKind::Symbol("&=")) => self.assigning(Command::Background)?,
            ("help", end) if end.is_end() => {
                self.advance();
                Command::Help
            }
            ("exit", end) if end.is_end() => {
                self.advance();
                Command::Exit
            }
            ("load", TokenKind::String(_)) => {
                self.advance();
                Command::Load(self.string()?)
            }
            ("describe", TokenKind::Ident(_)) => {
                self.advance();
                Command::Describe(self.name("a name")?)
            }
            ("apropos", TokenKind::Ident(_)) => {
                self.advance();
                Command::Apropos(self.name("a word")?)
            }
            ("show", TokenKind::Ident(_)) => self.show()?,
            ("set", TokenKind::Ident(_)) => self.set()?,
            ("dump", TokenKind::Ident(_)) => self.dump()?,
            _ => return Ok(None),
        };
        Ok(Some(command))
    }

    fn assigning(&mut self, command: fn(Ident, crate::ast::Expr) -> Command) -> Result<Command> {
        let name = self.name("a name")?;
        self.advance();
        Ok(command(name, self.expression()?))
    }

    fn string(&mut self) -> Result<Arc<[u8]>> {
        let TokenKind::String(text) = self.kind() else { return Err(self.unexpected("a string")) };
        let text = text.clone();
        self.advance();
        Ok(text)
    }

    fn show(&mut self) -> Result<Command> {
        self.advance();
        let topic = self.name("a topic")?;
        match &*topic.name {
            "code" => Ok(Command::ShowCode(self.name("the name of a function")?)),
            "status" | "bugs" | "config" => Ok(Command::Show(topic)),
            _ => {
                self.at -= 1;
                Err(self.unexpected("`code`, `status`, `bugs` or `config`"))
            }
        }
    }

    fn set(&mut self) -> Result<Command> {
        self.advance();
        let what = self.name("a setting")?;
        match &*what.name {
            "arg_check" | "verbose" => Ok(Command::SetSwitch(what, self.switch()?)),
            "print_length" | "memory_size" => Ok(Command::SetNumber(what, self.int()?)),
            "trace" => Ok(Command::Trace(self.name("the name of a function")?, self.int()?)),
            "profile" => Ok(Command::Profile(self.name("the name of a function")?, self.switch()?)),
            _ => {
                self.at -= 1;
                let settings = "`arg_check`, `verbose`, `print_length`, `memory_size`, `trace` or `profile`";
                Err(self.unexpected(settings))
            }
        }
    }

    fn switch(&mut self) -> Result<bool> {
        let on = self.is_word("on");
        if !on && !self.is_word("off") {
            return Err(self.unexpected("`on` or `off`"));
        }
        self.advance();
        Ok(on)
    }

    fn int(&mut self) -> Result<i64> {
        let TokenKind::Int(value) = *self.kind() else { return Err(self.unexpected("a number")) };
        self.advance();
        Ok(value)
    }

    fn dump(&mut self) -> Result<Command> {
        self.advance();
        if self.is_word("vcode") {
            self.advance();
            let file = self.string()?;
            return Ok(Command::DumpVcode(file, self.expression()?));
        }
        if self.is_word("world") {
            self.advance();
            let file = match self.kind().is_end() {
                true => None,
                false => Some(self.string()?),
            };
            return Ok(Command::DumpWorld(file));
        }
        Err(self.unexpected("`vcode` or `world`"))
    }
}
