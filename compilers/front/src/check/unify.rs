// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Unification of types with classes, and where each unknown type became known.

use std::sync::Arc;

use crate::ast::Name;
use crate::source::Span;
use crate::types::{Class, Type, TypeVar};

/// How many nodes a type may have: beyond it, types that double at each step would take forever.
const MAX_SIZE: usize = 2000;

/// The unknown types of one form.
#[derive(Default)]
pub(super) struct Unifier {
    vars: Vec<Unknown>,
    /// Names and classes of the type variables that the form declares: they stand for themselves.
    pub(super) rigid: Vec<(Name, Class)>,
}

struct Unknown {
    class: Class,
    /// Whether it stands for an expression that has an error: then it fits everything.
    has_error: bool,
    /// What it became, and because of which place.
    bound: Option<(Type, Span)>,
}

/// Why two types cannot be one.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    /// The part of the left type that does not fit.
    pub(super) left: Type,
    /// The part of the right type.
    pub(super) right: Type,
    pub(super) reason: Reason,
}

/// Why two types cannot be one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    /// They are different.
    Different,
    /// One of them must be of a class that the other is not in.
    Class(Class),
    /// One of them would contain itself.
    Infinite,
}

impl Unifier {
    /// A type not known yet, of a class.
    pub(super) fn fresh(&mut self, class: Class) -> Type {
        self.vars.push(Unknown { class, has_error: false, bound: None });
        Type::Var(TypeVar(self.vars.len() as u32 - 1))
    }

    /// The type of an expression that has an error.
    pub(super) fn error(&mut self) -> Type {
        self.vars.push(Unknown { class: Class::Any, has_error: true, bound: None });
        Type::Var(TypeVar(self.vars.len() as u32 - 1))
    }

    /// Whether a part of `ty` is the type of an expression that has an error.
    pub(super) fn has_error(&self, ty: &Type) -> bool {
        match self.resolve(ty) {
            Type::Var(var) => self.vars[var.0 as usize].has_error,
            ty => ty.parts().into_iter().any(|part| self.has_error(part)),
        }
    }

    /// What `ty` is as far as it is known, outermost.
    pub(super) fn resolve(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Var(var) = ty
            && let Some((bound, _)) = &self.vars[var.0 as usize].bound
        {
            ty = bound;
        }
        ty.clone()
    }

    /// What `ty` is as far as it is known.
    pub(super) fn zonk(&self, ty: &Type) -> Type {
        let ty = self.resolve(ty);
        ty.map_parts(&mut |part| self.zonk(part))
    }

    /// The class of an unknown type or of a type variable.
    pub(super) fn class(&self, ty: &Type) -> Class {
        match ty {
            Type::Var(var) => self.vars[var.0 as usize].class,
            Type::Param(index) => self.rigid.get(*index as usize).map_or(Class::Any, |(_, class)| *class),
            _ => Class::Any,
        }
    }

    /// The place that made `ty` known, if it was unknown at first.
    pub(super) fn origin(&self, ty: &Type) -> Option<Span> {
        let (mut ty, mut origin) = (ty, None);
        while let Type::Var(var) = ty
            && let Some((bound, span)) = &self.vars[var.0 as usize].bound
        {
            origin = Some(*span);
            ty = bound;
        }
        origin
    }

    /// The unknown types of `ty`, in order of first occurrence.
    pub(super) fn unknowns(&self, ty: &Type, found: &mut Vec<TypeVar>) {
        match self.resolve(ty) {
            Type::Var(var) if !found.contains(&var) => found.push(var),
            ty => ty.parts().into_iter().for_each(|part| self.unknowns(part, found)),
        }
    }

    /// Makes an unknown type known at the end, when nothing else will.
    pub(super) fn settle(&mut self, var: TypeVar, ty: Type) {
        let unknown = &mut self.vars[var.0 as usize];
        if unknown.bound.is_none() {
            unknown.bound = Some((ty, Span::default()));
        }
    }

