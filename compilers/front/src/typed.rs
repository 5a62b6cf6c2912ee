// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program after type inference.
//!
//! No type has a [`Type::Var`]; a [`Type::Param`] is one of the scheme of the enclosing form. Operators are calls
//! of global functions with the operator's name (see `README.md`), ranges and indexing likewise; arguments
//! passed by name and default values are in place.

use std::sync::Arc;

use crate::ast::{self, Name};
use crate::source::Span;
use crate::types::{Datatype, Scheme, Type};

/// A top-level name: function, primitive, constructor or value. A definition anew makes a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalId(pub u32);

/// A variable bound by a pattern, unique in its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BindingId(pub u32);

/// What the environment knows of a top-level name.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its number.
    pub id: GlobalId,
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: GlobalKind,
    /// Its type.
    pub scheme: Scheme,
    /// Where its name stands in its definition.
    pub span: Span,
    /// The text that describes it.
    pub text: Option<Arc<[u8]>>,
    /// Its parameters, if some have a default.
    pub parameters: Option<Arc<[Parameter]>>,
}

/// What a top-level name is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalKind {
    /// A function with a body.
    Function,
    /// A function declared, but not defined yet.
    Forward,
    /// What the compiler itself provides, function or constant.
    Primitive,
    /// The constructor of a datatype.
    Constructor(Arc<Datatype>),
    /// A value bound at top level.
    Value,
}

/// A parameter of a function that has default values.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name by which an argument may be passed, if the parameter is one variable.
    pub name: Option<Name>,
    /// Its type, in terms of the parameters of the function's scheme.
    pub ty: Type,
    /// The default value. It has no variables but its own.
    pub default: Option<Arc<Expr>>,
}

/// A checked form.
#[derive(Clone, Debug)]
pub enum Form {
    /// A function.
    Function(Function),
    /// A declaration of a function, a primitive or (in NDPC) of a name's type: nothing to compile.
    Declaration(GlobalId),
    /// A datatype; `constructor` is its function.
    Datatype {
        /// The type.
        datatype: Arc<Datatype>,
        /// The function that makes values of it.
        constructor: GlobalId,
    },
    /// A value: an assignment, or an expression, which is bound to `it`.
    Value(Value),
    /// NDPC: types for names.
    Declare,
    /// A command.
    Command(Command),
}

/// A top-level function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its number; that of the forward declaration, if there was one.
    pub id: GlobalId,
    /// Its name.
    pub name: Name,
    /// Its type. Parameters that do not occur in it do not exist: they have become `int`.
    pub scheme: Scheme,
    /// The parameters.
    pub pattern: Pattern,
    /// The body.
    pub body: Expr,
    /// Where its name stands.
    pub name_span: Span,
    /// The form's place.
    pub span: Span,
}

/// A top-level value.
#[derive(Clone, Debug)]
pub struct Value {
    /// What is bound. The variables are known to later forms as `globals`.
    pub pattern: Pattern,
    /// The global of each variable of the pattern, left to right.
    pub globals: Vec<(BindingId, GlobalId)>,
    /// The value.
    pub value: Expr,
    /// Its type. It has parameters only if it is a function.
    pub scheme: Scheme,
    /// Whether the source is an expression, and the name is `it`.
    pub is_expression: bool,
    /// The form's place.
    pub span: Span,
}

/// A command, with its expression checked.
#[derive(Clone, Debug)]
pub enum Command {
    /// `dump vcode "file" exp`
    DumpVcode(Arc<[u8]>, Value),
    /// `name |= exp`; the value binds the name.
    FileVariable(Value),
    /// `name &= exp`; the value binds the name.
    Background(Value),
    /// Any other, as it was read.
    Other(ast::Command),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Its place.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An `int`.
    Int(i32),
    /// A `float`.
    Float(f64),
    /// A `bool`.
    Bool(bool),
    /// A `char`.
    Char(u8),
    /// A `[char]`.
    String(Arc<[u8]>),
    /// A variable bound in this form.
    Local(BindingId),
    /// A top-level name, with the type each parameter of its scheme stands for.
    Global(GlobalId, Arc<[Type]>),
    /// `a, b`
    Pair(Box<Expr>, Box<Expr>),
    /// A call; the function may be any expression of a function type.
    Call(Box<Expr>, Box<Expr>),
    /// Bindings, each of which sees those before it.
    Let(Vec<(Pattern, Expr)>, Box<Expr>),
    /// A conditional.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A function without a name.
    Lambda(Box<Pattern>, Box<Expr>),
    /// `[a, b, c]`
    Sequence(Vec<Expr>),
    /// `[] t`
    Empty,
    /// `{body : sources | filter}`
    ApplyToEach(Box<ApplyToEach>),
    /// `time(e)`: the value and the seconds that it took.
    Time(Box<Expr>),
}

