// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What elaboration knows of a value: its closed type, and of functions which code they are.

use crate::core::Shape;
use hadal_front::Span;
use hadal_front::ast::Name;
use hadal_front::typed::{BindingId, Expr, GlobalId, Pattern};
use hadal_front::types::Type;
use std::rc::Rc;

/// The static part of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Static {
    /// An integer.
    Int,
    /// A float.
    Float,
    /// A truth value.
    Bool,
    /// A character.
    Char,
    /// A sequence.
    Seq(Rc<Static>),
    /// A pair.
    Pair(Rc<Static>, Rc<Static>),
    /// A datatype: name and content.
    Data(Name, Rc<Static>),
    /// A function.
    Function(Rc<Closure>),
}

/// A function value: its code, and the statics of what it captures.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Closure {
    /// The code.
    pub code: Code,
    /// The captured variables.
    pub captures: Vec<(Capture, Static)>,
}

/// A captured variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Capture {
    /// Bound in the form of the function.
    Local(BindingId),
    /// A value of an earlier form.
    Value(GlobalId),
}

/// What a function value runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// A top-level function, primitive or constructor, with the types of its parameters.
    Global(GlobalId, Vec<Type>),
    /// A function without a name.
    Lambda(Rc<Lambda>),
}

/// A function without a name, in an instance of the form around it.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// Its place, which identifies it.
    pub span: Span,
    /// The types that the parameters of the form around it stand for.
    pub types: Vec<Type>,
    /// The form's function.
    pub owner: String,
    /// The parameters.
    pub pattern: Pattern,
    /// The body.
    pub body: Expr,
}

impl PartialEq for Lambda {
    fn eq(&self, other: &Self) -> bool {
        self.span == other.span && self.types == other.types
    }
}

impl Eq for Lambda {}

impl std::hash::Hash for Lambda {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.span.hash(state);
        self.types.hash(state);
    }
}

impl Static {
    /// The static part of any value of a closed type; none if there is a function in it.
    #[must_use]
    pub fn of(ty: &Type) -> Option<Self> {
        Some(match ty {
            Type::Int | Type::Param(_) | Type::Var(_) => Self::Int,
            Type::Float => Self::Float,
            Type::Bool => Self::Bool,
            Type::Char => Self::Char,
            Type::Seq(element) => Self::Seq(Rc::new(Self::of(element)?)),
            Type::Pair(a, b) => Self::Pair(Rc::new(Self::of(a)?), Rc::new(Self::of(b)?)),
            Type::Data(data, _) => Self::Data(data.name.clone(), Rc::new(Self::of(&ty.content()?)?)),
            Type::Function(..) => return None,
        })
    }

    /// The shape of the value in the core language.
    #[must_use]
    pub fn shape(&self) -> Shape {
        match self {
            Self::Int => Shape::Int,
            Self::Float => Shape::Float,
            Self::Bool => Shape::Bool,
            Self::Char => Shape::Char,
            Self::Seq(element) => Shape::seq(element.shape()),
            Self::Pair(a, b) => Shape::pair(a.shape(), b.shape()),
            Self::Data(_, content) => content.shape(),
            Self::Function(closure) => closure.shape(),
        }
    }

    /// The two parts of a pair; a datatype's content is taken for it.
    #[must_use]
    pub fn parts(&self) -> Option<(Self, Self)> {
        match self {
            Self::Pair(a, b) => Some(((**a).clone(), (**b).clone())),
            Self::Data(_, content) => content.parts(),
            _ => None,
        }
    }

    /// Whether there is a function in it.
    #[must_use]
    pub fn has_function(&self) -> bool {
        match self {
            Self::Int | Self::Float | Self::Bool | Self::Char => false,
            Self::Seq(t) | Self::Data(_, t) => t.has_function(),
            Self::Pair(a, b) => a.has_function() || b.has_function(),
            Self::Function(_) => true,
        }
    }

    /// The code of the value's cells for the run-time, as it prints the value.
    #[must_use]
    pub fn value_code(&self) -> String {
        match self {
            Self::Int => "i".into(),
            Self::Float => "f".into(),
            Self::Bool => "b".into(),
            Self::Char => "c".into(),
            Self::Seq(element) => format!("[{}", element.value_code()),
            Self::Pair(a, b) => format!("({}{}", a.value_code(), b.value_code()),
            Self::Data(name, content) => format!("<{name}:{}>", content.value_code()),
            Self::Function(closure) => format!("u{}", closure.shape().cells()),
        }
    }
}

impl Closure {
    /// The captured variables as one value.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.captures.iter().rev().fold(Shape::Unit, |rest, (_, capture)| {
            if rest == Shape::Unit { capture.shape() } else { Shape::pair(capture.shape(), rest) }
        })
    }
}