    /// Makes all types that are still unknown `int`, which is in each class.
    pub(super) fn settle_rest(&mut self) {
        for unknown in &mut self.vars {
            unknown.bound.get_or_insert((Type::Int, Span::default()));
        }
    }

    /// Whether a type, with what its datatypes hold, has grown beyond all reason.
    pub(super) fn is_too_large(&self, ty: &Type) -> bool {
        fn count(unifier: &Unifier, ty: &Type, left: &mut usize) {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let ty = unifier.resolve(ty);
            for part in ty.parts() {
                count(unifier, part, left);
            }
            if let Type::Data(datatype, _) = &ty {
                count(unifier, &datatype.content, left);
            }
        }
        let mut left = MAX_SIZE;
        count(self, ty, &mut left);
        left == 0
    }

    /// Makes two types one, because of what stands at `at`.
    pub(super) fn unify(&mut self, left: &Type, right: &Type, at: Span) -> Result<(), Conflict> {
        let conflict = |reason| Err(Conflict { left: left.clone(), right: right.clone(), reason });
        let (a, b) = (self.resolve(left), self.resolve(right));
        match (&a, &b) {
            (Type::Var(x), Type::Var(y)) if x == y => Ok(()),
            (Type::Var(x), Type::Var(y)) if self.vars[x.0 as usize].has_error => {
                self.vars[y.0 as usize].bound = Some((a, at));
                Ok(())
            }
            (Type::Var(x), Type::Var(y)) if self.vars[y.0 as usize].has_error => {
                self.vars[x.0 as usize].bound = Some((b, at));
                Ok(())
            }
            (Type::Var(var), _) | (_, Type::Var(var)) if self.vars[var.0 as usize].has_error => Ok(()),
            (Type::Var(x), Type::Var(y)) => {
                let (x, y) = (x.0 as usize, y.0 as usize);
                match self.vars[x].class.intersect(self.vars[y].class) {
                    Some(class) => {
                        self.vars[y].class = class;
                        self.vars[x].bound = Some((b.clone(), at));
                    }
                    None => {
                        self.vars[y].bound = Some((Type::Int, at));
                        self.vars[x].bound = Some((Type::Int, at));
                    }
                }
                Ok(())
            }
            (Type::Var(var), known) | (known, Type::Var(var)) => {
                let class = self.vars[var.0 as usize].class;
                if self.occurs(*var, known) {
                    return conflict(Reason::Infinite);
                }
                let fits = match known {
                    Type::Param(_) => self.class(known).is_within(class),
                    known => class.has(known),
                };
                if !fits {
                    return conflict(Reason::Class(class));
                }
                self.vars[var.0 as usize].bound = Some((known.clone(), at));
                Ok(())
            }
            (Type::Seq(x), Type::Seq(y)) => self.unify_shared(x, y, at),
            (Type::Pair(x1, x2), Type::Pair(y1, y2)) | (Type::Function(x1, x2), Type::Function(y1, y2)) => {
                self.unify_shared(x1, y1, at)?;
                self.unify_shared(x2, y2, at)
            }
            (Type::Data(x, xs), Type::Data(y, ys)) if x == y => {
                xs.iter().zip(ys.iter()).try_for_each(|(x, y)| self.unify(x, y, at))
            }
            (a, b) if a == b => Ok(()),
            _ => conflict(Reason::Different),
        }
    }

    fn unify_shared(&mut self, left: &Arc<Type>, right: &Arc<Type>, at: Span) -> Result<(), Conflict> {
        if Arc::ptr_eq(left, right) { Ok(()) } else { self.unify(left, right, at) }
    }

    fn occurs(&self, var: TypeVar, ty: &Type) -> bool {
        match self.resolve(ty) {
            Type::Var(other) => var == other,
            ty => ty.parts().into_iter().any(|part| self.occurs(var, part)),
        }
    }
}

impl Conflict {
    /// The same with left and right exchanged.
    pub(super) fn flipped(self) -> Conflict {
        Conflict { left: self.right, right: self.left, reason: self.reason }
    }
}