/// `{body : sources | filter}`
#[derive(Clone, Debug)]
pub struct ApplyToEach {
    /// `{* ...}`: one element after another.
    pub serial: bool,
    /// What is computed for each element.
    pub body: Expr,
    /// Patterns and sequences, at least one. A source does not see the patterns.
    pub sources: Vec<(Pattern, Expr)>,
    /// The condition.
    pub filter: Option<Expr>,
}

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What it is.
    pub kind: PatternKind,
    /// The type of what it matches.
    pub ty: Type,
    /// Its place.
    pub span: Span,
}

/// What a pattern is.
#[derive(Clone, Debug)]
pub enum PatternKind {
    /// A variable.
    Bind(BindingId, Name),
    /// `a, b`
    Pair(Box<Pattern>, Box<Pattern>),
    /// `constructor(pattern)`: the pattern matches the content.
    Data(Arc<Datatype>, Box<Pattern>),
}

impl Pattern {
    /// Number, name and type of each variable, left to right.
    pub fn bindings(&self) -> Vec<(BindingId, &Name, &Type)> {
        let mut all = Vec::new();
        self.collect_bindings(&mut all);
        all
    }

    fn collect_bindings<'a>(&'a self, all: &mut Vec<(BindingId, &'a Name, &'a Type)>) {
        match &self.kind {
            PatternKind::Bind(id, name) => all.push((*id, name, &self.ty)),
            PatternKind::Pair(a, b) => {
                a.collect_bindings(all);
                b.collect_bindings(all);
            }
            PatternKind::Data(_, content) => content.collect_bindings(all),
        }
    }

    /// The pattern with each type (also of its parts) and each variable's number changed.
    pub fn map(
        &self,
        ty: &mut impl FnMut(&Type) -> Type,
        binding: &mut impl FnMut(BindingId) -> BindingId,
    ) -> Pattern {
        let kind = match &self.kind {
            PatternKind::Bind(id, name) => PatternKind::Bind(binding(*id), name.clone()),
            PatternKind::Pair(a, b) => {
                PatternKind::Pair(Box::new(a.map(ty, binding)), Box::new(b.map(ty, binding)))
            }
            PatternKind::Data(data, content) => {
                PatternKind::Data(data.clone(), Box::new(content.map(ty, binding)))
            }
        };
        Pattern { kind, ty: ty(&self.ty), span: self.span }
    }
}

