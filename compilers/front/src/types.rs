// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Types, their classes, and how they print.

use std::fmt;
use std::sync::Arc;

use crate::ast::Name;

/// A type.
///
/// A tuple `(a, b, c)` is the pair `(a, (b, c))`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// 32-bit integers.
    Int,
    /// Truth values.
    Bool,
    /// Doubles.
    Float,
    /// Characters (bytes).
    Char,
    /// `[t]`
    Seq(Arc<Type>),
    /// `(a, b)`
    Pair(Arc<Type>, Arc<Type>),
    /// A datatype, with the types that its parameters stand for.
    Data(Arc<Datatype>, Arc<[Type]>),
    /// `a -> b`
    Function(Arc<Type>, Arc<Type>),
    /// A parameter of the scheme of the enclosing top-level form.
    Param(u32),
    /// A type not known yet. Never part of what the checker returns.
    Var(TypeVar),
}

/// A type not known yet, of one run of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeVar(pub u32);

/// What a `datatype` form declares. Two are the same if their numbers are.
#[derive(Debug)]
pub struct Datatype {
    /// A number that no other datatype of the checker has.
    pub id: u32,
    /// The name of type and constructor.
    pub name: Name,
    /// Name and class of each parameter.
    pub params: Vec<(Name, Class)>,
    /// What a value holds, in terms of the parameters ([`Type::Param`]).
    pub content: Type,
}

impl PartialEq for Datatype {
    fn eq(&self, other: &Datatype) -> bool {
        self.id == other.id
    }
}

impl Eq for Datatype {}

impl std::hash::Hash for Datatype {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// The set of types that a type variable may stand for. `int` is in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// All types.
    Any,
    /// `int bool float char`
    Scalar,
    /// `int float char`
    Ordinal,
    /// `int float`
    Number,
    /// `int bool`
    Logical,
}

impl Class {
    /// All classes, the widest first.
    pub const ALL: [Class; 5] = [Class::Any, Class::Scalar, Class::Ordinal, Class::Number, Class::Logical];

    /// The class with this name.
    pub fn named(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Any => "any",
            Class::Scalar => "scalar",
            Class::Ordinal => "ordinal",
            Class::Number => "number",
            Class::Logical => "logical",
        }
    }

    /// Its members, in words.
    pub fn members(self) -> &'static str {
        match self {
            Class::Any => "any type",
            Class::Scalar => "int, bool, float or char",
            Class::Ordinal => "int, float or char",
            Class::Number => "int or float",
            Class::Logical => "int or bool",
        }
    }

    /// Whether the primitive type `ty` is a member; false for types that are not primitive, except in `any`.
    pub fn has(self, ty: &Type) -> bool {
        match self {
            Class::Any => true,
            Class::Scalar => matches!(ty, Type::Int | Type::Bool | Type::Float | Type::Char),
            Class::Ordinal => matches!(ty, Type::Int | Type::Float | Type::Char),
            Class::Number => matches!(ty, Type::Int | Type::Float),
            Class::Logical => matches!(ty, Type::Int | Type::Bool),
        }
    }

    /// Whether each member of `self` is in `other`.
    pub fn is_within(self, other: Class) -> bool {
        self == other
            || matches!((self, other), (_, Class::Any) | (_, Class::Scalar) | (Class::Number, Class::Ordinal))
                && self != Class::Any
    }

    /// The class whose members are those of both; none: `int` alone is in both.
    pub fn intersect(self, other: Class) -> Option<Class> {
        if self.is_within(other) {
            Some(self)
        } else if other.is_within(self) {
            Some(other)
        } else {
            None
        }
    }
}

/// A type with parameters, each of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// The class of each [`Type::Param`].
    pub params: Vec<Class>,
    /// The type.
    pub ty: Type,
}

impl Type {
    /// `[element]`
    pub fn seq(element: Type) -> Type {
        Type::Seq(Arc::new(element))
    }

    /// `(first, second)`
    pub fn pair(first: Type, second: Type) -> Type {
        Type::Pair(Arc::new(first), Arc::new(second))
    }

    /// `argument -> result`
    pub fn function(argument: Type, result: Type) -> Type {
        Type::Function(Arc::new(argument), Arc::new(result))
    }

    /// The right-nested pair of `components`, at least one.
    pub fn tuple(components: Vec<Type>) -> Type {
        components.into_iter().rev().reduce(|rest, first| Type::pair(first, rest)).unwrap_or(Type::Int)
    }

    /// `[char]`
    pub fn string() -> Type {
        Type::seq(Type::Char)
    }

    /// The type with each parameter replaced.
    pub fn instantiate(&self, arguments: &[Type]) -> Type {
        match self {
            Type::Param(index) => arguments.get(*index as usize).cloned().unwrap_or_else(|| self.clone()),
            _ => self.map_parts(&mut |part| part.instantiate(arguments)),
        }
    }

