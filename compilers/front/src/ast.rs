// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The syntax tree. Names are in lower case: NESL does not tell cases apart.

use std::sync::Arc;

pub use crate::operator::{BinaryOp, PrefixOp};
use crate::source::Span;

/// A name, in lower case.
pub type Name = Arc<str>;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Its place.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place, with the parentheses around it.
    pub span: Span,
    /// Its place without the parentheses.
    inner: Span,
    /// The height of the tree, which the parser keeps below [`crate::parser::MAX_DEPTH`].
    height: u32,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `12`; at most 2147483648, which only `-` in front makes an int.
    Int(i64),
    /// `1.5`
    Float(f64),
    /// `t`, `f`
    Bool(bool),
    /// A backquote and a character.
    Char(u8),
    /// `"text"`, without the escapes.
    String(Arc<[u8]>),
    /// A variable, a function or a constructor.
    Name(Name),
    /// `a, b`; `a, b, c` is `a, (b, c)`.
    Pair(Box<Expr>, Box<Expr>),
    /// `f(x)`, `f x`
    Call(Box<Expr>, Box<Expr>),
    /// `a + b`, with the place of the operator.
    Binary(BinaryOp, Span, Box<Expr>, Box<Expr>),
    /// `#a`, with the place of the operator.
    Prefix(PrefixOp, Span, Box<Expr>),
    /// `s[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `let p = a; q = b in c`; each binding sees those before it.
    Let(Vec<Binding>, Box<Expr>),
    /// `if a then b else c`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `pattern => body`
    Lambda(Pattern, Box<Expr>),
    /// `name := value`, an argument passed by name.
    Named(Ident, Box<Expr>),
    /// `[a, b, c]`, at least one element.
    Sequence(Vec<Expr>),
    /// `[start : end : stride]`
    Range(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    /// `[] type`
    Empty(TypeExpr),
    /// `{body : sources | filter}`
    ApplyToEach(Box<ApplyToEach>),
    /// `with name = type; ... in exp`: types of the variables bound in `exp` (NDPC only).
    With(Vec<(Ident, TypeExpr)>, Box<Expr>),
}

/// `{body : sources | filter}`
#[derive(Clone, Debug)]
pub struct ApplyToEach {
    /// `{* ...}`: one element after another.
    pub serial: bool,
    /// The expression before the colon; none: the element of the first source.
    pub body: Option<Expr>,
    /// What the body is applied over, at least one.
    pub sources: Vec<Over>,
    /// The condition after the bar.
    pub filter: Option<Expr>,
}

/// `pattern in exp`, or `name` alone.
#[derive(Clone, Debug)]
pub struct Over {
    /// What an element is bound to.
    pub pattern: Pattern,
    /// The sequence; none for `name` alone, which means `name in name`.
    pub source: Option<Expr>,
}

/// `pattern = exp` in a `let`.
#[derive(Clone, Debug)]
pub struct Binding {
    /// What the value is bound to.
    pub pattern: Pattern,
    /// The value.
    pub value: Expr,
}

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What it is.
    pub kind: PatternKind,
    /// Its place.
    pub span: Span,
}

/// What a pattern is.
#[derive(Clone, Debug)]
pub enum PatternKind {
    /// A variable.
    Name(Name),
    /// `a, b`
    Pair(Box<Pattern>, Box<Pattern>),
    /// `constructor(pattern)`
    Data(Ident, Box<Pattern>),
    /// `name := default`, in the parameters of a function.
    Default(Ident, Box<Expr>),
}

/// A type as it is written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeExprKind,
    /// Its place.
    pub span: Span,
}

/// What a written type is.
#[derive(Clone, Debug)]
pub enum TypeExprKind {
    /// `int`, a datatype or a type variable.
    Name(Name),
    /// `tab(int, float)`
    Apply(Ident, Vec<TypeExpr>),
    /// `[t]`
    Sequence(Box<TypeExpr>),
    /// `a, b`
    Pair(Box<TypeExpr>, Box<TypeExpr>),
    /// `a -> b`
    Function(Box<TypeExpr>, Box<TypeExpr>),
}

/// `type :: (a in class; ...)`
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The type.
    pub body: TypeExpr,
    /// Its variables and their classes.
    pub variables: Vec<(Ident, Ident)>,
    /// The place of all of it.
    pub span: Span,
}

