// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How inference words its errors: both types, where each came from, and what to do.

use super::Inference;
use super::unify::{Conflict, Reason};
use crate::ast::{Expr, ExprKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::{Class, Type, letter, write_type};

impl Inference<'_> {
    /// A type in a message.
    pub(super) fn show(&self, ty: &Type) -> String {
        let mut shown = self.shown.borrow_mut();
        let mut text = String::new();
        write_type(&mut text, &self.unifier.zonk(ty), false, &mut |leaf, out| match leaf {
            Type::Param(index) => match self.unifier.rigid.get(*index as usize) {
                Some((name, _)) => out.push_str(name),
                None => out.push_str(&letter(*index as usize)),
            },
            Type::Var(var) => {
                let place = shown.iter().position(|known| known == var).unwrap_or_else(|| {
                    shown.push(*var);
                    shown.len() - 1
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
    pub(super) fn classes(&self) -> Option<String> {
        let shown = self.shown.borrow();
        let texts: Vec<String> = shown
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
    pub(super) fn required(&self, ty: &Type, conflict: &Conflict) -> String {
        match (self.unifier.resolve(ty), conflict.reason) {
            (Type::Var(var), _) if self.unifier.class(&Type::Var(var)) != Class::Any => {
                self.unifier.class(&Type::Var(var)).members().into()
            }
            _ => self.show(ty),
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
        let wanted = self.required(expected, conflict);
        let got = self.show(found);
        let label = format!("expected {wanted}, found {got}");
        let mut diagnostic = Diagnostic::error(message(&wanted, &got), at, label);
        diagnostic = self.explain(diagnostic, conflict);
        match self.classes() {
            Some(classes) => diagnostic.note(classes),
            None => diagnostic,
        }
    }

    /// Adds why two types do not fit, and where their parts came from.
    pub(super) fn explain(&self, mut diagnostic: Diagnostic, conflict: &Conflict) -> Diagnostic {
        for (part, what) in [(&conflict.left, "expected"), (&conflict.right, "found")] {
            if let Some(origin) = self.unifier.origin(part)
                && !matches!(self.unifier.resolve(part), Type::Var(_) | Type::Param(_))
                && !(what == "found" && diagnostic.span().contains(origin))
                && diagnostic.labels.iter().all(|label| label.span != origin)
                && origin.file == diagnostic.span().file
            {
                let ty = self.show(part);
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
                        let name = self.show(part);
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
                        let name = self.show(part);
                        let other = self.show(other);
                        diagnostic.note(format!(
                            "the declared type promises to work for each {name}, but here it must be {other}"
                        ))
                    }
                    None => diagnostic,
                }
            }
        }
    }

    /// Adds a label, in place of one that says less about the same place.
    pub(super) fn label_instead(&self, mut diagnostic: Diagnostic, span: Span, text: &str) -> Diagnostic {
        diagnostic.labels.retain(|label| label.primary || label.span != span);
        if span.file == diagnostic.span().file { diagnostic.label(span, text) } else { diagnostic }
    }

    /// Adds why a variable has the type that it has.
    pub(super) fn explain_variable(&self, mut diagnostic: Diagnostic, expr: &Expr, ty: &Type) -> Diagnostic {
        let ExprKind::Name(name) = &expr.kind else { return diagnostic };
        let Some(local) = self.scope.iter().rev().find(|local| local.name == *name) else {
            return diagnostic;
        };
        let shown = self.show(ty);
        let Some(origin) = self.unifier.origin(&local.ty) else { return diagnostic };
        let text = format!("`{name}` is {shown} because of this");
        let known = diagnostic.labels.iter().position(|label| label.span == origin);
        match known {
            Some(known) => {
                // The name says more than the type alone.
                let label = &mut diagnostic.labels[known];
                if label.text.ends_with("because of this") {
                    label.text = text;
                }
                diagnostic
            }
            None if origin.file == diagnostic.span().file => diagnostic.label(origin, text),
            None => diagnostic,
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
            Some(expr) if matches!(expr.kind, ExprKind::Int(_)) => diagnostic
                .suggest("write the number as a float", vec![(expr.inner_span().after(), ".0".into())]),
            Some(expr) => {
                let inner = expr.inner_span();
                let before = Span { end: inner.start, ..inner };
                let changes = vec![(before, "float(".into()), (inner.after(), ")".into())];
                diagnostic
                    .suggest("there is no implicit conversion; `float` makes a float of an int", changes)
            }
            None => diagnostic.help("`trunc`, `round`, `floor` and `ceil` make an int of a float"),
        }
    }
}