    /// The type with its direct parts replaced by what `change` makes of them.
    pub fn map_parts(&self, change: &mut impl FnMut(&Type) -> Type) -> Type {
        match self {
            Type::Int | Type::Bool | Type::Float | Type::Char | Type::Param(_) | Type::Var(_) => self.clone(),
            Type::Seq(element) => Type::seq(change(element)),
            Type::Pair(a, b) => Type::pair(change(a), change(b)),
            Type::Function(a, b) => Type::function(change(a), change(b)),
            Type::Data(data, arguments) => Type::Data(data.clone(), arguments.iter().map(change).collect()),
        }
    }

    /// The direct parts.
    pub fn parts(&self) -> Vec<&Type> {
        match self {
            Type::Int | Type::Bool | Type::Float | Type::Char | Type::Param(_) | Type::Var(_) => Vec::new(),
            Type::Seq(element) => vec![element],
            Type::Pair(a, b) | Type::Function(a, b) => vec![a, b],
            Type::Data(_, arguments) => arguments.iter().collect(),
        }
    }

    /// What a value of a datatype holds; none for other types.
    pub fn content(&self) -> Option<Type> {
        match self {
            Type::Data(data, arguments) => Some(data.content.instantiate(arguments)),
            _ => None,
        }
    }

    /// Whether there is a function in it, also in a datatype's parameters or content.
    pub fn has_function(&self) -> bool {
        matches!(self, Type::Function(..))
            || matches!(self, Type::Data(data, _) if data.content.has_function())
            || self.parts().into_iter().any(Type::has_function)
    }

    /// Whether it has neither parameters nor unknown parts.
    pub fn is_closed(&self) -> bool {
        !matches!(self, Type::Param(_) | Type::Var(_)) && self.parts().into_iter().all(Type::is_closed)
    }
}

impl Scheme {
    /// A type without parameters.
    pub fn closed(ty: Type) -> Scheme {
        Scheme { params: Vec::new(), ty }
    }
}

/// The letter (`a` to `z`, then `a1`...) that stands for parameter `index` in a printed type.
pub fn letter(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    if index < 26 { letter.to_string() } else { format!("{letter}{}", index / 26) }
}

/// How tightly a printed type must bind where it stands.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Context {
    Open,
    Component,
    Argument,
}

/// Prints `ty` with `leaf` for parameters and unknown types.
pub(crate) fn write_type(out: &mut String, ty: &Type, top: bool, leaf: &mut dyn FnMut(&Type, &mut String)) {
    write(out, ty, if top { Context::Open } else { Context::Component }, leaf);
}

fn write(out: &mut String, ty: &Type, context: Context, leaf: &mut dyn FnMut(&Type, &mut String)) {
    match ty {
        Type::Int => out.push_str("int"),
        Type::Bool => out.push_str("bool"),
        Type::Float => out.push_str("float"),
        Type::Char => out.push_str("char"),
        Type::Param(_) | Type::Var(_) => leaf(ty, out),
        Type::Seq(element) => {
            out.push('[');
            write(out, element, Context::Component, leaf);
            out.push(']');
        }
        Type::Data(data, arguments) => {
            out.push_str(&data.name);
            if !arguments.is_empty() {
                out.push('(');
                for (index, argument) in arguments.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    write(out, argument, Context::Component, leaf);
                }
                out.push(')');
            }
        }
        Type::Pair(first, second) => {
            let (open, close) = if context == Context::Open { ("", "") } else { ("(", ")") };
            out.push_str(open);
            write(out, first, Context::Component, leaf);
            let mut rest = second;
            loop {
                out.push_str(", ");
                match &**rest {
                    Type::Pair(next, after) => {
                        write(out, next, Context::Component, leaf);
                        rest = after;
                    }
                    last => break write(out, last, Context::Component, leaf),
                }
            }
            out.push_str(close);
        }
        Type::Function(argument, result) => {
            let (open, close) = if context == Context::Argument { ("(", ")") } else { ("", "") };
            out.push_str(open);
            write(out, argument, Context::Argument, leaf);
            out.push_str(" -> ");
            write(out, result, Context::Component, leaf);
            out.push_str(close);
        }
    }
}

/// As in a value's answer: tuples open at the outermost level, parameters as letters.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_type(&mut text, self, true, &mut |leaf, out| match leaf {
            Type::Param(index) => out.push_str(&letter(*index as usize)),
            Type::Var(var) => out.push_str(&format!("?{}", var.0)),
            _ => {}
        });
        f.write_str(&text)
    }
}

/// With letters in the order of first use, and the classes: `(a, int) -> [a] :: (a in number)`.
impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut order = Vec::new();
        let mut text = String::new();
        write_type(&mut text, &self.ty, true, &mut |leaf, out| {
            if let Type::Param(index) = leaf {
                let place = order.iter().position(|known| known == index).unwrap_or_else(|| {
                    order.push(*index);
                    order.len() - 1
                });
                out.push_str(&letter(place));
            }
        });
        f.write_str(&text)?;
        for (place, index) in order.iter().enumerate() {
            let class = self.params.get(*index as usize).copied().unwrap_or(Class::Any);
            write!(f, "{}{} in {}", if place == 0 { " :: (" } else { "; " }, letter(place), class.name())?;
        }
        f.write_str(if order.is_empty() { "" } else { ")" })
    }
}
