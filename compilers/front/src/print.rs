// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A syntax tree as NESL text, with as few parentheses as the binding powers allow.

use std::fmt::{self, Display, Formatter};

use crate::ast::{
    ApplyToEach, Command, Expr, ExprKind, Form, FormKind, Ident, Over, Pattern, PatternKind, TypeDef,
    TypeExpr, TypeExprKind,
};

use crate::lexer::lex;
use crate::source::SourceMap;
use crate::token::TokenKind;

/// Binding power of `:=` and `=>`, and of the parts of brackets.
const ARROW: u8 = 5;

impl Display for Form {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{};", self.kind)
    }
}

impl Display for FormKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FormKind::Function { name, pattern, declared, text, body } => {
                write!(f, "function {}({pattern})", Defined(name))?;
                if let Some(declared) = declared {
                    write!(f, " : {declared}")?;
                }
                if let Some(text) = text {
                    write!(f, " {}", Quoted(text))?;
                }
                write!(f, " = {body}")
            }
            FormKind::Forward { name, pattern, declared } => {
                write!(f, "function {}({pattern}) : {declared}", Defined(name))
            }
            FormKind::Primitive { name, declared } => write!(f, "primitive {} : {declared}", Defined(name)),
            FormKind::Datatype { name, content } => {
                write!(f, "datatype {}({})", name.name, content.body)?;
                write_classes(f, content)
            }
            FormKind::Declare { name, declared } => write!(f, "datatype {} {declared}", name.name),
            FormKind::Assign { pattern, value } => write!(f, "{pattern} = {value}"),
            FormKind::Expression(value) => write!(f, "{value}"),
            FormKind::Command(command) => write!(f, "{command}"),
        }
    }
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let switch = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Command::Help => f.write_str("help"),
            Command::Exit => f.write_str("exit"),
            Command::Load(file) => write!(f, "load {}", Quoted(file)),
            Command::Describe(name) => write!(f, "describe {}", name.name),
            Command::Apropos(name) => write!(f, "apropos {}", name.name),
            Command::ShowCode(name) => write!(f, "show code {}", name.name),
            Command::Show(topic) => write!(f, "show {}", topic.name),
            Command::SetSwitch(name, on) => write!(f, "set {} {}", name.name, switch(on)),
            Command::SetNumber(name, number) => write!(f, "set {} {number}", name.name),
            Command::Trace(name, number) => write!(f, "set trace {} {number}", name.name),
            Command::Profile(name, on) => write!(f, "set profile {} {}", name.name, switch(on)),
            Command::DumpVcode(file, value) => write!(f, "dump vcode {} {value}", Quoted(file)),
            Command::DumpWorld(None) => f.write_str("dump world"),
            Command::DumpWorld(Some(file)) => write!(f, "dump world {}", Quoted(file)),
            Command::FileVariable(name, value) => write!(f, "{} |= {value}", name.name),
            Command::Background(name, value) => write!(f, "{} &= {value}", name.name),
        }
    }
}

/// A name that is defined: in quotes if it is not one that a program can write.
struct Defined<'a>(&'a Ident);

impl Display for Defined<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = &*self.0.name;
        match is_readable(name) {
            true => f.write_str(name),
            false => write!(f, "{}", Quoted(name.as_bytes())),
        }
    }
}

/// Whether the lexer reads `name` as one name.
fn is_readable(name: &str) -> bool {
    let mut sources = SourceMap::new();
    let file = sources.add("", name);
    let lexed = lex(sources.file(file));
    let kinds: Vec<&TokenKind> = lexed.tokens.iter().map(|token| &token.kind).collect();
    matches!(kinds[..], [TokenKind::Ident(read), TokenKind::Eof] if **read == *name)
}

struct Quoted<'a>(&'a [u8]);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(self.0);
        write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

fn write_classes(f: &mut Formatter<'_>, definition: &TypeDef) -> fmt::Result {
    for (index, (name, class)) in definition.variables.iter().enumerate() {
        let open = if index == 0 { " :: (" } else { "; " };
        write!(f, "{open}{} in {}", name.name, class.name)?;
    }
    f.write_str(if definition.variables.is_empty() { "" } else { ")" })
}

impl Display for TypeDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.body)?;
        write_classes(f, self)
    }
}

