// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How inference words its errors: both types, where each came from, and what to do.

use super::Inference;
use super::unify::{Conflict, Reason};
use crate::ast::{Expr, ExprKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Class, Type, TypeVar, letter, write_type};

/// Types of one message in words: the same letter stands for the same unknown type.
#[derive(Default)]
pub(super) struct Words {
    unknown: Vec<TypeVar>,
}

impl Inference<'_> {
    /// A type in a message.
    pub(super) fn show(&self, words: &mut Words, ty: &Type) -> String {
        let mut text = String::new();
        write_type(&mut text, &self.unifier.zonk(ty), false, &mut |leaf, out| match leaf {
            Type::Param(index) => match self.unifier.rigid.get(*index as usize) {
                Some((name, _)) => out.push_str(name),
                None => out.push_str(&letter(*index as usize)),
            },
            Type::Var(var) => {
                let place = words.unknown.iter().position(|known| known == var).unwrap_or_else(|| {
                    words.unknown.push(*var);
                    words.unknown.len() - 1
                });
                out.push_str(&letter(self.free_letter(place)));
            }
            _ => {}
        });
        format!("`{text}`")
    }

    /// The number of the letter for the unknown type number `place`: letters of declared variables are taken.
    fn free_letter(&self, place: usize) -> usize {
        let is_free = |index: &usize| !self.unifier.rigid.iter().any(|(name, _)| **name == *letter(*index));
        (0..).filter(is_free).nth(place).unwrap_or(place)
    }

    /// What the letters of unknown types stand for, if not for anything.
    pub(super) fn classes(&self, words: &Words) -> Option<String> {
        let texts: Vec<String> = words
            .unknown
            .iter()
            .enumerate()
            .filter_map(|(place, var)| match self.unifier.class(&Type::Var(*var)) {
                Class::Any => None,
                class => Some(format!("`{}` is {}", letter(self.free_letter(place)), class.members())),
            })
            .collect();
        (!texts.is_empty()).then(|| format!("here {}", texts.join(", and ")))
    }

    /// What a type must be, in words: a type or the members of a class.
    pub(super) fn required(&self, words: &mut Words, ty: &Type, conflict: &Conflict) -> String {
        match (self.unifier.resolve(ty), conflict.reason) {
            (Type::Var(var), _) if self.unifier.class(&Type::Var(var)) != Class::Any => {
                self.unifier.class(&Type::Var(var)).members().into()
            }
            _ => self.show(words, ty),
        }
    }

    /// An error at `at`, where `expected` must stand but `found` does. `message` gets the two in words.
    pub(super) fn mismatch(
        &self,
        at: Span,
        expected: &Type,
        found: &Type,
        conflict: &Conflict,
        message: impl FnOnce(&str, &str) -> String,
    ) -> Diagnostic {
        let mut words = Words::default();
        let wanted = self.required(&mut words, expected, conflict);
        let got = self.show(&mut words, found);
        let label = format!("expected {wanted}, found {got}");
        let mut diagnostic = Diagnostic::error(message(&wanted, &got), at, label);
        diagnostic = self.explain(diagnostic, conflict);
        match self.classes(&words) {
            Some(classes) => diagnostic.note(classes),
            None => diagnostic,
        }
    }

    /// Adds why two types do not fit, and where their parts came from.
    pub(super) fn explain(&self, mut diagnostic: Diagnostic, conflict: &Conflict) -> Diagnostic {
        let mut words = Words::default();
        for (part, what) in [(&conflict.left, "expected"), (&conflict.right, "found")] {
            if let Some(origin) = self.unifier.origin(part)
                && diagnostic.labels.iter().all(|label| label.span != origin)
                && origin.file == diagnostic.span().file
            {
                let ty = self.show(&mut words, part);
                diagnostic = diagnostic.label(origin, format!("{ty} is {what} because of this"));
            }
        }
        match conflict.reason {
            Reason::Infinite => diagnostic.note("the type would contain itself, without end"),
            Reason::Class(class) => {
                let rigid = [&conflict.left, &conflict.right]
                    .into_iter()
                    .find(|part| matches!(self.unifier.resolve(part), Type::Param(_)));
                match rigid {
                    Some(part) => {
                        let name = self.show(&mut words, part);
                        let declared = self.unifier.class(&self.unifier.resolve(part)).name();
                        diagnostic
                            .note(format!("the type variable {name} is declared to be in `{declared}`"))
                            .help(format!("declare it to be in `{}`", class.name()))
                    }
                    None => diagnostic,
                }
            }
            Reason::Different => {
                let rigid = [(&conflict.left, &conflict.right), (&conflict.right, &conflict.left)]
                    .into_iter()
                    .find(|(part, _)| matches!(self.unifier.resolve(part), Type::Param(_)));
                match rigid {
                    Some((part, other)) => {
                        let name = self.show(&mut words, part);
                        let other = self.show(&mut words, other);
                        diagnostic.note(format!(
                            "the declared type promises to work for each {name}, but here it must be {other}"
                        ))
                    }
                    None => diagnostic,
                }
            }
        }
    }

    /// Adds why a variable has the type that it has.
    pub(super) fn explain_variable(&self, diagnostic: Diagnostic, expr: &Expr, ty: &Type) -> Diagnostic {
        let ExprKind::Name(name) = &expr.kind else { return diagnostic };
        let Some(local) = self.scope.iter().rev().find(|local| local.name == *name) else {
            return diagnostic;
        };
        let shown = self.show(&mut Words::default(), ty);
        match self.unifier.origin(&local.ty) {
            Some(origin)
                if origin.file == diagnostic.span().file
                    && diagnostic.labels.iter().all(|label| label.span != origin) =>
            {
                diagnostic.label(origin, format!("`{name}` is {shown} because of this"))
            }
            _ => diagnostic,
        }
    }

    /// Adds how to make an int a float, if that is all that is missing. The types are those of the expressions.
    pub(super) fn suggest_conversion(
        &self,
        diagnostic: Diagnostic,
        types: (&Type, &Type),
        left: Option<&Expr>,
        right: Option<&Expr>,
    ) -> Diagnostic {
        let int_side = match (self.unifier.resolve(types.0), self.unifier.resolve(types.1)) {
            (Type::Int, Type::Float) => left,
            (Type::Float, Type::Int) => right,
            _ => return diagnostic,
        };
        match int_side {
            Some(expr) if matches!(expr.kind, ExprKind::Int(_)) => {
                diagnostic.suggest("write the number as a float", vec![(expr.span.after(), ".0".into())])
            }
            Some(expr) => {
                let before = Span { end: expr.span.start, ..expr.span };
                let changes = match self.is_parenthesised(expr) {
                    true => vec![(before, "float".into())],
                    false => vec![(before, "float(".into()), (expr.span.after(), ")".into())],
                };
                diagnostic
                    .suggest("there is no implicit conversion; `float` makes a float of an int", changes)
            }
            None => diagnostic.help("`trunc`, `round`, `floor` and `ceil` make an int of a float"),
        }
    }

    /// Whether an expression was written in parentheses: then its place is wider than its parts.
    fn is_parenthesised(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Pair(a, b) | ExprKind::Binary(_, _, a, b) => expr.span != a.span.to(b.span),
            ExprKind::Prefix(_, place, a) => expr.span != place.to(a.span),
            _ => false,
        }
    }
}