impl Expr {
    /// The expressions directly below, in order of evaluation.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Local(_)
            | ExprKind::Global(..)
            | ExprKind::Empty => Vec::new(),
            ExprKind::Pair(a, b) | ExprKind::Call(a, b) => vec![a, b],
            ExprKind::Let(bindings, body) => {
                bindings.iter().map(|(_, value)| value).chain([&**body]).collect()
            }
            ExprKind::If(a, b, c) => vec![a, b, c],
            ExprKind::Lambda(_, body) | ExprKind::Time(body) => vec![body],
            ExprKind::Sequence(elements) => elements.iter().collect(),
            ExprKind::ApplyToEach(each) => each
                .sources
                .iter()
                .map(|(_, source)| source)
                .chain(&each.filter)
                .chain([&each.body])
                .collect(),
        }
    }

    /// The expressions directly below.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::String(_)
            | ExprKind::Local(_)
            | ExprKind::Global(..)
            | ExprKind::Empty => Vec::new(),
            ExprKind::Pair(a, b) | ExprKind::Call(a, b) => vec![a, b],
            ExprKind::Let(bindings, body) => {
                bindings.iter_mut().map(|(_, value)| value).chain([&mut **body]).collect()
            }
            ExprKind::If(a, b, c) => vec![a, b, c],
            ExprKind::Lambda(_, body) | ExprKind::Time(body) => vec![body],
            ExprKind::Sequence(elements) => elements.iter_mut().collect(),
            ExprKind::ApplyToEach(each) => {
                let each = &mut **each;
                each.sources
                    .iter_mut()
                    .map(|(_, source)| source)
                    .chain(&mut each.filter)
                    .chain([&mut each.body])
                    .collect()
            }
        }
    }

    /// The variables it uses but does not bind, with their types, in order of first use.
    pub fn free_variables(&self) -> Vec<(BindingId, Type)> {
        let (mut used, mut bound) = (Vec::new(), Vec::new());
        self.collect_variables(&mut used, &mut bound);
        // Numbers are unique in a form, so that a number bound anywhere inside is not free.
        used.retain(|(id, _)| !bound.contains(id));
        used
    }

    fn collect_variables(&self, used: &mut Vec<(BindingId, Type)>, bound: &mut Vec<BindingId>) {
        let mut bind = |pattern: &Pattern| bound.extend(pattern.bindings().iter().map(|(id, ..)| *id));
        match &self.kind {
            ExprKind::Local(id) if !used.iter().any(|(known, _)| known == id) => {
                used.push((*id, self.ty.clone()));
            }
            ExprKind::Let(bindings, _) => bindings.iter().for_each(|(pattern, _)| bind(pattern)),
            ExprKind::Lambda(pattern, _) => bind(pattern),
            ExprKind::ApplyToEach(each) => each.sources.iter().for_each(|(pattern, _)| bind(pattern)),
            _ => {}
        }
        for child in self.children() {
            child.collect_variables(used, bound);
        }
    }

    /// The expression with each type and each variable's number changed.
    pub fn map(
        &self,
        ty: &mut impl FnMut(&Type) -> Type,
        binding: &mut impl FnMut(BindingId) -> BindingId,
    ) -> Expr {
        let mut go = |expr: &Expr| Box::new(expr.map(ty, binding));
        let kind = match &self.kind {
            ExprKind::Local(id) => ExprKind::Local(binding(*id)),
            ExprKind::Global(id, instance) => ExprKind::Global(*id, instance.iter().map(&mut *ty).collect()),
            ExprKind::Pair(a, b) => ExprKind::Pair(go(a), go(b)),
            ExprKind::Call(a, b) => ExprKind::Call(go(a), go(b)),
            ExprKind::If(a, b, c) => ExprKind::If(go(a), go(b), go(c)),
            ExprKind::Time(a) => ExprKind::Time(go(a)),
            ExprKind::Sequence(elements) => {
                ExprKind::Sequence(elements.iter().map(|element| element.map(ty, binding)).collect())
            }
            ExprKind::Let(bindings, body) => ExprKind::Let(
                bindings
                    .iter()
                    .map(|(pattern, value)| (pattern.map(ty, binding), value.map(ty, binding)))
                    .collect(),
                Box::new(body.map(ty, binding)),
            ),
            ExprKind::Lambda(pattern, body) => {
                ExprKind::Lambda(Box::new(pattern.map(ty, binding)), Box::new(body.map(ty, binding)))
            }
            ExprKind::ApplyToEach(each) => ExprKind::ApplyToEach(Box::new(ApplyToEach {
                serial: each.serial,
                sources: each
                    .sources
                    .iter()
                    .map(|(pattern, source)| (pattern.map(ty, binding), source.map(ty, binding)))
                    .collect(),
                filter: each.filter.as_ref().map(|filter| filter.map(ty, binding)),
                body: each.body.map(ty, binding),
            })),
            other => other.clone(),
        };
        Expr { kind, ty: ty(&self.ty), span: self.span }
    }
}