impl Display for TypeExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TypeExprKind::Name(name) => f.write_str(name),
            TypeExprKind::Sequence(element) => write!(f, "[{element}]"),
            TypeExprKind::Pair(a, b) => write!(f, "{}, {b}", Component(a)),
            TypeExprKind::Function(a, b) => write!(f, "{} -> {}", Atom(a), Component(b)),
            TypeExprKind::Apply(name, arguments) => {
                for (index, argument) in arguments.iter().enumerate() {
                    let open = if index == 0 { &format!("{}(", name.name) } else { ", " };
                    write!(f, "{open}{}", Component(argument))?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A type where a comma would end it.
struct Component<'a>(&'a TypeExpr);

impl Display for Component<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            TypeExprKind::Pair(..) => write!(f, "({})", self.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// A type where an operator would end it.
struct Atom<'a>(&'a TypeExpr);

impl Display for Atom<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            TypeExprKind::Pair(..) | TypeExprKind::Function(..) => write!(f, "({})", self.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            PatternKind::Name(name) => f.write_str(name),
            PatternKind::Pair(a, b) if matches!(a.kind, PatternKind::Pair(..)) => write!(f, "({a}), {b}"),
            PatternKind::Pair(a, b) => write!(f, "{a}, {b}"),
            PatternKind::Data(name, content) => write!(f, "{}({content})", name.name),
            PatternKind::Default(name, value) => write!(f, "{} := {}", name.name, At(value, ARROW)),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", At(self, 0))
    }
}

/// An expression where all its operators must bind at least this tightly.
struct At<'a>(&'a Expr, u8);

impl Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let At(expr, least) = *self;
        let power = match &expr.kind {
            ExprKind::Let(..) | ExprKind::If(..) | ExprKind::With(..) => 0,
            ExprKind::Pair(..) => 4,
            ExprKind::Lambda(..) | ExprKind::Named(..) => ARROW,
            ExprKind::Binary(op, ..) => op.power(),
            ExprKind::Prefix(..) => 25,
            ExprKind::Call(..) | ExprKind::Index(..) => 30,
            _ => u8::MAX,
        };
        if power < least { write!(f, "({})", Bare(expr)) } else { write!(f, "{}", Bare(expr)) }
    }
}

/// An expression without parentheses around it.
struct Bare<'a>(&'a Expr);

impl Display for Bare<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ExprKind::Int(value) => write!(f, "{value}"),
            ExprKind::Float(value) => write!(f, "{value:?}"),
            ExprKind::Bool(value) => f.write_str(if *value { "t" } else { "f" }),
            ExprKind::Char(value) => write!(f, "`{}", char::from(*value)),
            ExprKind::String(value) => write!(f, "{}", Quoted(value)),
            ExprKind::Name(name) => f.write_str(name),
            ExprKind::Pair(a, b) => write!(f, "{}, {}", At(a, ARROW), At(b, 4)),
            ExprKind::Call(function, argument) => write!(f, "{}({argument})", At(function, 30)),
            ExprKind::Index(sequence, index) => write!(f, "{}[{index}]", At(sequence, 30)),
            ExprKind::Binary(op, _, a, b) => {
                let power = op.power();
                let (left, right) =
                    if op.is_right_associative() { (power + 1, power) } else { (power, power + 1) };
                write!(f, "{} {} {}", At(a, left), op.symbol(), At(b, right))
            }
            ExprKind::Prefix(op, _, a) => write!(f, "{}{}", op.symbol(), At(a, 25)),
            ExprKind::Let(bindings, body) => {
                for (index, binding) in bindings.iter().enumerate() {
                    let open = if index == 0 { "let" } else { ";" };
                    write!(f, "{open} {} = {}", binding.pattern, binding.value)?;
                }
                write!(f, " in {body}")
            }
            ExprKind::If(condition, yes, no) => write!(f, "if {condition} then {yes} else {no}"),
            ExprKind::Lambda(pattern, body) => match pattern.kind {
                PatternKind::Pair(..) => write!(f, "({pattern}) => {}", At(body, ARROW)),
                _ => write!(f, "{pattern} => {}", At(body, ARROW)),
            },
            ExprKind::Named(name, value) => write!(f, "{} := {}", name.name, At(value, ARROW)),
            ExprKind::Sequence(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    write!(f, "{}{}", if index == 0 { "[" } else { ", " }, At(element, ARROW))?;
                }
                f.write_str("]")
            }
            ExprKind::Range(start, end, stride) => {
                write!(f, "[{} : {}", At(start, ARROW), At(end, ARROW))?;
                match stride {
                    Some(stride) => write!(f, " : {}]", At(stride, ARROW)),
                    None => f.write_str("]"),
                }
            }
            ExprKind::Empty(ty) => write!(f, "[] {}", Atom(ty)),
            ExprKind::ApplyToEach(each) => write!(f, "{each}"),
            ExprKind::With(types, body) => {
                for (index, (name, ty)) in types.iter().enumerate() {
                    write!(f, "{} {} = {ty}", if index == 0 { "with" } else { ";" }, name.name)?;
                }
                write!(f, " in {body}")
            }
        }
    }
}

impl Display for ApplyToEach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.serial { "{* " } else { "{" })?;
        if let Some(body) = &self.body {
            write!(f, "{body} : ")?;
        }
        for (index, over) in self.sources.iter().enumerate() {
            write!(f, "{}{over}", if index == 0 { "" } else { "; " })?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " | {filter}")?;
        }
        f.write_str("}")
    }
}

impl Display for Over {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{} in {source}", self.pattern),
            None => write!(f, "{}", self.pattern),
        }
    }
}