/// What ends with `;` or `$` at top level.
#[derive(Clone, Debug)]
pub struct Form {
    /// What it is.
    pub kind: FormKind,
    /// Its place, without the end.
    pub span: Span,
}

/// What a top-level form is.
#[derive(Clone, Debug)]
pub enum FormKind {
    /// `function name pattern [: type] ["text"] = exp`
    Function {
        /// The name.
        name: Ident,
        /// The parameters.
        pattern: Pattern,
        /// The declared type of the function.
        declared: Option<TypeDef>,
        /// The describing text.
        text: Option<Arc<[u8]>>,
        /// The body.
        body: Expr,
    },
    /// `function name pattern : type`, which a definition follows later.
    Forward {
        /// The name.
        name: Ident,
        /// The parameters.
        pattern: Pattern,
        /// The type of the function.
        declared: TypeDef,
    },
    /// `primitive name : type`, in libraries only: what the compiler itself provides.
    Primitive {
        /// The name.
        name: Ident,
        /// The type.
        declared: TypeDef,
    },
    /// `datatype name type`
    Datatype {
        /// The name of type and constructor.
        name: Ident,
        /// What a value holds.
        content: TypeDef,
    },
    /// `datatype name type` of NDPC: the type of variables, or of results of functions, with that name.
    Declare {
        /// The name of variables or of a function.
        name: Ident,
        /// Their type, or that of the results.
        declared: TypeExpr,
    },
    /// `pattern = exp`
    Assign {
        /// What is bound.
        pattern: Pattern,
        /// The value.
        value: Expr,
    },
    /// `exp`
    Expression(Expr),
    /// A command.
    Command(Command),
}

/// A command of the top level.
#[derive(Clone, Debug)]
pub enum Command {
    /// `help`
    Help,
    /// `exit`
    Exit,
    /// `load "file"`
    Load(Arc<[u8]>),
    /// `describe name`
    Describe(Ident),
    /// `apropos word`
    Apropos(Ident),
    /// `show code name`
    ShowCode(Ident),
    /// `show status`, `show bugs`, `show config`
    Show(Ident),
    /// `set arg_check on`, `set verbose off`
    SetSwitch(Ident, bool),
    /// `set print_length 100`, `set memory_size 1000000`
    SetNumber(Ident, i64),
    /// `set trace f 1`
    Trace(Ident, i64),
    /// `set profile f on`
    Profile(Ident, bool),
    /// `dump vcode "file" exp`
    DumpVcode(Arc<[u8]>, Expr),
    /// `dump world ["file"]`
    DumpWorld(Option<Arc<[u8]>>),
    /// `name |= exp`: a variable kept in a file.
    FileVariable(Ident, Expr),
    /// `name &= exp`: in the background.
    Background(Ident, Expr),
}

impl Expr {
    /// An expression at `span`.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        let height = 1 + kind.children().into_iter().map(|child| child.height).max().unwrap_or(0);
        Expr { kind, span, inner: span, height }
    }

    /// Its place without the parentheses around it.
    pub fn inner_span(&self) -> Span {
        self.inner
    }

    /// Whether it stands in parentheses.
    pub fn is_parenthesised(&self) -> bool {
        self.inner != self.span
    }

    /// The height of the tree.
    pub fn height(&self) -> u32 {
        self.height
    }
}

impl ExprKind {
    /// The expressions directly below.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Name(_)
            | ExprKind::Empty(_) => Vec::new(),
            ExprKind::Pair(a, b)
            | ExprKind::Call(a, b)
            | ExprKind::Binary(_, _, a, b)
            | ExprKind::Index(a, b) => vec![a, b],
            ExprKind::Prefix(_, _, a) | ExprKind::Named(_, a) | ExprKind::With(_, a) => vec![a],
            ExprKind::Let(bindings, body) => {
                bindings.iter().map(|binding| &binding.value).chain([&**body]).collect()
            }
            ExprKind::If(a, b, c) => vec![a, b, c],
            ExprKind::Lambda(_, body) => vec![body],
            ExprKind::Sequence(elements) => elements.iter().collect(),
            ExprKind::Range(a, b, c) => [&**a, &**b].into_iter().chain(c.as_deref()).collect(),
            ExprKind::ApplyToEach(each) => each
                .body
                .iter()
                .chain(each.sources.iter().filter_map(|over| over.source.as_ref()))
                .chain(&each.filter)
                .collect(),
        }
    }
}
